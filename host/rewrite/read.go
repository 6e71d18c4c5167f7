package rewrite

import "github.com/sluicehq/sluice/abi"

// Sections, in the order in which the format wants them.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionElement   = 9
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12
	sectionTag       = 13
	sectionStrings   = 14
)

// read takes a module apart. It checks the form of everything but the
// instructions, which are walked where they are needed, and every index but
// those in instructions.
func read(wasm []byte) (*module, *abi.Problem) {
	if len(wasm) > maxFrozenBytes {
		return nil, corrupt("", 0, "it has %d bytes; at most %d are allowed", len(wasm), maxFrozenBytes)
	}
	r := &reader{b: wasm, end: len(wasm), section: "header"}
	r.header()
	m := &module{start: -1}
	last, custom := 0, 0
	for r.more() {
		r.section = "section header"
		id := r.byte()
		size := int(r.u32())
		start := r.pos
		if r.take(size); r.err != nil {
			break
		}
		s := &reader{b: wasm, pos: start, end: start + size, section: sectionName(id)}
		if id == sectionCustom {
			if custom++; custom > maxCustom {
				s.corrupt("it has more than %d custom sections", maxCustom)
			}
		} else if rank := sectionRank(id); rank > 0 {
			if rank <= last {
				s.corrupt("it comes twice or too late")
			}
			last = rank
		}
		m.section(s, id, size)
		if s.err == nil && s.pos != s.end {
			s.corrupt("it has %d bytes too many", s.end-s.pos)
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return m, m.complete()
}

// complete checks what only the whole module shows.
func (m *module) complete() *abi.Problem {
	if len(m.code) != len(m.functions) {
		return corrupt("code", -1, "it has %d functions, %d are declared", len(m.code), len(m.functions))
	}
	return nil
}

// header tells a core module from everything else that people have by mistake.
func (r *reader) header() {
	if r.end < 8 || string(r.b[:4]) != "\x00asm" {
		r.corrupt("it is not WebAssembly")
		return
	}
	h := r.take(8)
	switch {
	case h[4] == 1 && h[5] == 0 && h[6] == 0 && h[7] == 0:
	case h[6] == 1:
		r.refuse(components())
	default:
		r.corrupt("it is WebAssembly version %d; build version 1", h[4])
	}
}

func sectionName(id byte) string {
	names := [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count", "tag", "strings"}
	if int(id) < len(names) {
		return names[id] + " section"
	}
	return "unknown section"
}

// sectionRank gives the place of a section in their order; 0 has none.
func sectionRank(id byte) int {
	switch {
	case id == sectionDataCount:
		return 2*sectionElement + 1
	case id <= sectionData:
		return 2 * int(id)
	}
	return 0
}

func (m *module) section(s *reader, id byte, size int) {
	name := ""
	switch id {
	case sectionCustom:
		if name = s.name(); name == "name" && s.err == nil {
			m.names = s.b[s.pos:s.end]
		}
		s.pos = s.end
	case sectionType:
		m.readTypes(s)
	case sectionImport:
		m.readImports(s)
	case sectionFunction:
		m.functions = make([]uint32, s.count("functions", maxFunctions))
		for i := range m.functions {
			m.functions[i] = s.index("type", len(m.types))
		}
	case sectionTable:
		for n := s.count("tables", maxTables); n > 0 && s.err == nil; n-- {
			m.tables = append(m.tables, s.table())
		}
	case sectionMemory:
		for n := s.count("memories", maxMemories); n > 0 && s.err == nil; n-- {
			m.addMemory(s)
		}
	case sectionGlobal:
		m.readGlobals(s)
	case sectionExport:
		m.readExports(s)
	case sectionStart:
		m.start = int(s.index("function", m.functionCount()))
	case sectionElement:
		m.readElements(s)
	case sectionDataCount:
		m.dataCount = true
		s.u32() // the data section's own count is what holds
	case sectionCode:
		m.readCode(s)
	case sectionData:
		m.readData(s)
	case sectionTag:
		s.refuse(exceptions())
	case sectionStrings:
		s.refuse(stringReferences())
	default:
		s.corrupt("%d is not a section of WebAssembly 2.0", id)
	}
	if s.err == nil {
		m.sections = append(m.sections, Section{labelOf(id, name), size})
	}
}

func labelOf(id byte, custom string) string {
	if id == sectionCustom {
		return "custom " + custom
	}
	name := sectionName(id)
	return name[:len(name)-len(" section")]
}

func (m *module) readTypes(s *reader) {
	n := s.count("types", maxTypes)
	m.types = make([]functionType, 0, n)
	for ; n > 0 && s.err == nil; n-- {
		if form := s.byte(); form != typeFunction && s.err == nil {
			s.pos--
			s.refuseForm(form)
		}
		m.types = append(m.types, functionType{
			params:  s.valueTypes("parameters", maxParams),
			results: s.valueTypes("results", maxResults),
		})
	}
}

func (s *reader) refuseForm(form byte) {
	switch form {
	case 0x4e, 0x4f, 0x50, 0x5e, 0x5f: // rec, sub final, sub, array, struct
		s.refuse(garbageCollection())
	case 0x5d:
		s.refuse(stackSwitching())
	default:
		s.corrupt("0x%02x is not the form of a function type", form)
	}
}

func (s *reader) valueTypes(what string, most int) []byte {
	n := s.count(what, most)
	start := s.pos
	for ; n > 0 && s.err == nil; n-- {
		s.valueType()
	}
	if s.err != nil {
		return nil
	}
	return s.b[start:s.pos:s.pos]
}

func (m *module) readImports(s *reader) {
	n := s.count("imports", maxImports)
	for ; n > 0 && s.err == nil; n-- {
		im := imported{module: s.name(), name: s.name(), kind: s.byte()}
		switch im.kind {
		case kindFunction:
			im.index = s.index("type", len(m.types))
			m.importedFunctions++
		case kindTable:
			im.index = uint32(len(m.tables))
			m.tables = append(m.tables, s.table())
			m.importedTables++
		case kindMemory:
			im.index = uint32(len(m.memories))
			m.addMemory(s)
			m.importedMemories++
		case kindGlobal:
			im.index = uint32(len(m.globals))
			m.globals = append(m.globals, s.globalType())
			m.importedGlobals++
		case kindTag:
			s.refuse(exceptions())
		default:
			s.corrupt("import %q.%q is of unknown kind %d", im.module, im.name, im.kind)
		}
		m.imports = append(m.imports, im)
	}
}

func (s *reader) table() table {
	if s.pos < s.end && s.b[s.pos] == 0x40 { // with an initial value
		s.refuse(functionReferences())
	}
	t := table{reference: s.referenceType()}
	t.limits = s.limits("table")
	if t.limits.least > maxTableItems {
		s.corrupt("a table starts with %d items; at most %d are allowed", t.limits.least, maxTableItems)
	}
	return t
}

func (m *module) addMemory(s *reader) {
	if len(m.memories) == 1 {
		s.refuse(multiMemory())
		return
	}
	l := s.limits("memory")
	if l.least > maxMemoryPages || l.bounded && l.most > maxMemoryPages {
		s.corrupt("a memory has at most %d pages", maxMemoryPages)
	}
	m.memories = append(m.memories, l)
}

func (s *reader) limits(what string) (l limits) {
	switch flags := s.byte(); {
	case flags <= 1:
		l.least = s.u32()
		if l.bounded = flags == 1; l.bounded {
			l.most = s.u32()
		}
	case flags&^0x0f != 0:
		s.corrupt("a %s has unknown limits 0x%02x", what, flags)
	case flags&0x08 != 0:
		s.refuse(customPages())
	case flags&0x04 != 0:
		s.refuse(memory64())
	default:
		s.refuse(threads())
	}
	if l.bounded && l.least > l.most {
		s.corrupt("a %s has a minimum of %d and a maximum of %d", what, l.least, l.most)
	}
	return l
}

func (s *reader) globalType() global {
	g := global{valueType: s.valueType()}
	switch flags := s.byte(); flags {
	case 0, 1:
		g.mutable = flags == 1
	case 2, 3:
		s.refuse(threads())
	default:
		s.corrupt("0x%02x is not the mutability of a global", flags)
	}
	return g
}

func (m *module) readGlobals(s *reader) {
	n := s.count("globals", maxGlobals)
	for ; n > 0 && s.err == nil; n-- {
		g := s.globalType()
		g.init = m.constant(s)
		m.globals = append(m.globals, g)
	}
	if len(m.globals) > maxGlobals {
		s.corrupt("it has %d globals with the imported ones; at most %d are allowed", len(m.globals), maxGlobals)
	}
}

func (m *module) readExports(s *reader) {
	n := s.count("exports", maxExports)
	m.exports = make([]export, 0, n)
	for ; n > 0 && s.err == nil; n-- {
		e := export{name: s.name(), kind: s.byte()}
		switch e.kind {
		case kindFunction:
			e.index = s.index("function", m.functionCount())
		case kindTable:
			e.index = s.index("table", len(m.tables))
		case kindMemory:
			e.index = s.index("memory", len(m.memories))
		case kindGlobal:
			e.index = s.index("global", len(m.globals))
		case kindTag:
			s.refuse(exceptions())
		default:
			s.corrupt("export %q is of unknown kind %d", e.name, e.kind)
		}
		m.exports = append(m.exports, e)
	}
}
