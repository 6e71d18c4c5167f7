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
// that a host starts every call from: the description where it is no constant,
// the plans of the types that are read and written, and room in the heap and
// for the stack, so that a call does not have to grow them. It asks nothing of
// the host.
func (s *skill) warm() {
	const spare = 2 << 20
	if !described {
		s.remember()
	}
	s.prepare()
	s.invoke([]byte(`{"abi":1,"tool":"","args":{},"call":{"id":"","key":"","attempt":1,"now":"2026-01-15T12:00:00Z","tenant":"","live":"","locale":""},"state":{"":1},"facts":{"":1}}`), env{})
	if s.hooks.warm != nil {
		s.hooks.warm()
	}
	wire.Prepare(reflect.TypeFor[abi.ScanQuery]())
	room = make([]byte, spare)
	room = nil
	runtime.GC()
	touch()
	deepen(stackWarmBytes)
}

// stackWarmBytes is how deep the stack of most calls is, and some.
const stackWarmBytes = 16 << 10

// deepen uses so many bytes of the stack: the first stacks of the sizes through
// which one grows cost more instructions together than a small call.
//
//go:noinline
func deepen(bytes int) byte {
	var frame [512]byte
	if bytes > 0 {
		frame[bytes%len(frame)] = deepen(bytes - len(frame))
	}
	return frame[0]
}

// prepare makes the plans of the types that the examples seed: the handlers
// read them from the store and the state.
func (s *skill) prepare() {
	for _, t := range s.kept {
		wire.Prepare(t)
	}
	for _, t := range s.tools {
		for _, e := range t.examples {
			e.prepare()
		}
	}
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
		s.description = string(description)
	}
}

// room and pointers keep the compiler from leaving memory out that nobody uses.
var (
	room     []byte
	pointers []*byte
)
