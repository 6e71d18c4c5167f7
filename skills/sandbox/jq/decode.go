package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluicehq/sluice/sdk"
)

// maxDepth bounds how deep documents nest: what reads them calls itself.
const maxDepth = 500

// A decoder reads JSON in one pass. Texts without escapes and numbers are parts
// of the blob, so that a document costs little more than its lists and objects.
type decoder struct {
	text string
	at   int
}

// decode reads documents one after the other, strictly as RFC 8259 has them.
// Numbers keep their digits; bytes that are no UTF-8 become the replacement
// character.
func decode(data []byte) ([]any, error) {
	d := decoder{text: strings.ToValidUTF8(strings.TrimPrefix(string(data), "\uFEFF"), "\uFFFD")}
	documents := []any{}
	for {
		if d.space(); d.at == len(d.text) {
			return documents, nil
		}
		v, err := d.value(0)
		if err != nil {
			return nil, err
		}
		documents = append(documents, v)
	}
}

func (d *decoder) space() {
	for d.at < len(d.text) {
		switch d.text[d.at] {
		case ' ', '\n', '\r', '\t':
			d.at++
		default:
			return
		}
	}
}

func (d *decoder) bad(what string) error {
	return sdk.BadArgument("input", "%s at byte %d", what, d.at)
}

// next passes one mark, if it is there.
func (d *decoder) next(mark byte) bool {
	if d.at < len(d.text) && d.text[d.at] == mark {
		d.at++
		return true
	}
	return false
}

func (d *decoder) value(depth int) (any, error) {
	if d.at == len(d.text) {
		return nil, d.bad("it ends")
	}
	if depth > maxDepth {
		return nil, d.bad("lists and objects are nested too deeply")
	}
	switch d.text[d.at] {
	case '{':
		return d.object(depth)
	case '[':
		return d.list(depth)
	case '"':
		return d.string()
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	case 'n':
		return nil, d.word("null")
	}
	return d.number()
}

func (d *decoder) word(word string) error {
	if !strings.HasPrefix(d.text[d.at:], word) {
		return d.bad("there is no value")
	}
	d.at += len(word)
	return nil
}

func (d *decoder) list(depth int) (any, error) {
	d.at++
	list := []any{}
	if d.space(); d.next(']') {
		return list, nil
	}
	for {
		d.space()
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		switch d.space(); {
		case d.next(']'):
			return list, nil
		case !d.next(','):
			return nil, d.bad("a list has no comma or end")
		}
	}
}

func (d *decoder) object(depth int) (any, error) {
	d.at++
	object := map[string]any{}
	if d.space(); d.next('}') {
		return object, nil
	}
	for {
		if d.space(); d.at == len(d.text) || d.text[d.at] != '"' {
			return nil, d.bad("an object has no name")
		}
		name, err := d.string()
		if err != nil {
			return nil, err
		}
		if d.space(); !d.next(':') {
			return nil, d.bad("a name has no colon")
		}
		d.space()
		if object[name], err = d.value(depth + 1); err != nil {
			return nil, err
		}
		switch d.space(); {
		case d.next('}'):
			return object, nil
		case !d.next(','):
			return nil, d.bad("an object has no comma or end")
		}
	}
}

// exactDigits is how many digits fit an int of any size of machine's 64 bits.
const exactDigits = 15

// number reads a number: a short whole one as an int, others by their digits.
func (d *decoder) number() (any, error) {
	from := d.at
	d.next('-')
	whole := d.at
	if !d.next('0') {
		d.digits()
	}
	plain := d.at
	ok := d.at > whole
	if d.next('.') {
		ok = d.digits() && ok
	}
	if d.next('e') || d.next('E') {
		_ = d.next('+') || d.next('-')
		ok = d.digits() && ok
	}
	if !ok {
		return nil, d.bad("there is no value")
	}
	text := d.text[from:d.at]
	if d.at == plain && len(text) <= exactDigits && text != "-0" {
		n, err := strconv.Atoi(text)
		return n, err
	}
	return json.Number(text), nil
}

func (d *decoder) digits() bool {
	from := d.at
	for d.at < len(d.text) && '0' <= d.text[d.at] && d.text[d.at] <= '9' {
		d.at++
	}
	return d.at > from
}

// string reads a text.
func (d *decoder) string() (string, error) {
	d.at++
	from := d.at
	for ; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; {
		case c == '"':
			d.at++
			return d.text[from : d.at-1], nil
		case c == '\\':
			return d.escaped(from)
		case c < ' ':
			return "", d.bad("a text has a control character")
		}
	}
	return "", d.bad("a text does not end")
}

// escaped reads a text with escapes, of which the first is next.
func (d *decoder) escaped(from int) (string, error) {
	b := append(make([]byte, 0, 2*(d.at-from)+16), d.text[from:d.at]...)
	for d.at < len(d.text) {
		c := d.text[d.at]
		d.at++
		switch {
		case c == '"':
			return string(b), nil
		case c < ' ':
			return "", d.bad("a text has a control character")
		case c != '\\':
			b = append(b, c)
			continue
		case d.at == len(d.text):
			return "", d.bad("a text does not end")
		}
		mark := d.text[d.at]
		d.at++
		if mark == 'u' {
			r, ok := d.unicode()
			if !ok {
				return "", d.bad("a text has a bad escape")
			}
			b = utf8.AppendRune(b, r)
			continue
		}
		i := strings.IndexByte(`"\/bfnrt`, mark)
		if i < 0 {
			return "", d.bad("a text has a bad escape")
		}
		b = append(b, "\"\\/\b\f\n\r\t"[i])
	}
	return "", d.bad("a text does not end")
}

// unicode reads the four digits behind \u, and the second half of a character
// that has two. A half by itself is the replacement character.
func (d *decoder) unicode() (rune, bool) {
	r, ok := d.hex()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	at := d.at
	if strings.HasPrefix(d.text[d.at:], `\u`) {
		d.at += 2
		if second, ok := d.hex(); ok {
			if whole := utf16.DecodeRune(r, second); whole != utf8.RuneError {
				return whole, true
			}
		}
	}
	d.at = at
	return utf8.RuneError, true
}

func (d *decoder) hex() (rune, bool) {
	if d.at+4 > len(d.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(d.text[d.at:d.at+4], 16, 32)
	d.at += 4
	return rune(n), err == nil
}
