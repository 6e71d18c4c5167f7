package wire

import (
	"encoding"
	"reflect"
	"sync"
)

// What types bring along that have a form of their own. The first two are
// json.Marshaler and json.Unmarshaler.
type (
	marshaler   interface{ MarshalJSON() ([]byte, error) }
	unmarshaler interface{ UnmarshalJSON([]byte) error }
	zeroer      interface{ IsZero() bool }
)

var (
	marshalerType       = reflect.TypeFor[marshaler]()
	unmarshalerType     = reflect.TypeFor[unmarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	zeroerType          = reflect.TypeFor[zeroer]()
)

// A plan is what is known of a type, so that no value of it has to ask again.
// It does not change once it can be found.
type plan struct {
	typ    reflect.Type
	kind   reflect.Kind
	number bool // json.Number
	raw    bool // json.RawMessage
	bytes  bool // a slice that is written as base64

	indirect bool // a pointer, an interface, or a type that reads itself: a decoder has to look closer
	own      own  // how the type writes itself
	ownAddr  own  // how it does where its address can be taken

	elem   *plan // of a pointer, slice, array or map
	key    *key  // of a map; nil where its keys have no form in JSON
	fields *fields
}

// An own says by which method a type writes itself.
type own byte

const (
	ownNone own = iota
	ownJSON
	ownText
)

func ownOf(t reflect.Type) own {
	switch {
	case t.Implements(marshalerType):
		return ownJSON
	case t.Implements(textMarshalerType):
		return ownText
	}
	return ownNone
}

// A key is what is known of the type of a map's keys.
type key struct {
	typ   reflect.Type
	kind  reflect.Kind
	reads bool // by UnmarshalText
}

// plans are those of all types that were met. They follow from the types
// alone, so it does not matter who meets one first; a program has as many as
// it has types.
var plans struct {
	mu     sync.RWMutex
	byType map[reflect.Type]*plan // guarded by mu
}

// Prepare makes the plan of a type, unless it is made, so that no call has to.
// It may be called at any time, from any goroutine.
func Prepare(t reflect.Type) { planOf(reflect.PointerTo(t)) }

func planOf(t reflect.Type) *plan {
	plans.mu.RLock()
	p := plans.byType[t]
	plans.mu.RUnlock()
	if p != nil {
		return p
	}
	plans.mu.Lock()
	defer plans.mu.Unlock()
	m := maker{}
	p = m.plan(t)
	if plans.byType == nil {
		plans.byType = map[reflect.Type]*plan{}
	}
	for t, made := range m {
		plans.byType[t] = made
	}
	return p
}

// A maker holds the plans that are being made: a type that contains itself
// finds its own. Nobody else sees them before all are whole. It is for the one
// who holds plans.mu.
type maker map[reflect.Type]*plan

func (m maker) plan(t reflect.Type) *plan {
	if p, ok := plans.byType[t]; ok {
		return p
	}
	if p, ok := m[t]; ok {
		return p
	}
	p := &plan{typ: t, kind: t.Kind()}
	m[t] = p
	p.number = p.kind == reflect.String && isNamed(t, "Number")
	p.raw = p.kind == reflect.Slice && isNamed(t, "RawMessage")
	p.own = ownOf(t)
	if p.kind != reflect.Pointer {
		p.ownAddr = ownOf(reflect.PointerTo(t))
	}
	p.indirect = p.kind == reflect.Pointer || p.kind == reflect.Interface || !p.raw && t.Name() != "" && readsItself(reflect.PointerTo(t))
	m.composite(p, t)
	return p
}

// isNamed reports whether t is the type of encoding/json with that name.
func isNamed(t reflect.Type, name string) bool {
	return t.Name() == name && t.PkgPath() == "encoding/json"
}

func readsItself(t reflect.Type) bool {
	return t.Implements(unmarshalerType) || t.Implements(textUnmarshalerType)
}

func (m maker) composite(p *plan, t reflect.Type) {
	switch p.kind {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		p.elem = m.plan(t.Elem())
		p.bytes = p.kind == reflect.Slice && p.elem.kind == reflect.Uint8 && p.elem.ownAddr == ownNone
	case reflect.Map:
		p.elem = m.plan(t.Elem())
		p.key = keyOf(t.Key())
	case reflect.Struct:
		p.fields = m.fields(t)
	}
}

func keyOf(t reflect.Type) *key {
	k := &key{typ: t, kind: t.Kind(), reads: reflect.PointerTo(t).Implements(textUnmarshalerType)}
	if k.kind == reflect.String || isInt(k.kind) || isUint(k.kind) || k.reads || t.Implements(textMarshalerType) {
		return k
	}
	return nil
}

func isInt(k reflect.Kind) bool   { return k >= reflect.Int && k <= reflect.Int64 }
func isUint(k reflect.Kind) bool  { return k >= reflect.Uint && k <= reflect.Uintptr }
func isFloat(k reflect.Kind) bool { return k == reflect.Float32 || k == reflect.Float64 }

// isScalar reports whether a value of the kind may stand inside text, as the
// tag option "string" asks for.
func isScalar(k reflect.Kind) bool {
	return k == reflect.Bool || k == reflect.String || isInt(k) || isUint(k) || isFloat(k)
}
