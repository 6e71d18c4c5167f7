package rewrite

// constant reads a constant expression and gives it with its end.
func (m *module) constant(s *reader) []byte {
	start := s.pos
	var in instruction
	for ops := 0; s.err == nil; ops++ {
		s.next(&in)
		if in.op == opEnd {
			break
		}
		if in.op == opRefFunc && int(in.x) >= m.functionCount() {
			s.corrupt("function %d does not exist, there are %d", in.x, m.functionCount())
		}
		if in.op == opGlobalGet && int(in.x) >= len(m.globals) {
			s.corrupt("global %d does not exist, there are %d", in.x, len(m.globals))
		}
		if !isConstant(in.op) || ops == maxConstantOps {
			s.refuse(extendedConstants())
		}
	}
	if s.err != nil {
		return nil
	}
	return s.b[start:s.pos:s.pos]
}

func isConstant(op opcode) bool {
	switch op {
	case opI32Const, opI64Const, opF32Const, opF64Const, opV128Const, opGlobalGet, opRefNull, opRefFunc:
		return true
	}
	return false
}

func (m *module) readElements(s *reader) {
	n := s.count("element segments", maxElements)
	for ; n > 0 && s.err == nil; n-- {
		m.elements = append(m.elements, m.element(s))
	}
}

func (m *module) element(s *reader) element {
	mode := s.u32()
	if mode > 7 {
		s.corrupt("%d is not a kind of element segment", mode)
		return element{}
	}
	e := element{mode: byte(mode)}
	if e.active() {
		if e.mode&2 != 0 {
			e.table = s.index("table", len(m.tables))
		}
		e.offset = m.constant(s)
	}
	if e.mode&3 != 0 {
		e.kind = s.byte()
	}
	e.count = s.count("elements", s.end)
	start := s.pos
	for i := 0; i < e.count && s.err == nil; i++ {
		if e.expressions() {
			m.constant(s)
		} else {
			s.index("function", m.functionCount())
		}
	}
	if s.err == nil {
		e.items = s.b[start:s.pos:s.pos]
	}
	return e
}

func (m *module) readCode(s *reader) {
	n := s.count("functions", maxFunctions)
	if n != len(m.functions) {
		s.corrupt("it has %d functions, %d are declared", n, len(m.functions))
		return
	}
	m.code = make([]body, 0, n)
	for ; n > 0 && s.err == nil; n-- {
		size := s.count("bytes in a function", maxBodyBytes)
		f := &reader{b: s.b, pos: s.pos, end: s.pos + size, section: s.section}
		params := len(m.types[m.functions[len(m.code)]].params)
		m.code = append(m.code, f.body(params))
		if s.take(size); f.err != nil {
			s.fail(f.err)
		}
	}
}

func (s *reader) body(params int) (b body) {
	total := uint64(params)
	for n := s.count("runs of locals", maxLocals); n > 0 && s.err == nil; n-- {
		run := localRun{s.u32(), 0}
		run.valueType = s.valueType()
		if total += uint64(run.count); total > maxLocals {
			s.corrupt("a function has %d locals or more; at most %d are allowed", total, maxLocals)
		}
		if run.count > 0 {
			b.locals = append(b.locals, run)
		}
	}
	if s.err != nil {
		return b
	}
	if s.pos == s.end || s.b[s.end-1] != byte(opEnd) {
		s.corrupt("a function does not end with its end")
	}
	b.code, b.offset = s.b[s.pos:s.end:s.end], s.pos
	return b
}

func (m *module) readData(s *reader) {
	n := s.count("data segments", maxData)
	for ; n > 0 && s.err == nil; n-- {
		var d data
		switch mode := s.u32(); mode {
		case 0:
			d.active = true
		case 1:
		case 2:
			d.active = true
			s.memoryIndex()
		default:
			s.corrupt("%d is not a kind of data segment", mode)
		}
		if d.active {
			d.offset = m.constant(s)
		}
		d.content = s.take(s.count("bytes of data", s.end))
		m.data = append(m.data, d)
	}
}

// memoryIndex reads the index of the only memory.
func (s *reader) memoryIndex() {
	if s.u32() != 0 {
		s.refuse(multiMemory())
	}
}
