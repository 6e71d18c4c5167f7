//go:build !race

package sandbox_test

import (
	"bytes"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// What a module says of itself does not depend on how it runs, and what a host does
// not load an interpreter does not load either.
func TestAnInterpreterGivesWhatMachineCodeGives(t *testing.T) {
	native := sandboxtest.New(t)
	interpreter, err := native.Interpreter()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = interpreter.Close(t.Context()) })
	wasm := sandboxtest.Build(t, "skills/shop/pricing")
	sandboxtest.Warm(t, wasm)
	var said [][]byte
	for _, sb := range []*sandbox.Sandbox{native, interpreter} {
		m, err := sb.Load(t.Context(), wasm, abi.CeilingLimits())
		if err != nil {
			t.Fatal(err)
		}
		r := m.Call(t.Context(), sandbox.Request{Export: abi.ExportDescribe})
		if r.Problem != nil {
			t.Fatal(r.Problem)
		}
		said = append(said, r.Output)
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(said[0]) == 0 || !bytes.Equal(said[0], said[1]) {
		t.Errorf("machine code says\n%s\nand the interpreter\n%s", said[0], said[1])
	}
	if _, err := interpreter.Load(t.Context(), wasm[:len(wasm)/2], abi.CeilingLimits()); err == nil {
		t.Error("half a module is loaded")
	}
}
