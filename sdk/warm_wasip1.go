package sdk

import (
	"runtime"

	"github.com/sluicehq/sluice/abi"
)

//go:wasmexport sluice_warm
func exportWarm() { declared.warm() }

// warm serves an invocation that no tool answers, so that what encoding/json
// builds for the envelopes lies in the image that a host starts every call
// from, and leaves room in the heap, so that a call does not have to grow the
// memory. It asks nothing of the host.
func (s *skill) warm() {
	const spare = 2 << 20
	s.invoke([]byte(`{"abi":1,"tool":"","args":{},"call":{"id":"","key":"","attempt":1,"now":"2026-01-15T12:00:00Z","tenant":"","live":"","locale":""},"state":{"":1},"facts":{"":1}}`), env{})
	encodeReply(abi.Reply{OK: true, Data: []byte("{}"), State: []byte("{}"), Preview: " "})
	room = make([]byte, spare)
	room = nil
	runtime.GC()
}

// room keeps the compiler from leaving the spare memory out.
var room []byte
