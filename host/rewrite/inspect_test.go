package rewrite_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/rewrite"
)

func TestRefusedFeaturesAreNamedWithTheFlagThatMakesThem(t *testing.T) {
	code := func(bytes ...byte) []byte {
		return forever(func(b *builder) uint32 { return b.function(nil, nil, nil, bytes) })
	}
	header := "\x00asm\x01\x00\x00\x00"
	for _, tt := range []struct {
		name    string
		wasm    []byte
		feature string
		hint    string
	}{
		{"atomic access", code(0xfe, 0x10, 2, 0), "threads", "atomics"},
		{"shared memory", []byte(header + "\x05\x04\x01\x03\x01\x02"), "threads", "-pthread"},
		{"return_call", code(0x12, 0), "tail calls", "-mno-tail-call"},
		{"return_call_indirect", code(0x13, 0, 0), "tail calls", "-mno-tail-call"},
		{"try", code(0x06, 0x40, 0x0b), "exception handling", "-fno-exceptions"},
		{"try_table", code(0x1f, 0x40, 0, 0x0b), "exception handling", "-fno-exceptions"},
		{"throw", code(0x08, 0), "exception handling", "panic=abort"},
		{"tag section", []byte(header + "\x0d\x03\x01\x00\x00"), "exception handling", "-fno-exceptions"},
		{"call_ref", code(0x14, 0), "typed function references", "2.0"},
		{"reference to a type", []byte(header + "\x01\x06\x01\x60\x01\x64\x00\x00"), "typed function references", "2.0"},
		{"struct.new", code(0xfb, 0, 0), "garbage collected types", "Kotlin"},
		{"struct type", []byte(header + "\x01\x04\x01\x5f\x00\x00"), "garbage collected types", "Kotlin"},
		{"anyref", []byte(header + "\x01\x05\x01\x60\x01\x6e\x00"), "garbage collected types", "Kotlin"},
		{"64-bit memory", []byte(header + "\x05\x03\x01\x04\x01"), "64-bit memory", "wasm32"},
		{"custom page size", []byte(header + "\x05\x04\x01\x08\x01\x00"), "custom page sizes", "64 KiB"},
		{"two memories", []byte(header + "\x05\x05\x02\x00\x01\x00\x01"), "several memories", "one memory"},
		{"access of a second memory", code(0x41, 0, 0x28, 0x42, 1, 0, 0x1a), "several memories", "one memory"},
		{"relaxed SIMD", code(0xfd, 0x80, 2), "relaxed SIMD", "-mno-relaxed-simd"},
		{"string.const", code(0xfb, 0x82, 1, 0), "string references", "stringref"},
		{"wide arithmetic", code(0xfc, 19), "wide arithmetic", "-mno-wide-arithmetic"},
		{"stack switching", code(0xe0, 0), "stack switching", "continuations"},
		{"extended constants", []byte(header + "\x06\x09\x01\x7f\x00\x41\x01\x41\x02\x6a\x0b"), "extended constant expressions", "-mno-extended-const"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), "the component model", "wasm32-wasip1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := rewrite.Inspect(tt.wasm)
			var p *abi.Problem
			if !errors.As(err, &p) || p.Code != abi.CorruptModule || !strings.Contains(p.Message, "needs "+tt.feature) || !strings.Contains(p.Hint, tt.hint) {
				t.Errorf("got %v", err)
			}
			if tt.name != "component" && p != nil && !strings.Contains(p.Message, "section, byte ") {
				t.Errorf("%q does not say where", p.Message)
			}
		})
	}
}

func TestClaimsAreRefusedBeforeAnythingIsAllocated(t *testing.T) {
	header := "\x00asm\x01\x00\x00\x00"
	const huge = "\xff\xff\xff\xff\x0f" // 2^32-1
	for _, tt := range []struct{ name, wasm, want string }{
		{"not WebAssembly", "<html>", "not WebAssembly"},
		{"cut in a section", header + "\x01\x7f\x01", "ends in the middle"},
		{"huge section", header + "\x01" + huge, "ends in the middle"},
		{"huge count of types", header + "\x01\x05" + huge, "at most 100000"},
		{"more types than bytes", header + "\x01\x03\xff\xff\x05", "claims 98303 types in 0 bytes"},
		{"huge locals", header + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x0a\x01\x08\x01" + huge + "\x7f\x0b", "at most 50000"},
		{"huge br_table", header + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x0b\x01\x09\x00\x0e" + huge + "\x00\x0b", "at most 65520"},
		{"huge name", header + "\x02\x06\x01" + huge, "at most 100000"},
		{"number of six bytes", header + "\x01\x06\x80\x80\x80\x80\x80\x00", "larger than 32 bits"},
		{"sections out of order", header + "\x03\x01\x00\x01\x01\x00", "too late"},
		{"section twice", header + "\x01\x01\x00\x01\x01\x00", "twice"},
		{"unknown section", header + "\x20\x00", "not a section"},
		{"bytes behind a list", header + "\x01\x02\x00\x00", "1 bytes too many"},
		{"functions without code", header + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00", "0 functions, 1 are declared"},
		{"code without functions", header + "\x0a\x04\x01\x02\x00\x0b", "1 functions, 0 are declared"},
		{"name that is no text", header + "\x00\x03\x02\xff\xfe", "not UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := rewrite.Inspect([]byte(tt.wasm)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestBlocksNestNoDeeperThanTheirLimit(t *testing.T) {
	deep := func(n int) []byte {
		open := strings.Repeat("\x02\x40", n)
		return forever(func(b *builder) uint32 {
			return b.function(nil, nil, nil, []byte(open+strings.Repeat("\x0b", n)))
		})
	}
	if _, err := rewrite.Meter(deep(49_000), rewrite.MeterOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := rewrite.Inspect(deep(51_000)); err == nil || !strings.Contains(err.Error(), "50000 deep") {
		t.Errorf("got %v", err)
	}
}

// TestEveryPartOfAModuleIsRefusedOrRead cuts modules everywhere and changes
// every byte of them.
func TestEveryPartOfAModuleIsRefusedOrRead(t *testing.T) {
	for _, wasm := range [][]byte{warm(true), generate([]byte("some choices that make a module of some size"))} {
		for n := range wasm {
			if _, err := rewrite.Inspect(wasm[:n]); n < 8 && err == nil {
				t.Errorf("the first %d bytes are accepted", n)
			}
			for _, change := range []byte{0, 0x7f, 0x80, 0xff, wasm[n] + 1, wasm[n] ^ 0x40} {
				other := slices.Clone(wasm)
				other[n] = change
				rewrite.Inspect(other)
				rewrite.Meter(other, rewrite.MeterOptions{})
				rewrite.Freeze(other, rewrite.Image{Memory: make([]byte, 1<<16), Globals: make([]uint64, 4)})
			}
		}
	}
}

func TestInspectTellsWhatAModuleIs(t *testing.T) {
	info, err := rewrite.Inspect(warm(true))
	if err != nil {
		t.Fatal(err)
	}
	if info.Functions != 3 || info.Mutable != 4 || info.Globals != 5 || info.Data != 2 || !info.Start || info.Unfreezable != nil {
		t.Errorf("got %+v", info)
	}
	if info.Memory == nil || info.Memory.Least != 1 || info.Memory.Most != 16 || !info.Memory.Bounded {
		t.Errorf("memory: %+v", info.Memory)
	}
	if want := []string{"bulk-memory"}; !slices.Equal(info.Features, want) {
		t.Errorf("features: %v, want %v", info.Features, want)
	}
	if e := info.Exports[0]; e.Name != "run" || e.Type != "() -> i32" {
		t.Errorf("first export: %+v", e)
	}
	names := ""
	for _, s := range info.Sections {
		names += s.Name + " "
	}
	if want := "type function memory global export start data count code data "; names != want {
		t.Errorf("sections: %swant %s", names, want)
	}
}
