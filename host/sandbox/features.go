package sandbox

import (
	"fmt"
	"strings"
)

// A feature is a part of WebAssembly that this host does not run, with what a
// skill's author does about it.
type feature struct {
	name   string
	remedy string
	signs  []string // parts of the engine's messages by which it is known
}

func refusedFeatures() []feature {
	return []feature{
		{"threads", "build without shared memory (clang: drop -pthread and -matomics; Rust: -C target-feature=-atomics)",
			[]string{`"threads"`, "threads feature", "atomic"}},
		{"tail calls", "clang: -mno-tail-call; Rust: -C target-feature=-tail-call",
			[]string{`"tail-call"`, "return_call"}},
		{"exception handling", "clang: -fno-exceptions without -fwasm-exceptions; Rust: -C panic=abort",
			[]string{`"exception-handling"`, "try_table", "throw"}},
		{"extended constant expressions", "clang: -mno-extended-const; Rust: -C target-feature=-extended-const",
			[]string{"extended-const"}},
		{"typed function references", "build for WebAssembly 2.0, without function references",
			[]string{`"typed-function-references"`, "call_ref"}},
		{"64-bit memory", "build for wasm32 instead of wasm64", []string{"memory64"}},
		{"several memories", "clang: -mno-multimemory; link into one memory", []string{"multiple memories", "at most one memory"}},
		{"garbage collected types", "use a toolchain that brings its own memory management; Kotlin, Dart and Java for WebAssembly GC do not run here", nil},
		{"custom page sizes", "build with pages of 64 KiB", nil},
	}
}

// needs says that a module needs a feature that this host does not run.
func needs(name string) error {
	for _, f := range refusedFeatures() {
		if f.name == name {
			return fmt.Errorf("it needs %s, which this host does not run; %s", f.name, f.remedy)
		}
	}
	panic("BUG: no feature is called " + name)
}

// explain gives the engine's reason for refusing a module in words that help
// its author, and the engine's own words where no better ones are known.
func explain(engine error) error {
	text, _, _ := strings.Cut(engine.Error(), "\n")
	for _, f := range refusedFeatures() {
		for _, sign := range f.signs {
			if strings.Contains(text, sign) {
				return fmt.Errorf("%w (%s)", needs(f.name), text)
			}
		}
	}
	return fmt.Errorf("%s", text)
}
