package goskill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/host/rewrite"
)

// A Skill is a Go package that declares a skill, and what compiling it needs of
// others.
type Skill struct {
	Dir  string   // the package's folder
	Tags []string // build tags; nil for those of the environment
	Env  []string // of the go command, as in exec.Cmd; nil for this process's

	// Run runs a go command in Dir. Its output is for the caller to keep, but
	// for a Stdout that is set.
	Run func(*exec.Cmd) error
	// Describe asks the module in a file for its description.
	Describe func(ctx context.Context, module string) ([]byte, error)
}

// Described is the build tag of the second build, with which the package that
// skills are declared with takes a description.
const Described = "sluice_described"

// sdk is that package.
const sdk = "github.com/sluicehq/sluice/sdk"

// addedFile is the name of the file with the description, which the compiler
// sees in the skill's folder.
const addedFile = "sluice_described.gen.go"

// Compile writes the skill's module to a file. The same source gives the same
// bytes in any folder. Errors are those of Run and Describe, or of the disk.
func Compile(ctx context.Context, s Skill, module string) error {
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return err
	}
	if s.Dir, err = filepath.EvalSymlinks(dir); err != nil { // as the compiler names it
		return err
	}
	if err := s.compile(ctx, module); err != nil {
		return err
	}
	return pack(module)
}

// compile compiles the skill, once or twice.
func (s Skill) compile(ctx context.Context, module string) error {
	if err := s.build(ctx, module, s.Tags); err != nil {
		return err
	}
	tags, declares, err := s.list(ctx)
	if err != nil || !declares {
		return err
	}
	description, err := s.Describe(ctx, module)
	if err != nil {
		return err
	}
	overlay, remove, err := s.overlay(description)
	if err != nil {
		return err
	}
	defer remove()
	return s.build(ctx, module, append(tags, Described), "-overlay="+overlay)
}

// pack makes the module in a file smaller.
func pack(module string) error {
	wasm, err := os.ReadFile(module)
	if err != nil {
		return err
	}
	packed, err := rewrite.Pack(wasm)
	if err != nil {
		return err
	}
	return os.WriteFile(module, packed, 0o644)
}

func (s Skill) build(ctx context.Context, module string, tags []string, flags ...string) error {
	args := append([]string{"build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", module}, flags...)
	return s.Run(s.command(ctx, args, tags))
}

// list gives the build tags that count, and whether the sdk is in the skill.
func (s Skill) list(ctx context.Context) (tags []string, declares bool, err error) {
	var out bytes.Buffer
	list := s.command(ctx, []string{"list", "-f", `{{join context.BuildTags " "}}{{range .Deps}}{{"\n"}}{{.}}{{end}}`}, s.Tags)
	list.Stdout = &out
	if err := s.Run(list); err != nil {
		return nil, false, err
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	return strings.Fields(lines[0]), slices.Contains(lines[1:], sdk), nil
}

func (s Skill) command(ctx context.Context, args, tags []string) *exec.Cmd {
	if tags != nil {
		args = append(args, "-tags="+strings.Join(tags, ","))
	}
	c := exec.CommandContext(ctx, "go", append(args, ".")...)
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	c.Env = append(slices.Clip(env), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	return c
}

// overlay writes the file that is added, and the one that tells the go command
// of it. A linker flag would be shorter, and too short for a description.
func (s Skill) overlay(description []byte) (file string, remove func(), err error) {
	temp, err := os.MkdirTemp("", "sluice-described-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(temp) }
	added, overlay := filepath.Join(temp, addedFile), filepath.Join(temp, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(s.Dir, addedFile): added}})
	if err == nil {
		err = os.WriteFile(overlay, replace, 0o600)
	}
	if err == nil {
		err = os.WriteFile(added, fmt.Appendf(nil, "package main\n\nimport %q\n\nvar _ = sdk.Described(%s)\n", sdk, strconv.Quote(string(description))), 0o600)
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return overlay, remove, nil
}
