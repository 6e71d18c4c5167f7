package toolchain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// folder makes a folder with files, by their names and what they hold.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, filepath.FromSlash(files[i]))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAFolderTellsItsLanguage(t *testing.T) {
	for _, tt := range []struct {
		files []string
		want  string
		code  abi.Code
	}{
		{[]string{"main.go", ""}, "Go", 0},
		{[]string{"Cargo.toml", "", "src/lib.rs", ""}, "Rust", 0},
		{[]string{"assembly/index.ts", "", "package.json", "{}"}, "AssemblyScript", 0},
		{[]string{"a.c", "", "b.c", "", "b.h", ""}, "C", 0},
		{[]string{"a.c", "", "Cargo.toml", ""}, "", abi.BadArguments},
		{[]string{"index.ts", "", "lib.rs", "", "Makefile", "", "build.sh", ""}, "", abi.NotFound},
		{[]string{"deeper/main.go", ""}, "", abi.NotFound},
		{nil, "", abi.NotFound},
	} {
		l, err := languageOf(folder(t, tt.files...))
		if l.name != tt.want || (err != nil) != (tt.code != 0) || err != nil && host.ProblemOf(err).Code != tt.code {
			t.Errorf("%v: %q, %v", tt.files, l.name, err)
		}
	}
	if _, err := languageOf(filepath.Join(t.TempDir(), "not there [")); host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("a folder that is not there gives %v", err)
	}
}

func TestAMissingCompilerIsToldWithWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, tt := range []struct {
		files []string
		hint  string
	}{
		{[]string{"main.go", ""}, "Go 1.26"},
		{[]string{"Cargo.toml", ""}, "libstd-rust-dev-wasm32"},
		{[]string{"assembly/index.ts", "", "node_modules/assemblyscript/bin/asc.js", ""}, "Node 20"},
		{[]string{"assembly/index.ts", ""}, "npm ci --ignore-scripts"},
		{[]string{"a.c", ""}, "libclang-rt-dev-wasm32"},
	} {
		dir := folder(t, tt.files...)
		l, err := languageOf(dir)
		if err != nil {
			t.Fatal(err)
		}
		p := host.ProblemOf(l.build(t.Context(), l, dir, filepath.Join(dir, ModuleFile), nil))
		if p == nil || p.Code != abi.Unavailable || !strings.Contains(p.Hint, tt.hint) {
			t.Errorf("%s: %v", l.name, p)
		}
	}
}

// Where one Rust comes first that does not have the target, such as another
// installer's, the next one is taken.
func TestTheFirstRustWithTheTargetIsTaken(t *testing.T) {
	lib := folder(t, "libcore-1.rlib", "")
	without := folder(t, "cargo", "#!/bin/sh\n", "rustc", "#!/bin/sh\necho /nowhere\n")
	broken := folder(t, "cargo", "#!/bin/sh\n", "rustc", "#!/bin/sh\nexit 1\n")
	alone := folder(t, "rustc", "#!/bin/sh\necho "+lib+"\n")
	good := folder(t, "cargo", "#!/bin/sh\n", "rustc", "#!/bin/sh\necho "+lib+"\n")
	rust := languages()[1]

	t.Setenv("PATH", strings.Join([]string{without, without, broken, alone, good}, string(filepath.ListSeparator)))
	cargo, rustc, err := rustTools(t.Context(), rust, t.TempDir())
	if err != nil || cargo != filepath.Join(good, "cargo") || rustc != filepath.Join(good, "rustc") {
		t.Errorf("chosen are %s and %s, %v; want those in %s", cargo, rustc, err, good)
	}
	t.Setenv("PATH", without+string(filepath.ListSeparator)+broken)
	if _, _, err := rustTools(t.Context(), rust, t.TempDir()); err == nil || !strings.Contains(err.Error(), without) || !strings.Contains(err.Error(), broken) {
		t.Errorf("without a target: %v; want to be told which were tried", err)
	}
}

func TestTheModuleIsInCargosMessages(t *testing.T) {
	const made = `{"reason":"compiler-artifact","filenames":["/t/libserde.rlib"]}` + "\n" +
		`{"reason":"compiler-artifact","filenames":["/t/reserve.wasm"]}` + "\n" + `{"reason":"build-finished","success":true}` + "\n"
	if got, err := rustModule([]byte(made)); err != nil || got != "/t/reserve.wasm" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, messages := range []string{"", "{}\n", "not JSON", `{"filenames":["/t/lib.rlib"]}`} {
		if got, err := rustModule([]byte(messages)); err == nil {
			t.Errorf("%q gives %q", messages, got)
		}
	}
}

// A file's name is never an option of the compiler.
func TestNamesOfSourcesAreNoOptions(t *testing.T) {
	dir := folder(t, "--version.c", `__attribute__((export_name("f"))) int f(void) { return 1; }`)
	module := filepath.Join(dir, "out.wasm")
	l, err := languageOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.build(t.Context(), l, dir, module, nil); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(module); err != nil || !strings.HasPrefix(string(b), "\x00asm") {
		t.Errorf("the module is %.20q, %v", b, err)
	}
}

func TestWhatACompilerSaysIsTold(t *testing.T) {
	dir := folder(t, "a.c", "int f(void) { return nonsense; }")
	l, err := languageOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := host.ProblemOf(l.build(t.Context(), l, dir, filepath.Join(dir, ModuleFile), nil))
	if p == nil || p.Code != abi.BadArguments || !strings.Contains(p.Message, "nonsense") || !strings.Contains(p.Hint, "correct the source") {
		t.Errorf("got %v", p)
	}
}
