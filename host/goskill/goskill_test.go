package goskill_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/goskill"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// What a module has as a constant is what the same source makes of itself.
func TestTheDescriptionIsTheOneThatTheCodeMakes(t *testing.T) {
	for _, pkg := range []string{"skills/shop/pricing", "skills/shop/stage", "skills/airline", "sdk/testdata/room/module"} {
		t.Run(pkg, func(t *testing.T) {
			plain, constant := filepath.Join(t.TempDir(), "plain.wasm"), filepath.Join(t.TempDir(), "constant.wasm")
			build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", plain, ".")
			build.Dir = filepath.Join("..", "..", pkg)
			build.Env = append(os.Environ(), "GOFLAGS=", "GOOS=wasip1", "GOARCH=wasm")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			built := sandboxtest.Build(t, pkg)
			if err := os.WriteFile(constant, built, 0o600); err != nil {
				t.Fatal(err)
			}
			want, err := sandboxtest.Description(t.Context(), plain)
			if err != nil {
				t.Fatal(err)
			}
			got, err := sandboxtest.Description(t.Context(), constant)
			if err != nil || len(got) == 0 || string(got) != string(want) {
				t.Errorf("the constant is\n%s\n%v; the code makes\n%s", got, err, want)
			}
			if info, err := os.Stat(plain); err != nil || info.Size() <= int64(len(built)) {
				t.Errorf("%d bytes with the constant, %v bytes without, %v", len(built), info.Size(), err)
			}
		})
	}
}

// A recorder plays the go command.
type recorder struct {
	deps string // what `go list` says
	ran  []string
	file string // what was added to the skill
}

func (r *recorder) run(c *exec.Cmd) error {
	r.ran = append(r.ran, strings.Join(c.Args, " "))
	if c.Stdout != nil {
		_, err := io.WriteString(c.Stdout, r.deps)
		return err
	}
	for i, arg := range c.Args {
		if arg == "-o" {
			if err := os.WriteFile(c.Args[i+1], []byte("\x00asm\x01\x00\x00\x00"), 0o600); err != nil {
				return err
			}
		}
		if overlay, ok := strings.CutPrefix(arg, "-overlay="); ok {
			added, err := os.ReadFile(filepath.Join(filepath.Dir(overlay), "sluice_described.gen.go"))
			r.file = string(added)
			return err
		}
	}
	return nil
}

const withSDK = "fmt\ngithub.com/sluicehq/sluice/sdk\n"

func TestASkillIsCompiledASecondTimeWithItsDescription(t *testing.T) {
	r := &recorder{deps: "mine other\n" + withSDK}
	tell := func(context.Context, string) ([]byte, error) { return []byte("{\"name\":\"a`b\\\"\"}"), nil }
	if err := goskill.Compile(t.Context(), goskill.Skill{Dir: t.TempDir(), Run: r.run, Describe: tell}, filepath.Join(t.TempDir(), "out.wasm")); err != nil {
		t.Fatal(err)
	}
	if len(r.ran) != 3 || strings.Contains(r.ran[0], "-tags") || !strings.Contains(r.ran[2], "-tags=mine,other,sluice_described ") {
		t.Errorf("the commands are\n%s\nwant the environment's tags in the second build too", strings.Join(r.ran, "\n"))
	}
	if want := fmt.Sprintf("sdk.Described(%q)", "{\"name\":\"a`b\\\"\"}"); !strings.Contains(r.file, want) {
		t.Errorf("the added file is\n%s\nwant %s in it", r.file, want)
	}
}

func TestAProgramWithoutTheSDKIsCompiledOnce(t *testing.T) {
	r := &recorder{deps: "\nfmt\n"}
	if err := goskill.Compile(t.Context(), goskill.Skill{Dir: t.TempDir(), Tags: []string{"mine"}, Run: r.run}, filepath.Join(t.TempDir(), "out.wasm")); err != nil {
		t.Fatal(err)
	}
	if len(r.ran) != 2 || !slices.ContainsFunc(r.ran, func(c string) bool { return strings.Contains(c, "-tags=mine ") }) {
		t.Errorf("the commands are\n%s\nwant one build", strings.Join(r.ran, "\n"))
	}
}

func TestASkillThatCannotDescribeItselfIsNotBuilt(t *testing.T) {
	r := &recorder{deps: "\n" + withSDK}
	broken := errors.New("tool twice is declared twice")
	tell := func(context.Context, string) ([]byte, error) { return nil, broken }
	if err := goskill.Compile(t.Context(), goskill.Skill{Dir: t.TempDir(), Run: r.run, Describe: tell}, filepath.Join(t.TempDir(), "out.wasm")); !errors.Is(err, broken) || len(r.ran) != 2 {
		t.Errorf("got %v after %d commands", err, len(r.ran))
	}
}
