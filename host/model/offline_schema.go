package model

import (
	"encoding/json"
	"slices"
	"strings"
)

// A schema is what the offline model understands of a JSON Schema: an object
// of flat members. What it does not understand it asks the user for.
type schema struct {
	Type        json.RawMessage   `json:"type"` // a name or a list of names
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
	Enum        []any             `json:"enum"`
	Const       any               `json:"const"`
	Default     any               `json:"default"`
	Pattern     string            `json:"pattern"`
	Format      string            `json:"format"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Items       *schema           `json:"items"`
}

// kind gives the first type that is not null, or "".
func (s schema) kind() string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return one
	}
	var several []string
	if json.Unmarshal(s.Type, &several) == nil {
		for _, t := range several {
			if t != "null" {
				return t
			}
		}
	}
	return ""
}

// A property is one argument of a tool, with what its examples show of it.
type property struct {
	schema
	name     string
	required bool
	shown    []shownValue
}

// A shownValue is the value of a property in one example: said with its
// surroundings, or given without being said.
type shownValue struct {
	value       any
	said        bool
	left, right string // of the value in the example's words
	relative    bool   // said as a difference
}

// propertiesOf gives the arguments of a tool: the required ones first, in
// their order, then the others by name. It reports false for a schema of
// another form than schema.
func propertiesOf(t Tool, examples []example) ([]property, bool) {
	var s schema
	if len(t.Parameters) > 0 && json.Unmarshal(t.Parameters, &s) != nil {
		return nil, false
	}
	names := slices.Clone(s.Required)
	for name := range s.Properties {
		if !slices.Contains(s.Required, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[len(s.Required):])
	var props []property
	for i, name := range names {
		p := property{schema: s.Properties[name], name: name, required: i < len(s.Required)}
		for _, e := range examples {
			if v, ok := e.shown[name]; ok {
				p.shown = append(p.shown, v)
			}
		}
		props = append(props, p)
	}
	return props, true
}

// is reports whether the property has, or by its examples seems to have, the
// type.
func (p property) is(kind string) bool {
	k := p.kind()
	if k == "" {
		k = p.kindShown()
	}
	return k == kind || kind == "number" && k == "integer"
}

func (p property) kindShown() string {
	values := slices.Clone(p.Enum)
	for _, s := range p.shown {
		values = append(values, s.value)
	}
	for _, v := range values {
		switch v.(type) {
		case string:
			return "string"
		case json.Number, float64:
			return "number"
		case bool:
			return "boolean"
		case []any:
			return "array"
		}
	}
	return ""
}

// isFree reports whether any text may stand for the property.
func (p property) isFree() bool {
	return p.is("string") && len(p.Enum) == 0 && p.Pattern == "" && p.Format == "" && p.shape() == ""
}

// about reports whether the property's name or description has one of the
// words.
func (p property) about(words ...string) bool {
	text := strings.ToLower(p.name + " " + p.Title + " " + p.Description)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// label names the property for the user: in words where there are some in
// the user's language.
func (p property) label(zh bool) string {
	for _, text := range []string{p.Title, p.Description} {
		text, _, _ = strings.Cut(text, "\n")
		if text = strings.TrimRight(text, "。. "); text != "" && hasHan(text) == zh && len([]rune(text)) <= 60 {
			return bracketed(text, p.name, zh)
		}
	}
	return p.name
}

// withoutWords gives a value that need not be said: the only one, the
// default, or the code that all examples give without saying it.
func (p property) withoutWords() any {
	switch {
	case p.Const != nil:
		return p.Const
	case p.Default != nil:
		return p.Default
	case len(p.Enum) == 1:
		return p.Enum[0]
	}
	var value any
	for i, s := range p.shown {
		if s.said || !p.isCode(s.value) || i > 0 && value != s.value {
			return nil
		}
		value = s.value
	}
	return value
}

// isCode reports whether a value is one of a few, such as a currency, and not
// what a call is about. Only such a value is taken from an example that does
// not say it: a price or an id of an example is nobody's wish.
func (p property) isCode(value any) bool {
	text, ok := value.(string)
	return ok && (slices.Contains(p.Enum, value) || upperWord.MatchString(text))
}
