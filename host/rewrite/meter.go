package rewrite

import (
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// MeterOptions are the choices of a host. The zero value is usable.
type MeterOptions struct {
	// Depth is the value that DepthGlobal starts with, in stack units of 512
	// bytes or less; 0 is DefaultDepth.
	Depth int64
}

// Meter gives a module that counts its fuel and its depth. It imports
// FuelModule.FuelFunc and exports FuelGlobal and DepthGlobal; all its other
// imports, exports and results are those of the original. The index of every
// function moves, so that code offsets and debugging sections do not survive;
// names of functions do.
//
// The original must have been validated by an engine: Meter changes the
// indices of a module and would make a valid one of some that are not. It may
// have been frozen first. The error is an *abi.Problem with
// abi.CorruptModule. Meter keeps nothing of wasm and is deterministic and safe
// for concurrent use.
func Meter(wasm []byte, o MeterOptions) ([]byte, error) {
	out, p := meter(wasm, o)
	if p != nil {
		return nil, p
	}
	return out, nil
}

func meter(wasm []byte, o MeterOptions) ([]byte, *abi.Problem) {
	m, p := read(wasm)
	if p != nil {
		return nil, p
	}
	if p := m.refuseReserved(); p != nil {
		return nil, p
	}
	g, p := newMetering(m, wasm, o)
	if p != nil {
		return nil, p
	}
	code := make([][]byte, 0, len(m.functions)+1)
	for i := range m.code {
		metered, p := g.function(i)
		if p != nil {
			return nil, p
		}
		code = append(code, metered)
	}
	g.declare()
	return m.write(wasm, g.shift, append(code, g.slowPath())), nil
}

// A metering is the rewriting of one module.
type metering struct {
	m          *module
	wasm       []byte
	shift      functionShift
	fuel       uint32 // global
	depth      uint32 // global
	refuel     uint32 // function: the slow path
	planner    planner
	emitter    emitter
	blockTypes map[string]uint32 // of blocks that give several results
	limit      int64
	functions  int
}

func newMetering(m *module, wasm []byte, o MeterOptions) (*metering, *abi.Problem) {
	switch {
	case o.Depth == 0:
		o.Depth = DefaultDepth
	case o.Depth < 0 || o.Depth > maxDepth:
		return nil, corrupt("", 0, "it cannot be metered with a depth of %d", o.Depth)
	}
	g := &metering{
		m: m, wasm: wasm, limit: o.Depth, functions: m.functionCount(),
		shift: functionShift{uint32(m.importedFunctions), 1},
		fuel:  uint32(len(m.globals)), depth: uint32(len(m.globals) + 1),
		refuel:  uint32(m.functionCount() + 1),
		planner: planner{m: m, wasm: wasm},
	}
	return g, g.findLeaves()
}

// findLeaves finds the functions that are short enough to go without a check.
func (g *metering) findLeaves() *abi.Problem {
	leaves := make([]uint32, g.functions)
	indirect := uint32(0)
	for i := range g.m.code {
		if g.m.callsAny(g.wasm, i) {
			continue
		}
		p, problem := g.planner.function(i)
		if problem != nil {
			return problem
		}
		if p.most <= leafCost {
			leaves[g.m.importedFunctions+i] = p.most
			indirect = max(indirect, p.most)
		}
	}
	g.planner.leaves, g.planner.indirect = leaves, indirect
	return nil
}

// callsAny reports whether a function calls anything. A function that cannot
// be read counts as one that does; it is refused when it is planned.
func (m *module) callsAny(wasm []byte, function int) bool {
	var in instruction
	b := &m.code[function]
	r := reader{b: wasm, pos: b.offset, end: b.offset + len(b.code)}
	for r.more() {
		r.next(&in)
		if in.op == opCall || in.op == opCallIndirect {
			return true
		}
	}
	return r.err != nil
}

// declare adds what a metered module has beside its code.
func (g *metering) declare() {
	m := g.m
	void := m.typeIndex("", "")
	grant := m.typeIndex(string([]byte{typeI64, typeI64}), string([]byte{typeI64}))
	m.imports = append(m.imports, imported{module: FuelModule, name: FuelFunc, kind: kindFunction, index: grant})
	m.functions = append(m.functions, void)
	m.globals = append(m.globals,
		global{valueType: typeI64, mutable: true, init: i64Constant(0)},
		global{valueType: typeI64, mutable: true, init: i64Constant(g.limit)})
	m.exports = append(m.exports,
		export{FuelGlobal, kindGlobal, g.fuel},
		export{DepthGlobal, kindGlobal, g.depth})
}

// boundTable bounds a table that the module grows: unlike memory it takes room
// that no limit of a call knows of. Beyond the bound growing fails, as it may
// for any reason.
func (g *metering) boundTable(i uint32) {
	if int(i) < g.m.importedTables {
		return
	}
	l := &g.m.tables[i].limits
	most := max(l.least, uint32(maxGrownItems/len(g.m.tables)))
	if !l.bounded || l.most > most {
		l.bounded, l.most = true, most
	}
}

func i64Constant(v int64) []byte {
	return append(putSigned([]byte{byte(opI64Const)}, v), byte(opEnd))
}

// slowPath is the function that checks call: it asks the host for more fuel.
func (g *metering) slowPath() []byte {
	e := emitter{g: g, out: []byte{0}}
	e.op(opGlobalGet, g.fuel)
	e.op(opGlobalGet, g.depth)
	e.op(opCall, uint32(g.m.importedFunctions))
	e.op(opGlobalSet, g.fuel)
	return append(e.out, byte(opEnd))
}

// blockType gives the type of a block without parameters.
func (g *metering) blockType(results []byte) []byte {
	switch len(results) {
	case 0:
		return []byte{typeEmpty}
	case 1:
		return results
	}
	index, ok := g.blockTypes[string(results)]
	if !ok {
		index = g.m.typeIndex("", string(results))
		if g.blockTypes == nil {
			g.blockTypes = map[string]uint32{}
		}
		g.blockTypes[string(results)] = index
	}
	return putSigned(nil, int64(index))
}

// refuseReserved refuses a guest that uses the rewriter's names, but for what
// Expose gave it.
func (m *module) refuseReserved() *abi.Problem {
	for _, im := range m.imports {
		if im.module == FuelModule {
			return corrupt("import section", -1, "it imports %q from %q, a name that belongs to the host", im.name, im.module).
				WithHint("rename the import")
		}
	}
	for _, e := range m.exports {
		if isReserved(e.name) && !m.isExposed(e) {
			return reservedExport(e.name)
		}
	}
	return nil
}

func reservedExport(name string) *abi.Problem {
	return corrupt("export section", -1, "it exports %q; names that begin with %q belong to the host", name, ReservedPrefix).
		WithHint("rename the export")
}

// isExposed reports whether an export is what Expose would have made.
func (m *module) isExposed(e export) bool {
	if e.kind == kindMemory {
		return e.name == MemoryExport
	}
	number, ok := strings.CutPrefix(e.name, globalPrefix)
	return ok && e.kind == kindGlobal && m.globals[e.index].mutable && number == strconv.Itoa(int(e.index))
}

func (m *module) isImport(function uint32) bool { return int(function) < m.importedFunctions }
