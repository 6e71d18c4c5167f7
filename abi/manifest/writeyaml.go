package manifest

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/sluicehq/sluice/abi"
)

// Marshal writes a manifest as a skill.yaml for people: fields in the order of
// the contract, schemas and examples as YAML, short lists and objects on one
// line. Parse reads back the same manifest; in its raw parts, spaces and escapes of JSON
// are not kept, the order of members and the digits of numbers are.
func Marshal(m abi.Manifest) ([]byte, error) {
	raw, err := encode(m)
	if err != nil {
		return nil, err
	}
	root, err := readJSON(raw)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(toYAML(root)); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// maxFlowBytes is what still reads well on one line.
const maxFlowBytes = 80

func toYAML(n *node) *yaml.Node {
	switch n.kind {
	case object:
		y := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: flowStyle(n)}
		for _, m := range n.members {
			y.Content = append(y.Content, textToYAML(m.name), toYAML(m.value))
		}
		return y
	case list:
		y := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: flowStyle(n)}
		for _, item := range n.items {
			y.Content = append(y.Content, toYAML(item))
		}
		return y
	case text:
		return textToYAML(n.text)
	case number:
		tag := "!!int"
		if strings.ContainsAny(n.text, ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: n.text}
	case boolean:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: n.text}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

// flowStyle puts what is small and flat on one line.
func flowStyle(n *node) yaml.Style {
	flat := func(n *node) bool { return n.kind != object && n.kind != list }
	for _, m := range n.members {
		if !flat(m.value) {
			return 0
		}
	}
	if len(n.appendJSON(nil)) > maxFlowBytes || slices.ContainsFunc(n.items, func(item *node) bool { return !flat(item) }) {
		return 0
	}
	return yaml.FlowStyle
}

// textToYAML writes text so that every reader of YAML sees the same text:
// quoted where an old reader would see something else, and where anything but
// plain lines is in it.
func textToYAML(s string) *yaml.Node {
	y := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "=", "<<"}, strings.ToLower(s)), jsonForm.MatchString(s), !plainLines(s):
		y.Style = yaml.DoubleQuotedStyle
	case strings.Contains(s, "\n"):
		y.Style = yaml.LiteralStyle
	}
	return y
}

// plainLines reports whether text is made of printable lines without spaces at
// their ends, begins with one that is not empty, and ends with one.
func plainLines(s string) bool {
	last := ""
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if line != strings.TrimSpace(line) || strings.ContainsFunc(line, notPrintable) {
			return false
		}
		last = line
	}
	return last != "" && s[0] != '\n'
}

func notPrintable(c rune) bool { return c == 0xfeff || c != ' ' && !unicode.IsPrint(c) }
