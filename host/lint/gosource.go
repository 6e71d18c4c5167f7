package lint

import (
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
)

// parseGo accepts one file of Go that parses. Its parser bounds the depth
// itself. Places are counted by offset: a comment of the file may rename lines.
func parseGo(content []byte) []Finding {
	_, err := parser.ParseFile(token.NewFileSet(), "", content, parser.AllErrors|parser.SkipObjectResolution)
	if err == nil {
		return nil
	}
	var list scanner.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return []Finding{finding(0, 0, "not Go: %v", err)}
	}
	var found []Finding
	for _, e := range list[:min(len(list), MaxFindings)] {
		found = append(found, at(content, e.Pos.Offset, "not Go: %s", e.Msg))
	}
	return found
}
