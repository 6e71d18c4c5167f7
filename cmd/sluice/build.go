package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
)

// Files of a built skill.
const (
	manifestFile = "skill.yaml"
	moduleFile   = "skill.wasm"
)

// buildSkill builds the skill in dir with the compiler of its language, asks
// the module for its manifest, validates it, and writes skill.wasm and
// skill.yaml to out. The same source gives the same bytes in any folder.
func (p *program) buildSkill(ctx context.Context, sb *sandbox.Sandbox, dir, out string) (*manifest.Skill, error) {
	l, err := languageOf(dir)
	if err != nil {
		return nil, err
	}
	module, err := filepath.Abs(filepath.Join(out, moduleFile))
	if err != nil {
		return nil, err
	}
	ask := func(ctx context.Context, module string) ([]byte, error) {
		wasm, err := readBounded(module, int64(abi.ModuleBytesCeiling))
		if err != nil {
			return nil, err
		}
		b, err := description(ctx, sb, wasm)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		return b, nil
	}
	if err := p.step("building "+dir, func() error { return l.build(ctx, l, dir, module, ask) }); err != nil {
		return nil, err
	}
	wasm, err := readBounded(module, int64(abi.ModuleBytesCeiling))
	if err != nil {
		return nil, err
	}
	var skill *manifest.Skill
	err = p.step("compiling "+dir, func() (err error) {
		skill, err = describe(ctx, sb, wasm)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if err := copyGuide(skill.Guide, dir, out); err != nil {
		return nil, err
	}
	text, err := manifest.Marshal(skill.Manifest)
	if err != nil {
		return nil, err
	}
	return skill, os.WriteFile(filepath.Join(out, manifestFile), text, 0o644)
}

// guideBytes bounds a guide: it is shown to a model.
const guideBytes = 64 << 10

// copyGuide lays the skill's guide beside its manifest.
func copyGuide(guide, dir, out string) error {
	if guide == "" || filepath.Clean(dir) == filepath.Clean(out) {
		return nil
	}
	if !filepath.IsLocal(guide) {
		return host.Fail("build", abi.NewProblem(abi.InvalidManifest, "the guide %q is not inside the skill's folder", guide), nil)
	}
	text, err := readBounded(filepath.Join(dir, guide), guideBytes)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, guide), text, 0o644)
}

// description asks a module for its manifest, as it tells it.
func description(ctx context.Context, sb *sandbox.Sandbox, wasm []byte) ([]byte, error) {
	module, err := sb.Load(ctx, wasm, abi.CeilingLimits())
	if err != nil {
		return nil, err
	}
	defer module.Close(context.WithoutCancel(ctx))
	result := module.Call(ctx, sandbox.Request{Export: abi.ExportDescribe})
	if result.Problem != nil {
		return nil, host.Fail("describe", result.Problem, nil)
	}
	return result.Output, nil
}

// describe asks a module for its manifest, and checks it.
func describe(ctx context.Context, sb *sandbox.Sandbox, wasm []byte) (*manifest.Skill, error) {
	told, err := description(ctx, sb, wasm)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(told))
	d.DisallowUnknownFields()
	var m abi.Manifest
	if err := d.Decode(&m); err != nil {
		return nil, host.Fail("describe", abi.NewProblem(abi.BrokenContract, "%s gave something that is not a manifest", abi.ExportDescribe), err)
	}
	m.Module = moduleFile
	return manifest.Compile(m)
}

// loadDir gives the skill in a folder: built from its source if it has any, else
// from its skill.yaml and module.
func (p *program) loadDir(ctx context.Context, sb *sandbox.Sandbox, dir string) (*manifest.Skill, []byte, error) {
	_, noSource := languageOf(dir)
	if noSource == nil {
		out, err := os.MkdirTemp("", "sluice-build-")
		if err != nil {
			return nil, nil, err
		}
		defer os.RemoveAll(out)
		skill, err := p.buildSkill(ctx, sb, dir, out)
		if err != nil {
			return nil, nil, err
		}
		wasm, err := os.ReadFile(filepath.Join(out, moduleFile))
		return skill, wasm, err
	}
	if host.ProblemOf(noSource).Code != abi.NotFound {
		return nil, nil, noSource
	}
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, host.Fail("load", abi.NewProblem(abi.NotFound, "%s has neither source nor %s", dir, manifestFile).
			WithHint("give a skill's source folder, or the folder that `sluice skill build` wrote"), nil)
	}
	skill, err := manifest.Load(os.DirFS(dir), manifestFile)
	if err != nil {
		return nil, nil, err
	}
	wasm, err := readBounded(filepath.Join(dir, skill.Module), int64(abi.ModuleBytesCeiling))
	return skill, wasm, err
}

// readBounded reads a file that has at most limit bytes.
func readBounded(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, host.Fail("read", abi.NewProblem(abi.InputLimit, "%s has more than %d bytes, which is the most that is taken", name, limit), nil)
	}
	return b, err
}
