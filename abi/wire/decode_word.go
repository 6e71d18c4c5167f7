package wire

import (
	"errors"
	"reflect"
	"strconv"

	"github.com/sluicehq/sluice/abi/value"
)

// storeText stores a text: item as it stands, s as it reads.
func (d *decoder) storeText(p *plan, v reflect.Value, item, s []byte) error {
	switch {
	case p.number && !isNumber(s):
		return errors.New("json: invalid number literal, trying to unmarshal " + strconv.Quote(string(item)) + " into Number")
	case p.kind == reflect.String:
		v.SetString(string(s))
	case p.kind == reflect.Slice && p.elem.kind == reflect.Uint8:
		b, err := decodeBase64(s)
		if err != nil {
			d.save(err)
			return nil
		}
		v.SetBytes(b)
	case p.kind == reflect.Interface && v.NumMethod() == 0:
		value.SetAny(v, string(s))
	default:
		d.misfit("string", p.typ)
	}
	return nil
}

// isNumber reports whether text is a number and nothing else.
func isNumber(b []byte) bool {
	c := checker{b: b}
	return c.number(0) == len(b)
}

// storeNumber stores a number. It reports false for a type that holds none.
func (d *decoder) storeNumber(p *plan, v reflect.Value, item []byte) bool {
	fits := true
	switch {
	case isInt(p.kind):
		n, err := strconv.ParseInt(string(item), 10, 64)
		if fits = err == nil && !v.OverflowInt(n); fits {
			v.SetInt(n)
		}
	case isFloat(p.kind):
		n, err := strconv.ParseFloat(string(item), p.typ.Bits())
		if fits = err == nil && !v.OverflowFloat(n); fits {
			v.SetFloat(n)
		}
	case isUint(p.kind):
		n, err := strconv.ParseUint(string(item), 10, 64)
		if fits = err == nil && !v.OverflowUint(n); fits {
			v.SetUint(n)
		}
	case p.number:
		v.SetString(string(item))
	case p.kind == reflect.Interface:
		return d.storeAnyNumber(v, item)
	default:
		return false
	}
	if !fits {
		d.misfit("number "+string(item), p.typ)
	}
	return true
}

func (d *decoder) storeAnyNumber(v reflect.Value, item []byte) bool {
	n, err := strconv.ParseFloat(string(item), 64)
	if err != nil {
		d.misfit("number "+string(item), reflect.TypeFor[float64]())
		return true
	}
	if v.NumMethod() != 0 {
		return false
	}
	value.SetAny(v, n)
	return true
}

// quotedItem stores what stood inside text, which may be anything.
func (d *decoder) quotedItem(p *plan, v reflect.Value, item []byte) error {
	if len(item) == 0 {
		d.save(badQuoted(item, v.Type()))
		return nil
	}
	from := v.Type()
	self, text, v, p := indirect(p, v, item[0] == 'n')
	if self != nil {
		return self.UnmarshalJSON(item)
	}
	if text == nil {
		return d.quotedWord(p, v, item)
	}
	if item[0] != '"' {
		d.save(badQuoted(item, from))
		return nil
	}
	s, ok := unquote(item)
	if !ok {
		return badQuoted(item, from)
	}
	return text.UnmarshalText(s)
}

func (d *decoder) quotedWord(p *plan, v reflect.Value, item []byte) error {
	word := string(item)
	switch c := item[0]; {
	case c == 'n' && word == "null":
		if p.kind == reflect.Pointer {
			v.SetZero()
		}
	case p.kind == reflect.Bool && (word == "true" || word == "false"):
		v.SetBool(word == "true")
	case c == 'n' || c == 't' || c == 'f':
		d.save(badQuoted(item, p.typ))
	case c == '"':
		s, ok := unquote(item)
		if !ok {
			return badQuoted(item, p.typ)
		}
		return d.storeText(p, v, item, s)
	case c != '-' && !isDigit(c) || !d.storeNumber(p, v, item):
		return badQuoted(item, p.typ)
	}
	return nil
}

func badQuoted(item []byte, t reflect.Type) error {
	return errors.New("json: invalid use of ,string struct tag, trying to unmarshal " + strconv.Quote(string(item)) + " into " + t.String())
}
