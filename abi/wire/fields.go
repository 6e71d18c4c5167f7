package wire

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/sluicehq/sluice/abi/value"
)

// fields are those of a struct that JSON sees, in the order in which they are
// written.
type fields struct {
	list   []field
	byName map[string]int
	byFold map[string]int // by the name's fold; of several the first
}

// A field is one of a struct, or of a struct that is embedded in it.
type field struct {
	name      string
	label     string // the name as it is written, with quotes and colon
	tagged    bool   // the name is of the tag
	index     []int  // the way to it, through embedded structs
	through   []string
	typ       reflect.Type
	plan      *plan
	omitEmpty bool
	omitZero  bool
	isZero    func(reflect.Value) bool // nil where the type has no IsZero
	quoted    bool                     // it stands inside text
}

// find gives the number of the field that a member's name means, or -1. Most
// members come in the order of the fields, so the expected one is tried first.
func (f *fields) find(name []byte, expected int) int {
	if expected < len(f.list) && f.list[expected].name == string(name) {
		return expected
	}
	if i, ok := f.byName[string(name)]; ok {
		return i
	}
	var room [32]byte
	if i, ok := f.byFold[string(fold(room[:0], name))]; ok {
		return i
	}
	return -1
}

// fields gives the fields of a struct by the rules of encoding/json, which are
// Go's rules for embedded fields with a preference for tagged ones.
func (m maker) fields(t reflect.Type) *fields {
	list := dominant(collect(t))
	sortFields(list, func(a, b *field) int { return slices.Compare(a.index, b.index) })
	f := &fields{list: list, byName: make(map[string]int, len(list)), byFold: make(map[string]int, len(list))}
	for i := range list {
		list[i].plan = m.plan(list[i].typ)
		f.byName[list[i].name] = i
		if folded := string(fold(nil, []byte(list[i].name))); !has(f.byFold, folded) {
			f.byFold[folded] = i
		}
	}
	return f
}

func has(m map[string]int, name string) bool { _, ok := m[name]; return ok }

// A level is a struct whose fields are to be looked at, and how it was reached.
type level struct {
	typ     reflect.Type
	index   []int
	through []string
}

// collect gives all fields of a struct and of those embedded in it, level by
// level. A struct that is embedded twice on one level gives its fields twice,
// so that they hide each other.
func collect(t reflect.Type) (found []field) {
	visited := map[reflect.Type]bool{}
	next, times := []level{{typ: t}}, map[reflect.Type]int{}
	for len(next) > 0 {
		current, count := next, times
		next, times = nil, map[reflect.Type]int{}
		for _, l := range current {
			if visited[l.typ] {
				continue
			}
			visited[l.typ] = true
			for i := range l.typ.NumField() {
				f, embedded := l.field(i)
				switch {
				case embedded != nil:
					if times[embedded.typ]++; times[embedded.typ] == 1 {
						next = append(next, *embedded)
					}
				case f != nil && count[l.typ] > 1:
					found = append(found, *f, *f)
				case f != nil:
					found = append(found, *f)
				}
			}
		}
	}
	return found
}

// field gives the i-th field of the level, or the embedded struct to look at
// on the next, or nothing.
func (l level) field(i int) (*field, *level) {
	sf := l.typ.Field(i)
	tag := sf.Tag.Get("json")
	if tag == "-" || !visible(sf) {
		return nil, nil
	}
	name, options, _ := strings.Cut(tag, ",")
	if !isName(name) {
		name = ""
	}
	index := append(slices.Clip(l.index), i)
	inner := sf.Type
	if inner.Name() == "" && inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	if name == "" && sf.Anonymous && inner.Kind() == reflect.Struct {
		return nil, &level{inner, index, append(slices.Clip(l.through), sf.Name)}
	}
	f := &field{name: cmp.Or(name, sf.Name), tagged: name != "", index: index, through: l.through, typ: sf.Type}
	f.label = `"` + f.name + `":`
	f.omitEmpty, f.omitZero = hasOption(options, "omitempty"), hasOption(options, "omitzero")
	f.quoted = hasOption(options, "string") && isScalar(inner.Kind())
	if f.omitZero {
		f.isZero = isZeroOf(sf.Type)
	}
	return f, nil
}

// visible reports whether JSON sees the field: it is exported, or an embedded
// struct, whose own fields may be.
func visible(f reflect.StructField) bool {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return f.IsExported() || f.Anonymous && t.Kind() == reflect.Struct
}

func hasOption(options, name string) bool {
	for options != "" {
		var option string
		if option, options, _ = strings.Cut(options, ","); option == name {
			return true
		}
	}
	return false
}

// isName reports whether a tag's text can be a member's name. Quotes, commas
// and backslashes cannot be in one.
func isName(text string) bool {
	for _, r := range text {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return text != ""
}

// dominant leaves one field of each name, or none where two have an equal
// right to it.
func dominant(all []field) []field {
	sortFields(all, func(a, b *field) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(len(a.index), len(b.index)), taggedFirst(a, b), slices.Compare(a.index, b.index))
	})
	left := all[:0]
	for i := 0; i < len(all); {
		same := 1
		for i+same < len(all) && all[i+same].name == all[i].name {
			same++
		}
		if first := all[i]; same == 1 || len(first.index) != len(all[i+1].index) || first.tagged != all[i+1].tagged {
			left = append(left, first)
		}
		i += same
	}
	return left
}

// sortFields sorts the few fields that a struct has, once for each type; what
// package slices links for that is larger than this package's decoder.
func sortFields(list []field, compare func(a, b *field) int) {
	for i := range list {
		for j := i; j > 0 && compare(&list[j], &list[j-1]) < 0; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

func taggedFirst(a, b *field) int {
	switch {
	case a.tagged == b.tagged:
		return 0
	case a.tagged:
		return -1
	}
	return 1
}

// isZeroOf gives how the type itself says that a value is zero, or nil.
func isZeroOf(t reflect.Type) func(reflect.Value) bool {
	ask := func(v reflect.Value) bool { return value.Interface(v).(zeroer).IsZero() }
	switch {
	case t.Kind() == reflect.Interface && t.Implements(zeroerType):
		return func(v reflect.Value) bool {
			return v.IsNil() || v.Elem().Kind() == reflect.Pointer && v.Elem().IsNil() || ask(v)
		}
	case t.Kind() == reflect.Pointer && t.Implements(zeroerType):
		return func(v reflect.Value) bool { return v.IsNil() || ask(v) }
	case t.Implements(zeroerType):
		return ask
	case reflect.PointerTo(t).Implements(zeroerType):
		return func(v reflect.Value) bool { return ask(addressable(v).Addr()) }
	}
	return nil
}

// addressable gives v, or a copy whose address can be taken.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	copied := reflect.New(v.Type()).Elem()
	value.Set(copied, v)
	return copied
}
