package wire

import (
	"iter"
	"unicode/utf8"
)

// These walk over text that Valid has accepted, and over nothing else.

// skipValue gives the index after the value that begins at i.
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipText(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	return skipWord(b, i)
}

// skipWord gives the end of a number, true, false or null.
func skipWord(b []byte, i int) int {
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && !isSpace(b[i]) {
		i++
	}
	return i
}

func skipText(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func skipNested(b []byte, i int) int {
	for depth := 0; ; {
		switch b[i] {
		case '"':
			i = skipText(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// Members ranges over the members of the object that b is: a name as it reads,
// and its value as it stands. B must be Valid. It gives nothing where b is no
// object; see KindOf.
func Members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		i := skipSpace(b, 0)
		if b[i] != '{' {
			return
		}
		for i = skipSpace(b, i+1); b[i] != '}'; {
			end := skipText(b, i)
			name, _ := unquote(b[i:end])
			i = skipSpace(b, skipSpace(b, end)+1) // the colon
			end = skipValue(b, i)
			if !yield(name, b[i:end:end]) {
				return
			}
			if i = skipSpace(b, end); b[i] == ',' {
				i = skipSpace(b, i+1)
			}
		}
	}
}

// A Kind is what a JSON value is.
type Kind byte

// Kinds, by the first byte of the value; a number has the kind Number whatever
// its first byte.
const (
	Object Kind = '{'
	List   Kind = '['
	Text   Kind = '"'
	True   Kind = 't'
	False  Kind = 'f'
	Null   Kind = 'n'
	Number Kind = '0'
)

// KindOf gives the kind of a value that is Valid.
func KindOf(b []byte) Kind {
	switch k := Kind(b[skipSpace(b, 0)]); k {
	case Object, List, Text, True, False, Null:
		return k
	}
	return Number
}

// TextOf gives what a value of the kind Text reads as, or nothing for a value
// of another kind. B must be Valid.
func TextOf(b []byte) string {
	i := skipSpace(b, 0)
	if b[i] != '"' {
		return ""
	}
	text, _ := unquote(b[i:skipText(b, i)])
	return string(text)
}

// Named reports whether a member's name means a field, whose name is ASCII: it
// is its name, or differs from it in case only, as encoding/json takes it.
func Named(name []byte, field string) bool {
	for i, c := range name {
		if c >= utf8.RuneSelf { // some runes fold into ASCII letters
			var a, b [32]byte
			return string(fold(a[:0], name)) == string(fold(b[:0], []byte(field)))
		}
		if i >= len(field) || upper(c) != upper(field[i]) {
			return false
		}
	}
	return len(name) == len(field)
}
