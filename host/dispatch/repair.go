package dispatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// repair mends arguments where exactly one reading is possible: fenced JSON,
// JSON inside a JSON string, an object wrapped once too often, a number as
// text and text as a number, a one-element list around a scalar, a member name
// of three letters or more that is one edit away from exactly one known name, a word that is but for its
// case one of those that the schema lists, a required member whose default the
// schema gives. For a read also a word that is one edit away from exactly one of
// the list; a write's words may name what it touches or move money, and are
// never guessed. It returns what it did, or nothing where there is nothing
// certain to do.
func repair(schema, args json.RawMessage, effect abi.Effect) (json.RawMessage, []string) {
	m := &mender{root: decode(schema), effect: effect}
	value := m.text(string(args))
	if value == nil {
		return args, nil
	}
	value = m.unwrap(value)
	value = m.value(m.root, value, "", 0)
	if len(m.did) == 0 {
		return args, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return args, nil
	}
	return bytes.TrimSpace(b.Bytes()), m.did
}

type mender struct {
	root   any // the decoded schema
	effect abi.Effect
	did    []string
}

// maxRepairs bounds the list; arguments that need more are not a slip.
const maxRepairs = 32

func (m *mender) note(path, format string, args ...any) {
	if path == "" {
		path = "arguments"
	}
	m.did = append(m.did, path+": "+fmt.Sprintf(format, args...))
}

// text reads the outermost value through a code fence or a JSON string.
func (m *mender) text(text string) any {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		if body, closed := strings.CutSuffix(strings.TrimPrefix(inner, "json"), "```"); closed {
			m.note("", "taken out of a code fence")
			text = strings.TrimSpace(body)
		}
	}
	value := unambiguous(text)
	if s, ok := value.(string); ok {
		if inner := unambiguous(s); isObject(inner) {
			m.note("", "taken out of a JSON string")
			return inner
		}
	}
	return value
}

// unwrap removes one object that holds nothing but the arguments under a name
// that the schema does not have.
func (m *mender) unwrap(value any) any {
	object, ok := value.(map[string]any)
	if !ok || len(object) != 1 {
		return value
	}
	for name, inner := range object {
		if slices.Contains([]string{"arguments", "args", "input", "parameters", "params"}, name) && isObject(inner) && !m.has(name) {
			m.note("", "taken out of %q", name)
			return inner
		}
	}
	return value
}

func (m *mender) has(name string) bool {
	schema, _ := m.root.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	_, known := properties[name]
	return known
}

func (m *mender) value(schema, value any, path string, depth int) any {
	s, ok := m.resolve(schema).(map[string]any)
	if !ok || depth > host.MaxJSONDepth || len(m.did) >= maxRepairs {
		return value
	}
	want, _ := s["type"].(string) // a list of types leaves more than one reading
	switch v := value.(type) {
	case map[string]any:
		return m.object(s, v, path, depth)
	case []any:
		if want != "array" && want != "" && want != "object" && len(v) == 1 {
			m.note(path, "taken out of a list of one")
			return m.value(s, v[0], path, depth+1)
		}
		if items, ok := s["items"]; ok && want == "array" {
			for i := range v {
				v[i] = m.value(items, v[i], fmt.Sprintf("%s[%d]", path, i), depth+1)
			}
		}
		return v
	case string:
		return m.fromText(s, want, v, path, depth)
	case json.Number:
		if want == "string" {
			m.note(path, "number taken as text")
			return v.String()
		}
	}
	return value
}

func (m *mender) object(schema, object map[string]any, path string, depth int) any {
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		return object
	}
	m.nearNames(properties, object, path)
	m.defaults(schema, properties, object, path)
	for name, sub := range properties {
		if inner, ok := object[name]; ok {
			object[name] = m.value(sub, inner, join(path, name), depth+1)
		}
	}
	return object
}

// nearNames renames members that are one edit away from exactly one known name
// that is not taken, where no other member is as near to it. Names of money and
// targets are no exception: the value under the name stays as it was sent.
func (m *mender) nearNames(properties, object map[string]any, path string) {
	near, readings := map[string][]string{}, map[string]int{} // by the known name; by the member's
	for _, name := range unknown(properties, object) {
		for known := range properties {
			if _, taken := object[known]; !taken && isNear(name, known) {
				near[known] = append(near[known], name)
				readings[name]++
			}
		}
	}
	for _, known := range slices.Sorted(maps.Keys(near)) {
		if name := near[known][0]; len(near[known]) == 1 && readings[name] == 1 {
			m.note(join(path, name), "taken as %q", known)
			object[known] = object[name]
			delete(object, name)
		}
	}
}

// unknown gives the members that the schema does not name, sorted.
func unknown(properties, object map[string]any) (names []string) {
	for name := range object {
		if _, ok := properties[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// nearRunes is how long a name is at least whose misspelling is told from
// another word: in two letters, any letter makes another one.
const nearRunes = 3

func isNear(name, known string) bool {
	long := min(utf8.RuneCountInString(name), utf8.RuneCountInString(known)) >= nearRunes
	return foldName(name) == foldName(known) || long && abi.EditDistance(name, known) == 1
}

// defaults fills in required members that are missing and whose default the
// skill's own schema gives. Beside a member that nobody knows none is filled in:
// that one may be what was meant.
func (m *mender) defaults(schema, properties, object map[string]any, path string) {
	if len(unknown(properties, object)) > 0 {
		return
	}
	required, _ := schema["required"].([]any)
	for _, r := range required {
		name, _ := r.(string)
		sub, _ := m.resolve(properties[name]).(map[string]any)
		value, given := sub["default"]
		if _, there := object[name]; there || !given {
			continue
		}
		m.note(join(path, name), "missing, taken as its default")
		object[name] = value
	}
}

// listed gives the word of an enum that a text stands for, if it stands for one.
func (m *mender) listed(enum []any, text, path string) any {
	var folded, near []string
	for _, e := range enum {
		word, ok := e.(string)
		switch {
		case !ok:
		case word == text:
			return text
		case foldName(word) == foldName(text):
			folded = append(folded, word)
		case m.effect == abi.Read && abi.EditDistance(word, text) == 1:
			near = append(near, word)
		}
	}
	if len(folded) == 0 {
		folded = near
	}
	if len(folded) != 1 {
		return text
	}
	m.note(path, "taken as %q", folded[0])
	return folded[0]
}

// foldName makes userId, user_id and user-id one name.
func foldName(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

func (m *mender) fromText(schema map[string]any, want, text, path string, depth int) any {
	trimmed := strings.TrimSpace(text)
	if enum, ok := schema["enum"].([]any); ok && (want == "string" || want == "") {
		return m.listed(enum, text, path)
	}
	switch want {
	case "number", "integer":
		if _, err := strconv.ParseFloat(trimmed, 64); err == nil && json.Valid([]byte(trimmed)) {
			m.note(path, "text taken as a number")
			return json.Number(trimmed)
		}
	case "boolean":
		if trimmed == "true" || trimmed == "false" {
			m.note(path, "text taken as a boolean")
			return trimmed == "true"
		}
	case "object", "array":
		inner := unambiguous(trimmed)
		if _, list := inner.([]any); inner != nil && (list == (want == "array")) && (list || isObject(inner)) {
			m.note(path, "taken out of a JSON string")
			return m.value(schema, inner, path, depth+1)
		}
	}
	return text
}

// resolve follows one local reference of the schema.
func (m *mender) resolve(schema any) any {
	s, _ := schema.(map[string]any)
	ref, ok := s["$ref"].(string)
	if !ok {
		return schema
	}
	name, local := strings.CutPrefix(ref, "#/$defs/")
	root, _ := m.root.(map[string]any)
	defs, _ := root["$defs"].(map[string]any)
	if !local {
		return nil
	}
	return defs[name]
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

// unambiguous gives the JSON value of a text, or nil if there is none, or more
// than one: text after it, a member that stands twice, bytes that are no text.
func unambiguous(text string) any {
	if _, err := host.Canonical([]byte(text)); err != nil {
		return nil
	}
	return decode([]byte(text))
}

// decode gives the JSON value in b with its numbers as they are written, or
// nil.
func decode(b []byte) any {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}
