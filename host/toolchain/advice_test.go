package toolchain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// What compilers said on machines that are not like this one.
func TestWhatCompilersSaidElsewhereIsToldInTheAuthorsWords(t *testing.T) {
	for _, tt := range []struct {
		language, said string
		code           abi.Code
		hint           string
	}{
		{"Go", "-buildmode=c-shared not supported on wasip1/wasm", abi.Unavailable, "older than 1.24"},
		{"Rust", "error[E0463]: can't find crate for `std`\n  |\n  = note: the `wasm32-unknown-unknown` target may not be installed", abi.Unavailable, "rustup target add wasm32-unknown-unknown"},
		{"Rust", "error: failed to parse manifest at `/x/Cargo.toml`\n\nCaused by:\n  failed to parse the `edition` key\n\nCaused by:\n  this version of Cargo is older than the `2024` edition, and only supports `2015`, `2018`, and `2021` editions.", abi.Unavailable, `edition = "2021"`},
		{"Rust", "error: failed to parse lock file at: /x/Cargo.lock\n\nCaused by:\n  lock file version `4` was found, but this version of Cargo does not understand this lock file, perhaps Cargo needs to be updated?", abi.Unavailable, "Cargo.lock of version 4"},
		{"Rust", "error: package `x v1.0.0 (/x)` cannot be built because it requires rustc 1.90 or newer, while the currently active rustc version is 1.63.0", abi.Unavailable, "install Rust 1.90"},
		{"C", "clang: error: unable to execute command: Executable \"wasm-ld-14\" doesn't exist!\nclang: error: linker command failed with exit code 1 (use -v to see invocation)", abi.Unavailable, "install lld"},
		{"C", "str.c:1:10: fatal error: 'string.h' file not found\n#include <string.h>\n         ^~~~~~~~~~\n1 error generated.", abi.Unavailable, "install wasi-libc, which has string.h"},
		{"C", "wasm-ld-14: error: cannot open crt1-reactor.o: No such file or directory\nwasm-ld-14: error: unable to find library -lc", abi.Unavailable, "wasi-sdk first on the PATH"},
		{"C", "wasm-ld-14: error: cannot open /nonexistent/lib/wasi/libclang_rt.builtins-wasm32.a: No such file or directory", abi.Unavailable, "libclang-rt-dev-wasm32"},
	} {
		l := languageNamed(t, tt.language)
		if code, hint := l.advise(tt.said); code != tt.code || !strings.Contains(hint, tt.hint) {
			t.Errorf("%s: %.60q gives %d %q, want %d and %q", tt.language, tt.said, code, hint, tt.code, tt.hint)
		}
	}
}

func languageNamed(t *testing.T, name string) language {
	t.Helper()
	for _, l := range languages() {
		if l.name == name {
			return l
		}
	}
	t.Fatalf("there is no language %s", name)
	return language{}
}

const (
	goMod     = "module example.com/x\n\ngo 1.26\n"
	goMain    = "package main\n\nfunc main() {}\n"
	cargoToml = "[package]\nname = \"x\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\n[lib]\ncrate-type = [\"cdylib\"]\n"
	rustOne   = "#[no_mangle] pub extern \"C\" fn f() -> i32 { 1 }\n"
	rustFlag  = "[target.wasm32-unknown-unknown]\nrustflags = [%s]\n"
	cOne      = "int f(void) { return 1; }\n"
)

// The mistakes are made, and the compilers of this machine speak.
func TestWhatCompilersSayIsToldInTheAuthorsWords(t *testing.T) {
	for name, tt := range map[string]struct {
		files []string
		env   string // NAME=value
		code  abi.Code
		hint  string
	}{
		"go: a newer Go":        {[]string{"go.mod", "module example.com/x\n\ngo 1.99.0\n", "a.go", goMain}, "GOTOOLCHAIN=local", abi.Unavailable, "install Go 1.99.0"},
		"go: a wrong GOROOT":    {[]string{"go.mod", goMod, "a.go", goMain}, "GOROOT=/nonexistent", abi.Unavailable, "unset GOROOT, which names /nonexistent"},
		"go: no go.mod":         {[]string{"a.go", goMain}, "", abi.BadArguments, "go mod init"},
		"go: a library":         {[]string{"go.mod", goMod, "a.go", "package notes\n"}, "", abi.BadArguments, "package main"},
		"go: no main":           {[]string{"go.mod", goMod, "a.go", "package main\n"}, "", abi.BadArguments, "func main() {}"},
		"go: an unknown module": {[]string{"go.mod", goMod, "a.go", "package main\n\nimport _ \"example.com/y\"\n\nfunc main() {}\n"}, "GOPROXY=off", abi.BadArguments, "go get example.com/y"},
		"go: no sum":            {[]string{"go.mod", goMod + "require golang.org/x/mod v0.43.0\n", "a.go", "package main\n\nimport _ \"golang.org/x/mod/semver\"\n\nfunc main() {}\n"}, "GOPROXY=off", abi.BadArguments, "go mod tidy"},
		"go: no SDK":            {[]string{"go.mod", goMod + "require example.com/y v0.0.0\nreplace example.com/y => ./sluice\n", "a.go", "package main\n\nimport _ \"example.com/y\"\n\nfunc main() {}\n"}, "GOPROXY=off", abi.BadArguments, "commit ./sluice"},
		"go: cgo":               {[]string{"go.mod", goMod, "a.go", "package main\n\nimport \"C\"\n\nfunc main() {}\n"}, "", abi.BadArguments, "without cgo"},
		"rust: no crate":        {[]string{"Cargo.toml", cargoToml + "\n[dependencies]\nserde_json = \"1\"\n", "src/lib.rs", rustOne}, "", abi.Unavailable, "cargo fetch"},
		"rust: no crates' folder": {[]string{"Cargo.toml", cargoToml + "\n[dependencies]\nserde_json = \"1\"\n", "src/lib.rs", rustOne,
			".cargo/config.toml", "[source.crates-io]\nreplace-with = \"debian\"\n[source.debian]\ndirectory = \"/nonexistent/registry\"\n"}, "", abi.Unavailable, "expects in /nonexistent/registry"},
		"rust: no linker":         {[]string{"Cargo.toml", cargoToml, "src/lib.rs", rustOne, ".cargo/config.toml", "[target.wasm32-unknown-unknown]\nlinker = \"no-such-lld\"\n"}, "", abi.Unavailable, "install lld"},
		"rust: a program":         {[]string{"Cargo.toml", "[package]\nname = \"x\"\nversion = \"1.0.0\"\nedition = \"2021\"\n", "src/main.rs", "fn main() {}\n"}, "", abi.BadArguments, "src/lib.rs"},
		"rust: shared memory":     {[]string{"Cargo.toml", cargoToml, "src/lib.rs", rustOne, ".cargo/config.toml", strings.Replace(rustFlag, "%s", `"-C", "target-feature=+atomics,+bulk-memory", "-C", "link-arg=--shared-memory", "-C", "link-arg=--max-memory=1048576"`, 1)}, "", abi.BadArguments, "take +atomics"},
		"rust: flags of [build]":  {[]string{"Cargo.toml", cargoToml, "src/lib.rs", rustOne, ".cargo/config.toml", "[build]\nrustflags = [\"-C\", \"opt-level=1\"]\n"}, "", abi.BadArguments, "[target.wasm32-unknown-unknown]"},
		"rust: a broken config":   {[]string{"Cargo.toml", cargoToml, "src/lib.rs", rustOne, ".cargo/config.toml", "[build\n"}, "", abi.BadArguments, "correct it as TOML"},
		"as: threads":             {[]string{"assembly/index.ts", "export function f(): i32 { return atomic.add<i32>(0, 1); }"}, "", abi.BadArguments, "do without threads"},
		"as: vectors":             {[]string{"assembly/index.ts", "export function f(): i32 { return i32x4.extract_lane(i32x4.splat(1), 0); }"}, "", abi.BadArguments, `"enable": ["simd"]`},
		"as: a missing package":   {[]string{"assembly/index.ts", "import { Host } from \"@some/pdk\"; export function f(): i32 { return Host.x; }"}, "", abi.BadArguments, "--ignore-scripts @some/pdk"},
		"c: threads":              {[]string{"a.c", "#include <setjmp.h>\n" + cOne}, "", abi.BadArguments, "do without setjmp.h"},
		"c: a function of nobody": {[]string{"a.c", "int fork(void); __attribute__((export_name(\"f\"))) int f(void) { return fork(); }"}, "", abi.BadArguments, "define fork"},
		"c: the time of a build":  {[]string{"a.c", "const char *f(void) { return __DATE__; }"}, "", abi.BadArguments, "take __DATE__"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, tt.files...)
			prepare(t, dir)
			if name, value, ok := strings.Cut(tt.env, "="); ok {
				t.Setenv(name, value)
			}
			p := host.ProblemOf(Compile(t.Context(), dir, filepath.Join(t.TempDir(), ModuleFile), nil))
			if p == nil || p.Code != tt.code || !strings.Contains(p.Hint, tt.hint) {
				t.Errorf("got %v, want %d and %q", p, tt.code, tt.hint)
			}
		})
	}
}

// prepare gives a folder the AssemblyScript compiler, and cargo folders of the test.
func prepare(t *testing.T, dir string) {
	t.Helper()
	t.Setenv("CARGO_HOME", t.TempDir())
	if _, err := os.Stat(filepath.Join(dir, "assembly")); err == nil {
		if err := os.Symlink(sandboxtest.Packages(t, "skills/polyglot/assemblyscript"), filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
}

// A part of WebAssembly that no host of skills runs is named, with what turns it
// off; what turns it off makes a module that is read.
func TestARefusedFeatureIsNamedWithWhatTurnsItOff(t *testing.T) {
	for name, tt := range map[string]struct {
		files   []string
		old     string // taken out of the last file, it turns the feature off
		feature string
		hint    string
	}{
		"c: threads":       {[]string{"a.c", `int n; __attribute__((target("atomics"), export_name("f"))) int f(int x) { return __sync_fetch_and_add(&n, x); }`}, `target("atomics"), `, "threads", `__attribute__((target("atomics")))`},
		"c: tail calls":    {[]string{"a.c", `__attribute__((noinline)) int g(int x) { return x + 1; } __attribute__((target("tail-call"), export_name("f"))) int f(int x) { return g(x); }`}, `target("tail-call"), `, "tail calls", `__attribute__((target("tail-call")))`},
		"rust: threads":    {[]string{"Cargo.toml", cargoToml, "src/lib.rs", "use std::sync::atomic::*; static N: AtomicI32 = AtomicI32::new(0);\n#[no_mangle] pub extern \"C\" fn f() -> i32 { N.fetch_add(1, Ordering::SeqCst) }\n", ".cargo/config.toml", strings.Replace(rustFlag, "%s", `"-C", "target-feature=+atomics"`, 1)}, `"-C", "target-feature=+atomics"`, "threads", "-C target-feature=-atomics"},
		"as: threads":      {[]string{"assembly/index.ts", "export function f(): i32 { return atomic.add<i32>(0, 1); }", "asconfig.json", `{"entries": ["assembly/index.ts"], "options": {"runtime": "stub", "enable": ["threads"]}}`}, `, "enable": ["threads"]`, "threads", "AssemblyScript: take threads out of enable"},
		"as: fast vectors": {[]string{"assembly/index.ts", "export function f(x: i32): i32 { let v = f32x4.splat(<f32>x); return i32x4.extract_lane(v128.relaxed_madd<f32>(v, v, v), 0); }", "asconfig.json", `{"entries": ["assembly/index.ts"], "options": {"runtime": "stub", "enable": ["simd", "relaxed-simd"]}}`}, `, "relaxed-simd"`, "relaxed SIMD", "AssemblyScript: take relaxed-simd out of enable"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, tt.files...)
			prepare(t, dir)
			b := Builder{Sandbox: sandboxtest.Shared(t)}
			_, err := b.Build(t.Context(), dir, t.TempDir())
			if p := host.ProblemOf(err); p == nil || p.Code != abi.CorruptModule || !strings.Contains(p.Message, "it needs "+tt.feature+",") || !strings.Contains(p.Hint, tt.hint) {
				t.Errorf("with it: %v, hint %q; want %s and %q", err, p.Hint, tt.feature, tt.hint)
			}
			last := filepath.Join(dir, filepath.FromSlash(tt.files[len(tt.files)-2]))
			if err := os.WriteFile(last, []byte(strings.Replace(tt.files[len(tt.files)-1], tt.old, "", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Build(t.Context(), dir, t.TempDir()); err == nil || strings.Contains(err.Error(), "it needs ") {
				t.Errorf("without it: %v; want to be told that it describes nothing", err)
			}
		})
	}
}

// The same source gives the same bytes in folders of other names and depths,
// though it speaks of its own file.
func TestEveryLanguageGivesTheSameModuleInAnyFolder(t *testing.T) {
	for name, files := range map[string][]string{
		"go":   {"go.mod", goMod, "a.go", "package main\n\nimport \"runtime\"\n\n//go:wasmexport f\nfunc f() int32 {\n\t_, file, _, _ := runtime.Caller(0)\n\treturn int32(len(file))\n}\n\nfunc main() {}\n"},
		"c":    {"a.c", "#include <string.h>\n__attribute__((export_name(\"f\"))) int f(void) { const char *volatile file = __FILE__; return strlen(file); }\n"},
		"rust": {"Cargo.toml", cargoToml, "src/lib.rs", "#[no_mangle] pub extern \"C\" fn f(x: usize) -> usize { let a = [1, 2, 3]; a[x] + file!().len() + env!(\"CARGO_MANIFEST_DIR\").len() * 0 }\n"},
		"as":   {"assembly/index.ts", "export function f(x: i32): i32 { assert(x > 0, \"x\"); return x; }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var modules []string
			for _, at := range []string{"one", filepath.Join("another", "and", "deeper")} {
				dir := filepath.Join(t.TempDir(), at)
				if err := os.CopyFS(dir, os.DirFS(folder(t, files...))); err != nil {
					t.Fatal(err)
				}
				prepare(t, dir)
				module := filepath.Join(t.TempDir(), ModuleFile)
				if err := Compile(t.Context(), dir, module, nil); err != nil {
					t.Fatal(err)
				}
				wasm, err := os.ReadFile(module)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(wasm), filepath.Dir(dir)) {
					t.Errorf("the module names the folder %s", dir)
				}
				modules = append(modules, host.Digest(wasm))
			}
			if modules[0] != modules[1] {
				t.Errorf("two folders give %q", modules)
			}
		})
	}
}
