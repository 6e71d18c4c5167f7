package rewrite

// An opcode is an instruction's code: one byte, or a prefix and what follows.
type opcode uint16

const (
	prefixBulk   = 0xfc
	prefixVector = 0xfd
)

// The instructions that a rewriting has to know; the others are copied.
const (
	opUnreachable  opcode = 0x00
	opNop          opcode = 0x01
	opBlock        opcode = 0x02
	opLoop         opcode = 0x03
	opIf           opcode = 0x04
	opElse         opcode = 0x05
	opEnd          opcode = 0x0b
	opBr           opcode = 0x0c
	opBrIf         opcode = 0x0d
	opBrTable      opcode = 0x0e
	opReturn       opcode = 0x0f
	opCall         opcode = 0x10
	opCallIndirect opcode = 0x11
	opLocalGet     opcode = 0x20
	opLocalSet     opcode = 0x21
	opLocalTee     opcode = 0x22
	opGlobalGet    opcode = 0x23
	opGlobalSet    opcode = 0x24
	opTableGet     opcode = 0x25
	opTableSet     opcode = 0x26
	opMemorySize   opcode = 0x3f
	opMemoryGrow   opcode = 0x40
	opI32Const     opcode = 0x41
	opI64Const     opcode = 0x42
	opF32Const     opcode = 0x43
	opF64Const     opcode = 0x44
	opI64LtS       opcode = 0x53
	opI64Add       opcode = 0x7c
	opI64Sub       opcode = 0x7d
	opI64Or        opcode = 0x84
	opI64Shl       opcode = 0x86
	opI64ShrU      opcode = 0x88
	opI64ExtendU   opcode = 0xad
	opRefNull      opcode = 0xd0
	opRefFunc      opcode = 0xd2

	opMemoryInit opcode = prefixBulk<<8 | 8
	opDataDrop   opcode = prefixBulk<<8 | 9
	opMemoryCopy opcode = prefixBulk<<8 | 10
	opMemoryFill opcode = prefixBulk<<8 | 11
	opTableInit  opcode = prefixBulk<<8 | 12
	opElemDrop   opcode = prefixBulk<<8 | 13
	opTableCopy  opcode = prefixBulk<<8 | 14
	opTableGrow  opcode = prefixBulk<<8 | 15
	opTableSize  opcode = prefixBulk<<8 | 16
	opTableFill  opcode = prefixBulk<<8 | 17

	opV128Const opcode = prefixVector<<8 | 12
)

// An instruction is one instruction with its immediates.
type instruction struct {
	op       opcode
	from, to int    // in the bytes of the reader
	x, y     uint32 // label, function, type, table, segment, local or global
	block    int64  // type of a block: a type's index, or a value type or none as -64 to -1
	labels   int    // of a br_table, with the default
	labelsAt int    // where they are
	number   int64  // of a constant
}

// A walker walks over the instructions of one function and checks that they
// nest and that what they name exists. Operand types are the engine's to check.
type walker struct {
	reader
	instruction
	m      *module
	locals int
	depth  int // blocks that are open, with the function's own
	data   int // data segments that may be named
}

func (m *module) walk(wasm []byte, function int) walker {
	b := &m.code[function]
	w := walker{m: m, depth: 1, data: len(m.data), locals: len(m.types[m.functions[function]].params)}
	for _, run := range b.locals {
		w.locals += int(run.count)
	}
	w.reader = reader{b: wasm, pos: b.offset, end: b.offset + len(b.code), section: sectionName(sectionCode)}
	return w
}

// step goes to the next instruction. It gives false after the function's end
// and after an error.
func (w *walker) step() bool {
	if w.depth == 0 {
		if w.pos != w.end {
			w.corrupt("a function goes on after its end")
		}
		return false
	}
	w.next(&w.instruction)
	w.check()
	return w.err == nil
}

// check is about the indices of an instruction.
func (w *walker) check() {
	m := w.m
	switch w.op {
	case opBlock, opLoop, opIf:
		w.checkBlock()
	case opEnd:
		w.depth--
	case opBr, opBrIf:
		w.within("label", w.x, w.depth)
	case opBrTable:
		w.checkLabels()
	case opCall, opRefFunc:
		w.within("function", w.x, m.functionCount())
	case opCallIndirect:
		w.within("type", w.x, len(m.types))
		w.within("table", w.y, len(m.tables))
	case opLocalGet, opLocalSet, opLocalTee:
		w.within("local", w.x, w.locals)
	case opGlobalGet, opGlobalSet:
		w.within("global", w.x, len(m.globals))
	case opTableGet, opTableSet, opTableGrow, opTableSize, opTableFill:
		w.within("table", w.x, len(m.tables))
	case opTableCopy:
		w.within("table", w.x, len(m.tables))
		w.within("table", w.y, len(m.tables))
	case opTableInit:
		w.within("element segment", w.x, len(m.elements))
		w.within("table", w.y, len(m.tables))
	case opElemDrop:
		w.within("element segment", w.x, len(m.elements))
	case opMemoryInit, opDataDrop:
		w.within("data segment", w.x, w.data)
	case opMemoryGrow, opMemorySize, opMemoryCopy, opMemoryFill:
		w.within("memory", 0, len(m.memories))
	}
}

func (w *walker) checkBlock() {
	if w.depth++; w.depth > maxNesting {
		w.corrupt("blocks are nested more than %d deep", maxNesting)
	}
	if w.block >= 0 {
		w.within("type", uint32(w.block), len(w.m.types))
	}
}

func (w *walker) checkLabels() {
	w.eachLabel(func(label uint32) { w.within("label", label, w.depth) })
}

func (w *walker) within(what string, index uint32, size int) {
	if w.err == nil && uint64(index) >= uint64(size) {
		w.pos = w.from
		w.corrupt("%s %d does not exist, there are %d", what, index, size)
	}
}

// eachLabel gives the labels of a br_table, the default last.
func (w *walker) eachLabel(f func(label uint32)) {
	r := reader{b: w.b, pos: w.labelsAt, end: w.to}
	for range w.labels {
		f(r.u32())
	}
}

// blockType gives the types of a block's parameters and results.
func (m *module) blockType(block int64) (params, results int) {
	switch {
	case block >= 0:
		t := m.types[block]
		return len(t.params), len(t.results)
	case byte(block&0x7f) == typeEmpty:
		return 0, 0
	}
	return 0, 1
}
