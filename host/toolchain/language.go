package toolchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/goskill"
)

// A language is one that a skill can be written in. A folder holds one skill in
// one language, which its files tell.
type language struct {
	name  string
	mark  string // what a folder of it has, as a pattern of file names
	needs string // what compiles it, for somebody who lacks it
	build func(ctx context.Context, l language, dir, module string, ask Describer) error
}

// languages gives what is compiled. Only compilers run, with
// the arguments that are written here: no Makefile, no script of a package, and
// nothing is downloaded.
func languages() []language {
	return []language{
		{"Go", "*.go", "install Go 1.26 or newer and put it on the PATH", goBuild},
		{"Rust", "Cargo.toml", "install cargo and rustc with the target " + RustTarget +
			" (Debian: cargo rustc libstd-rust-dev-wasm32; rustup: rustup target add " + RustTarget + "); fetch crates first, the build is offline", rustBuild},
		{"AssemblyScript", filepath.Join("assembly", "index.ts"), "install Node 20 or newer, and run `npm ci --ignore-scripts` in the skill's folder", assemblyScriptBuild},
		{"C", "*.c", "install clang, lld, wasi-libc and compiler-rt for wasm32 (Debian: clang lld wasi-libc libclang-rt-dev-wasm32)", cBuild},
	}
}

// languageOf tells by its files which language a folder's skill is written in.
// A folder without any is abi.NotFound.
func languageOf(dir string) (language, error) {
	var found []language
	var names, marks []string
	for _, l := range languages() {
		marks = append(marks, fmt.Sprintf("%s (%s)", filepath.ToSlash(l.mark), l.name))
		if len(sources(dir, l.mark)) > 0 {
			found, names = append(found, l), append(names, l.name)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return language{}, host.Fail("build", abi.NewProblem(abi.NotFound, "%s has no source of a skill", dir).
			WithHint("give a folder with one of %s", strings.Join(marks, ", ")), nil)
	}
	return language{}, host.Fail("build", abi.NewProblem(abi.BadArguments, "%s has sources in %s", dir, strings.Join(names, " and ")).
		WithHint("keep one skill in one language in a folder"), nil)
}

// sources gives the names of the files in a folder that match a pattern. The
// folder's own name is not a pattern.
func sources(dir, pattern string) []string {
	names, err := fs.Glob(os.DirFS(dir), filepath.ToSlash(pattern))
	if err != nil {
		panic("BUG: a language's mark is not a pattern: " + err.Error())
	}
	return names
}

// A Describer asks the module in a file for its description.
type Describer func(ctx context.Context, module string) ([]byte, error)

func goBuild(ctx context.Context, l language, dir, module string, ask Describer) error {
	run := func(c *exec.Cmd) error { return l.compile(c, dir) }
	return goskill.Compile(ctx, goskill.Skill{Dir: dir, Run: run, Describe: ask}, module)
}

// RustTarget is what skills in Rust are compiled for. It has no imports of its own: what such a module asks of the host is
// what its author wrote.
const RustTarget = "wasm32-unknown-unknown"

func rustBuild(ctx context.Context, l language, dir, module string, _ Describer) error {
	cargo, rustc, err := rustTools(ctx, l, dir)
	if err != nil {
		return err
	}
	var messages bytes.Buffer
	build := exec.CommandContext(ctx, cargo, "build", "--release", "--lib", "--offline", "--target", RustTarget, "--message-format=json-render-diagnostics")
	build.Env = append(os.Environ(), "RUSTC="+rustc)
	build.Stdout = &messages
	if err := l.compile(build, dir); err != nil {
		return err
	}
	built, err := rustModule(messages.Bytes())
	if err != nil {
		return host.Fail("build", abi.NewProblem(abi.BadArguments, "%s gives no module", dir).
			WithHint(`add crate-type = ["cdylib"] below [lib] in its Cargo.toml`), err)
	}
	wasm, err := ReadBounded(built, int64(abi.ModuleBytesCeiling))
	if err != nil {
		return err
	}
	return os.WriteFile(module, wasm, 0o644)
}

// rustTools finds the first cargo and rustc side by side on the PATH that have
// the target: often several are installed, and not all of them do.
func rustTools(ctx context.Context, l language, dir string) (cargo, rustc string, err error) {
	var without []string
	for _, bin := range filepath.SplitList(os.Getenv("PATH")) {
		cargo, noCargo := exec.LookPath(filepath.Join(bin, "cargo"))
		rustc, noRustc := exec.LookPath(filepath.Join(bin, "rustc"))
		if !filepath.IsAbs(bin) || noCargo != nil || noRustc != nil || slices.Contains(without, rustc) {
			continue
		}
		ask := exec.CommandContext(ctx, rustc, "--print", "target-libdir", "--target", RustTarget)
		ask.Dir = dir // where a rust-toolchain.toml may choose
		lib, err := ask.Output()
		if core, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(lib)), "libcore-*.rlib")); err == nil && len(core) > 0 {
			return cargo, rustc, nil
		}
		without = append(without, rustc)
	}
	what := "no cargo and rustc were found on the PATH"
	if len(without) > 0 {
		what = strings.Join(without, " and ") + " cannot compile for " + RustTarget
	}
	return "", "", host.Fail("build", abi.NewProblem(abi.Unavailable, "%s", what).WithHint("%s", l.needs), ctx.Err())
}

// rustModule gives the module's file, which is in the last of cargo's messages
// that tell of one.
func rustModule(messages []byte) (string, error) {
	module := ""
	for d := json.NewDecoder(bytes.NewReader(messages)); d.More(); {
		var message struct {
			Filenames []string `json:"filenames"`
		}
		if err := d.Decode(&message); err != nil {
			return "", fmt.Errorf("cargo's messages cannot be read: %w", err)
		}
		for _, name := range message.Filenames {
			if filepath.Ext(name) == ".wasm" {
				module = name
			}
		}
	}
	if module == "" {
		return "", errors.New("cargo made no .wasm file")
	}
	return module, nil
}

// assemblyScriptBuild takes the compiler and the options that the folder has
// itself; without an asconfig.json the options are those of a small skill: no
// garbage collector, since memory lasts for one call only.
func assemblyScriptBuild(ctx context.Context, l language, dir, module string, _ Describer) error {
	compiler := filepath.Join("node_modules", "assemblyscript", "bin", "asc.js")
	if _, err := os.Stat(filepath.Join(dir, compiler)); err != nil {
		return host.Fail("build", abi.NewProblem(abi.Unavailable, "%s has no AssemblyScript compiler in its node_modules", dir).WithHint("%s", l.needs), nil)
	}
	args := []string{compiler, filepath.Join("assembly", "index.ts"), "--outFile", module}
	if _, err := os.Stat(filepath.Join(dir, "asconfig.json")); errors.Is(err, fs.ErrNotExist) {
		args = append(args, "--optimize", "--runtime", "stub", "--use", "abort=")
	}
	return l.compile(exec.CommandContext(ctx, "node", args...), dir)
}

// cBuild compiles all files of the folder as one reactor over wasi-libc. The
// stack comes first in memory, so that one that overflows traps and does not
// run into the data.
func cBuild(ctx context.Context, l language, dir, module string, _ Describer) error {
	args := []string{"--target=wasm32-wasi", "-mexec-model=reactor", "-O2", "-mbulk-memory", "-Wall", "-Wextra", "-Wl,--strip-all", "-Wl,--stack-first", "-o", module}
	for _, name := range sources(dir, l.mark) {
		args = append(args, "./"+name) // a file whose name begins with - is no option
	}
	return l.compile(exec.CommandContext(ctx, "clang", args...), dir)
}

// compile runs a compiler in a skill's folder. What it says is the problem's
// message where it fails.
func (l language) compile(build *exec.Cmd, dir string) error {
	var said bytes.Buffer
	build.Dir = dir
	build.Stderr = &said
	if build.Stdout == nil {
		build.Stdout = &said
	}
	err := build.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return host.Fail("build", abi.NewProblem(abi.Unavailable, "%s was not found, which compiles %s", build.Args[0], l.name).WithHint("%s", l.needs), nil)
	}
	if err != nil {
		return host.Fail("build", abi.NewProblem(abi.BadArguments, "%s does not build:\n%s", dir, strings.TrimSpace(said.String())).
			WithHint("correct the source; if a tool or a library is missing, %s", l.needs), nil)
	}
	return nil
}
