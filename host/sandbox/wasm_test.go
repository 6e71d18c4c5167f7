package sandbox_test

import (
	"encoding/binary"
	"slices"
)

// A module builds WebAssembly by hand, for guests that no compiler makes.
type module struct {
	types, imports, functions, codes, exports, extra []byte
	tables, elements                                 []byte // contents of their sections
	nTypes, nImports, nFunctions, nExports           uint32
	pages                                            int    // of memory; none if negative
	maxPages                                         uint32 // 0 is no maximum
	start                                            int    // function; none if negative
	data                                             []byte // at address 0
}

func newModule() *module { return &module{pages: 1, start: -1} }

// Value types.
const (
	i32t = 0x7f
	i64t = 0x7e
)

// Instructions without immediates, and with the ones that the tests need.
var (
	unreachable = []byte{0x00}
	end         = []byte{0x0b}
	drop        = []byte{0x1a}
	i32add      = []byte{0x6a}
	i32eqz      = []byte{0x45}
	i32div      = []byte{0x6d}
	memoryGrow  = []byte{0x40, 0}
	i32load     = []byte{0x28, 2, 0}
	i32store    = []byte{0x36, 2, 0}
	i64load     = []byte{0x29, 3, 0}
	i32wrap     = []byte{0xa7}
	i64extend   = []byte{0xad}
	loopForever = []byte{0x03, 0x40, 0x0c, 0, 0x0b}
)

func i32c(v int32) []byte          { return append([]byte{0x41}, sleb(int64(v))...) }
func i64c(v int64) []byte          { return append([]byte{0x42}, sleb(v)...) }
func callf(f uint32) []byte        { return append([]byte{0x10}, uleb(f)...) }
func loop(body ...[]byte) []byte   { return block(0x03, body) }
func ifThen(body ...[]byte) []byte { return block(0x04, body) }
func branch(depth uint32) []byte   { return append([]byte{0x0c}, uleb(depth)...) }

func block(op byte, body [][]byte) []byte {
	return slices.Concat([]byte{op, 0x40}, slices.Concat(body...), end)
}

func (m *module) typeOf(params, results []byte) uint32 {
	m.types = slices.Concat(m.types, []byte{0x60}, vector(params), vector(results))
	m.nTypes++
	return m.nTypes - 1
}

// imports must come before functions.
func (m *module) imported(namespace, name string, params, results []byte) uint32 {
	t := m.typeOf(params, results)
	m.imports = slices.Concat(m.imports, vector([]byte(namespace)), vector([]byte(name)), []byte{0}, uleb(t))
	m.nImports++
	return m.nImports - 1
}

func (m *module) importedRaw(namespace, name string, description ...byte) {
	m.imports = slices.Concat(m.imports, vector([]byte(namespace)), vector([]byte(name)), description)
	m.nImports++
}

// function adds a function; locals are so many i32 after the parameters.
func (m *module) function(params, results []byte, locals int, body ...[]byte) uint32 {
	m.functions = append(m.functions, uleb(m.typeOf(params, results))...)
	code := []byte{0}
	if locals > 0 {
		code = slices.Concat([]byte{1}, uleb(uint32(locals)), []byte{i32t})
	}
	code = slices.Concat(code, slices.Concat(body...), end)
	m.codes = append(m.codes, vector(code)...)
	m.nFunctions++
	return m.nImports + m.nFunctions - 1
}

// export adds an exported function of signature () -> i32.
func (m *module) export(name string, body ...[]byte) *module {
	return m.exportAs(name, m.function(nil, []byte{i32t}, 1, body...))
}

func (m *module) exportAs(name string, f uint32) *module {
	m.exports = slices.Concat(m.exports, vector([]byte(name)), []byte{0}, uleb(f))
	m.nExports++
	return m
}

func (m *module) bytes() []byte {
	b := []byte("\x00asm\x01\x00\x00\x00")
	add := func(id byte, content ...[]byte) { b = slices.Concat(b, []byte{id}, vector(slices.Concat(content...))) }
	add(1, uleb(m.nTypes), m.types)
	add(2, uleb(m.nImports), m.imports)
	add(3, uleb(m.nFunctions), m.functions)
	if m.tables != nil {
		add(4, m.tables)
	}
	if m.pages >= 0 {
		if m.maxPages > 0 {
			add(5, []byte{1, 1}, uleb(uint32(m.pages)), uleb(m.maxPages))
		} else {
			add(5, []byte{1, 0}, uleb(uint32(m.pages)))
		}
	}
	b = append(b, m.extra...) // sections between memory and exports
	add(7, uleb(m.nExports), m.exports)
	if m.start >= 0 {
		add(8, uleb(uint32(m.start)))
	}
	if m.elements != nil {
		add(9, m.elements)
	}
	add(10, uleb(m.nFunctions), m.codes)
	if m.data != nil {
		add(11, []byte{1, 0}, i32c(0), end, vector(m.data))
	}
	return b
}

func vector(b []byte) []byte { return append(uleb(uint32(len(b))), b...) }

func uleb(v uint32) []byte { return binary.AppendUvarint(nil, uint64(v)) }

func sleb(v int64) []byte {
	var b []byte
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

// abiImports are the functions of Extism's ABI that hand-made guests use.
type abiImports struct{ alloc, store64, outputSet, errorSet uint32 }

func (m *module) abi() abiImports {
	const env = "extism:host/env"
	return abiImports{
		alloc:     m.imported(env, "alloc", []byte{i64t}, []byte{i64t}),
		store64:   m.imported(env, "store_u64", []byte{i64t, i64t}, nil),
		outputSet: m.imported(env, "output_set", []byte{i64t, i64t}, nil),
		errorSet:  m.imported(env, "error_set", []byte{i64t}, nil),
	}
}
