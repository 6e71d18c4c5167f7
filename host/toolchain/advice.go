package toolchain

import (
	"regexp"

	"github.com/sluicehq/sluice/abi"
)

// An advice is what an author does about something that a compiler says. Compilers
// speak of the compiler; an author wants to know which file, flag or version.
type advice struct {
	code abi.Code // abi.Unavailable if the machine lacks something, else abi.BadArguments
	says string   // a regular expression for the compiler's words
	do   string   // with $1 for the first group of it
}

// advise gives the first advice for what a compiler said.
func (l language) advise(said string) (abi.Code, string) {
	for _, a := range l.advice {
		pattern := regexp.MustCompile(a.says)
		if at := pattern.FindStringSubmatchIndex(said); at != nil {
			return a.code, string(pattern.ExpandString(nil, a.do, said, at))
		}
	}
	return abi.BadArguments, "correct the source; if a tool or a library is missing, " + l.needs
}

func goAdvice() []advice {
	return []advice{
		{abi.Unavailable, `requires go >= (\S+) \(running go ([0-9.a-z]+)`, "Go $2 is too old: install Go $1 or newer, or leave GOTOOLCHAIN=auto where it can be fetched"},
		{abi.Unavailable, `-buildmode=c-shared not supported on wasip1/wasm`, "this Go is older than 1.24, the first that makes such modules: install Go 1.26 or newer"},
		{abi.Unavailable, `cannot find GOROOT directory: (\S+)`, "unset GOROOT, which names $1, or point it at a Go 1.26"},
		{abi.BadArguments, `go\.mod file not found`, "run `go mod init` in the skill's folder, or begin with `sluice skill new`"},
		{abi.BadArguments, `requires exactly one main package`, "begin the skill's files with `package main`"},
		{abi.BadArguments, `function main is undeclared`, "add `func main() {}`, which never runs"},
		{abi.BadArguments, `replacement directory (\S+) does not exist`, "the SDK is missing: commit $1 with the skill, or lay it again with `sluice skill new` in an empty folder"},
		{abi.BadArguments, `no required module provides package ([^\s;]+)`, "run `go get $1` in the skill's folder, and commit go.mod and go.sum"},
		{abi.BadArguments, `missing go\.sum entry`, "run `go mod tidy` in the skill's folder, and commit go.sum"},
		{abi.Unavailable, `module lookup disabled by GOPROXY=off`, "run `go mod download` in the skill's folder where modules can be fetched"},
		{abi.BadArguments, `build constraints exclude all Go files`, "a skill is compiled without cgo, for GOOS=wasip1 and GOARCH=wasm: take import \"C\" and other systems' build tags out"},
	}
}

func rustAdvice() []advice {
	return []advice{
		{abi.Unavailable, "can't find crate for `(?:std|core)`", "run `rustup target add " + RustTarget + "` (Debian: libstd-rust-dev-wasm32)"},
		{abi.Unavailable, `failed to read root of directory source: (\S+)`, "install the crates that .cargo/config.toml expects in $1 (Debian: librust-serde-json-dev), or take [source] out of it and run `cargo fetch`"},
		{abi.Unavailable, "no matching package named `([^`]+)` found", "the build fetches nothing: run `cargo fetch` in the skill's folder first (Debian's crates: librust-NAME-dev for $1)"},
		{abi.Unavailable, "older than the `(\\d+)` edition", `this cargo is too old for edition $1: install a newer Rust, or write edition = "2021" in Cargo.toml`},
		{abi.Unavailable, "lock file version `?(\\d+)`? was found", "this cargo is too old for Cargo.lock of version $1: install a newer Rust, or delete Cargo.lock"},
		{abi.Unavailable, `requires rustc (\S+) or newer`, "install Rust $1 or newer, or lower rust-version in Cargo.toml"},
		{abi.Unavailable, "linker `([^`]+)` not found", "install lld, or take linker out of .cargo/config.toml"},
		{abi.BadArguments, `--shared-memory is disallowed`, "skills have one thread: take +atomics and --shared-memory out of rustflags in .cargo/config.toml"},
		{abi.BadArguments, `no library targets found`, "put the skill into src/lib.rs, with crate-type = [\"cdylib\"] below [lib] in Cargo.toml"},
	}
}

func assemblyScriptAdvice() []advice {
	return []advice{
		{abi.BadArguments, `Feature '(threads|relaxed-simd|gc|stringref)' is not enabled`, "do without $1, which no host of skills runs; enabling it in asconfig.json does not help"},
		{abi.BadArguments, `Feature '([a-z0-9-]+)' is not enabled`, `add "enable": ["$1"] to the options in asconfig.json`},
		{abi.BadArguments, `File '~lib/(@[^/']+/[^/']+|[^/']+)[^']*' not found`, "run `npm install --save-dev --ignore-scripts $1` in the skill's folder, and commit package-lock.json"},
	}
}

func cAdvice() []advice {
	return []advice{
		{abi.Unavailable, `Executable "(wasm-ld[^"]*)" doesn't exist`, "install lld, of the version of clang (Debian: lld), which brings $1"},
		{abi.Unavailable, `libclang_rt\.builtins-wasm32\.a`, "install compiler-rt for wasm32, of the version of clang (Debian: libclang-rt-dev-wasm32)"},
		{abi.Unavailable, `cannot open crt1-reactor\.o|unable to find library -lc`, "install wasi-libc (Debian: wasi-libc), or put the bin folder of a wasi-sdk first on the PATH"},
		{abi.BadArguments, `'(?:bits/)?(setjmp|pthread|threads|sys/socket|sys/wait)\.h' file not found`, "do without $1.h: a skill has one thread, no exceptions, no processes and no sockets"},
		{abi.Unavailable, `'((?:bits|sys)/\w+|assert|ctype|errno|inttypes|limits|locale|math|stdio|stdlib|string|time|wchar)\.h' file not found`, "install wasi-libc, which has $1.h (Debian: wasi-libc), or put the bin folder of a wasi-sdk first on the PATH"},
		{abi.BadArguments, `error: (?:expansion of date or time macro|.*-Wdate-time)`, "take __DATE__, __TIME__ and __TIMESTAMP__ out: the same source gives the same module"},
		{abi.BadArguments, `undefined symbol: (\S+)`, "define $1; a function of the host is declared with import_module and import_name, as in sluice.h, and wasi-libc has no threads, processes and sockets"},
		{abi.Unavailable, `unknown target triple|No available targets are compatible`, "this clang is without WebAssembly: install LLVM's, or put the bin folder of a wasi-sdk first on the PATH"},
	}
}
