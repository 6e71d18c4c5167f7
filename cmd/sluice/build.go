package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/toolchain"
)

// buildSkill builds the skill in dir into the folder out, and says what takes
// long.
func (p *program) buildSkill(ctx context.Context, sb *sandbox.Sandbox, dir, out string) (*manifest.Skill, error) {
	return toolchain.Builder{Sandbox: sb, Step: p.step}.Build(ctx, dir, out)
}

// loadDir gives the skill in a folder: built from its source if it has any, else
// from its skill.yaml and module.
func (p *program) loadDir(ctx context.Context, sb *sandbox.Sandbox, dir string) (*manifest.Skill, []byte, error) {
	source, err := toolchain.HasSource(dir)
	if err != nil {
		return nil, nil, err
	}
	if source {
		out, err := os.MkdirTemp("", "sluice-build-")
		if err != nil {
			return nil, nil, err
		}
		defer os.RemoveAll(out)
		skill, err := p.buildSkill(ctx, sb, dir, out)
		if err != nil {
			return nil, nil, err
		}
		wasm, err := os.ReadFile(filepath.Join(out, toolchain.ModuleFile))
		return skill, wasm, err
	}
	if _, err := os.Stat(filepath.Join(dir, toolchain.ManifestFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, host.Fail("load", abi.NewProblem(abi.NotFound, "%s has neither source nor %s", dir, toolchain.ManifestFile).
			WithHint("give a skill's source folder, or the folder that `sluice skill build` wrote"), nil)
	}
	skill, err := manifest.Load(os.DirFS(dir), toolchain.ManifestFile)
	if err != nil {
		return nil, nil, err
	}
	wasm, err := toolchain.ReadBounded(filepath.Join(dir, skill.Module), int64(abi.ModuleBytesCeiling))
	return skill, wasm, err
}
