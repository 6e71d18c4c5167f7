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
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var b bytes.Buffer
	if err := canonicalValue(&b, d, 0); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more text after the JSON value")
	}
	return b.Bytes(), nil
}

func canonicalValue(b *bytes.Buffer, d *json.Decoder, depth int) error {
	if depth > MaxJSONDepth {
		return fmt.Errorf("nested deeper than %d", MaxJSONDepth)
	}
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return canonicalObject(b, d, depth)
		}
		return canonicalArray(b, d, depth)
	case json.Number:
		text, err := canonicalNumber(v.String())
		b.WriteString(text)
		return err
	default:
		return writeJSON(b, v)
	}
}

func canonicalObject(b *bytes.Buffer, d *json.Decoder, depth int) error {
	type member struct {
		name  string
		value []byte
	}
	var members []member
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		var value bytes.Buffer
		if err := canonicalValue(&value, d, depth+1); err != nil {
			return err
		}
		members = append(members, member{token.(string), value.Bytes()})
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	slices.SortFunc(members, func(x, y member) int { return strings.Compare(x.name, y.name) })
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			if m.name == members[i-1].name {
				return fmt.Errorf("member %q stands twice", m.name)
			}
			b.WriteByte(',')
		}
		if err := writeJSON(b, m.name); err != nil {
			return err
		}
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return nil
}

func canonicalArray(b *bytes.Buffer, d *json.Decoder, depth int) error {
	b.WriteByte('[')
	for i := 0; d.More(); i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := canonicalValue(b, d, depth+1); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	_, err := d.Token()
	return err
}

func canonicalNumber(text string) (string, error) {
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

func writeJSON(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // Encode ends its value with a newline
	return nil
}
