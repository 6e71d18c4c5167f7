package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/goskill"
)

// A language is one that a skill can be written in. A folder holds one skill in
// one language, which its files tell.
type language struct {
	name   string
	mark   string   // what a folder of it has, as a pattern of file names
	needs  string   // what compiles it, for somebody who lacks it
	advice []advice // the first that fits counts
	build  func(ctx context.Context, l language, dir, module string, ask Describer) error
}

// languages gives what is compiled. Only compilers run, with the arguments that are
// written here: no Makefile, and no script of a package. Nothing is downloaded, but
// for what the go command fetches of the modules that go.mod and go.sum name.
func languages() []language {
	return []language{
		{"Go", "*.go", "install Go 1.26 or newer and put it on the PATH", goAdvice(), goBuild},
		{"Rust", "Cargo.toml", "install cargo and rustc with the target " + RustTarget +
			" (Debian: cargo rustc libstd-rust-dev-wasm32; rustup: rustup target add " + RustTarget + "); fetch crates first, the build is offline", rustAdvice(), rustBuild},
		{"AssemblyScript", filepath.Join("assembly", "index.ts"), "install Node 20 or newer, and run `npm ci --ignore-scripts` in the skill's folder", assemblyScriptAdvice(), assemblyScriptBuild},
		{"C", "*.c", "install clang, lld, wasi-libc and compiler-rt for wasm32 (Debian: clang lld wasi-libc libclang-rt-dev-wasm32)", cAdvice(), cBuild},
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
	run := func(c *exec.Cmd) error { return l.compile(ctx, c, dir) }
	return goskill.Compile(ctx, goskill.Skill{Dir: dir, Run: run, Describe: ask}, module)
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
	return l.compile(ctx, exec.CommandContext(ctx, "node", args...), dir)
}

// cBuild compiles all files of the folder as one reactor over wasi-libc. The
// stack comes first in memory, so that one that overflows traps and does not
// run into the data.
func cBuild(ctx context.Context, l language, dir, module string, _ Describer) error {
	args := []string{"--target=wasm32-wasi", "-mexec-model=reactor", "-O2", "-mbulk-memory", "-Wall", "-Wextra", "-Werror=date-time", "-Wl,--strip-all", "-Wl,--stack-first", "-o", module}
	for _, name := range sources(dir, l.mark) {
		args = append(args, "./"+name) // a file whose name begins with - is no option
	}
	return l.compile(ctx, exec.CommandContext(ctx, "clang", args...), dir)
}
