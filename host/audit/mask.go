package audit

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Masked is what stands in the place of a value that is not given away.
const Masked = "[masked]"

// Bounds of masking: who is beyond them masks.
const (
	maxMaskDepth = 64      // of values in values, and of schemas in schemas
	maxMaskSteps = 200_000 // schemas applied to one document
)

// A mask is one document's masking by its schema.
type mask struct {
	root  any
	steps int
}

// maskBy gives a document without what its schema marks with "x-sensitive":
// true, wherever in it that stands: nested, in arrays, behind $ref and in
// alternatives, of which any counts. What no schema describes is masked too, with
// the names of members that no "properties" has, and all of it where the schema or the document cannot be read.
func maskBy(schema, document json.RawMessage) any {
	var root, value any
	if json.Unmarshal(schema, &root) != nil || unmarshalExactly(document, &value) != nil {
		return Masked
	}
	m := &mask{root: root}
	return m.value([]any{root}, value, 0)
}

// value gives a value without what the schemas that apply to it hide.
func (m *mask) value(schemas []any, value any, depth int) any {
	all, ok := m.all(schemas)
	if !ok || depth > maxMaskDepth {
		return Masked
	}
	described := false
	for _, s := range all {
		if s["x-sensitive"] != nil && s["x-sensitive"] != false {
			return Masked
		}
		described = described || len(s) > 0
	}
	switch v := value.(type) {
	case map[string]any:
		masked := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !namesMember(all, name) { // it may be somebody's: one member stands for all such
				masked[Masked] = Masked
				continue
			}
			masked[name] = m.value(membersOf(all, name), v[name], depth+1)
		}
		return masked
	case []any:
		masked := make([]any, len(v))
		for i := range v {
			masked[i] = m.value(itemsOf(all, i), v[i], depth+1)
		}
		return masked
	}
	if !described {
		return Masked
	}
	return value
}

// all gives the schemas with those that they refer to and take together. It
// reports whether it found them all.
func (m *mask) all(schemas []any) (found []map[string]any, ok bool) {
	seen := map[string]bool{} // references that lead to themselves add nothing
	for len(schemas) > 0 {
		if m.steps++; m.steps > maxMaskSteps {
			return nil, false
		}
		next := schemas[0]
		schemas = schemas[1:]
		if next == true || next == false || next == nil {
			continue // says nothing of the value
		}
		s, isObject := next.(map[string]any)
		if !isObject {
			return nil, false
		}
		found = append(found, s)
		if ref, there := s["$ref"]; there {
			text, _ := ref.(string)
			if !seen[text] {
				seen[text] = true
				target, ok := m.resolve(text)
				if !ok {
					return nil, false
				}
				schemas = append(schemas, target)
			}
		}
		for _, name := range []string{"allOf", "anyOf", "oneOf"} {
			list, _ := s[name].([]any)
			schemas = append(schemas, list...)
		}
		for _, name := range []string{"if", "then", "else", "not"} {
			schemas = append(schemas, s[name])
		}
		dependent, _ := s["dependentSchemas"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(dependent)) {
			schemas = append(schemas, dependent[name])
		}
		dependencies, _ := s["dependencies"].(map[string]any) // of draft 7: a schema, or names
		for _, name := range slices.Sorted(maps.Keys(dependencies)) {
			if _, names := dependencies[name].([]any); !names {
				schemas = append(schemas, dependencies[name])
			}
		}
	}
	return found, true
}

// resolve follows a reference inside the document: "#" and a JSON pointer.
func (m *mask) resolve(ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	at := m.root
	tokens := strings.Split(pointer, "/")
	if !ok || tokens[0] != "" {
		return nil, false
	}
	for _, token := range tokens[1:] {
		plain, err := url.PathUnescape(token)
		if err != nil {
			return nil, false
		}
		switch v := at.(type) {
		case map[string]any:
			at, ok = v[strings.NewReplacer("~1", "/", "~0", "~").Replace(plain)]
		case []any:
			n, err := strconv.Atoi(plain)
			if ok = err == nil && n >= 0 && n < len(v); ok {
				at = v[n]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return at, true
}

// unmarshalExactly keeps numbers as they were written.
func unmarshalExactly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

// namesMember reports whether a schema itself has a member's name.
func namesMember(all []map[string]any, name string) bool {
	return slices.ContainsFunc(all, func(s map[string]any) bool {
		properties, _ := s["properties"].(map[string]any)
		_, named := properties[name]
		return named
	})
}

// membersOf gives the schemas of an object's member.
func membersOf(all []map[string]any, name string) (schemas []any) {
	for _, s := range all {
		named := false
		if properties, ok := s["properties"].(map[string]any); ok {
			if sub, ok := properties[name]; ok {
				schemas, named = append(schemas, sub), true
			}
		}
		patterns, _ := s["patternProperties"].(map[string]any)
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			matches, err := regexp.MatchString(pattern, name)
			if matches || err != nil {
				schemas, named = append(schemas, patterns[pattern]), true
			}
		}
		if sub, ok := s["additionalProperties"]; ok && !named {
			schemas = append(schemas, sub)
		}
		if names, ok := s["propertyNames"].(map[string]any); ok && names["x-sensitive"] == true {
			schemas = append(schemas, names)
		}
	}
	return schemas
}

// itemsOf gives the schemas of an array's item.
func itemsOf(all []map[string]any, i int) (schemas []any) {
	for _, s := range all {
		prefix, _ := s["prefixItems"].([]any)
		if i < len(prefix) {
			schemas = append(schemas, prefix[i])
		} else if sub, ok := s["items"]; ok {
			schemas = append(schemas, sub)
		}
		if sub, ok := s["contains"]; ok {
			schemas = append(schemas, sub)
		}
	}
	return schemas
}

// marksAny reports whether a schema marks anything at all, or cannot be read:
// then texts about a value are not given away either.
func marksAny(schema json.RawMessage) bool {
	var root any
	return json.Unmarshal(schema, &root) != nil || mentions(root, 0)
}

func mentions(value any, depth int) bool {
	switch v := value.(type) {
	case map[string]any:
		if s, there := v["x-sensitive"]; there && s != false {
			return true
		}
		for _, sub := range v {
			if depth > maxMaskDepth || mentions(sub, depth+1) {
				return true
			}
		}
	case []any:
		for _, sub := range v {
			if depth > maxMaskDepth || mentions(sub, depth+1) {
				return true
			}
		}
	}
	return false
}
