package sdk

import (
	"reflect"
	"runtime"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wire"
)

//go:wasmexport sluice_warm
func exportWarm() { declared.warm() }

// warm makes what every call would make again, so that it lies in the image
// that a host starts every call from: the description, the plans of the types
// that are read and written, and room in the heap, so that a call does not
// have to grow the memory. It asks nothing of the host.
func (s *skill) warm() {
	const spare = 2 << 20
	s.remember()
	for _, t := range s.tools {
		for _, e := range t.examples {
			e.prepare()
		}
	}
	s.invoke([]byte(`{"abi":1,"tool":"","args":{},"call":{"id":"","key":"","attempt":1,"now":"2026-01-15T12:00:00Z","tenant":"","live":"","locale":""},"state":{"":1},"facts":{"":1}}`), env{})
	wire.Prepare(reflect.TypeFor[abi.ScanQuery]())
	room = make([]byte, spare)
	room = nil
	runtime.GC()
	touch()
}

// touchedBytes is up to which size touch asks for memory: more than most
// values of a call have.
const touchedBytes = 2 << 10

// touch asks for memory of every usual size once, with and without pointers in
// it: the first of a size after a collection costs some thousand instructions,
// the others a hundred.
func touch() {
	for n := 8; n <= touchedBytes; n += 8 {
		room = make([]byte, n)
		pointers = make([]*byte, n/8)
	}
	room, pointers = nil, nil
}

// remember makes the description once. One with mistakes is made, and refused,
// when it is asked for; so is one in which a type of the author's panics.
func (s *skill) remember() {
	defer func() { _ = recover() }()
	if description, err := s.describe(); err == nil {
		s.description = description
	}
}

// room and pointers keep the compiler from leaving memory out that nobody uses.
var (
	room     []byte
	pointers []*byte
)
