package sandbox

import (
	"encoding/binary"
	"slices"
)

// nativeModule is the name under which the kernel imports the host's own
// functions of Extism's ABI. No guest can: the host does not offer it.
const nativeModule = "sluice:native"

// A fastPath is a function of Extism's ABI that the kernel serves by itself
// where the address is below the bound that kernelMemory.open tells.
type fastPath struct {
	room   int  // the word with the number of addresses
	input  bool // they count from the input's first byte on; else they are the memory's
	access byte // the instruction that loads or stores
}

// fastPaths are by name.
func fastPaths() map[string]fastPath {
	return map[string]fastPath{
		"load_u8":        {wordRoom1, false, opLoad8},
		"load_u64":       {wordRoom8, false, opLoad64},
		"store_u8":       {wordRoom1, false, opStore8},
		"store_u64":      {wordRoom8, false, opStore64},
		"input_load_u8":  {wordInput1, true, opLoad8},
		"input_load_u64": {wordInput8, true, opLoad64},
	}
}

// Sections and instructions that the kernel is made of.
const (
	sectionTypes     = 1
	sectionImports   = 2
	sectionFunctions = 3
	sectionMemory    = 5
	sectionExports   = 7
	sectionCode      = 10

	opIf       = 0x04
	opElse     = 0x05
	opEnd      = 0x0b
	opCall     = 0x10
	opGet      = 0x20
	opLoad64   = 0x29
	opLoad8    = 0x2d
	opStore64  = 0x37
	opStore8   = 0x3a
	opConst32  = 0x41
	opConst64  = 0x42
	opLess     = 0x54 // i64.lt_u
	opAdd      = 0x7c // i64.add
	opSubtract = 0x7d // i64.sub
	opWrap     = 0xa7 // i32.wrap_i64

	typeFunction = 0x60
	typeNone     = 0x40
)

// kernelModule gives the module that guests import as abi.NamespaceExtism: it
// passes all functions on to the host's own, but serves those of fastPaths
// itself where it can. It has a memory of one page, which the host grows, and
// no state beside it.
func kernelModule(funcs []hostFunc) []byte {
	var types, imports, functions, exports, code [][]byte
	paths := fastPaths()
	for i, f := range funcs {
		native := number(i)
		types = append(types, slices.Concat([]byte{typeFunction}, vec(f.params), vec(f.results)))
		imports = append(imports, slices.Concat(vec([]byte(nativeModule)), vec([]byte(f.name)), []byte{0}, native))
		served := native
		if path, ok := paths[f.name]; ok {
			served = number(len(funcs) + len(functions))
			functions = append(functions, native) // the types are in the functions' order
			code = append(code, vec(path.body(f, native)))
		}
		exports = append(exports, slices.Concat(vec([]byte(f.name)), []byte{0}, served))
	}
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(sectionTypes, types...), section(sectionImports, imports...), section(sectionFunctions, functions...),
		section(sectionMemory, []byte{0, 1}), section(sectionExports, exports...), section(sectionCode, code...))
}

// body is that of a function whose first parameter is an address:
//
//	if address - first < room { access } else { native(parameters) }
//
// All numbers are unsigned, so that what lies before the first is far behind
// the last. The access cannot trap: the bound is within the memory.
func (p fastPath) body(f hostFunc, native []byte) []byte {
	result := byte(typeNone)
	if len(f.results) > 0 {
		result = f.results[0]
	}
	rest := []byte{}
	for i := 1; i < len(f.params); i++ {
		rest = append(rest, opGet, byte(i))
	}
	b := []byte{0, opGet, 0} // no locals
	if !p.input {
		b = append(b, opConst64, kernelRootSize|0x80, 0, opSubtract) // kernelRootSize takes two bytes, since the first can say -64 to 63
	}
	b = slices.Concat(b, word(p.room), []byte{opLess, opIf, result, opGet, 0})
	if p.input {
		b = append(append(b, word(wordInput)...), opAdd)
	}
	b = slices.Concat(b, []byte{opWrap}, rest, []byte{p.access, 0, 0}) // no alignment, no offset
	return slices.Concat(b, []byte{opElse, opGet, 0}, rest, []byte{opCall}, native, []byte{opEnd, opEnd})
}

// word loads one of the words.
func word(at int) []byte { return []byte{opConst32, 0, opLoad64, 0, byte(at)} }

func section(id byte, items ...[]byte) []byte {
	return append([]byte{id}, vec(slices.Concat(number(len(items)), slices.Concat(items...)))...)
}

func vec(b []byte) []byte { return append(number(len(b)), b...) }

func number(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
