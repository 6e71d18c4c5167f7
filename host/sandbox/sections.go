package sandbox

import (
	"errors"
	"fmt"
)

// maxLocals bounds the locals of one function, as browsers do: nothing that a
// compiler makes comes near it.
const maxLocals = 50_000

func (r *reader) functionTypes() []signature {
	var found []signature
	for range r.count() {
		if r.byte() != 0x60 {
			r.fail(needs("garbage collected types"))
		}
		found = append(found, signature{r.take(r.u32()), r.take(r.u32())})
		if r.err != nil {
			return nil
		}
	}
	return found
}

func (r *reader) imports(functionTypes []signature) []imported {
	var found []imported
	for range r.count() {
		im := imported{module: r.name(), name: r.name(), kind: r.byte()}
		switch im.kind {
		case kindFunction:
			if i := r.u32(); i < uint32(len(functionTypes)) {
				im.signature = functionTypes[i]
			} else {
				r.fail(errors.New("an import has a type that does not exist"))
			}
		case kindTable:
			r.reference()
			r.limits()
		case kindMemory:
			r.limits()
		case kindGlobal:
			r.take(2)
		case kindTag:
			r.fail(needs("exception handling"))
		default:
			r.fail(fmt.Errorf("import %.100q is of an unknown kind", im.name))
		}
		if r.err != nil {
			return nil
		}
		found = append(found, im)
	}
	return found
}

func (r *reader) tables() (items uint64) {
	for range r.count() {
		r.reference()
		items += r.limits()
	}
	return items
}

func (r *reader) memories() (pages uint64) {
	n := r.count()
	if n > 1 {
		r.fail(needs("several memories"))
	}
	if n == 0 {
		return 0
	}
	return r.limits()
}

// limits reads the least size of a table or memory.
func (r *reader) limits() (least uint64) {
	switch flags := r.byte(); {
	case flags&^0x0f != 0:
		r.fail(fmt.Errorf("a size has unknown flags %#x", flags))
	case flags&0x08 != 0:
		r.fail(needs("custom page sizes"))
	case flags&0x04 != 0:
		r.fail(needs("64-bit memory"))
	case flags&0x02 != 0:
		r.fail(needs("threads"))
	default:
		least = uint64(r.u32())
		if flags&0x01 != 0 {
			r.u32()
		}
	}
	return least
}

// reference reads the type of a table's items: funcref or externref.
func (r *reader) reference() {
	if t := r.byte(); t != 0x70 && t != 0x6f {
		r.fail(needs("typed function references"))
	}
}

func (r *reader) globals() {
	for range r.count() {
		r.take(2)
		if r.expression(); r.err != nil {
			return
		}
	}
}

func (r *reader) exports() {
	for range r.count() {
		r.name()
		r.byte()
		if r.u32(); r.err != nil {
			return
		}
	}
}

// elements reads the segments of tables. Bit 0 of the flags is for a segment
// without a place, bit 1 for a table's index or a declaration, bit 2 for items
// that are expressions.
func (r *reader) elements() {
	for range r.count() {
		flags := r.u32()
		if flags > 7 {
			r.fail(errors.New("an element segment has unknown flags"))
		}
		if flags&1 == 0 {
			if flags&2 != 0 {
				r.u32()
			}
			r.expression()
		}
		if flags&3 != 0 {
			r.byte() // kind or type
		}
		for range r.count() {
			if flags&4 != 0 {
				r.expression()
			} else {
				r.u32()
			}
		}
		if r.err != nil {
			return
		}
	}
}

// bodies reads the locals of every function; its code is the engine's.
func (r *reader) bodies() {
	for i := range r.count() {
		body := r.sub()
		var locals uint64
		for range body.count() {
			locals += uint64(body.u32())
			if t := body.byte(); t == 0x63 || t == 0x64 {
				body.fail(needs("typed function references"))
			}
		}
		if locals > maxLocals {
			body.fail(fmt.Errorf("function %d has %d locals and may have %d", i, locals, maxLocals))
		}
		if r.fail(body.err); r.err != nil {
			return
		}
	}
}

func (r *reader) data() {
	for range r.count() {
		switch flags := r.u32(); flags {
		case 0:
			r.expression()
		case 1: // passive
		case 2:
			r.u32()
			r.expression()
		default:
			r.fail(errors.New("a data segment has unknown flags"))
		}
		if r.take(r.u32()); r.err != nil {
			return
		}
	}
}

// custom reads the section of names, the only one that the engine reads.
func (r *reader) custom() {
	if r.name() != "name" {
		return
	}
	for len(r.b) > 0 && r.err == nil {
		id := r.byte()
		part := r.sub()
		switch id {
		case 0:
			part.name()
		case 1:
			part.names()
		case 2:
			for range part.count() {
				part.u32()
				part.names()
			}
		default:
			continue
		}
		if part.err == nil && len(part.b) > 0 {
			part.fail(errors.New("its section of names is not one"))
		}
		r.fail(part.err)
	}
}

func (r *reader) names() {
	for range r.count() {
		r.u32()
		if r.name(); r.err != nil {
			return
		}
	}
}

// expression reads a constant expression.
func (r *reader) expression() {
	for r.err == nil {
		switch op := r.byte(); op {
		case 0x0b: // end
			return
		case 0x23, 0x41, 0x42, 0xd0, 0xd2: // global.get, i32.const, i64.const, ref.null, ref.func
			r.leb()
		case 0x43: // f32.const
			r.take(4)
		case 0x44: // f64.const
			r.take(8)
		case 0xfd: // v128.const
			r.leb()
			r.take(16)
		case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e: // add, sub, mul
			r.fail(needs("extended constant expressions"))
		default:
			r.fail(fmt.Errorf("a constant expression has the instruction %#x", op))
		}
	}
}
