package sdk

import (
	"encoding"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wire"
)

// A schema is the part of JSON Schema 2020-12 that Go types can say. The zero
// value accepts everything.
type schema struct {
	Type        any        `json:"type,omitempty"` // a name, or [name, "null"]
	Description string     `json:"description,omitempty"`
	Format      string     `json:"format,omitempty"`
	Encoding    string     `json:"contentEncoding,omitempty"`
	Enum        []any      `json:"enum,omitempty"`
	Default     any        `json:"default,omitempty"`
	Minimum     numeral    `json:"minimum,omitempty"`
	Maximum     numeral    `json:"maximum,omitempty"`
	MinLength   *int       `json:"minLength,omitempty"`
	MaxLength   *int       `json:"maxLength,omitempty"`
	MinItems    *int       `json:"minItems,omitempty"`
	MaxItems    *int       `json:"maxItems,omitempty"`
	Pattern     string     `json:"pattern,omitempty"`
	Items       *schema    `json:"items,omitempty"`
	Properties  properties `json:"properties,omitzero"` // of a struct even when it has none: some models ask for it
	Required    []string   `json:"required,omitempty"`
	Additional  any        `json:"additionalProperties,omitempty"` // false, or the schema of a map's values
}

// A numeral is a number as it is written in a tag.
type numeral string

// MarshalJSON writes the number as it is.
func (n numeral) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// properties keep the order of the struct's fields, which is the order in
// which an author explains them.
type properties []property

type property struct {
	name   string
	schema *schema
}

func (p properties) have(name string) bool {
	return slices.ContainsFunc(p, func(q property) bool { return q.name == name })
}

// MarshalJSON writes the properties as one object, in their order.
func (p properties) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, member := range p {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(wire.AppendText(b, member.name), ':')
		var err error
		if b, err = wire.Append(b, member.schema); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// inputSchema gives the schema of a tool's arguments: an object without other
// members than its fields.
func inputSchema(t reflect.Type) (abi.RawMessage, error) {
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return nil, errors.New(t.String() + " is not a struct; arguments are one JSON object")
	}
	return writeSchema(t, true)
}

// outputSchema gives the schema of a tool's data. Members may be added to it
// by later versions, so it does not refuse others.
func outputSchema(t reflect.Type) (abi.RawMessage, error) { return writeSchema(t, false) }

func writeSchema(t reflect.Type, input bool) (abi.RawMessage, error) {
	w := schemaWriter{input: input}
	s, err := w.of(t)
	if err != nil {
		return nil, err
	}
	return encode(w.orNull(t, s))
}

// A schemaWriter makes one schema. Open holds the types that it is inside of:
// one that comes again would never end.
type schemaWriter struct {
	input bool
	open  []reflect.Type
}

// apart reports whether what is written now lies behind a pointer or in a list
// or a map, and so is not there when the defaults are filled in.
func (w *schemaWriter) apart() bool {
	return slices.ContainsFunc(w.open, func(t reflect.Type) bool { return t.Kind() != reflect.Struct })
}

// Types whose JSON form is not told by their kind.
var (
	marshalerType = reflect.TypeFor[interface{ MarshalJSON() ([]byte, error) }]()
	textType      = reflect.TypeFor[encoding.TextMarshaler]()
)

// is reports whether t is that type of a package. To ask by name leaves the
// package out of a module that does not use it.
func is(t reflect.Type, pkg, name string) bool { return t.Name() == name && t.PkgPath() == pkg }

func (w *schemaWriter) of(t reflect.Type) (*schema, error) {
	switch {
	case is(t, "time", "Time") || t == reflect.TypeFor[Instant]():
		return &schema{Type: "string", Format: "date-time"}, nil
	case is(t, "encoding/json", "RawMessage"):
		return &schema{}, nil
	case is(t, "encoding/json", "Number"):
		return &schema{Type: "number"}, nil
	case t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType):
		return &schema{}, nil // its form is its own business
	case t.Implements(textType) || reflect.PointerTo(t).Implements(textType):
		return &schema{Type: "string"}, nil
	}
	if name := scalar(t.Kind()); name != "" {
		s := &schema{Type: name}
		if name == "integer" && t.Kind() >= reflect.Uint {
			s.Minimum = "0"
		}
		return s, nil
	}
	return w.composite(t)
}

// scalar gives the JSON type of a kind that holds one value, or nothing.
func scalar(k reflect.Kind) string {
	switch {
	case k == reflect.Bool:
		return "boolean"
	case k >= reflect.Int && k <= reflect.Uint64:
		return "integer"
	case k == reflect.Float32 || k == reflect.Float64:
		return "number"
	case k == reflect.String:
		return "string"
	}
	return ""
}

func (w *schemaWriter) composite(t reflect.Type) (*schema, error) {
	if slices.Contains(w.open, t) {
		return nil, errors.New("BUG: type " + t.String() + " contains itself; a schema cannot say that, use json.RawMessage for the inner one")
	}
	w.open = append(w.open, t)
	defer func() { w.open = w.open[:len(w.open)-1] }()
	switch t.Kind() {
	case reflect.Pointer:
		return w.of(t.Elem())
	case reflect.Slice, reflect.Array:
		return w.list(t)
	case reflect.Map:
		return w.object(t)
	case reflect.Struct:
		return w.record(t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return &schema{}, nil
		}
	}
	return nil, errors.New("type " + t.String() + " has no form in JSON")
}

func (w *schemaWriter) list(t reflect.Type) (*schema, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return &schema{Type: "string", Encoding: "base64"}, nil
	}
	items, err := w.of(t.Elem())
	if err != nil {
		return nil, err
	}
	s := &schema{Type: "array", Items: w.orNull(t.Elem(), items)}
	if t.Kind() == reflect.Array {
		n := t.Len()
		s.MinItems, s.MaxItems = &n, &n
	}
	return s, nil
}

func (w *schemaWriter) object(t reflect.Type) (*schema, error) {
	if key := t.Key(); key.Kind() != reflect.String && scalar(key.Kind()) != "integer" {
		return nil, errors.New("type " + t.String() + " has keys that are not text")
	}
	values, err := w.of(t.Elem())
	if err != nil {
		return nil, err
	}
	return &schema{Type: "object", Additional: w.orNull(t.Elem(), values)}, nil
}

// orNull lets a result hold null where encoding/json writes a nil slice, map
// or pointer as one. Arguments are not told that they may be null: a model
// leaves out what it does not know.
func (w *schemaWriter) orNull(t reflect.Type, s *schema) *schema {
	name, ok := s.Type.(string)
	if w.input || !ok {
		return s
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		s.Type = []string{name, "null"}
	}
	return s
}

func (w *schemaWriter) record(t reflect.Type) (*schema, error) {
	s := &schema{Type: "object", Properties: properties{}}
	if w.input {
		s.Additional = false
	}
	for i := range t.NumField() {
		if err := w.field(s, t.Field(i)); err != nil {
			return nil, errors.New("field " + t.Field(i).Name + ": " + err.Error())
		}
	}
	return s, nil
}

func (w *schemaWriter) field(s *schema, f reflect.StructField) error {
	name, optional, err := jsonName(f)
	if err != nil || name == "" {
		return err
	}
	if f.Anonymous && f.Tag.Get("json") == "" && under(f.Type).Kind() == reflect.Struct {
		return w.embedded(s, f)
	}
	if s.Properties.have(name) {
		return errors.New("two fields have the name " + quote(name))
	}
	member, err := w.of(f.Type)
	if err != nil {
		return err
	}
	if err := member.tag(f, w.input, w.apart()); err != nil {
		return err
	}
	if !optional {
		s.Required = append(s.Required, name)
	}
	if !omits(f) {
		member = w.orNull(f.Type, member)
	}
	s.Properties = append(s.Properties, property{name, member})
	return nil
}

// embedded adds the fields of an embedded struct as if they stood here.
func (w *schemaWriter) embedded(s *schema, f reflect.StructField) error {
	inner, err := w.of(f.Type)
	if err != nil {
		return err
	}
	for _, p := range inner.Properties {
		if s.Properties.have(p.name) {
			return errors.New("two fields have the name " + quote(p.name))
		}
	}
	s.Properties = append(s.Properties, inner.Properties...)
	if f.Type.Kind() != reflect.Pointer {
		s.Required = append(s.Required, inner.Required...)
	}
	return nil
}

// jsonName gives the name of a field in JSON and whether it may be missing;
// the name is empty for a field that is not in it.
func jsonName(f reflect.StructField) (name string, optional bool, err error) {
	tag := f.Tag.Get("json")
	if tag == "-" || hidden(f) {
		return "", false, nil
	}
	name, rest, _ := strings.Cut(tag, ",")
	if name == "" {
		name = f.Name
	}
	if strings.Contains(","+rest+",", ",string,") {
		return "", false, errors.New("the json option string is not supported; use a text field")
	}
	return name, omits(f) || f.Type.Kind() == reflect.Pointer, nil
}

// hidden reports whether encoding/json does not see the field: it has a small
// letter and is no embedded struct, whose own fields may be seen.
func hidden(f reflect.StructField) bool {
	return !f.IsExported() && !(f.Anonymous && under(f.Type).Kind() == reflect.Struct)
}

// omits reports whether the field's json tag has omitempty or omitzero.
func omits(f reflect.StructField) bool {
	_, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
	rest = "," + rest + ","
	return strings.Contains(rest, ",omitempty,") || strings.Contains(rest, ",omitzero,")
}

// under gives the type that a pointer points to, or the type itself.
func under(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
