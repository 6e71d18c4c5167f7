package rewrite

// write puts a module together. Code is what each function is now, with its
// locals; nil takes it as it was read. shift is added to every function index
// from the imported ones on, outside of code.
func (m *module) write(wasm []byte, shift functionShift, code [][]byte) []byte {
	out := make([]byte, 0, len(wasm)+len(wasm)/4+1024)
	out = append(out, "\x00asm\x01\x00\x00\x00"...)
	w := &writer{out: out}
	w.list(sectionType, len(m.types), func(i int) { w.functionType(m.types[i]) })
	w.list(sectionImport, len(m.imports), func(i int) { w.imported(m, m.imports[i]) })
	w.list(sectionFunction, len(m.functions), func(i int) { w.u32(m.functions[i]) })
	w.list(sectionTable, len(m.tables)-m.importedTables, func(i int) { w.table(m.tables[m.importedTables+i]) })
	w.list(sectionMemory, len(m.memories)-m.importedMemories, func(i int) { w.limits(m.memories[m.importedMemories+i]) })
	w.list(sectionGlobal, len(m.globals)-m.importedGlobals, func(i int) { w.global(m.globals[m.importedGlobals+i], shift) })
	w.list(sectionExport, len(m.exports), func(i int) { w.export(m.exports[i], shift) })
	if m.start >= 0 {
		w.section(sectionStart, func() { w.u32(shift.of(uint32(m.start))) })
	}
	w.list(sectionElement, len(m.elements), func(i int) { w.element(m.elements[i], shift) })
	if m.dataCount {
		w.section(sectionDataCount, func() { w.u32(uint32(len(m.data))) })
	}
	w.list(sectionCode, len(m.functions), func(i int) {
		if code != nil {
			w.bytes(code[i])
			return
		}
		w.bytes(m.code[i].write(nil, m.code[i].code))
	})
	w.list(sectionData, len(m.data), func(i int) { w.data(m.data[i]) })
	if names := shiftNames(m.names, shift); names != nil {
		w.section(sectionCustom, func() {
			w.bytes([]byte("name"))
			w.out = append(w.out, names...)
		})
	}
	return w.out
}

// A functionShift moves the indices of functions from one on.
type functionShift struct{ from, by uint32 }

func (s functionShift) of(function uint32) uint32 {
	if function >= s.from {
		return function + s.by
	}
	return function
}

type writer struct{ out []byte }

func (w *writer) byte(b byte)                              { w.out = append(w.out, b) }
func (w *writer) u32(v uint32)                             { w.out = putU32(w.out, v) }
func (w *writer) bytes(b []byte)                           { w.out = putBytes(w.out, b) }
func (w *writer) expression(e []byte, shift functionShift) { w.out = shiftConstant(w.out, e, shift) }

// list writes a section of so many items, if there are any.
func (w *writer) list(id byte, count int, item func(i int)) {
	if count == 0 {
		return
	}
	w.section(id, func() {
		w.u32(uint32(count))
		for i := range count {
			item(i)
		}
	})
}

// section writes a section, whose size is known when its content is there.
func (w *writer) section(id byte, content func()) {
	const sizeBytes = 5
	w.byte(id)
	at := len(w.out)
	w.out = append(w.out, make([]byte, sizeBytes)...)
	content()
	size := putU32(nil, uint32(len(w.out)-at-sizeBytes))
	copy(w.out[at:], size)
	w.out = append(w.out[:at+len(size)], w.out[at+sizeBytes:]...)
}

func (w *writer) functionType(t functionType) {
	w.byte(typeFunction)
	w.bytes(t.params)
	w.bytes(t.results)
}

func (w *writer) imported(m *module, im imported) {
	w.bytes([]byte(im.module))
	w.bytes([]byte(im.name))
	w.byte(im.kind)
	switch im.kind {
	case kindFunction:
		w.u32(im.index)
	case kindTable:
		w.table(m.tables[im.index])
	case kindMemory:
		w.limits(m.memories[im.index])
	case kindGlobal:
		w.globalType(m.globals[im.index])
	}
}

func (w *writer) table(t table) {
	w.byte(t.reference)
	w.limits(t.limits)
}

func (w *writer) limits(l limits) {
	if !l.bounded {
		w.byte(0)
		w.u32(l.least)
		return
	}
	w.byte(1)
	w.u32(l.least)
	w.u32(l.most)
}

func (w *writer) globalType(g global) {
	w.byte(g.valueType)
	if g.mutable {
		w.byte(1)
	} else {
		w.byte(0)
	}
}

func (w *writer) global(g global, shift functionShift) {
	w.globalType(g)
	w.expression(g.init, shift)
}

func (w *writer) export(e export, shift functionShift) {
	w.bytes([]byte(e.name))
	w.byte(e.kind)
	if e.kind == kindFunction {
		w.u32(shift.of(e.index))
	} else {
		w.u32(e.index)
	}
}

func (w *writer) element(e element, shift functionShift) {
	w.byte(e.mode)
	if e.active() {
		if e.mode&2 != 0 {
			w.u32(e.table)
		}
		w.expression(e.offset, shift)
	}
	if e.mode&3 != 0 {
		w.byte(e.kind)
	}
	w.u32(uint32(e.count))
	r := reader{b: e.items, end: len(e.items)}
	for range e.count {
		if !e.expressions() {
			w.u32(shift.of(r.u32()))
			continue
		}
		start := r.pos
		r.skipConstant()
		w.expression(e.items[start:r.pos], shift)
	}
}

func (w *writer) data(d data) {
	if d.active {
		w.byte(0)
		w.out = append(w.out, d.offset...)
	} else {
		w.byte(1)
	}
	w.bytes(d.content)
}

// write appends a function's locals and its code, which may be another one.
func (b body) write(out, code []byte) []byte {
	out = putU32(out, uint32(len(b.locals)))
	for _, run := range b.locals {
		out = putU32(out, run.count)
		out = append(out, run.valueType)
	}
	return append(out, code...)
}

// shiftConstant copies a constant expression.
func shiftConstant(out, expression []byte, shift functionShift) []byte {
	var in instruction
	r := reader{b: expression, end: len(expression)}
	for r.more() {
		if r.next(&in); in.op == opRefFunc {
			out = putU32(append(out, byte(opRefFunc)), shift.of(in.x))
			continue
		}
		out = append(out, expression[in.from:in.to]...)
	}
	return out
}

func (r *reader) skipConstant() {
	var in instruction
	for r.more() {
		if r.next(&in); in.op == opEnd {
			return
		}
	}
}
