package sandboxtest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/sluicehq/sluice/host/sandbox"
	"golang.org/x/mod/modfile"
)

// Build compiles a Go package of this repository to WebAssembly as a skill is
// built, and warms it. The package is named by its folder from the root, such
// as "skills/shop/pricing". The bytes are shared: do not change them.
func Build(t testing.TB, pkg string) []byte {
	t.Helper()
	return BuildTagged(t, pkg, "")
}

// BuildTagged does the same with a build tag.
func BuildTagged(t testing.TB, pkg, tag string) []byte {
	t.Helper()
	built := shared.built.do(pkg+" "+tag, func() ([]byte, error) { return build(pkg, tag) })
	if built.err != nil {
		t.Fatal(built.err)
	}
	Warm(t, built.value)
	return built.value
}

// Warm has a plain process prepare and compile a module into the shared
// folder, unless it is there. A module that cannot be compiled fails the test.
func Warm(t testing.TB, wasm []byte) { warmAs(t, wasm, "") }

// PeerDir does the same for another host on the same engine, with and without
// a deadline, and gives the folder of its machine code. A module that cannot be
// compiled is the peer's to refuse.
func PeerDir(t testing.TB, wasm []byte) string {
	warmAs(t, wasm, "peer")
	return filepath.Join(CacheDir(t), "peer")
}

func warmAs(t testing.TB, wasm []byte, what string) {
	t.Helper()
	key := host.Digest(wasm) + what
	if err := shared.warmed.do(key, func() (struct{}, error) { return struct{}{}, warm(wasm, what) }).err; err != nil {
		t.Fatal(err)
	}
}

func build(pkg, tag string) ([]byte, error) {
	root, cache, err := folders()
	if err != nil {
		return nil, err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(cache, "build.lock")).Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	out := filepath.Join(cache, "wasm", strings.ReplaceAll(filepath.ToSlash(pkg), "/", "-")+tag+".wasm")
	err = goBuild(root, []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"},
		"-tags="+tag, "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, "./"+pkg)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

func warm(wasm []byte, what string) error {
	root, cache, err := folders()
	if err != nil {
		return err
	}
	engine, err := engineVersion(root)
	if err != nil {
		return err
	}
	marker := filepath.Join(cache, "warm", fmt.Sprintf("%s-%s-%s-%d.%d", cmp.Or(what, "slots"), host.Digest(wasm), engine, rewrite.Version, sandbox.Format))
	if exists(marker) {
		return nil
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(cache, "warm.lock")).Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if exists(marker) {
		return nil
	}
	program, module := filepath.Join(cache, "warm", "warm"), marker+".wasm"
	if err := os.WriteFile(module, wasm, 0o600); err != nil {
		return err
	}
	defer os.Remove(module)
	if err := goBuild(root, nil, "-o", program, "./host/sandbox/sandboxtest/warm"); err != nil {
		return err
	}
	if out, err := exec.Command(program, cmp.Or(what, "slots"), cache, module).CombinedOutput(); err != nil {
		return fmt.Errorf("warming the compiled code: %w: %s", err, out)
	}
	return os.WriteFile(marker, nil, 0o600)
}

func goBuild(root string, env []string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(append(os.Environ(), "GOFLAGS="), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", args[len(args)-1], err, out)
	}
	return nil
}

// folders gives the repository and the shared folder, with what is kept there.
func folders() (root, cache string, err error) {
	if root, err = repository(); err != nil {
		return "", "", err
	}
	if cache, err = cacheDir(); err != nil {
		return "", "", err
	}
	for _, dir := range []string{"wasm", "warm"} {
		if err := os.MkdirAll(filepath.Join(cache, dir), 0o700); err != nil {
			return "", "", err
		}
	}
	return root, cache, nil
}

// engineVersion gives the version of wazero, whose compiled code differs from
// version to version.
func engineVersion(root string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	mod, err := modfile.ParseLax("go.mod", b, nil)
	if err != nil {
		return "", err
	}
	for _, r := range mod.Require {
		if r.Mod.Path == "github.com/tetratelabs/wazero" {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("go.mod does not require the engine")
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
