package wire

import (
	"encoding"
	"errors"
	"math"
	"reflect"
	"strconv"

	"github.com/sluicehq/sluice/abi/value"
)

// Marshal gives a value as JSON. The error says what has no form in JSON, or
// is an *OwnFormError.
func Marshal(v any) ([]byte, error) { return Append(make([]byte, 0, space), v) }

// space is room for a value of usual size, so that it is not moved while it is
// written.
const space = 256

// Append appends a value as JSON. After an error the bytes mean nothing.
func Append(out []byte, v any) ([]byte, error) {
	e := encoder{out: out}
	err := e.any(reflect.ValueOf(v), false)
	return e.out, err
}

// An encoder appends one value.
type encoder struct {
	out   []byte
	depth int          // of pointers, maps and slices
	seen  map[any]bool // those that are open beyond cycleDepth
}

// cycleDepth is from where on cycles are looked for: to look costs more than
// to write, and few values are as deep.
const cycleDepth = 1000

//go:noinline
func (e *encoder) write(text string) { e.out = append(e.out, text...) }

// any writes a value of whatever type it has.
func (e *encoder) any(v reflect.Value, quoted bool) error {
	if !v.IsValid() {
		e.write("null")
		return nil
	}
	return e.value(planOf(v.Type()), v, quoted)
}

// value writes a value; quoted puts a single value inside text.
func (e *encoder) value(p *plan, v reflect.Value, quoted bool) error {
	switch {
	case p.raw:
		return e.raw(p, v)
	case p.ownAddr != ownNone && v.CanAddr():
		return e.own(p.ownAddr, p, v.Addr())
	case p.own != ownNone:
		return e.own(p.own, p, v)
	}
	switch {
	case p.kind == reflect.String:
		return e.text(p, v.String(), quoted)
	case p.kind == reflect.Struct:
		return e.record(p.fields, v)
	case isScalar(p.kind):
		return e.scalar(p, v, quoted)
	case p.bytes:
		return e.bytes(v)
	case p.kind == reflect.Array:
		return e.items(p, v, quoted)
	case p.kind == reflect.Interface:
		return e.any(v.Elem(), quoted)
	case p.kind == reflect.Slice || p.kind == reflect.Pointer || p.kind == reflect.Map && p.key != nil:
		return e.reference(p, v, quoted)
	}
	return errors.New("json: unsupported type: " + p.typ.String())
}

// raw writes JSON that is given as it is.
func (e *encoder) raw(p *plan, v reflect.Value) error {
	if v.IsNil() {
		e.write("null")
		return nil
	}
	return e.compact(p, v.Bytes())
}

func (e *encoder) compact(p *plan, b []byte) error {
	out, ok := appendCompact(e.out, b)
	if !ok {
		return &OwnFormError{Type: p.typ, Method: "MarshalJSON", Cause: ErrSyntax}
	}
	e.out = out
	return nil
}

// own has the value, or a pointer to it, write itself.
func (e *encoder) own(by own, p *plan, v reflect.Value) error {
	if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		e.write("null")
		return nil
	}
	if by == ownJSON {
		b, err := value.Interface(v).(marshaler).MarshalJSON()
		if err != nil {
			return &OwnFormError{Type: p.typ, Method: "MarshalJSON", Cause: err}
		}
		return e.compact(p, b)
	}
	b, err := value.Interface(v).(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return &OwnFormError{Type: p.typ, Method: "MarshalText", Cause: err}
	}
	e.out = AppendText(e.out, string(b))
	return nil
}

func (e *encoder) text(p *plan, text string, quoted bool) error {
	switch {
	case p.number && text == "":
		text = "0"
	case p.number && !isNumber([]byte(text)):
		return errors.New("json: invalid number literal " + strconv.Quote(text))
	case !p.number && quoted:
		text = string(AppendText(nil, text))
		fallthrough
	case !p.number:
		e.out = AppendText(e.out, text)
		return nil
	}
	e.quote(quoted)
	e.write(text)
	e.quote(quoted)
	return nil
}

func (e *encoder) quote(quoted bool) {
	if quoted {
		e.out = append(e.out, '"')
	}
}

func (e *encoder) scalar(p *plan, v reflect.Value, quoted bool) error {
	e.quote(quoted)
	switch {
	case isInt(p.kind):
		e.out = strconv.AppendInt(e.out, v.Int(), 10)
	case isFloat(p.kind):
		if err := e.float(v.Float(), p.typ.Bits()); err != nil {
			return err
		}
	case p.kind == reflect.Bool:
		e.out = strconv.AppendBool(e.out, v.Bool())
	default:
		e.out = strconv.AppendUint(e.out, v.Uint(), 10)
	}
	e.quote(quoted)
	return nil
}

// float writes a number as JavaScript does: without an exponent from 1e-6 to
// 1e21.
func (e *encoder) float(f float64, bits int) error {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return errors.New("json: unsupported value: " + strconv.FormatFloat(f, 'g', -1, bits))
	}
	abs := math.Abs(f)
	small, large := abs < 1e-6, abs >= 1e21
	if bits == 32 { // the bounds as a float32 has them
		small, large = float32(abs) < 1e-6, float32(abs) >= 1e21
	}
	if abs == 0 || !small && !large {
		e.out = strconv.AppendFloat(e.out, f, 'f', -1, bits)
		return nil
	}
	e.out = strconv.AppendFloat(e.out, f, 'e', -1, bits)
	if n := len(e.out); string(e.out[n-4:n-1]) == "e-0" { // e-09 is e-9
		e.out = append(e.out[:n-2], e.out[n-1])
	}
	return nil
}

func (e *encoder) bytes(v reflect.Value) error {
	if v.IsNil() {
		e.write("null")
		return nil
	}
	e.out = appendBase64(append(e.out, '"'), v.Bytes())
	e.out = append(e.out, '"')
	return nil
}

func (e *encoder) items(p *plan, v reflect.Value, quoted bool) error {
	e.out = append(e.out, '[')
	for i := range v.Len() {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.value(p.elem, v.Index(i), quoted); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	return nil
}

// reference writes a slice, a map or a pointer, which may lie inside itself.
func (e *encoder) reference(p *plan, v reflect.Value, quoted bool) error {
	if v.IsNil() {
		e.write("null")
		return nil
	}
	if e.depth++; e.depth > cycleDepth {
		id := identity(p.kind, v)
		if e.seen[id] {
			return errors.New("json: unsupported value: encountered a cycle via " + p.typ.String())
		}
		if e.seen == nil {
			e.seen = map[any]bool{}
		}
		e.seen[id] = true
		defer delete(e.seen, id)
	}
	var err error
	switch p.kind {
	case reflect.Slice:
		err = e.items(p, v, quoted)
	case reflect.Map:
		err = e.table(p, v, quoted)
	default:
		err = e.value(p.elem, v.Elem(), quoted)
	}
	e.depth--
	return err
}

// identity gives what is the same for the same slice, map or pointer only.
func identity(kind reflect.Kind, v reflect.Value) any {
	switch kind {
	case reflect.Slice:
		return struct {
			first any
			n     int
		}{v.UnsafePointer(), v.Len()}
	case reflect.Map:
		return v.UnsafePointer()
	}
	return value.Interface(v)
}

// A member is one entry of a map.
type member struct {
	name  string
	value reflect.Value
}

func (e *encoder) table(p *plan, v reflect.Value, quoted bool) error {
	members := make([]member, 0, v.Len())
	for entry := v.MapRange(); entry.Next(); {
		name, err := nameOf(entry.Key())
		if err != nil {
			return errors.New("json: encoding error for type " + strconv.Quote(p.typ.String()) + ": " + strconv.Quote(err.Error()))
		}
		members = append(members, member{name, entry.Value()})
	}
	sortMembers(members)
	e.out = append(e.out, '{')
	for i, m := range members {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.out = append(AppendText(e.out, m.name), ':')
		if err := e.value(p.elem, m.value, quoted); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	return nil
}

// sortMembers sorts by name, by heapsort, which is small, and never quadratic
// whatever the names are.
func sortMembers(members []member) {
	n := len(members)
	for i := n/2 - 1; i >= 0; i-- {
		sift(members, i)
	}
	for n--; n > 0; n-- {
		members[0], members[n] = members[n], members[0]
		sift(members[:n], 0)
	}
}

// sift lets the member at i sink below those with greater names.
func sift(members []member, i int) {
	for {
		child := 2*i + 1
		if child+1 < len(members) && members[child].name < members[child+1].name {
			child++
		}
		if child >= len(members) || members[i].name >= members[child].name {
			return
		}
		members[i], members[child] = members[child], members[i]
		i = child
	}
}

// nameOf gives a map's key as a member's name.
func nameOf(k reflect.Value) (string, error) {
	if k.Kind() == reflect.String {
		return k.String(), nil
	}
	if m, ok := value.Interface(k).(encoding.TextMarshaler); ok {
		if k.Kind() == reflect.Pointer && k.IsNil() {
			return "", nil
		}
		b, err := m.MarshalText()
		return string(b), err
	}
	if isInt(k.Kind()) {
		return strconv.FormatInt(k.Int(), 10), nil
	}
	return strconv.FormatUint(k.Uint(), 10), nil
}

func (e *encoder) record(f *fields, v reflect.Value) error {
	next := byte('{')
	for i := range f.list {
		field := &f.list[i]
		value, ok := field.of(v)
		if !ok || field.omits(value) {
			continue
		}
		e.out = append(append(e.out, next), field.label...)
		next = ','
		if err := e.value(field.plan, value, field.quoted); err != nil {
			return err
		}
	}
	if next == '{' {
		e.out = append(e.out, '{')
	}
	e.out = append(e.out, '}')
	return nil
}

// of gives the field's value, or false where it lies behind a nil pointer.
func (f *field) of(v reflect.Value) (reflect.Value, bool) {
	if len(f.index) == 1 {
		return v.Field(f.index[0]), true
	}
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}

func (f *field) omits(v reflect.Value) bool {
	switch {
	case f.omitEmpty && isEmpty(f.plan.kind, v):
		return true
	case !f.omitZero:
		return false
	case f.isZero != nil:
		return f.isZero(v)
	}
	return v.IsZero()
}

func isEmpty(k reflect.Kind, v reflect.Value) bool {
	switch {
	case k == reflect.String || k == reflect.Slice || k == reflect.Map || k == reflect.Array:
		return v.Len() == 0
	case isScalar(k) || k == reflect.Interface || k == reflect.Pointer:
		return v.IsZero()
	}
	return false
}
