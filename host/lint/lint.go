package lint

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
)

// Bounds of a look at one file.
const (
	// MaxFindings is what a model can act on at once; the first ones mostly
	// cause the others.
	MaxFindings = 10
	// MaxReasonBytes bounds one reason: a line that people read.
	MaxReasonBytes = 300

	maxStreamed = int(abi.CallWriteBytes) // of JSON and CSV, which take no memory of their own: all that a call may write
	maxParsed   = 1 << 20                 // of Go, whose tree takes some fifty times as much
)

// A Finding is one thing that is wrong with a file.
type Finding struct {
	Line   int    `json:"line,omitempty"`   // from 1; 0 where it is about all of the file
	Column int    `json:"column,omitempty"` // in characters, from 1; 0 where it is not known
	Reason string `json:"reason"`           // one line of up to MaxReasonBytes
}

// String gives line:column: reason, without what is not known.
func (f Finding) String() string {
	switch {
	case f.Line == 0:
		return f.Reason
	case f.Column == 0:
		return fmt.Sprintf("line %d: %s", f.Line, f.Reason)
	}
	return fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, f.Reason)
}

// FormatOf gives the format that a file's name stands for: its extension, in
// lower case, where yml is yaml. It is empty where the name has none that is
// letters and digits.
func FormatOf(name string) string {
	format := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	if strings.Trim(format, "abcdefghijklmnopqrstuvwxyz0123456789") != "" || len(format) > maxFormatBytes {
		return ""
	}
	return manifest.Format(format)
}

// maxFormatBytes is longer than the extensions that there are.
const maxFormatBytes = 16

// Parses reports whether the format is one that Parse knows.
func Parses(format string) bool { return parserOf(format) != nil }

// Lint gives what is wrong with a file of a format that its name says, at most
// MaxFindings; nil where nothing is, and for a format that Parse does not know.
// It is safe for concurrent use.
func Lint(name string, content []byte) []Finding { return Parse(FormatOf(name), content) }

// Parse is Lint for a format: json, yaml, toml, csv, tsv or go. A parser that
// panics has met a file that it cannot read, and that is a finding.
func Parse(format string, content []byte) (found []Finding) {
	defer func() {
		if cause := recover(); cause != nil {
			found = []Finding{finding(0, 0, "it cannot be read as %s: %v", format, cause)}
		}
	}()
	parse := parserOf(format)
	if parse == nil {
		return nil
	}
	if most := maxBytes(format); len(content) > most {
		return []Finding{finding(0, 0, "the file has %d bytes; at most %d are looked at", len(content), most)}
	}
	if i := notUTF8(content); i >= 0 {
		return []Finding{at(content, i, "not UTF-8")}
	}
	return parse(content)
}

func parserOf(format string) func([]byte) []Finding {
	switch format {
	case "json":
		return parseJSON
	case "yaml":
		return parseYAML
	case "toml":
		return parseTOML
	case "csv":
		return func(content []byte) []Finding { return parseCSV(content, ',') }
	case "tsv":
		return func(content []byte) []Finding { return parseCSV(content, '\t') }
	case "go":
		return parseGo
	}
	return nil
}

// grows reports whether the parser of a format builds a tree, which takes many
// times the memory of the file.
func grows(format string) bool { return format == "yaml" || format == "toml" || format == "go" }

func maxBytes(format string) int {
	switch format {
	case "json", "csv", "tsv":
		return maxStreamed
	case "toml":
		return maxTOML
	case "yaml":
		return maxYAML
	}
	return maxParsed
}

// notUTF8 gives where the first byte stands that is no text, or -1.
func notUTF8(content []byte) int {
	for i := 0; i < len(content); {
		if content[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(content[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// at is a finding about the byte at an offset.
func at(content []byte, offset int, format string, args ...any) Finding {
	before := content[:min(max(offset, 0), len(content))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return finding(1+bytes.Count(before, []byte("\n")), 1+utf8.RuneCount(before[start:]), format, args...)
}

func finding(line, column int, format string, args ...any) Finding {
	return Finding{Line: line, Column: column, Reason: plain(fmt.Sprintf(format, args...))}
}

// plain gives a text as one line without control characters, of up to
// MaxReasonBytes: what a parser or a command says quotes what is in the file.
func plain(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), 4*MaxReasonBytes)], "")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len(text) <= MaxReasonBytes {
		return text
	}
	const ellipsis = "…"
	end := MaxReasonBytes - len(ellipsis)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
