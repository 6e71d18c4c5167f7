package rewrite

import (
	"maps"
	"slices"
)

// A feature is a part of WebAssembly that is refused, with what the author of
// a module does about it.
type feature struct{ name, remedy string }

// The refused features. What remains is WebAssembly 2.0.

func threads() feature {
	return feature{"threads", "build without shared memory (clang: drop -pthread and __attribute__((target(\"atomics\"))), add -mno-atomics; Rust: -C target-feature=-atomics; AssemblyScript: take threads out of enable in asconfig.json)"}
}

func tailCalls() feature {
	return feature{"tail calls", "clang: -mno-tail-call, without __attribute__((target(\"tail-call\"))); Rust: -C target-feature=-tail-call"}
}

func exceptions() feature {
	return feature{"exception handling", "clang: drop -fwasm-exceptions, add -fno-exceptions; Rust: -C panic=abort; AssemblyScript: drop --enable exception-handling"}
}

func extendedConstants() feature {
	return feature{"extended constant expressions", "clang: -mno-extended-const; Rust: -C target-feature=-extended-const"}
}

func functionReferences() feature {
	return feature{"typed function references", "build for WebAssembly 2.0, without typed function references"}
}

func garbageCollection() feature {
	return feature{"garbage collected types", "AssemblyScript: take gc out of enable in asconfig.json; else use a toolchain that brings its own memory management: Kotlin, Dart and Java for WebAssembly GC do not run here"}
}

func memory64() feature {
	return feature{"64-bit memory", "build for wasm32 instead of wasm64 (clang: --target=wasm32-wasi; AssemblyScript: drop --enable memory64)"}
}

func multiMemory() feature {
	return feature{"several memories", "clang: -mno-multimemory; link into one memory (wasm-merge and wasm-ld: without --enable-multimemory)"}
}

func customPages() feature {
	return feature{"custom page sizes", "build with pages of 64 KiB (wasm-ld: drop --page-size)"}
}

func relaxedSIMD() feature {
	return feature{"relaxed SIMD", "clang: -mno-relaxed-simd; Rust: -C target-feature=-relaxed-simd; AssemblyScript: take relaxed-simd out of enable in asconfig.json"}
}

func stringReferences() feature {
	return feature{"string references", "build without stringref and pass strings in memory (AssemblyScript: take stringref out of enable in asconfig.json)"}
}

func wideArithmetic() feature {
	return feature{"wide arithmetic", "clang: -mno-wide-arithmetic; Rust: -C target-feature=-wide-arithmetic"}
}

func stackSwitching() feature {
	return feature{"stack switching", "build without continuations (drop --enable-stack-switching)"}
}

func components() feature {
	return feature{"the component model", "build a core module (Rust: --target wasm32-wasip1; Go: GOOS=wasip1; TinyGo: -target=wasip1)"}
}

// typeFeature tells which feature makes a value type that is not of
// WebAssembly 2.0.
func typeFeature(t byte) (feature, bool) {
	switch t {
	case 0x63, 0x64: // (ref null ht), (ref ht)
		return functionReferences(), true
	case 0x69, 0x74: // exnref, noexnref
		return exceptions(), true
	case 0x68, 0x75: // contref, nocontref
		return stackSwitching(), true
	case 0x67, 0x66, 0x62, 0x61: // stringref and its views
		return stringReferences(), true
	case 0x65, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x71, 0x72, 0x73, 0x77, 0x78:
		return garbageCollection(), true
	}
	return feature{}, false
}

// opFeature tells which feature makes an instruction that is not of
// WebAssembly 2.0; sub is what follows a prefix.
func opFeature(op byte, sub uint32) (feature, bool) {
	switch {
	case op >= 0x06 && op <= 0x0a, op == 0x18, op == 0x19, op == 0x1f:
		return exceptions(), true
	case op == 0x12, op == 0x13:
		return tailCalls(), true
	case op == 0x14, op == 0x15, op >= 0xd4 && op <= 0xd6:
		return functionReferences(), true
	case op == 0xd3:
		return garbageCollection(), true
	case op >= 0xe0 && op <= 0xe6:
		return stackSwitching(), true
	case op == 0xfb && sub >= 0x80:
		return stringReferences(), true
	case op == 0xfb:
		return garbageCollection(), true
	case op == 0xfc && sub >= 19 && sub <= 22:
		return wideArithmetic(), true
	case op == 0xfd && sub >= 0x100:
		return relaxedSIMD(), true
	case op == 0xfe:
		return threads(), true
	}
	return feature{}, false
}

// The names of what WebAssembly 2.0 added to 1.0, as toolchains call them.
const (
	featureMultiValue = "multi-value"
	featureSignExt    = "sign-extension"
	featureSaturating = "nontrapping-fptoint"
	featureBulk       = "bulk-memory"
	featureReferences = "reference-types"
	featureSIMD       = "simd128"
	featureGlobals    = "mutable-globals"
)

// featureOf names the feature that an instruction is of, "" for WebAssembly 1.0.
func (m *module) featureOf(in *instruction) string {
	switch op := in.op; {
	case op >= 0xc0 && op <= 0xc4:
		return featureSignExt
	case op>>8 == prefixVector:
		return featureSIMD
	case op == opTableGet, op == opTableSet, op == opTableGrow, op == opTableSize, op == opTableFill,
		op == opRefNull, op == opRefFunc, op == 0xd1, op == 0x1c, op == opCallIndirect && in.y > 0:
		return featureReferences
	case op>>8 == prefixBulk && op&0xff <= 7:
		return featureSaturating
	case op>>8 == prefixBulk:
		return featureBulk
	case op == opBlock, op == opLoop, op == opIf:
		if params, results := m.blockType(in.block); params > 0 || results > 1 {
			return featureMultiValue
		}
	}
	return ""
}

// features adds what a module's declarations use and sorts all names.
func (m *module) features(seen map[string]bool) []string {
	for _, t := range m.types {
		if len(t.results) > 1 {
			seen[featureMultiValue] = true
		}
	}
	for _, im := range m.imports {
		if im.kind == kindGlobal && m.globals[im.index].mutable {
			seen[featureGlobals] = true
		}
	}
	for _, e := range m.exports {
		if e.kind == kindGlobal && m.globals[e.index].mutable {
			seen[featureGlobals] = true
		}
	}
	if len(m.tables) > 1 {
		seen[featureReferences] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
