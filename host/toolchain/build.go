package toolchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/sluicehq/sluice/host/sandbox"
)

// Files of a built skill.
const (
	ManifestFile = "skill.yaml"
	ModuleFile   = "skill.wasm"
)

// A Builder builds skills. It is not changed, and safe for concurrent use.
type Builder struct {
	Sandbox *sandbox.Sandbox // asks modules what they are

	// Step does work that may take a while; its label says what. A nil Step just
	// does it.
	Step func(label string, work func() error) error
}

// Build builds the skill in dir with the compiler of its language, asks the
// module for its manifest, validates it, and writes skill.wasm, skill.yaml and
// the guide to the folder out, which exists. The same source gives the same bytes
// in any folder.
//
// A folder without source is abi.NotFound, a compiler that is missing
// abi.Unavailable, and source that does not compile abi.BadArguments.
func (b Builder) Build(ctx context.Context, dir, out string) (*manifest.Skill, error) {
	module := filepath.Join(out, ModuleFile)
	if err := b.step("building "+dir, func() error { return Compile(ctx, dir, module, b.Ask) }); err != nil {
		return nil, err
	}
	wasm, err := ReadBounded(module, int64(abi.ModuleBytesCeiling))
	if err != nil {
		return nil, err
	}
	var skill *manifest.Skill
	err = b.step("asking "+dir, func() error {
		return b.interpret(ctx, func(sb *sandbox.Sandbox) (err error) {
			skill, err = Describe(ctx, sb, wasm)
			return err
		})
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
	return skill, os.WriteFile(filepath.Join(out, ManifestFile), text, 0o644)
}

// Compile writes the module of the skill in dir to a file. A skill in Go is asked
// for its description on the way, which becomes part of it. Errors are those of
// Build, ask's, and abi.Deadline of a compiler that hangs.
func Compile(ctx context.Context, dir, module string, ask Describer) error {
	l, err := languageOf(dir)
	if err != nil {
		return err
	}
	module, err = filepath.Abs(module) // compilers run in dir
	if err != nil {
		return err
	}
	ctx, cancel := within(ctx, compileTime)
	defer cancel()
	return l.build(ctx, l, dir, module, ask)
}

func (b Builder) step(label string, work func() error) error {
	if b.Step == nil {
		return work()
	}
	return b.Step(label, work)
}

// Ask asks the module in a file for its description, as a Describer.
func (b Builder) Ask(ctx context.Context, module string) (told []byte, err error) {
	wasm, err := ReadBounded(module, int64(abi.ModuleBytesCeiling))
	if err != nil {
		return nil, err
	}
	err = b.interpret(ctx, func(sb *sandbox.Sandbox) (err error) {
		told, err = description(ctx, sb, wasm)
		return err
	})
	return told, err
}

// interpret gives a sandbox for a module that is asked what it is and nothing else:
// machine code takes longer to make than that.
func (b Builder) interpret(ctx context.Context, work func(*sandbox.Sandbox) error) error {
	sb, err := b.Sandbox.Interpreter()
	if err != nil {
		return err
	}
	return errors.Join(work(sb), sb.Close(context.WithoutCancel(ctx)))
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
	text, err := ReadBounded(filepath.Join(dir, guide), guideBytes)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, guide), text, 0o644)
}

// description asks a module for its manifest, as it tells it.
func description(ctx context.Context, sb *sandbox.Sandbox, wasm []byte) ([]byte, error) {
	module, err := sb.Load(ctx, wasm, abi.CeilingLimits())
	if err != nil {
		return nil, refused(wasm, err)
	}
	defer module.Close(context.WithoutCancel(ctx))
	result := module.Call(ctx, sandbox.Request{Export: abi.ExportDescribe})
	if result.Problem != nil {
		return nil, host.Fail("describe", result.Problem, nil)
	}
	return result.Output, nil
}

// refused says why a module was not loaded: where it needs what no host runs, with
// the flag that turns it off, which the engine does not know.
func refused(wasm []byte, loading error) error {
	_, err := rewrite.Inspect(wasm)
	var p *abi.Problem
	if errors.As(err, &p) {
		return host.Fail("describe", p, loading)
	}
	return loading
}

// Describe asks a module for its manifest, and checks it.
func Describe(ctx context.Context, sb *sandbox.Sandbox, wasm []byte) (*manifest.Skill, error) {
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
	m.Module = ModuleFile
	return manifest.Compile(m)
}

// HasSource reports whether a folder has source of a skill in one language. Source
// in several is an error.
func HasSource(dir string) (bool, error) {
	_, err := languageOf(dir)
	if err != nil && host.ProblemOf(err).Code == abi.NotFound {
		return false, nil
	}
	return err == nil, err
}

// Test runs the tests that the skill in dir has in its own language, natively, and
// reports whether there are any: those of Go. What they say goes to out. Tests that
// fail are abi.BadArguments.
func Test(ctx context.Context, dir string, out io.Writer) (ran bool, err error) {
	l, err := languageOf(dir)
	if err != nil || len(sources(dir, "*_test.go")) == 0 {
		return false, err
	}
	test := exec.CommandContext(ctx, "go", "test", ".")
	test.Dir, test.Stdout, test.Stderr, test.WaitDelay = dir, out, out, pipesTime
	inGroup(test)
	err = test.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return true, host.Fail("test", abi.NewProblem(abi.Unavailable, "go was not found, which runs the tests").WithHint("%s", l.needs), nil)
	case err != nil:
		return true, host.Fail("test", abi.NewProblem(abi.BadArguments, "the tests of %s fail", dir), nil)
	}
	return true, nil
}

// ReadBounded reads a file that has at most limit bytes; a larger one is
// abi.InputLimit.
func ReadBounded(name string, limit int64) ([]byte, error) {
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
