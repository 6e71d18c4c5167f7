package manifest

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// A kind is one of the six kinds of JSON values.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

// String names a kind as error messages do.
func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// A node is a JSON value that remembers where it stood and in which order its
// members came. Nodes are made by readYAML and readJSON, which bound their
// number, depth and numbers, and are not changed afterwards.
type node struct {
	kind    kind
	text    string // of a text, a number (as JSON writes it), or true and false
	members []member
	items   []*node
	line    int // from 1; 0 where unknown
}

// A member is one name and value of an object.
type member struct {
	name  string
	line  int
	value *node
}

func (n *node) get(name string) *node {
	for i := range n.members {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

// plain gives the value as encoding/json does, with json.Number for numbers.
func (n *node) plain() any {
	switch n.kind {
	case object:
		m := make(map[string]any, len(n.members))
		for _, f := range n.members {
			m[f.name] = f.value.plain()
		}
		return m
	case list:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = item.plain()
		}
		return items
	case text:
		return n.text
	case number:
		return json.Number(n.text)
	case boolean:
		return n.text == "true"
	}
	return nil
}

// appendJSON appends the value as compact JSON, members in their order.
func (n *node) appendJSON(b []byte) []byte {
	switch n.kind {
	case object:
		b = append(b, '{')
		for i, f := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, f.name), ':')
			b = f.value.appendJSON(b)
		}
		return append(b, '}')
	case list:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	case text:
		return appendText(b, n.text)
	case number, boolean:
		return append(b, n.text...)
	}
	return append(b, "null"...)
}

// appendText appends s as a JSON string without the escapes that only HTML
// needs: people read it.
func appendText(b []byte, s string) []byte {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("BUG: a string does not encode: " + err.Error())
	}
	return append(b, strings.TrimSuffix(out.String(), "\n")...)
}

// A place is what a JSON pointer leads to: its path as people write it, its
// line, and its value, nil where there is none.
type place struct {
	path string
	line int
	node *node
}

// pointer splits a JSON pointer as the schema library writes it into its
// tokens.
func pointer(p string) []string {
	p = strings.TrimPrefix(p, "/")
	if p == "" {
		return nil
	}
	tokens := strings.Split(p, "/")
	for i, t := range tokens {
		if plain, err := url.PathUnescape(t); err == nil {
			t = plain
		}
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
	}
	return tokens
}

// at follows the tokens of a JSON pointer from n as far as they lead.
func (n *node) at(tokens []string) place {
	p := place{line: n.line, node: n}
	for _, token := range tokens {
		p = p.step(token)
	}
	return p
}

func (p place) step(token string) place {
	if p.node != nil && p.node.kind == list {
		next := place{path: p.path + "[" + token + "]", line: p.line}
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(p.node.items) {
			next.node = p.node.items[i]
			next.line = next.node.line
		}
		return next
	}
	next := place{path: joinField(p.path, token), line: p.line}
	if p.node == nil {
		return next
	}
	for _, m := range p.node.members {
		if m.name == token {
			next.node, next.line = m.value, m.line
		}
	}
	return next
}

// joinField appends a member's name to a path: a.b, or a["b c"] where the name
// is not a plain word.
func joinField(path, name string) string {
	if !plainWord(name) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return strings.Clone(name) // which may be a part of a large text
	}
	return path + "." + name
}

// joinPath appends a path inside a value to the path of the value.
func joinPath(path, inside string) string {
	if path == "" || inside == "" || strings.HasPrefix(inside, "[") {
		return path + inside
	}
	return path + "." + inside
}

func plainWord(name string) bool {
	for _, c := range name {
		switch {
		case c == '_' || c == '-' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80:
		default:
			return false
		}
	}
	return name != ""
}
