package rewrite

import (
	"strconv"

	"github.com/sluicehq/sluice/abi"
)

// An Exposed says under which exports a host reads, and sets back, what a call
// may change in an instance beside its memory's size.
type Exposed struct {
	Memory  string // export of the memory; "" if there is none
	Globals []ExposedGlobal
}

// An ExposedGlobal is a mutable global of the guest.
type ExposedGlobal struct {
	Export string // the name under which it is exported
	Index  int    // in the guest's own index space
	Type   byte   // its value type as WebAssembly encodes it: 0x7f i32, 0x7e i64, 0x7d f32, 0x7c f64
}

// Expose gives the module with its memory and all of its mutable globals
// exported under reserved names (the memory only if the guest does not export
// it). It is the module to run for an image, and what Freeze keeps, so that a
// host can restore in place. It refuses what cannot be frozen, with an
// *abi.Problem with abi.CorruptModule that says why; such a module still runs,
// in an instance of its own for each call. To expose a module again gives the
// same bytes.
func Expose(wasm []byte) ([]byte, Exposed, error) {
	m, p := read(wasm)
	if p == nil {
		p = m.freezable(wasm)
	}
	if p != nil {
		return nil, Exposed{}, p
	}
	e := m.expose()
	return m.write(wasm, functionShift{}, nil), e, nil
}

func (m *module) expose() Exposed {
	var e Exposed
	if len(m.memories) > 0 {
		e.Memory = m.exportOf(kindMemory, 0, MemoryExport)
	}
	for i, g := range m.globals {
		if g.mutable {
			name := m.exportOf(kindGlobal, uint32(i), globalPrefix+strconv.Itoa(i))
			e.Globals = append(e.Globals, ExposedGlobal{name, i, g.valueType})
		}
	}
	return e
}

// exportOf gives the name of an export, which it adds if there is none. The
// memory may be exported by the guest itself; a global is read by a name of
// ours in any case.
func (m *module) exportOf(kind byte, index uint32, name string) string {
	for _, e := range m.exports {
		if e.kind == kind && e.index == index && (kind == kindMemory || e.name == name) {
			return e.name
		}
	}
	m.exports = append(m.exports, export{name, kind, index})
	return name
}

// freezable says why a module's state cannot be taken and set back, or nil.
func (m *module) freezable(wasm []byte) *abi.Problem {
	if p := m.refuseReserved(); p != nil {
		return p
	}
	for _, im := range m.imports {
		if reason := m.importedState(im); reason != "" {
			return unfreezable("import section", -1, "%s, as %q.%q", reason, im.module, im.name)
		}
	}
	for i, g := range m.globals {
		if g.mutable && (isReference(g.valueType) || g.valueType == typeV128) {
			return unfreezable("global section", -1, "global %d is mutable and holds a reference or a vector, which a host cannot set back", i)
		}
	}
	if len(m.data) > maxData-imageSegments {
		return unfreezable("data section", -1, "it has %d data segments, which leaves no room for the image", len(m.data))
	}
	for i := range m.code {
		w := m.walk(wasm, i)
		for w.step() {
			if reason := unrestorable(w.op); reason != "" {
				return unfreezable(w.section, w.from, "function %d has %s", m.importedFunctions+i, reason)
			}
		}
		if w.err != nil {
			return w.err
		}
	}
	return nil
}

func unfreezable(section string, offset int, format string, args ...any) *abi.Problem {
	p := abi.NewProblem(abi.CorruptModule, format, args...)
	p.Message = "the module cannot be frozen: " + at(section, offset) + p.Message
	return p.WithHint("it runs all the same, in a fresh instance for each call")
}

func (m *module) importedState(im imported) string {
	switch {
	case im.kind == kindMemory:
		return "it imports its memory"
	case im.kind == kindTable:
		return "it imports a table"
	case im.kind == kindGlobal && m.globals[im.index].mutable:
		return "it imports a mutable global"
	}
	return ""
}

// unrestorable names an instruction that changes what a host cannot set back.
func unrestorable(op opcode) string {
	switch op {
	case opTableSet:
		return "table.set, which changes a table"
	case opTableGrow:
		return "table.grow, which changes a table"
	case opTableFill:
		return "table.fill, which changes a table"
	case opTableCopy:
		return "table.copy, which changes a table"
	case opTableInit:
		return "table.init, which changes a table"
	case opElemDrop:
		return "elem.drop, which gives up an element segment"
	case opDataDrop:
		return "data.drop, which gives up a data segment"
	}
	return ""
}
