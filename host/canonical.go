package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of Canonical: JSON deeper than this is not something a tool's schema
// describes, and a number with a larger exponent is an attack on arithmetic.
const (
	MaxJSONDepth    = 128
	maxJSONExponent = 400
)

// Canonical gives JSON in one form for equal values: members sorted by their
// bytes, no spaces, numbers as plain decimals (1.0, 1e0 and 1 are equal, and
// no digit is lost), duplicate members refused. Equal values give equal
// bytes; it is not RFC 8785, whose numbers lose digits.
func Canonical(raw []byte) ([]byte, error) {
	if !utf8.Valid(raw) {
		return nil, fmt.Errorf("not UTF-8")
	}
	c := canonizer{raw: raw, out: make([]byte, 0, len(raw))}
	if err := c.value(0); err != nil {
		return nil, err
	}
	if c.next(); c.at < len(raw) {
		return nil, fmt.Errorf("more text after the JSON value")
	}
	return c.out, nil
}

// A canonizer reads JSON and writes it in its one form. It takes what
// encoding/json takes; whatever is not plain text, it leaves to that.
type canonizer struct {
	raw []byte
	at  int
	out []byte
}

// next gives the byte after spaces, 0 at the end.
func (c *canonizer) next() byte {
	for ; c.at < len(c.raw); c.at++ {
		switch b := c.raw[c.at]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// unexpected says where the text is no JSON.
func (c *canonizer) unexpected() error {
	if c.at >= len(c.raw) {
		return io.ErrUnexpectedEOF
	}
	return fmt.Errorf("not JSON from byte %d on", c.at)
}

func (c *canonizer) value(depth int) error {
	if depth > MaxJSONDepth {
		return fmt.Errorf("nested deeper than %d", MaxJSONDepth)
	}
	switch c.next() {
	case '{':
		return c.object(depth)
	case '[':
		return c.array(depth)
	case '"':
		text, err := c.text()
		if err != nil {
			return err
		}
		return c.write(text)
	}
	return c.word()
}

// word takes a number, true, false or null.
func (c *canonizer) word() error {
	start := c.at
	for c.at < len(c.raw) && strings.IndexByte(" \t\r\n,:]}[{\"", c.raw[c.at]) < 0 {
		c.at++
	}
	word := c.raw[start:c.at]
	if isPlainWhole(word) {
		c.out = append(c.out, word...)
		return nil
	}
	if !json.Valid(word) {
		c.at = start
		return c.unexpected()
	}
	if word[0] >= 'a' {
		c.out = append(c.out, word...)
		return nil
	}
	text, err := canonicalNumber(string(word))
	c.out = append(c.out, text...)
	return err
}

// isPlainWhole reports whether a word is a whole number in its one form, as most
// numbers are.
func isPlainWhole(word []byte) bool {
	if len(word) == 0 || len(word) > maxJSONExponent || word[0] == '0' && len(word) > 1 {
		return false
	}
	for _, c := range word {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// text takes a text, without what surrounds and escapes it.
func (c *canonizer) text() (text string, err error) {
	start, plain := c.at, true
	for c.at++; c.at < len(c.raw) && c.raw[c.at] != '"'; c.at++ {
		if c.raw[c.at] == '\\' {
			c.at++
		}
		plain = plain && c.at < len(c.raw) && c.raw[c.at] >= ' ' && c.raw[c.at-1] != '\\'
	}
	if c.at >= len(c.raw) {
		return "", io.ErrUnexpectedEOF
	}
	c.at++
	if plain {
		return string(c.raw[start+1 : c.at-1]), nil
	}
	err = json.Unmarshal(c.raw[start:c.at], &text)
	return text, err
}

// write writes a text in its one form.
func (c *canonizer) write(text string) error {
	if strings.ContainsFunc(text, escaped) {
		b := bytes.NewBuffer(c.out)
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		err := e.Encode(text)
		c.out = bytes.TrimSuffix(b.Bytes(), []byte("\n")) // Encode ends its value with one
		return err
	}
	c.out = append(c.out, '"')
	c.out = append(c.out, text...)
	c.out = append(c.out, '"')
	return nil
}

// escaped reports whether encoding/json writes a character otherwise than as
// it is, or may.
func escaped(r rune) bool {
	return r < ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029'
}

// A member is one of an object, from its name to its value, in out.
type member struct {
	name     string
	from, to int
}

func (c *canonizer) object(depth int) error {
	var members []member
	start := len(c.out)
	c.out = append(c.out, '{')
	for c.at++; c.next() != '}'; {
		if err := c.comma(len(members)); err != nil {
			return err
		}
		m, err := c.member(depth)
		if err != nil {
			return err
		}
		members = append(members, m)
	}
	c.at++
	if err := c.sort(members, start); err != nil {
		return err
	}
	c.out = append(c.out, '}')
	return nil
}

// sort puts the members of the object that began at start in order.
func (c *canonizer) sort(members []member, start int) error {
	byName := func(x, y member) int { return strings.Compare(x.name, y.name) }
	sorted := slices.IsSortedFunc(members, byName)
	if !sorted {
		slices.SortFunc(members, byName)
	}
	for i := 1; i < len(members); i++ {
		if members[i].name == members[i-1].name {
			return fmt.Errorf("member %q stands twice", members[i].name)
		}
	}
	if sorted {
		return nil
	}
	had := bytes.Clone(c.out[start:])
	c.out = c.out[:start]
	for i, m := range members {
		c.out = append(c.out, "{,"[min(i, 1)])
		c.out = append(c.out, had[m.from-start:m.to-start]...)
	}
	return nil
}

func (c *canonizer) member(depth int) (member, error) {
	m := member{from: len(c.out)}
	if c.next() != '"' {
		return m, c.unexpected()
	}
	name, err := c.text()
	if err == nil {
		err = c.write(name)
	}
	if err != nil {
		return m, err
	}
	if c.next() != ':' {
		return m, c.unexpected()
	}
	c.at++
	c.out = append(c.out, ':')
	err = c.value(depth + 1)
	m.name, m.to = name, len(c.out)
	return m, err
}

func (c *canonizer) array(depth int) error {
	c.out = append(c.out, '[')
	n := 0
	for c.at++; c.next() != ']'; n++ {
		if err := c.comma(n); err != nil {
			return err
		}
		if err := c.value(depth + 1); err != nil {
			return err
		}
	}
	c.at++
	c.out = append(c.out, ']')
	return nil
}

// comma takes, and writes, what separates the n-th part of a list or an object,
// from 0, from the one before.
func (c *canonizer) comma(n int) error {
	if n == 0 {
		return nil
	}
	if c.next() != ',' {
		return c.unexpected()
	}
	c.at++
	c.out = append(c.out, ',')
	return nil
}

func canonicalNumber(text string) (string, error) {
	if len(text) <= maxJSONExponent && !strings.ContainsAny(text, "eE") {
		return plainDecimal(text), nil // as nearly all numbers are: no arithmetic is needed
	}
	if len(text) > 2*maxJSONExponent+len("-.e-999") {
		return "", fmt.Errorf("number %.40s… has too large an exponent or too many digits", text)
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(strings.TrimLeft(text[i+1:], "+-0")) > 3 {
		return "", fmt.Errorf("number %.40s has too large an exponent", text)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return "", fmt.Errorf("%.40s is not a number", text)
	}
	if r.IsInt() {
		plain := r.Num().String()
		if len(strings.TrimPrefix(plain, "-")) > maxJSONExponent {
			return "", fmt.Errorf("number %.40s has too large an exponent or too many digits", text)
		}
		return plain, nil
	}
	digits, exact := r.FloatPrec()
	if !exact || digits > maxJSONExponent {
		return "", fmt.Errorf("number %.40s has too large an exponent", text)
	}
	return r.FloatString(digits), nil
}

// plainDecimal gives a number without an exponent without what means nothing.
func plainDecimal(text string) string {
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}
