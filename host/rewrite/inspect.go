package rewrite

import (
	"fmt"

	"github.com/sluicehq/sluice/abi"
)

// An Info says what a module is and what the rewriter would do with it.
type Info struct {
	Bytes     int
	Sections  []Section // in the order of the file
	Types     int
	Functions int // its own, without imports
	Imports   []Import
	Exports   []Export
	Memory    *Limits // in pages of 64 KiB; nil if there is none
	Tables    []Limits
	Globals   int
	Mutable   int // globals that change
	Data      int // segments
	Elements  int // segments
	Start     bool
	Features  []string // of WebAssembly 2.0 beyond 1.0 that its code uses, sorted

	LargestFunction int // bytes of code
	MostLocals      int // of one function, with its parameters
	DeepestNesting  int // blocks in blocks
	LargestTable    int // labels of one br_table

	Charges     int // places at which metering takes fuel
	LoopChecks  int // loops to which something goes back
	EntryChecks int // functions that check when they are entered
	OtherChecks int // checks in long code
	DepthChecks int // functions that count their depth

	// Unfreezable says why the module cannot be frozen; nil if it can.
	Unfreezable *abi.Problem
}

// A Section is a part of the file.
type Section struct {
	Name  string // "type", "code", "custom name"
	Bytes int
}

// An Import is what a module wants from its host.
type Import struct {
	Module, Name string
	Kind         string // function, table, memory, global
	Type         string // of a function, as "(i32, i64) -> i32"
}

// An Export is what a module offers.
type Export struct {
	Name, Kind string
	Type       string // of a function
}

// Limits are those of a memory or a table.
type Limits struct {
	Least, Most uint64
	Bounded     bool // Most holds
	Imported    bool
}

// Inspect says what a guest's module is. It refuses every module that Meter
// refuses, and every reserved name, with an *abi.Problem with
// abi.CorruptModule that names the section, the byte and, for a feature, the
// flag by which a toolchain leaves it out. It does not validate. It never
// panics and takes time and memory in proportion to the bytes. Safe for
// concurrent use.
func Inspect(wasm []byte) (*Info, error) {
	m, p := read(wasm)
	if p == nil {
		p = m.refuseReservedOfGuest()
	}
	if p != nil {
		return nil, p
	}
	info := m.info(len(wasm))
	if p := info.measure(m, wasm); p != nil {
		return nil, p
	}
	info.Unfreezable = m.freezable(wasm)
	return info, nil
}

// refuseReservedOfGuest refuses what Expose adds, too: no guest brings it.
func (m *module) refuseReservedOfGuest() *abi.Problem {
	for _, e := range m.exports {
		if isReserved(e.name) {
			return reservedExport(e.name)
		}
	}
	return m.refuseReserved()
}

func (m *module) info(size int) *Info {
	info := &Info{
		Bytes: size, Types: len(m.types), Functions: len(m.functions), Globals: len(m.globals),
		Data: len(m.data), Elements: len(m.elements), Start: m.start >= 0,
	}
	info.Sections = m.sections
	for _, im := range m.imports {
		i := Import{Module: im.module, Name: im.name, Kind: kindName(im.kind)}
		if im.kind == kindFunction {
			i.Type = m.types[im.index].String()
		}
		info.Imports = append(info.Imports, i)
	}
	for _, e := range m.exports {
		x := Export{Name: e.name, Kind: kindName(e.kind)}
		if e.kind == kindFunction {
			x.Type = m.typeOf(e.index).String()
		}
		info.Exports = append(info.Exports, x)
	}
	for i, l := range m.memories {
		info.Memory = limitsOf(l, i < m.importedMemories)
	}
	for i, t := range m.tables {
		info.Tables = append(info.Tables, *limitsOf(t.limits, i < m.importedTables))
	}
	for _, g := range m.globals {
		if g.mutable {
			info.Mutable++
		}
	}
	return info
}

func limitsOf(l limits, imported bool) *Limits {
	return &Limits{Least: uint64(l.least), Most: uint64(l.most), Bounded: l.bounded, Imported: imported}
}

func kindName(kind byte) string {
	return [...]string{"function", "table", "memory", "global"}[kind]
}

// String gives the type as "(i32, i64) -> i32".
func (t functionType) String() string {
	return fmt.Sprintf("(%s) -> %s", typeNames(t.params), resultNames(t.results))
}

func resultNames(results []byte) string {
	if len(results) == 1 {
		return typeNames(results)
	}
	return "(" + typeNames(results) + ")"
}

func typeNames(types []byte) string {
	text := ""
	for i, t := range types {
		if i > 0 {
			text += ", "
		}
		text += typeName(t)
	}
	return text
}

func typeName(t byte) string {
	switch t {
	case typeI32:
		return "i32"
	case typeI64:
		return "i64"
	case typeF32:
		return "f32"
	case typeF64:
		return "f64"
	case typeV128:
		return "v128"
	case typeFuncref:
		return "funcref"
	}
	return "externref"
}

// measure walks over the code as metering does.
func (i *Info) measure(m *module, wasm []byte) *abi.Problem {
	g, p := newMetering(m, wasm, MeterOptions{})
	if p != nil {
		return p
	}
	seen := map[string]bool{}
	for f := range m.code {
		p, problem := g.planner.function(f)
		if problem != nil {
			return problem
		}
		w := m.walk(wasm, f)
		i.LargestFunction = max(i.LargestFunction, len(m.code[f].code))
		i.MostLocals = max(i.MostLocals, w.locals)
		i.DeepestNesting = max(i.DeepestNesting, p.nesting)
		i.LargestTable = max(i.LargestTable, p.branches)
		i.count(p)
		for w.step() {
			if name := m.featureOf(&w.instruction); name != "" {
				seen[name] = true
			}
		}
	}
	i.Features = m.features(seen)
	return nil
}

func (i *Info) count(p *plan) {
	i.Charges += len(p.charges)
	i.OtherChecks += len(p.checks)
	for _, back := range p.loops {
		if back {
			i.LoopChecks++
		}
	}
	if p.checkEntry {
		i.EntryChecks++
	}
	if p.callsGuest {
		i.DepthChecks++
	}
}
