package wire

import (
	"encoding"
	"errors"
	"reflect"
	"strconv"

	"github.com/sluicehq/sluice/abi/value"
)

// Unmarshal reads JSON into what a pointer points to. What is not JSON changes
// nothing and is ErrSyntax; a value that does not fit is passed over, and the
// first one is a *TypeError. It keeps no part of b.
func Unmarshal(b []byte, into any) error { return unmarshal(b, into, false) }

// UnmarshalStrict is Unmarshal that refuses a member that no field of a struct
// is for, with an *UnknownFieldError.
func UnmarshalStrict(b []byte, into any) error { return unmarshal(b, into, true) }

func unmarshal(b []byte, into any, strict bool) error {
	if !Valid(b) {
		return ErrSyntax
	}
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return errors.New("json: Unmarshal needs a pointer that is not nil")
	}
	d := decoder{b: b, strict: strict}
	d.i = skipSpace(b, 0)
	if err := d.value(planOf(v.Type()), v); err != nil {
		return located(err, d.path)
	}
	return d.first
}

// A decoder reads one value of JSON that is Valid.
type decoder struct {
	b      []byte
	i      int // of the next value's first byte; after it, of what follows
	strict bool
	path   []string // names of the fields that are open
	first  error    // of those that do not end the walk
}

// save keeps an error that does not end the walk, if it is the first.
func (d *decoder) save(err error) {
	if d.first == nil {
		d.first = located(err, d.path)
	}
}

func (d *decoder) misfit(value string, t reflect.Type) { d.save(&TypeError{Value: value, Type: t}) }

// value reads the next value. The error is one that ends the walk.
func (d *decoder) value(p *plan, v reflect.Value) error {
	if p.indirect {
		return d.closer(p, v)
	}
	return d.plain(p, v)
}

// closer follows pointers, and lets a type that reads itself do so.
func (d *decoder) closer(p *plan, v reflect.Value) error {
	from := v
	c := d.b[d.i]
	self, text, v, p := indirect(p, v, c == 'n')
	switch {
	case self != nil:
		return self.UnmarshalJSON(d.next())
	case text == nil:
		return d.plain(p, v)
	case c == '"':
		s, _ := unquote(d.next())
		return text.UnmarshalText(s)
	}
	d.skip()
	d.misfit(kindName(c), from.Type())
	return nil
}

func kindName(c byte) string {
	switch c {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}

// indirect follows pointers to what a value is stored in, and makes what they
// lack. It stops at a type that reads itself and, for null, at a pointer that
// can become nil.
func indirect(p *plan, v reflect.Value, null bool) (unmarshaler, encoding.TextUnmarshaler, reflect.Value, *plan) {
	start, addressed := v, false
	if p.kind != reflect.Pointer && p.typ.Name() != "" && v.CanAddr() {
		addressed = true // methods of the pointer count
		v = v.Addr()
	}
	for {
		if v.Kind() == reflect.Interface && !v.IsNil() {
			if e := v.Elem(); e.Kind() == reflect.Pointer && !e.IsNil() && (!null || e.Elem().Kind() == reflect.Pointer) {
				addressed, v, p = false, e, planOf(e.Type())
				continue
			}
		}
		if v.Kind() != reflect.Pointer || null && v.CanSet() {
			return nil, nil, v, p
		}
		if pointsToItself(v) {
			return nil, nil, v.Elem(), planOf(v.Elem().Type())
		}
		if v.IsNil() {
			value.Set(v, reflect.New(v.Type().Elem()))
		}
		if v.Type().NumMethod() > 0 && v.CanInterface() {
			switch self := value.Interface(v).(type) {
			case unmarshaler:
				return self, nil, reflect.Value{}, nil
			case encoding.TextUnmarshaler:
				if !null {
					return nil, self, reflect.Value{}, nil
				}
			}
		}
		if addressed {
			v, addressed = start, false // keeps what the way through Addr would lose
		} else {
			v, p = v.Elem(), p.elem
		}
	}
}

// pointsToItself reports whether v points to an interface that holds v.
func pointsToItself(v reflect.Value) bool {
	held := v.Elem()
	if held.Kind() != reflect.Interface {
		return false
	}
	held = held.Elem()
	return held.Kind() == reflect.Pointer && held.Type() == v.Type() && held.UnsafePointer() == v.UnsafePointer()
}

// plain reads into what is no pointer and does not read itself.
func (d *decoder) plain(p *plan, v reflect.Value) error {
	switch c := d.b[d.i]; c {
	case '{':
		return d.object(p, v)
	case '[':
		return d.list(p, v)
	case '"':
		return d.text(p, v)
	case 'n':
		d.null(p, v)
	case 't', 'f':
		d.boolean(p, v, c == 't')
	default:
		return d.number(p, v)
	}
	return nil
}

// next gives the next value as it stands, and goes behind it.
func (d *decoder) next() []byte {
	start := d.i
	d.skip()
	return d.b[start:d.i:d.i]
}

func (d *decoder) skip() { d.i = skipValue(d.b, d.i) }

// more goes from one member or item to the next. It reports false at the end,
// and goes behind it.
func (d *decoder) more() bool {
	d.i = skipSpace(d.b, d.i)
	c := d.b[d.i]
	d.i++
	if c == ',' {
		d.i = skipSpace(d.b, d.i)
	}
	return c == ','
}

// open goes into a list or an object. It reports false for an empty one, and
// goes behind it.
func (d *decoder) open() bool {
	d.i = skipSpace(d.b, d.i+1)
	if c := d.b[d.i]; c == '}' || c == ']' {
		d.i++
		return false
	}
	return true
}

func (d *decoder) list(p *plan, v reflect.Value) error {
	switch {
	case p.raw:
		v.SetBytes(append(v.Bytes()[:0], d.next()...))
		return nil
	case p.kind == reflect.Interface && v.NumMethod() == 0:
		value.SetAny(v, d.anyList())
		return nil
	case p.kind == reflect.Array:
		return d.array(p, v)
	case p.kind == reflect.Slice:
		return d.slice(p, v)
	}
	d.misfit("array", p.typ)
	d.skip()
	return nil
}

// slice reads over the items that v has, as encoding/json does.
func (d *decoder) slice(p *plan, v reflect.Value) error {
	n := 0
	for more := d.open(); more; more = d.more() {
		if n >= v.Cap() {
			v.Grow(1)
		}
		if n >= v.Len() {
			v.SetLen(n + 1)
		}
		if err := d.value(p.elem, v.Index(n)); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		value.Set(v, reflect.MakeSlice(p.typ, 0, 0))
	} else {
		v.SetLen(n)
	}
	return nil
}

// array drops the items for which there is no room.
func (d *decoder) array(p *plan, v reflect.Value) error {
	n := 0
	for more := d.open(); more; more = d.more() {
		if n >= v.Len() {
			d.skip()
			continue
		}
		if err := d.value(p.elem, v.Index(n)); err != nil {
			return err
		}
		n++
	}
	for ; n < v.Len(); n++ {
		v.Index(n).SetZero()
	}
	return nil
}

func (d *decoder) text(p *plan, v reflect.Value) error {
	if p.raw {
		v.SetBytes(append(v.Bytes()[:0], d.next()...))
		return nil
	}
	item := d.next()
	s, _ := unquote(item)
	return d.storeText(p, v, item, s)
}

func (d *decoder) null(p *plan, v reflect.Value) {
	d.i += len("null")
	switch {
	case p.raw:
		v.SetBytes(append(v.Bytes()[:0], "null"...))
	case p.kind == reflect.Interface || p.kind == reflect.Pointer || p.kind == reflect.Map || p.kind == reflect.Slice:
		v.SetZero()
	}
}

func (d *decoder) boolean(p *plan, v reflect.Value, is bool) {
	item := d.next()
	switch {
	case p.raw:
		v.SetBytes(append(v.Bytes()[:0], item...))
	case p.kind == reflect.Bool:
		v.SetBool(is)
	case p.kind == reflect.Interface && v.NumMethod() == 0:
		value.SetAny(v, is)
	default:
		d.misfit("bool", p.typ)
	}
}

func (d *decoder) number(p *plan, v reflect.Value) error {
	item := d.next()
	if p.raw {
		v.SetBytes(append(v.Bytes()[:0], item...))
		return nil
	}
	if !d.storeNumber(p, v, item) {
		d.misfit("number", p.typ)
	}
	return nil
}

// anyValue reads what has no type: as a nil, bool, float64, string, []any or
// map[string]any.
func (d *decoder) anyValue() any {
	switch d.b[d.i] {
	case '{':
		return d.anyObject()
	case '[':
		return d.anyList()
	}
	return d.anyWord()
}

// anyWord reads what is neither a list nor an object.
func (d *decoder) anyWord() any {
	item := d.next()
	switch item[0] {
	case '"':
		s, _ := unquote(item)
		return string(s)
	case 'n':
		return nil
	case 't':
		return true
	case 'f':
		return false
	}
	n, err := strconv.ParseFloat(string(item), 64)
	if err != nil {
		d.misfit("number "+string(item), reflect.TypeFor[float64]())
		return nil
	}
	return n
}

func (d *decoder) anyList() []any {
	list := []any{}
	for more := d.open(); more; more = d.more() {
		list = append(list, d.anyValue())
	}
	return list
}

func (d *decoder) anyObject() map[string]any {
	object := map[string]any{}
	for more := d.open(); more; more = d.more() {
		name := string(d.name())
		object[name] = d.anyValue()
	}
	return object
}
