package sandboxtest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/goskill"
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
	built := shared.built.do(pkg+" "+tag, func() ([]byte, error) { return warmed(build(pkg, tag)) })
	if built.err != nil {
		t.Fatal(built.err)
	}
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
	dir := filepath.Join(root, filepath.FromSlash(pkg))
	from, err := madeOf(root, dir, tag)
	if err != nil {
		return nil, err
	}
	if wasm, err := kept(out, from); wasm != nil || err != nil {
		return wasm, err
	}
	err = goskill.Compile(context.Background(), goskill.Skill{
		Dir: dir, Tags: strings.Fields(tag), Env: goEnv(), Describe: Description,
		Run: func(c *exec.Cmd) error { return run(c, dir) },
	}, out)
	if err != nil {
		return nil, err
	}
	return keep(out, from)
}

// warmed warms a module that was built.
func warmed(wasm []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return wasm, warm(wasm, "")
}

func warm(wasm []byte, what string) error {
	_, err := plainly(wasm, cmp.Or(what, "slots"))
	return err
}

// Description has a plain process ask the module in a file what it is, and
// keeps the answer in the shared folder.
func Description(_ context.Context, module string) ([]byte, error) {
	wasm, err := os.ReadFile(module)
	if err != nil {
		return nil, err
	}
	return plainly(wasm, "describe")
}

// plainly has a plain process do something with a module, unless it was done.
// What the process says is in the shared folder.
func plainly(wasm []byte, what string) ([]byte, error) {
	root, cache, err := folders()
	if err != nil {
		return nil, err
	}
	engine, err := engineVersion(root)
	if err != nil {
		return nil, err
	}
	marker := filepath.Join(cache, "warm", fmt.Sprintf("%s-%s-%s-%d.%d", what, host.Digest(wasm), engine, rewrite.Version, sandbox.Format))
	if exists(marker) {
		return os.ReadFile(marker)
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(cache, "warm.lock")).Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if exists(marker) {
		return os.ReadFile(marker)
	}
	program, module := filepath.Join(cache, "warm", "warm"), marker+".wasm"
	if err := os.WriteFile(module, wasm, 0o600); err != nil {
		return nil, err
	}
	defer os.Remove(module)
	build := exec.Command("go", "build", AsTestsDo, "-o", program, "./host/sandbox/sandboxtest/warm")
	build.Env = goEnv()
	if err := run(build, root); err != nil {
		return nil, err
	}
	var said bytes.Buffer
	ask := exec.Command(program, what, cache, module)
	ask.Stdout = &said
	if err := run(ask, root); err != nil {
		return nil, err
	}
	return said.Bytes(), writeWhole(marker, said.Bytes())
}

// AsTestsDo is the flag of the go command with which a program keeps the
// engine's machine code where tests look for it. The engine names the folder by
// its version, which a program knows from its build and a test's binary does not.
const AsTestsDo = "-ldflags=-X=github.com/tetratelabs/wazero/internal/version.version=dev"

// writeWhole writes a file that nobody sees half written.
func writeWhole(name string, b []byte) error {
	if err := os.WriteFile(name+".part", b, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".part", name)
}

// goEnv is the environment of a go command: no flags but ours.
func goEnv() []string { return append(os.Environ(), "GOFLAGS=") }

// run runs a command in a folder. What it says is in the error.
func run(c *exec.Cmd, dir string) error {
	var said bytes.Buffer
	c.Dir, c.Stderr = dir, &said
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s in %s: %w\n%s", strings.Join(c.Args, " "), dir, err, said.Bytes())
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
