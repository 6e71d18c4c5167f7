package rewrite_test

// A generator makes a valid module out of arbitrary bytes, each of which is a
// choice. When they are used up, it only closes what is open.
type generator struct {
	b       *builder
	choices []byte
	depth   int
	frames  []bool // of the open blocks: a branch to it carries a value
}

// Shapes of a generated module: some functions of one i32 parameter and one
// i32 result, each with some i32 locals; a memory, a table and two globals.
const (
	generatedFunctions = 4
	generatedLocals    = 3 // with the parameter
	deepestGenerated   = 6
)

func generate(choices []byte) []byte {
	g := &generator{b: newBuilder(), choices: choices}
	g.b.pages(1, 8)
	g.b.table(generatedFunctions + 1) // its last item stays null
	g.b.global(i32t, 1, i32c(7)...)
	g.b.global(i64t, 1, i64c(9)...)
	for range generatedFunctions {
		g.frames = []bool{true}
		g.b.function([]byte{i32t}, []byte{i32t}, []byte{2, i32t}, g.sequence(), g.value())
	}
	g.b.element(0, 1, 2, 3)
	g.b.activeData(64, "generated")
	return g.b.export("run", 0, 0).export("memory", 2, 0).bytes()
}

func (g *generator) choose(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := int(g.choices[0]) % n
	g.choices = g.choices[1:]
	return c
}

func (g *generator) local() uint32 { return uint32(g.choose(generatedLocals)) }

// sequence gives statements: code that leaves the stack as it was.
func (g *generator) sequence() []byte {
	var code []byte
	for range 1 + g.choose(5) {
		if len(g.choices) == 0 {
			break
		}
		code = append(code, g.statement()...)
	}
	return code
}

func (g *generator) statement() []byte {
	if g.depth >= deepestGenerated {
		return join(g.value(), set(g.local()))
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.choose(16) {
	case 0:
		return join(g.value(), set(g.local()))
	case 1:
		return join(g.address(), g.value(), i32store(0))
	case 2:
		return join(g.value(), globalSet(0))
	case 3:
		return g.nested(0x02, false)
	case 4:
		return g.nested(0x03, false)
	case 5:
		return join(g.value(), g.nested(0x04, g.choose(2) == 1))
	case 6:
		return g.branchIf()
	case 7:
		return g.branch()
	case 8:
		return g.table()
	case 9:
		return join(g.value(), op(0x0f)) // return
	case 10:
		return join(g.small(), g.small(), g.small(), [][]byte{memoryCopy, memoryFill}[g.choose(2)])
	case 11:
		return join(g.small(), i32c(int32(g.choose(100))), i32c(int32(g.choose(256))), memoryFill)
	case 12:
		return join(i32c(int32(g.choose(2))), memoryGrow, set(g.local()))
	case 13:
		return g.countedLoop()
	case 14:
		return join(globalGet(1), i64c(3), i64add, globalSet(1))
	default:
		return op(0x01)
	}
}

// value gives code that pushes an i32.
func (g *generator) value() []byte {
	if g.depth >= deepestGenerated {
		return get(g.local())
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.choose(12) {
	case 0, 1:
		return get(g.local())
	case 2:
		return i32c(int32(g.choose(256)) - 100)
	case 3:
		return join(g.value(), g.value(), op([]byte{0x6a, 0x6b, 0x6c, 0x71, 0x73, 0x48, 0x4d}[g.choose(7)]))
	case 4:
		return join(g.value(), g.value(), op([]byte{0x6d, 0x70}[g.choose(2)])) // may trap
	case 5:
		return join(g.address(), i32load(0))
	case 6:
		return join(g.value(), call(uint32(g.choose(generatedFunctions))))
	case 7: // every function has a type of its own that is equal to the others
		return join(g.value(), i32c(int32(g.choose(generatedFunctions+2))), op(0x11, 0, 0))
	case 8:
		return g.valueBlock(0x02)
	case 9:
		return g.valueBlock(0x03)
	case 10:
		return join(g.value(), g.valueIf())
	default:
		return globalGet(0)
	}
}

func (g *generator) address() []byte { return join(g.value(), i32c(1023), op(0x71)) }

func (g *generator) small() []byte { return join(g.value(), i32c(255), op(0x71)) }

// inside runs f with one more block open.
func (g *generator) inside(carries bool, f func() []byte) []byte {
	g.frames = append(g.frames, carries)
	code := f()
	g.frames = g.frames[:len(g.frames)-1]
	return code
}

func (g *generator) nested(kind byte, withElse bool) []byte {
	return g.inside(false, func() []byte {
		code := join([]byte{kind, 0x40}, g.sequence())
		if withElse {
			code = join(code, op(0x05), g.sequence())
		}
		return append(code, 0x0b)
	})
}

func (g *generator) valueBlock(kind byte) []byte {
	return g.inside(kind == 0x02, func() []byte {
		return join([]byte{kind, i32t}, g.sequence(), g.value(), op(0x0b))
	})
}

func (g *generator) valueIf() []byte {
	return g.inside(true, func() []byte {
		return join([]byte{0x04, i32t}, g.sequence(), g.value(), op(0x05), g.sequence(), g.value(), op(0x0b))
	})
}

// countedLoop goes round a small number of times, so that generated programs
// end more often than chance would have it.
func (g *generator) countedLoop() []byte {
	counter := g.local()
	return g.inside(false, func() []byte {
		return join(i32c(int32(g.choose(20))), set(counter), []byte{0x03, 0x40}, g.sequence(),
			get(counter), i32c(1), i32sub, tee(counter), i32c(0), op(0x4a), brIf(0), op(0x0b))
	})
}

func (g *generator) label() (label uint32, carries bool) {
	label = uint32(g.choose(len(g.frames)))
	return label, g.frames[len(g.frames)-1-int(label)]
}

func (g *generator) branch() []byte {
	label, carries := g.label()
	if carries {
		return join(g.value(), br(label))
	}
	return br(label)
}

func (g *generator) branchIf() []byte {
	label, carries := g.label()
	if carries {
		return join(g.value(), g.value(), brIf(label), drop)
	}
	return join(g.value(), brIf(label))
}

// table branches to labels that all carry a value, or none.
func (g *generator) table() []byte {
	fallback, carries := g.label()
	labels := uleb(fallback)
	n := g.choose(4)
	for range n {
		label, other := g.label()
		if other != carries {
			label = fallback
		}
		labels = append(uleb(label), labels...)
	}
	code := join(g.value(), op(0x0e), uleb(uint32(n)), labels)
	if carries {
		return join(g.value(), code)
	}
	return code
}
