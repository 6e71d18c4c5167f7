package lint

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Bounds of a file of YAML.
const (
	maxYAML          = 256 << 10 // bytes: its tree takes some hundred times as much
	maxYAMLValues    = 1_000_000 // with its aliases followed: whoever reads the file has all of them in the memory
	maxYAMLDocuments = 1_000
	maxYAMLNest      = 256 // many readers take a part of the stack for each level
)

// parseYAML accepts documents whose keys stand once and whose aliases do not
// explode. Aliases are counted, and never followed more than once.
func parseYAML(content []byte) []Finding {
	var found []Finding
	documents := 0
	err := decodeYAML(content, func(document *yaml.Node) bool {
		w := yamlWalk{sizes: map[*yaml.Node]int{}}
		w.size(document, 0)
		found = w.found
		documents++
		return len(found) == 0 && documents <= maxYAMLDocuments
	})
	switch {
	case err != nil:
		return []Finding{yamlError(content, err)}
	case documents > maxYAMLDocuments:
		return []Finding{finding(0, 0, "more than %d documents", maxYAMLDocuments)}
	}
	return found
}

// decodeYAML gives each document until next says no.
func decodeYAML(content []byte, next func(*yaml.Node) bool) error {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || !next(&document) {
			return err
		}
	}
}

var yamlErrorLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// maxYAMLSearch is the size of a file in which the line of an error is looked
// for, in bytes: it is read some ten times for that.
const maxYAMLSearch = 64 << 10

// yamlError reads the library's "yaml: line 3: text". Its line is often where
// the block begins in which something is wrong; in a file of a usual size the
// line is the first one with which the file is wrong in this way.
func yamlError(content []byte, err error) Finding {
	m := yamlErrorLine.FindStringSubmatch(err.Error())
	if m == nil {
		return finding(0, 0, "not YAML: %v", err)
	}
	line, _ := strconv.Atoi(m[1])
	if len(content) <= maxYAMLSearch {
		line = firstWrongLine(content, err.Error())
	}
	if line > 0 && startsWithTab(content, line) {
		return finding(line, 1, "not YAML: the line begins with a tab; indent with spaces (%s)", m[2])
	}
	return finding(line, 0, "not YAML: %s", m[2])
}

// firstWrongLine gives the least number of lines that end in the same error.
// The library reads from the front, so that more lines do not change it.
func firstWrongLine(content []byte, message string) int {
	ends := []int{}
	for i, c := range content {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	return 1 + sort.Search(len(ends), func(i int) bool {
		err := decodeYAML(content[:ends[i]], func(*yaml.Node) bool { return true })
		return err != nil && err.Error() == message
	})
}

func startsWithTab(content []byte, line int) bool {
	for part := range bytes.Lines(content) {
		if line--; line == 0 {
			return bytes.IndexByte(part[:len(part)-len(bytes.TrimLeft(part, " \t"))], '\t') >= 0
		}
	}
	return false
}

// A yamlWalk goes through a tree once.
type yamlWalk struct {
	sizes map[*yaml.Node]int // of what has an anchor; unfinished while it is counted
	found []Finding
}

// unfinished is the size of what is still being counted.
const unfinished = -1

// size counts the values of a node with its aliases followed, up to a bit more
// than maxYAMLValues.
func (w *yamlWalk) size(n *yaml.Node, depth int) int {
	if n.Kind == yaml.AliasNode {
		return w.aliased(n, depth)
	}
	if depth > maxYAMLNest {
		w.add(n, "nested deeper than %d", maxYAMLNest)
		return 1
	}
	if n.Anchor != "" {
		w.sizes[n] = unfinished
	}
	if n.Kind == yaml.MappingNode {
		w.keys(n)
	}
	total := 1
	for _, child := range n.Content {
		if len(w.found) == MaxFindings {
			break
		}
		if total += w.size(child, depth+1); total > maxYAMLValues {
			w.add(n, "more than %d values, with its aliases", maxYAMLValues)
			total = 1 // said once
		}
	}
	if n.Anchor != "" {
		w.sizes[n] = total
	}
	return total
}

func (w *yamlWalk) aliased(n *yaml.Node, depth int) int {
	size, counted := w.sizes[n.Alias]
	switch {
	case !counted:
		return w.size(n.Alias, depth)
	case size == unfinished:
		w.add(n, "the anchor %.80q contains itself", n.Value)
		return 1
	}
	return size
}

// keys finds keys that stand twice in a mapping.
func (w *yamlWalk) keys(n *yaml.Node) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			continue
		}
		name := key.ShortTag() + " " + key.Value
		if first, twice := lines[name]; twice {
			w.add(key, "the key %.80q stands on line %d, too", key.Value, first)
			continue
		}
		lines[name] = key.Line
	}
}

func (w *yamlWalk) add(n *yaml.Node, format string, args ...any) {
	if len(w.found) < MaxFindings {
		w.found = append(w.found, finding(n.Line, n.Column, format, args...))
	}
}
