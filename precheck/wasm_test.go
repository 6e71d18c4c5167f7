package precheck

import (
	"encoding/binary"
	"slices"
)

// A mod is a module to be, written by hand: what a toolchain would not make.
type mod struct {
	imports []imp
	funcs   []fn
	pages   int
	table   int
	data    string
	tail    []byte // sections behind the data
}

type imp struct{ module, name, typ string }

// A fn is a function that is exported by its name.
type fn struct {
	name, typ string
	locals    int    // of type i32
	long      bool   // they are of type i64
	body      []byte // without the end
}

// Types by their letters: parameters, ">", results; i is i32, l is i64.
func typeOf(t string) []byte {
	b := []byte{0x60}
	for _, side := range [][]byte{[]byte(t[:slices.Index([]byte(t), '>')]), []byte(t[slices.Index([]byte(t), '>')+1:])} {
		b = append(b, byte(len(side)))
		for _, c := range side {
			b = append(b, map[byte]byte{'i': 0x7f, 'l': 0x7e}[c])
		}
	}
	return b
}

func leb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func sleb(n int64) []byte {
	var b []byte
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func text(s string) []byte { return append(leb(len(s)), s...) }

func vector(items ...[]byte) []byte { return append(leb(len(items)), slices.Concat(items...)...) }

func section(id byte, content []byte) []byte {
	return slices.Concat([]byte{id}, leb(len(content)), content)
}

func (m mod) bytes() []byte {
	var types, imports, funcs, exports, codes [][]byte
	typed := func(t string) []byte {
		types = append(types, typeOf(t))
		return leb(len(types) - 1)
	}
	for _, i := range m.imports {
		imports = append(imports, slices.Concat(text(i.module), text(i.name), []byte{0}, typed(i.typ)))
	}
	for n, f := range m.funcs {
		funcs = append(funcs, typed(f.typ))
		if f.name != "" {
			exports = append(exports, slices.Concat(text(f.name), []byte{0}, leb(len(m.imports)+n)))
		}
		locals := vector()
		if f.locals > 0 {
			t := byte(0x7f)
			if f.long {
				t = 0x7e
			}
			locals = vector(append(leb(f.locals), t))
		}
		code := slices.Concat(locals, f.body, []byte{0x0b})
		codes = append(codes, append(leb(len(code)), code...))
	}
	b := []byte("\x00asm\x01\x00\x00\x00")
	b = append(b, section(1, vector(types...))...)
	b = append(b, section(2, vector(imports...))...)
	b = append(b, section(3, vector(funcs...))...)
	if m.table > 0 {
		b = append(b, section(4, vector(append([]byte{0x70, 0}, leb(m.table)...)))...)
	}
	b = append(b, section(5, vector(append([]byte{0}, leb(max(m.pages, 1))...)))...)
	b = append(b, section(7, vector(exports...))...)
	b = append(b, section(10, vector(codes...))...)
	if m.data != "" {
		b = append(b, section(11, vector(slices.Concat([]byte{0, 0x41, 0, 0x0b}, text(m.data))))...)
	}
	return append(b, m.tail...)
}

// Functions of Extism's ABI, which every answer needs.
var answering = []imp{
	{"extism:host/env", "alloc", "l>l"},
	{"extism:host/env", "store_u8", "li>"},
	{"extism:host/env", "output_set", "ll>"},
}

const (
	callAlloc, callStore, callOutput = 0, 1, 2
)

// saying gives the body of a function with one long local that answers with a
// text.
func saying(s string) []byte {
	b := slices.Concat([]byte{0x42}, sleb(int64(len(s))), []byte{0x10, callAlloc, 0x21, 0})
	for i := range len(s) {
		b = append(b, slices.Concat([]byte{0x20, 0, 0x42}, sleb(int64(i)), []byte{0x7c, 0x41}, sleb(int64(s[i])), []byte{0x10, callStore})...)
	}
	return append(b, slices.Concat([]byte{0x20, 0, 0x42}, sleb(int64(len(s))), []byte{0x10, callOutput, 0x41, 0})...)
}

// returning gives the body of a function that returns a number.
func returning(n int64) []byte { return append([]byte{0x41}, sleb(n)...) }
