package rewrite

import (
	"encoding/binary"
	"slices"

	"github.com/sluicehq/sluice/abi"
)

// An Image is the state of an instance of an exposed module.
type Image struct {
	Memory  []byte   // all of it; whole pages of 64 KiB
	Globals []uint64 // in the order of Exposed.Globals, as an engine gives them: the bits, in the low half for 32-bit types
}

// Freeze gives a module whose instances begin with the image: its memory is as
// large, its data and its mutable globals are what the image says, and it has
// neither a start function nor the export _initialize, since both have done
// their work. Memory and globals are exported as by Expose. wasm is the
// original or what Expose made of it.
//
// Active data segments are left out, or left empty where memory.init may name
// them, as an engine leaves them once they are written. The error is an
// *abi.Problem with abi.CorruptModule for what Expose refuses, and with
// abi.HostBug for an image that is not one of this module. Freeze is
// deterministic and safe for concurrent use; the image is not kept.
func Freeze(wasm []byte, image Image) ([]byte, error) {
	m, p := read(wasm)
	if p == nil {
		p = m.freezable(wasm)
	}
	if p == nil {
		p = m.freeze(wasm, image)
	}
	if p != nil {
		return nil, p
	}
	return m.write(wasm, functionShift{}, nil), nil
}

func (m *module) freeze(wasm []byte, image Image) *abi.Problem {
	exposed := m.expose()
	if p := m.fits(image, exposed); p != nil {
		return p
	}
	for i, g := range exposed.Globals {
		m.globals[g.Index].init = constantOf(g.Type, image.Globals[i])
	}
	m.start = -1
	m.exports = slices.DeleteFunc(m.exports, func(e export) bool {
		return e.kind == kindFunction && e.name == "_initialize"
	})
	if len(m.memories) > 0 {
		m.memories[0].least = uint32(len(image.Memory) / pageBytes)
	}
	m.freezeData(wasm, image.Memory)
	return nil
}

// fits checks an image against the module.
func (m *module) fits(image Image, exposed Exposed) *abi.Problem {
	wrong := func(format string, args ...any) *abi.Problem {
		p := abi.NewProblem(abi.HostBug, format, args...)
		p.Message = "the image is not one of this module: " + p.Message
		return p
	}
	if len(image.Globals) != len(exposed.Globals) {
		return wrong("it has %d globals, the module %d that change", len(image.Globals), len(exposed.Globals))
	}
	if len(m.memories) == 0 {
		if len(image.Memory) > 0 {
			return wrong("it has a memory, the module has none")
		}
		return nil
	}
	l := m.memories[0]
	pages := uint64(len(image.Memory) / pageBytes)
	switch {
	case len(image.Memory)%pageBytes != 0:
		return wrong("its memory of %d bytes is not in whole pages", len(image.Memory))
	case pages < uint64(l.least), pages > maxMemoryPages, l.bounded && pages > uint64(l.most):
		return wrong("its memory has %d pages, outside of the module's limits", pages)
	}
	return nil
}

// freezeData replaces the data by the image.
func (m *module) freezeData(wasm []byte, memory []byte) {
	var kept []data
	if m.initialises(wasm) {
		for _, d := range m.data {
			if d.active {
				d = data{}
			}
			kept = append(kept, d)
		}
	} else {
		m.dataCount = false
	}
	m.data = append(kept, imageData(memory)...)
}

// initialises reports whether any function has memory.init.
func (m *module) initialises(wasm []byte) bool {
	for i := range m.code {
		w := m.walk(wasm, i)
		for w.step() {
			if w.op == opMemoryInit {
				return true
			}
		}
	}
	return false
}

// constantOf gives the constant expression of a global's value.
func constantOf(valueType byte, bits uint64) []byte {
	var e []byte
	switch valueType {
	case typeI32:
		e = putSigned([]byte{byte(opI32Const)}, int64(int32(uint32(bits))))
	case typeI64:
		e = putSigned([]byte{byte(opI64Const)}, int64(bits))
	case typeF32:
		e = binary.LittleEndian.AppendUint32([]byte{byte(opF32Const)}, uint32(bits))
	case typeF64:
		e = binary.LittleEndian.AppendUint64([]byte{byte(opF64Const)}, bits)
	default:
		panic("BUG: a global of this type cannot be frozen")
	}
	return append(e, byte(opEnd))
}
