package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth bounds how deep a manifest, a schema and a call's arguments and
// data may nest. It is what the host takes, far beyond what people write.
const MaxDepth = 128

// Bounds of one number. Beyond them lies no business value, but arithmetic
// that takes seconds for a few bytes.
const (
	maxNumberBytes    = 400
	maxNumberExponent = 400
)

// errNumber says that a number is outside these bounds.
var errNumber = errors.New("number is outside what a 64-bit floating point number can hold")

// A jsonError says what is wrong with a JSON text, and where.
type jsonError struct {
	at      int // byte offset, from 0
	message string
}

func (e *jsonError) Error() string { return fmt.Sprintf("at byte %d: %s", e.at, e.message) }

// readJSON reads one JSON value. Text that is not UTF-8, nesting deeper than
// MaxDepth, a member that stands twice and numbers out of bounds are refused:
// two readers of the same bytes must not see different values.
func readJSON(raw []byte) (*node, error) {
	if !utf8.Valid(raw) {
		return nil, &jsonError{invalidUTF8(raw), "not UTF-8"}
	}
	if !json.Valid(raw) {
		return nil, syntaxError(raw)
	}
	r := jsonReader{raw: raw, whole: string(raw), line: 1}
	return r.value(0)
}

func invalidUTF8(raw []byte) int {
	at := 0
	for at < len(raw) {
		c, size := utf8.DecodeRune(raw[at:])
		if c == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	return at
}

func syntaxError(raw []byte) error {
	var discard json.RawMessage
	var syntax *json.SyntaxError
	if err := json.Unmarshal(raw, &discard); errors.As(err, &syntax) {
		return &jsonError{int(syntax.Offset), syntax.Error()}
	}
	return &jsonError{0, "not JSON"}
}

// A jsonReader builds nodes from text that is known to be valid JSON. What is
// written out in the text is not copied once more, and nodes are made many at
// once: each call of a tool reads its arguments and its data so.
type jsonReader struct {
	raw   []byte
	whole string // raw
	pos   int
	line  int
	spare []node // for what comes next

	parents int // objects and lists that have parts, so far
}

// manyNodes bounds the nodes that are made at once.
const manyNodes = 256

func (r *jsonReader) node() *node {
	if len(r.spare) == 0 {
		r.spare = make([]node, r.nodesAtMost())
	}
	n := &r.spare[0]
	r.spare = r.spare[1:]
	n.line = r.line
	return n
}

// nodesAtMost gives how many nodes the rest of the text has at most, within
// bounds: one for itself, one for each comma and one for what first stands in
// each object and list.
func (r *jsonReader) nodesAtMost() int {
	rest, most := r.raw[r.pos:min(len(r.raw), r.pos+8*manyNodes)], 1
	for _, begins := range []string{",", "{", "["} {
		most += bytes.Count(rest, []byte(begins))
	}
	return min(most, manyNodes)
}

func (r *jsonReader) value(depth int) (*node, error) {
	if depth > MaxDepth {
		return nil, &jsonError{r.pos, fmt.Sprintf("nested deeper than %d", MaxDepth)}
	}
	r.space()
	n := r.node()
	switch c := r.raw[r.pos]; c {
	case '{':
		n.kind = object
		return n, r.object(n, depth)
	case '[':
		n.kind = list
		return n, r.list(n, depth)
	case '"':
		n.kind = text
		var err error
		n.text, err = r.text()
		return n, err
	case 't', 'f':
		n.kind, n.text = boolean, r.word()
	case 'n':
		r.word()
	default:
		start := r.pos
		n.kind, n.text = number, r.word()
		if !boundedNumber(n.text) {
			return nil, &jsonError{start, errNumber.Error()}
		}
	}
	return n, nil
}

// fewParts is how many members or items most objects and lists have at most. Room
// for so many is made at once in the first few of a text: in one that has a million
// of them it would be most of what they take.
const (
	fewParts   = 4
	fewParents = 64
)

// room gives for how many parts one more object or list makes room at first.
func (r *jsonReader) room() int {
	if r.parents++; r.parents <= fewParents {
		return fewParts
	}
	return 1
}

func (r *jsonReader) object(n *node, depth int) error {
	var seen map[string]bool // only for objects too large to search
	for r.pos++; r.next() != '}'; {
		r.comma()
		start, line := r.pos, r.line
		name, err := r.text()
		if err != nil {
			return err
		}
		if len(n.members) == 16 {
			seen = make(map[string]bool, 64)
			for _, m := range n.members {
				seen[m.name] = true
			}
		}
		if seen[name] || seen == nil && n.get(name) != nil {
			return &jsonError{start, fmt.Sprintf("member %q stands twice", name)}
		}
		if seen != nil {
			seen[name] = true
		}
		r.space()
		r.pos++ // the colon
		value, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		if n.members == nil {
			n.members = make([]member, 0, r.room())
		}
		n.members = append(n.members, member{name, line, value})
	}
	r.pos++
	return nil
}

func (r *jsonReader) list(n *node, depth int) error {
	for r.pos++; r.next() != ']'; {
		r.comma()
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		if n.items == nil {
			n.items = make([]*node, 0, r.room())
		}
		n.items = append(n.items, item)
	}
	r.pos++
	return nil
}

func (r *jsonReader) space() {
	for r.pos < len(r.raw) {
		switch r.raw[r.pos] {
		case '\n':
			r.line++
		case ' ', '\t', '\r':
		default:
			return
		}
		r.pos++
	}
}

func (r *jsonReader) next() byte {
	r.space()
	return r.raw[r.pos]
}

func (r *jsonReader) comma() {
	if r.raw[r.pos] == ',' {
		r.pos++
		r.space()
	}
}

func (r *jsonReader) word() string {
	start := r.pos
	for r.pos < len(r.raw) && !strings.ContainsRune(" \t\r\n,]}", rune(r.raw[r.pos])) {
		r.pos++
	}
	return r.whole[start:r.pos]
}

func (r *jsonReader) text() (string, error) {
	start, escaped := r.pos, false
	for r.pos++; r.raw[r.pos] != '"'; r.pos++ {
		if r.raw[r.pos] == '\\' {
			escaped = true
			r.pos++
		}
	}
	r.pos++
	if !escaped {
		return r.whole[start+1 : r.pos-1], nil
	}
	var s string
	if err := json.Unmarshal(r.raw[start:r.pos], &s); err != nil {
		return "", &jsonError{start, err.Error()}
	}
	return s, nil
}

// halfCharacter reports whether valid JSON escapes half of a surrogate pair.
// Some readers keep it and some take it for U+FFFD, which would make different
// arguments one.
func halfCharacter(raw []byte) bool {
	high := false // the escape right before is the first half of a pair
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			if high {
				return true
			}
			continue
		}
		i++
		var code uint64
		if raw[i] == 'u' {
			code, _ = strconv.ParseUint(string(raw[i+1:i+5]), 16, 16)
			i += 4
		}
		low := code >= 0xdc00 && code < 0xe000
		if low != high {
			return true
		}
		high = code >= 0xd800 && code < 0xdc00
	}
	return false
}

// plainDigits is the most bytes of a number without an exponent that surely is
// within every bound, and whose value an int64 holds if it is whole.
const plainDigits = 18

// boundedNumber reports whether a JSON number stays within the bounds of this
// package.
func boundedNumber(text string) bool {
	if len(text) > maxNumberBytes {
		return false
	}
	if len(text) <= plainDigits && !strings.ContainsAny(text, "eE") {
		return true // as nearly all are: no arithmetic is needed
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.Atoi(text[i+1:])
		if err != nil || e > maxNumberExponent || e < -maxNumberExponent {
			return false
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsInf(f, 0)
}
