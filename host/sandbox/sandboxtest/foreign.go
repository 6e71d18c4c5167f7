package sandboxtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/sluicehq/sluice/host"
)

// BuildC compiles the guest.c of a folder, named from the repository's root, as
// a reactor over wasi-libc, whose memory begins with 1 MiB. The bytes are
// shared: do not change them. Without the tools the test fails.
func BuildC(t testing.TB, dir string) []byte {
	t.Helper()
	return foreign(t, dir, compileC)
}

// BuildAssemblyScript compiles the guest.ts of a folder, named from the
// repository's root, with the compiler that its package-lock.json names, which
// is put into the shared folder. The memory begins with 1 MiB. The bytes are
// shared: do not change them. Without the tools the test fails.
func BuildAssemblyScript(t testing.TB, dir string) []byte {
	t.Helper()
	return foreign(t, dir, compileAssemblyScript)
}

// Packages gives the node_modules of a folder's package-lock.json, with the
// folder named from the repository's root. They lie in the shared folder and
// are put there by the first test that asks.
func Packages(t testing.TB, dir string) string {
	t.Helper()
	root, cache, err := folders()
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(cache, "build.lock")).Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	packages, err := install(filepath.Join(root, dir), cache)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(packages, "node_modules")
}

// Cargo gives the variables by which cargo keeps in the shared folder what it
// compiled. It compiles it again where the skill's folder is another one, or its
// own, since it tells the compiler of both.
func Cargo(t testing.TB) map[string]string {
	t.Helper()
	cache := CacheDir(t)
	return map[string]string{"CARGO_HOME": filepath.Join(cache, "cargo-home"), "CARGO_TARGET_DIR": filepath.Join(cache, "cargo")}
}

// compile makes a module from a source folder into a file; cache is the shared
// folder.
type compile func(dir, out, cache string) error

func foreign(t testing.TB, dir string, compile compile) []byte {
	t.Helper()
	built := shared.built.do(dir, func() ([]byte, error) { return warmed(buildForeign(dir, compile)) })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.value
}

func buildForeign(dir string, compile compile) ([]byte, error) {
	root, cache, err := folders()
	if err != nil {
		return nil, err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(cache, "build.lock")).Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	out := filepath.Join(cache, "wasm", strings.ReplaceAll(filepath.ToSlash(dir), "/", "-")+".wasm")
	if err := compile(filepath.Join(root, dir), out, cache); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

func compileC(dir, out, _ string) error {
	return tool(dir, "clang", "--target=wasm32-wasi", "-mexec-model=reactor", "-O2", "-Wall", "-Wextra", "-Werror",
		"-Wl,--strip-all", "-Wl,--initial-memory=1048576", "-o", out, "guest.c")
}

func compileAssemblyScript(dir, out, cache string) error {
	packages, err := install(dir, cache)
	if err != nil {
		return err
	}
	return tool(dir, "node", filepath.Join(packages, "node_modules", "assemblyscript", "bin", "asc.js"), "guest.ts",
		"--path", filepath.Join(packages, "node_modules"), "--optimize", "--runtime", "incremental", "--use", "abort=", "--initialMemory", "16", "--outFile", out)
}

// install puts the packages of a folder's package-lock.json into the shared
// folder, unless they are there, and gives where they are.
func install(dir, cache string) (string, error) {
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return "", err
	}
	packages := filepath.Join(cache, "npm", host.Digest(lock)[:16])
	marker := filepath.Join(packages, "installed")
	if exists(marker) {
		return packages, nil
	}
	if err := os.MkdirAll(packages, 0o700); err != nil {
		return "", err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(packages, name), b, 0o600); err != nil {
			return "", err
		}
	}
	if err := tool(packages, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		return "", err
	}
	return packages, os.WriteFile(marker, nil, 0o600)
}

// tool runs a program of another language's tools in a folder.
func tool(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is missing, which compiles the tests' guests: run `make deps`: %w", name, err)
	case err != nil:
		return fmt.Errorf("%s %s: %w (`make deps` installs what it needs)\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
