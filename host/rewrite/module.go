package rewrite

// A module is WebAssembly taken apart as far as it has to be changed. Slices
// of bytes are parts of the module that was read and are not written to.
type module struct {
	types     []functionType
	imports   []imported
	functions []uint32 // types of its own functions
	tables    []table  // imported ones first
	memories  []limits // imported ones first; at most one
	globals   []global // imported ones first
	exports   []export
	start     int // function; none if negative
	elements  []element
	dataCount bool // there is a data count section
	code      []body
	data      []data
	names     []byte // content of the name section
	sections  []Section

	importedFunctions, importedTables, importedMemories, importedGlobals int
}

type functionType struct{ params, results []byte }

// Kinds of imports and exports.
const (
	kindFunction = iota
	kindTable
	kindMemory
	kindGlobal
	kindTag
)

// An imported is one import; its table, memory or global is in the module's
// list of those.
type imported struct {
	module, name string
	kind         byte
	index        uint32 // type of a function, else index in the list of its kind
}

type limits struct {
	least, most uint32
	bounded     bool // most holds
}

type table struct {
	reference byte
	limits    limits
}

type global struct {
	valueType byte
	mutable   bool
	init      []byte // constant expression with its end; none of an import
}

type export struct {
	name  string
	kind  byte
	index uint32
}

// An element is an element segment.
type element struct {
	mode   byte // its flags: bit 0 passive or declared, bit 1 table or declared, bit 2 expressions
	table  uint32
	offset []byte // of an active one
	kind   byte   // element kind or reference type; 0 where the mode says it
	count  int
	items  []byte // function indices, or constant expressions
}

func (e element) active() bool      { return e.mode&1 == 0 }
func (e element) expressions() bool { return e.mode&4 != 0 }

// A body is one function's code.
type body struct {
	locals []localRun
	code   []byte // instructions with the last end
	offset int    // of code in the module
}

type localRun struct {
	count     uint32
	valueType byte
}

// A data is a data segment.
type data struct {
	active  bool
	offset  []byte // constant expression of an active one
	content []byte
}

func (m *module) functionCount() int { return m.importedFunctions + len(m.functions) }

// typeOf gives the type of any function.
func (m *module) typeOf(function uint32) functionType {
	if int(function) >= m.importedFunctions {
		return m.types[m.functions[int(function)-m.importedFunctions]]
	}
	for _, im := range m.imports {
		if im.kind != kindFunction {
			continue
		}
		if function == 0 {
			return m.types[im.index]
		}
		function--
	}
	panic("BUG: no such function")
}

// typeIndex gives the index of a type, which it adds if there is none.
func (m *module) typeIndex(params, results string) uint32 {
	for i, t := range m.types {
		if string(t.params) == params && string(t.results) == results {
			return uint32(i)
		}
	}
	m.types = append(m.types, functionType{[]byte(params), []byte(results)})
	return uint32(len(m.types) - 1)
}
