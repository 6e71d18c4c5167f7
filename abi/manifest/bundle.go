package manifest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// A bundler makes one schema self-contained: what its references reach in
// other files is put under $defs, each once, so that whoever reads the schema
// (a model's API, an MCP client) needs nothing else. References that form a
// cycle stay references; nothing is expanded, so the size stays bounded.
type bundler struct {
	s     *schemas
	main  *schemaDoc
	defs  []member
	names map[string]string // of what was put under $defs, by address
	taken map[string]bool
}

// bundle gives the compiled schema at a place of the manifest as one
// self-contained document.
func (s *schemas) bundle(at place) json.RawMessage {
	d := s.docs[schemaBase+"."+url.PathEscape(at.path)]
	if at.node.kind == text {
		d = s.docs[schemaBase+(&url.URL{Path: at.node.text}).EscapedPath()]
	}
	b := &bundler{s: s, main: d, names: map[string]string{}, taken: map[string]bool{}}
	if own := d.root.get("$defs"); own != nil {
		for _, m := range own.members {
			b.taken[m.name] = true
		}
	}
	root := b.rewrite(d, d.root)
	if len(b.defs) > 0 {
		root = withDefs(root, b.defs)
	}
	return root.appendJSON(nil)
}

// rewrite copies a schema of d with its references made local.
func (b *bundler) rewrite(d *schemaDoc, n *node) *node {
	if n.kind != object {
		return n
	}
	c := &node{kind: object, line: n.line, members: make([]member, len(n.members))}
	for i, m := range n.members {
		switch form := b.s.forms[m.name]; {
		case m.name == "$ref":
			m.value = &node{kind: text, text: b.local(d, m.value.text), line: m.line}
		case form == oneSchema:
			m.value = b.rewrite(d, m.value)
		case form == listOf && m.value.kind == list:
			items := make([]*node, len(m.value.items))
			for j, item := range m.value.items {
				items[j] = b.rewrite(d, item)
			}
			m.value = &node{kind: list, items: items}
		case form == namedOnes && m.value.kind == object:
			subs := make([]member, len(m.value.members))
			for j, sub := range m.value.members {
				subs[j] = member{sub.name, sub.line, b.rewrite(d, sub.value)}
			}
			m.value = &node{kind: object, members: subs}
		}
		c.members[i] = m
	}
	return c
}

// local gives the reference inside the bundle for one in d.
func (b *bundler) local(d *schemaDoc, ref string) string {
	target, tokens, err := b.s.resolve(d, ref)
	if err != nil || target == nil {
		panic("BUG: a reference that was followed leads nowhere: " + ref)
	}
	_, inside, _ := strings.Cut(ref, "#")
	if target == b.main {
		return "#" + inside
	}
	address := target.url + "#" + inside
	name, done := b.names[address]
	if !done {
		name = b.name(target, tokens)
		b.names[address] = name
		at := len(b.defs)
		b.defs = append(b.defs, member{name: name})
		b.defs[at].value = b.rewrite(target, target.root.at(tokens).node)
	}
	return "#/$defs/" + name
}

// name finds a free name for a definition: the last word of its pointer, or
// the file's own name.
func (b *bundler) name(d *schemaDoc, tokens []string) string {
	word := strings.TrimSuffix(path.Base(d.file), path.Ext(d.file))
	if len(tokens) > 0 {
		word = tokens[len(tokens)-1]
	}
	word = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '_'
	}, word)
	free := word
	for i := 2; b.taken[free]; i++ {
		free = fmt.Sprintf("%s_%d", word, i)
	}
	b.taken[free] = true
	return free
}

// withDefs adds definitions to a schema.
func withDefs(root *node, defs []member) *node {
	c := &node{kind: object, line: root.line}
	for _, m := range root.members {
		if m.name == "$defs" {
			defs = append(append([]member(nil), m.value.members...), defs...)
			continue
		}
		c.members = append(c.members, m)
	}
	c.members = append(c.members, member{name: "$defs", value: &node{kind: object, members: defs}})
	return c
}
