package lint

import (
	"bytes"
	"errors"

	"github.com/BurntSushi/toml"
)

// Bounds of a file of TOML. For every key the library walks all the tables that
// it is in: a file of 900 KB with 250 levels takes a minute. With these bounds
// the worst takes a second, and people's files have some KB and three levels.
const (
	maxTOML     = 256 << 10
	maxTOMLNest = 32
	maxDots     = 16 // in one key
)

// parseTOML accepts one document. The library recurses for every bracket and
// copies what is around it for every inline table: nesting is bounded first.
func parseTOML(content []byte) []Finding {
	if i := tooNested(content); i >= 0 {
		return []Finding{at(content, i, "nested deeper than %d, or a key with more than %d dots", maxTOMLNest, maxDots)}
	}
	var document map[string]any
	_, err := toml.Decode(string(content), &document)
	var wrong toml.ParseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		reason := wrong.Message
		if reason == "" {
			reason = wrong.Error()
		}
		return []Finding{finding(wrong.Position.Line, 0, "not TOML: %s", reason)}
	}
	return []Finding{finding(0, 0, "not TOML: %v", err)}
}

// tooNested gives where brackets or the parts of a key become too many, or -1.
// It knows TOML's strings and comments, in which they count for nothing.
func tooNested(content []byte) int {
	depth, dots := 0, 0
	for i := 0; i < len(content); i++ {
		switch c := content[i]; c {
		case '"', '\'':
			i = stringEnd(content, i)
		case '#':
			if i = indexFrom(content, i, "\n"); i == len(content) {
				return -1
			}
			dots = 0
		case '[', '{':
			depth, dots = depth+1, 0
		case ']', '}':
			depth, dots = max(depth-1, 0), 0
		case '.':
			dots++
		case '\n', '=', ',':
			dots = 0
		}
		if depth > maxTOMLNest || dots > maxDots {
			return i
		}
	}
	return -1
}

// stringEnd gives the last byte of the string that begins at i. A string of one
// line ends with the line where it is not closed.
func stringEnd(content []byte, i int) int {
	quote := content[i : i+1]
	if triple := bytes.Repeat(quote, 3); bytes.HasPrefix(content[i:], triple) {
		for i += len(triple); i < len(content); i++ {
			switch {
			case content[i] == '\\' && quote[0] == '"':
				i++
			case bytes.HasPrefix(content[i:], triple):
				return i + len(triple) - 1
			}
		}
		return len(content)
	}
	for i++; i < len(content) && content[i] != quote[0] && content[i] != '\n'; i++ {
		if content[i] == '\\' && quote[0] == '"' {
			i++
		}
	}
	return i
}

func indexFrom(content []byte, i int, mark string) int {
	if n := bytes.Index(content[i:], []byte(mark)); n >= 0 {
		return i + n
	}
	return len(content)
}
