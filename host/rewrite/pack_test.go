package rewrite_test

import (
	"bytes"
	"testing"

	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// memoryAtStart gives the memory of an instance before anything but its start
// function has run.
func memoryAtStart(t *testing.T, wasm []byte) []byte {
	t.Helper()
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { r.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	m, err := r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	memory := m.ExportedMemory("memory")
	b, _ := memory.Read(0, memory.Size())
	return bytes.Clone(b)
}

func TestAPackedModuleOfGoIsSmallerAndBeginsWithTheSameMemory(t *testing.T) {
	wasm := goGuest(t)
	packed, err := rewrite.Pack(wasm)
	if err != nil {
		t.Fatal(err)
	}
	if saved := len(wasm) - len(packed); saved < 150_000 {
		t.Errorf("%d of %d bytes are saved, want 150,000 at least: the form of Go's table may have changed", saved, len(wasm))
	}
	if !bytes.Equal(memoryAtStart(t, packed), memoryAtStart(t, wasm)) {
		t.Error("the memory differs")
	}
	info, err := rewrite.Inspect(packed)
	if err != nil || info.Unfreezable != nil || !info.Start {
		t.Errorf("%+v, %v", info, err)
	}
	if again, err := rewrite.Pack(packed); err != nil || !bytes.Equal(again, packed) {
		t.Errorf("packing again changes it, %v", err)
	}
}

// withTable makes a module with a table of so many functions, as Go's linker
// writes it; change may spoil a bucket's place and content.
func withTable(functions int, change func(bucket int, at int32, content string) (int32, string)) *builder {
	b := newBuilder()
	b.pages(4, 4)
	b.export("memory", 2, 0)
	b.export("f", 0, b.function(nil, nil, nil))
	b.activeData(8, "before")
	for i := range functions * 16 {
		function := i/16 + 1
		at, content := int32(1000+20*i), string([]byte{byte(function), byte(function >> 8)})
		switch {
		case function < 256:
			content = content[:1]
		case function%256 == 0:
			at, content = at+1, content[1:]
		}
		if change != nil {
			at, content = change(i, at, content)
		}
		b.activeData(at, content)
	}
	return b
}

func TestTheFormOfTheTableIsKnown(t *testing.T) {
	for _, functions := range []int{100, 255, 256, 257, 600} {
		wasm := withTable(functions, nil).bytes()
		packed, err := rewrite.Pack(wasm)
		if err != nil || len(packed) > 300 {
			t.Errorf("%d functions: %d bytes of %d, %v", functions, len(packed), len(wasm), err)
			continue
		}
		if !bytes.Equal(memoryAtStart(t, packed), memoryAtStart(t, wasm)) {
			t.Errorf("%d functions: the memory differs", functions)
		}
	}
}

func TestAPartOfATableIsPackedIfItIsLong(t *testing.T) {
	wasm := withTable(300, func(bucket int, at int32, content string) (int32, string) {
		if bucket == 200*16+5 {
			return at, "\x07"
		}
		return at, content
	}).bytes()
	packed, err := rewrite.Pack(wasm)
	if err != nil || len(packed) >= len(wasm) || !bytes.Equal(memoryAtStart(t, packed), memoryAtStart(t, wasm)) {
		t.Errorf("%d bytes of %d, %v, or the memory differs", len(packed), len(wasm), err)
	}
}

func TestWhatCannotBePackedIsGivenBackAsItIs(t *testing.T) {
	starting := withTable(200, nil)
	starting.start = 0
	counted := withTable(200, nil)
	counted.dataCount = true
	touched := withTable(200, nil)
	touched.activeData(1000+20*16*200-18, "x")
	touchedBefore := withTable(200, nil)
	touchedBefore.activeData(996, "12345")
	computed := withTable(200, nil)
	computed.data = join(computed.data, []byte{0}, globalGet(computed.global(i32t, 0, 0x41, 0)), []byte{0x0b}, vector([]byte("x")))
	computed.nData++
	for name, wasm := range map[string][]byte{
		"no table":                  newBuilder().bytes(),
		"a short table":             withTable(99, nil).bytes(),
		"a start function":          starting.bytes(),
		"segments that are counted": counted.bytes(),
		"data at its end":           touched.bytes(),
		"data at its beginning":     touchedBefore.bytes(),
		"data at a computed place":  computed.bytes(),
		"other numbers":             withTable(200, func(_ int, at int32, _ string) (int32, string) { return at, "\x01" }).bytes(),
		"other places":              withTable(200, func(i int, at int32, s string) (int32, string) { return at + int32(i), s }).bytes(),
	} {
		if packed, err := rewrite.Pack(wasm); err != nil || !bytes.Equal(packed, wasm) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(packed), len(wasm), err)
		}
	}
	if _, err := rewrite.Pack([]byte("no module")); err == nil {
		t.Error("it packs what is no module")
	}
}
