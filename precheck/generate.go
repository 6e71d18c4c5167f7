package precheck

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
)

// A generator makes arguments from a schema: many that fit, and some that do
// not, since it knows no patterns and no formats. Whoever uses it holds them
// against the schema. The same seed makes the same arguments.
type generator struct {
	*rand.Rand
	root map[string]any
	made int // values of these arguments
}

// Bounds of what is generated: enough to try a tool, not to load it.
const (
	mostDeep  = 6
	mostItems = 4
	mostText  = 24
	mostLeast = 1000 // characters or items that a schema may demand
	mostMade  = 5000 // values in all: lists of lists are many
)

func newGenerator(schema json.RawMessage, seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	_ = json.Unmarshal(schema, &g.root) // a schema of true makes anything
	return g
}

// arguments makes a value for the whole schema.
func (g *generator) arguments() any {
	g.made = 0
	return g.value(g.root, mostDeep)
}

// value makes a value for a part of the schema.
func (g *generator) value(schema any, room int) any {
	s, ok := schema.(map[string]any)
	if g.made++; !ok || room == 0 || g.made > mostMade {
		return g.anything()
	}
	if ref, ok := s["$ref"].(string); ok {
		return g.value(lookUp(g.root, ref), room-1)
	}
	if c, ok := s["const"]; ok {
		return c
	}
	if list, ok := s["enum"].([]any); ok && len(list) > 0 {
		return list[g.IntN(len(list))]
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := s[word].([]any); ok && len(list) > 0 && s["properties"] == nil {
			return g.value(list[g.IntN(len(list))], room-1)
		}
	}
	switch g.typeOf(s) {
	case "object":
		return g.object(s, room)
	case "array":
		return g.array(s, room)
	case "string":
		return g.text(s)
	case "integer":
		return float64(int64(g.number(s)))
	case "number":
		return g.number(s)
	case "boolean":
		return g.IntN(2) == 0
	}
	return nil
}

func (g *generator) typeOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			name, _ := t[g.IntN(len(t))].(string)
			return name
		}
	}
	if s["properties"] != nil {
		return "object"
	}
	return [...]string{"string", "number", "boolean", "null"}[g.IntN(4)]
}

func (g *generator) object(s map[string]any, room int) any {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	object := map[string]any{}
	for _, name := range sortedKeys(properties) { // the generator's order is a map's own otherwise
		if slices.Contains(required, any(name)) || g.IntN(2) == 0 {
			object[name] = g.value(properties[name], room-1)
		}
	}
	return object
}

func sortedKeys(m map[string]any) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (g *generator) array(s map[string]any, room int) any {
	least, most := g.bounds(s, "minItems", "maxItems", mostItems)
	list := make([]any, least+g.IntN(most-least+1))
	for i := range list {
		if g.made > mostMade {
			return list[:i]
		}
		list[i] = g.value(s["items"], room-1)
	}
	return list
}

// texts are what users and models write, and what breaks programs.
var texts = []string{"", "1001", "保温杯", "null", "-1", "0", "a b", "\u0000", "\u202e", "👩‍👩‍👧", "é", "'; DROP TABLE t;--", "{{args.sku}}", "../../etc", "1e999", "2026-02-30", "tom@example.com", "１００１", "<b>", "\\u0041", "true"}

func (g *generator) text(s map[string]any) any {
	least, most := g.bounds(s, "minLength", "maxLength", mostText)
	text := []rune(texts[g.IntN(len(texts))])
	for len(text) < least {
		text = append(text, rune('a'+g.IntN(26)))
	}
	if len(text) > most {
		text = text[:most]
	}
	return string(text)
}

// bounds reads two bounds of a schema; what it leaves open ends at least+usual.
func (g *generator) bounds(s map[string]any, low, high string, usual int) (least, most int) {
	if n, ok := s[low].(float64); ok {
		least = int(min(max(n, 0), mostLeast))
	}
	most = least + usual
	if n, ok := s[high].(float64); ok {
		most = int(min(max(n, 0), float64(most)))
	}
	return least, max(least, most)
}

func (g *generator) number(s map[string]any) float64 {
	least, hasLeast := first(s, "minimum", "exclusiveMinimum")
	most, hasMost := first(s, "maximum", "exclusiveMaximum")
	switch {
	case !hasLeast && !hasMost:
		least, most = -1e6, 1e6
	case !hasLeast:
		least = most - 1e6
	case !hasMost:
		most = least + 1e6
	}
	n := least + g.Float64()*(most-least)
	switch g.IntN(4) {
	case 0:
		n = least
	case 1:
		n = most
	}
	if step, ok := s["multipleOf"].(float64); ok && step > 0 {
		n = float64(int64(n/step)) * step
	} else if g.IntN(2) == 0 {
		n = float64(int64(n))
	}
	return n
}

func first(s map[string]any, names ...string) (float64, bool) {
	for _, name := range names {
		if n, ok := s[name].(float64); ok {
			return n, true
		}
	}
	return 0, false
}

func (g *generator) anything() any {
	return []any{nil, true, 1.5, "text", []any{}, map[string]any{}}[g.IntN(6)]
}

// spoil changes one thing of arguments so that they may not fit any more.
func (g *generator) spoil(args map[string]any) any {
	if g.IntN(12) == 0 {
		return g.anything()
	}
	spoilt := map[string]any{}
	for name, value := range args {
		spoilt[name] = value
	}
	names := sortedKeys(spoilt)
	if len(names) == 0 || g.IntN(6) == 0 {
		spoilt["no_such_argument"] = g.anything()
		return spoilt
	}
	name := names[g.IntN(len(names))]
	switch g.IntN(6) {
	case 0:
		delete(spoilt, name)
	case 1:
		spoilt[name] = nil
	case 2:
		spoilt[name] = []any{spoilt[name]}
	case 3:
		spoilt[name] = 1e300
	case 4:
		spoilt[name] = strings.Repeat("9", 400)
	default:
		spoilt[name] = g.anything()
	}
	return spoilt
}
