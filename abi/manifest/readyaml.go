package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds the values of one file, aliases expanded: a few bytes of
// YAML can name billions of them.
const maxNodes = 50_000

// readYAML reads one YAML document as the JSON value that it stands for.
// Aliases are expanded within maxNodes; tags, merge keys, keys that are not
// text, duplicate keys and numbers that JSON does not have are refused. The
// findings carry lines but no fields.
func readYAML(raw []byte) (*node, Errors) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")) {
		return nil, Errors{{Line: 1, Message: "the file is UTF-16", Hint: "save it as UTF-8"}}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	var doc, second yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		return nil, Errors{yamlIssue(raw, err)}
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, Errors{{Line: second.Line, Message: "the file holds a second document", Hint: "one file is one document; leave out the line ---"}}
	}
	r := yamlReader{open: map[*yaml.Node]bool{}}
	n := r.value(doc.Content[0], 0)
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return n, nil
}

// yamlIssue turns the library's "yaml: line 3: text" into a finding.
func yamlIssue(raw []byte, err error) Issue {
	if errors.Is(err, io.EOF) {
		return Issue{Line: 1, Message: "the file is empty"}
	}
	issue := Issue{Message: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if found := yamlErrorLine.FindStringSubmatch(err.Error()); found != nil {
		issue.Line, _ = strconv.Atoi(found[1])
		issue.Message = "not YAML: " + found[2]
	}
	if line := tabIndent(raw); line > 0 {
		issue.Line, issue.Hint = line, "this line begins with a tab; YAML indents with spaces"
	}
	return issue
}

var yamlErrorLine = regexp.MustCompile(`^yaml: line (\d+): (.*)`)

// tabIndent gives the first line whose indentation holds a tab, or 0.
func tabIndent(raw []byte) int {
	line := 0
	for part := range bytes.Lines(raw) {
		line++
		if indent := part[:len(part)-len(bytes.TrimLeft(part, " \t"))]; bytes.IndexByte(indent, '\t') >= 0 {
			return line
		}
	}
	return 0
}

// A yamlReader turns YAML nodes into nodes.
type yamlReader struct {
	errs  Errors
	count int
	open  map[*yaml.Node]bool // the anchors that are being expanded
}

func (r *yamlReader) fail(y *yaml.Node, hint, format string, args ...any) *node {
	if len(r.errs) < maxIssues {
		r.errs = append(r.errs, Issue{Line: y.Line, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	return &node{line: y.Line}
}

func (r *yamlReader) value(y *yaml.Node, depth int) *node {
	switch r.count++; {
	case r.count == maxNodes+1:
		return r.fail(y, "put large schemas into files of their own and use fewer aliases", "more than %d values", maxNodes)
	case r.count > maxNodes:
		return &node{}
	case depth > MaxDepth:
		return r.fail(y, "", "nested deeper than %d", MaxDepth)
	}
	switch y.Kind {
	case yaml.MappingNode:
		return r.object(y, depth)
	case yaml.SequenceNode:
		return r.list(y, depth)
	case yaml.AliasNode:
		return r.alias(y, depth)
	}
	return r.scalar(y)
}

func (r *yamlReader) alias(y *yaml.Node, depth int) *node {
	if r.open[y.Alias] {
		return r.fail(y, "", "the anchor %q contains itself", y.Value)
	}
	r.open[y.Alias] = true
	defer delete(r.open, y.Alias)
	return r.value(y.Alias, depth)
}

func (r *yamlReader) object(y *yaml.Node, depth int) *node {
	if y.Anchor != "" {
		r.open[y] = true
		defer delete(r.open, y)
	}
	if tag := y.ShortTag(); tag != "!!map" {
		return r.fail(y, "", "the tag %s is not used here", tag)
	}
	n := &node{kind: object, line: y.Line, members: make([]member, 0, len(y.Content)/2)}
	seen := make(map[string]int, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		name, ok := r.key(key)
		if !ok {
			continue
		}
		if first, twice := seen[name]; twice {
			r.fail(key, "", "%q stands here and on line %d", name, first)
			continue
		}
		seen[name] = key.Line
		n.members = append(n.members, member{name, key.Line, r.value(y.Content[i+1], depth+1)})
	}
	return n
}

func (r *yamlReader) key(y *yaml.Node) (string, bool) {
	for y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	switch {
	case y.Kind != yaml.ScalarNode:
		r.fail(y, "", "a key must be plain text")
	case y.ShortTag() == "!!merge":
		r.fail(y, "write the fields out", "merge keys (<<) are not used here")
	case y.Style&yaml.TaggedStyle != 0 || y.ShortTag() == "!!null":
		r.fail(y, "", "a key must be plain text")
	default:
		return y.Value, true
	}
	return "", false
}

func (r *yamlReader) list(y *yaml.Node, depth int) *node {
	if y.Anchor != "" {
		r.open[y] = true
		defer delete(r.open, y)
	}
	if tag := y.ShortTag(); tag != "!!seq" {
		return r.fail(y, "", "the tag %s is not used here", tag)
	}
	n := &node{kind: list, line: y.Line, items: make([]*node, 0, len(y.Content))}
	for _, item := range y.Content {
		n.items = append(n.items, r.value(item, depth+1))
	}
	return n
}

func (r *yamlReader) scalar(y *yaml.Node) *node {
	n := &node{line: y.Line, text: y.Value}
	tag := y.ShortTag()
	if tag == "!!str" && y.Style == 0 && jsonForm.MatchString(y.Value) {
		tag = "!!float" // beyond what the library takes for a number
	}
	switch tag {
	case "!!null":
		n.text = ""
	case "!!bool":
		n.kind, n.text = boolean, strings.ToLower(y.Value)
		if n.text != "true" && n.text != "false" {
			return r.fail(y, "write true or false", "%q is not a boolean", y.Value)
		}
	case "!!str", "!!timestamp": // JSON has no dates: they are text
		n.kind = text
	case "!!int", "!!float":
		plain, err := jsonNumber(y.Value)
		if err != nil {
			return r.fail(y, "put it in quotes if it is text", "%q: %v", cut(y.Value, 40), err)
		}
		n.kind, n.text = number, plain
	default:
		return r.fail(y, "", "the tag %s is not used here", tag)
	}
	return n
}

// jsonForm is how JSON writes numbers.
var jsonForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// jsonNumber writes a YAML number as JSON does: 50_000_000 and 0x1F become
// integers. A leading zero is refused, since 0123 is 83 to one reader and 123
// to another.
func jsonNumber(yaml string) (string, error) {
	plain := strings.TrimPrefix(strings.ReplaceAll(yaml, "_", ""), "+")
	if !jsonForm.MatchString(plain) {
		digits := strings.TrimPrefix(plain, "-")
		switch {
		case len(digits) > maxNumberBytes:
			return "", errNumber
		case len(digits) > 2 && digits[0] == '0' && strings.ContainsRune("xob", rune(digits[1])):
			i, ok := new(big.Int).SetString(plain, 0)
			if !ok {
				return "", errors.New("not a number")
			}
			plain = i.String()
		case strings.HasPrefix(digits, "."):
			plain = strings.Replace(plain, ".", "0.", 1)
		default:
			plain = pointEnd.ReplaceAllString(plain, "$1$2")
		}
	}
	if !jsonForm.MatchString(plain) {
		return "", errors.New("JSON has no such number")
	}
	if !boundedNumber(plain) {
		return "", errNumber
	}
	return plain, nil
}

// pointEnd finds the point of numbers such as 5. and 5.e3.
var pointEnd = regexp.MustCompile(`^(-?[0-9]+)\.([eE].*)?$`)

// cut shortens s to at most n bytes, for messages.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
