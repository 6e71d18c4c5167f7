package rewrite_test

import (
	"encoding/binary"
	"slices"
)

// A builder makes WebAssembly by hand, for shapes that no compiler makes.
type builder struct {
	types, imports, functions, tables, globals, exports, elements, codes, data  []byte
	nTypes, nImports, nFunctions, nTables, nGlobals, nExports, nElements, nData uint32
	imported                                                                    uint32 // functions
	memory                                                                      []byte
	start                                                                       int
	dataCount                                                                   bool
}

func newBuilder() *builder { return &builder{start: -1} }

// Value types.
const (
	i32t  = 0x7f
	i64t  = 0x7e
	f32t  = 0x7d
	f64t  = 0x7c
	v128t = 0x7b
	funct = 0x70
)

func uleb(v uint32) []byte {
	return binary.AppendUvarint(nil, uint64(v))
}

func sleb(v int64) (b []byte) {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func vector(b []byte) []byte { return append(uleb(uint32(len(b))), b...) }

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

func (b *builder) typeOf(params, results []byte) uint32 {
	b.types = join(b.types, []byte{0x60}, vector(params), vector(results))
	b.nTypes++
	return b.nTypes - 1
}

// importFunction must come before function.
func (b *builder) importFunction(module, name string, params, results []byte) uint32 {
	t := b.typeOf(params, results)
	b.imports = join(b.imports, vector([]byte(module)), vector([]byte(name)), []byte{0}, uleb(t))
	b.nImports++
	b.imported++
	return b.imported - 1
}

func (b *builder) importRaw(module, name string, description ...byte) {
	b.imports = join(b.imports, vector([]byte(module)), vector([]byte(name)), description)
	b.nImports++
}

// function adds a function; locals are pairs of a count and a type.
func (b *builder) function(params, results, locals []byte, code ...[]byte) uint32 {
	b.functions = append(b.functions, uleb(b.typeOf(params, results))...)
	body := join(uleb(uint32(len(locals)/2)), locals, join(code...), []byte{0x0b})
	b.codes = append(b.codes, vector(body)...)
	b.nFunctions++
	return b.imported + b.nFunctions - 1
}

func (b *builder) export(name string, kind byte, index uint32) *builder {
	b.exports = join(b.exports, vector([]byte(name)), []byte{kind}, uleb(index))
	b.nExports++
	return b
}

func (b *builder) global(valueType byte, mutable byte, init ...byte) uint32 {
	b.globals = join(b.globals, []byte{valueType, mutable}, init, []byte{0x0b})
	b.nGlobals++
	return b.nGlobals - 1
}

func (b *builder) table(size uint32) uint32 {
	b.tables = join(b.tables, []byte{funct, 0}, uleb(size))
	b.nTables++
	return b.nTables - 1
}

func (b *builder) element(functions ...uint32) {
	b.elements = append(b.elements, 0, 0x41, 0, 0x0b)
	b.elements = append(b.elements, uleb(uint32(len(functions)))...)
	for _, f := range functions {
		b.elements = append(b.elements, uleb(f)...)
	}
	b.nElements++
}

func (b *builder) activeData(offset int32, content string) {
	b.data = join(b.data, []byte{0, 0x41}, sleb(int64(offset)), []byte{0x0b}, vector([]byte(content)))
	b.nData++
}

func (b *builder) passiveData(content string) {
	b.data = join(b.data, []byte{1}, vector([]byte(content)))
	b.nData++
}

func (b *builder) pages(least, most uint32) { b.memory = join([]byte{1}, uleb(least), uleb(most)) }

func section(id byte, count uint32, content []byte) []byte {
	if count == 0 {
		return nil
	}
	return join([]byte{id}, vector(join(uleb(count), content)))
}

func (b *builder) bytes() []byte {
	wasm := []byte("\x00asm\x01\x00\x00\x00")
	wasm = join(wasm, section(1, b.nTypes, b.types), section(2, b.nImports, b.imports),
		section(3, b.nFunctions, b.functions), section(4, b.nTables, b.tables))
	if b.memory != nil {
		wasm = join(wasm, section(5, 1, b.memory))
	}
	wasm = join(wasm, section(6, b.nGlobals, b.globals), section(7, b.nExports, b.exports))
	if b.start >= 0 {
		wasm = join(wasm, []byte{8}, vector(uleb(uint32(b.start))))
	}
	wasm = append(wasm, section(9, b.nElements, b.elements)...)
	if b.dataCount {
		wasm = join(wasm, []byte{12}, vector(uleb(b.nData)))
	}
	return join(wasm, section(10, b.nFunctions, b.codes), section(11, b.nData, b.data))
}

// Instructions.

func op(codes ...byte) []byte          { return codes }
func i32c(v int32) []byte              { return append([]byte{0x41}, sleb(int64(v))...) }
func i64c(v int64) []byte              { return append([]byte{0x42}, sleb(v)...) }
func get(local uint32) []byte          { return append([]byte{0x20}, uleb(local)...) }
func set(local uint32) []byte          { return append([]byte{0x21}, uleb(local)...) }
func tee(local uint32) []byte          { return append([]byte{0x22}, uleb(local)...) }
func call(f uint32) []byte             { return append([]byte{0x10}, uleb(f)...) }
func br(label uint32) []byte           { return append([]byte{0x0c}, uleb(label)...) }
func brIf(label uint32) []byte         { return append([]byte{0x0d}, uleb(label)...) }
func block(parts ...[]byte) []byte     { return join([]byte{0x02, 0x40}, join(parts...), []byte{0x0b}) }
func loop(parts ...[]byte) []byte      { return join([]byte{0x03, 0x40}, join(parts...), []byte{0x0b}) }
func ifThen(parts ...[]byte) []byte    { return join([]byte{0x04, 0x40}, join(parts...), []byte{0x0b}) }
func i32load(offset uint32) []byte     { return join([]byte{0x28, 2}, uleb(offset)) }
func i32store(offset uint32) []byte    { return join([]byte{0x36, 2}, uleb(offset)) }
func load8(offset uint32) []byte       { return join([]byte{0x2d, 0}, uleb(offset)) }
func store8(offset uint32) []byte      { return join([]byte{0x3a, 0}, uleb(offset)) }
func globalGet(g uint32) []byte        { return append([]byte{0x23}, uleb(g)...) }
func globalSet(g uint32) []byte        { return append([]byte{0x24}, uleb(g)...) }
func memoryInit(segment uint32) []byte { return join([]byte{0xfc, 8}, uleb(segment), []byte{0}) }

var (
	unreachable = op(0x00)
	returns     = op(0x0f)
	drop        = op(0x1a)
	i32add      = op(0x6a)
	i32sub      = op(0x6b)
	i32ltS      = op(0x48)
	i32ltU      = op(0x49)
	i32eqz      = op(0x45)
	i64add      = op(0x7c)
	i64mul      = op(0x7e)
	memoryGrow  = op(0x40, 0)
	memoryCopy  = op(0xfc, 10, 0, 0)
	memoryFill  = op(0xfc, 11, 0)
)
