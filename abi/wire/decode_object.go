package wire

import (
	"errors"
	"reflect"
	"strconv"

	"github.com/sluicehq/sluice/abi/value"
)

func (d *decoder) object(p *plan, v reflect.Value) error {
	switch {
	case p.raw:
		v.SetBytes(append(v.Bytes()[:0], d.next()...))
		return nil
	case p.kind == reflect.Interface && v.NumMethod() == 0:
		value.SetAny(v, d.anyObject())
		return nil
	case p.kind == reflect.Struct:
		return d.record(p.fields, v)
	case p.kind == reflect.Map && p.key != nil && p.key.isRead():
		return d.table(p, v)
	}
	d.misfit("object", p.typ)
	d.skip()
	return nil
}

// name reads a member's name and goes to its value.
func (d *decoder) name() []byte {
	start := d.i
	d.i = skipText(d.b, start)
	name, _ := unquote(d.b[start:d.i])
	d.i = skipSpace(d.b, skipSpace(d.b, d.i)+1) // behind the colon
	return name
}

// record reads an object into a struct.
func (d *decoder) record(f *fields, v reflect.Value) error {
	outside := len(d.path)
	expected := 0
	for more := d.open(); more; more = d.more() {
		name := d.name()
		i := f.find(name, expected)
		if i < 0 {
			if d.strict {
				d.save(&UnknownFieldError{string(name)})
			}
			d.skip()
			continue
		}
		expected = i + 1
		if err := d.field(&f.list[i], v); err != nil {
			return err // with the path to it
		}
		d.path = d.path[:outside]
	}
	return nil
}

func (d *decoder) field(f *field, v reflect.Value) error {
	if len(f.index) == 1 {
		v = v.Field(f.index[0])
	} else {
		var ok bool
		if v, ok = d.reach(f, v); !ok {
			d.skip()
			return nil
		}
	}
	d.path = append(append(d.path, f.through...), f.name)
	if f.quoted {
		return d.quoted(f.plan, v)
	}
	return d.value(f.plan, v)
}

// reach goes to a field of an embedded struct, and makes those that lie behind
// nil pointers. It reports false where it may not.
func (d *decoder) reach(f *field, v reflect.Value) (reflect.Value, bool) {
	for _, index := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				if !v.CanSet() {
					d.save(errors.New("json: cannot set embedded pointer to unexported struct: " + v.Type().Elem().String()))
					return v, false
				}
				value.Set(v, reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(index)
	}
	return v, true
}

// quoted reads a value that stands inside text.
func (d *decoder) quoted(p *plan, v reflect.Value) error {
	switch d.b[d.i] {
	case 'n':
		return d.value(p, v)
	case '"':
		item, _ := unquote(d.next())
		return d.quotedItem(p, v, item)
	case '{', '[':
		d.skip()
	default:
		d.anyWord() // a number may be too large, which counts first
	}
	d.save(errors.New("json: invalid use of ,string struct tag, trying to unmarshal unquoted value into " + v.Type().String()))
	return nil
}

// table reads an object into a map.
func (d *decoder) table(p *plan, v reflect.Value) error {
	if v.IsNil() {
		value.Set(v, reflect.MakeMap(p.typ))
	}
	elem := reflect.New(p.elem.typ).Elem()
	for more := d.open(); more; more = d.more() {
		start := d.i
		name := d.name()
		written := d.b[start:skipText(d.b, start)]
		elem.SetZero()
		if err := d.value(p.elem, elem); err != nil {
			return err
		}
		k, err := d.key(p.key, name, written)
		if err != nil {
			return err
		}
		if k.IsValid() {
			value.SetMapIndex(v, k, elem)
		}
	}
	return nil
}

// isRead reports whether a member's name can be read as a key.
func (k *key) isRead() bool {
	return k.reads || k.kind == reflect.String || isInt(k.kind) || isUint(k.kind)
}

// key reads a member's name as a key. The value is not valid where the name
// does not fit.
func (d *decoder) key(k *key, name, written []byte) (reflect.Value, error) {
	v := reflect.New(k.typ)
	switch {
	case k.reads:
		if err := d.quotedItem(planOf(v.Type()), v, written); err != nil {
			return reflect.Value{}, err
		}
	case k.kind == reflect.String:
		v.Elem().SetString(string(name))
	case isInt(k.kind):
		n, err := strconv.ParseInt(string(name), 10, 64)
		if err != nil || v.Elem().OverflowInt(n) {
			d.misfit("number "+string(name), k.typ)
			return reflect.Value{}, nil
		}
		v.Elem().SetInt(n)
	default:
		n, err := strconv.ParseUint(string(name), 10, 64)
		if err != nil || v.Elem().OverflowUint(n) {
			d.misfit("number "+string(name), k.typ)
			return reflect.Value{}, nil
		}
		v.Elem().SetUint(n)
	}
	return v.Elem(), nil
}
