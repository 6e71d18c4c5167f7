package documents

import (
	"bytes"
	"slices"
	"strings"
)

// headingRunes bounds what is kept of one heading, as context.
const headingRunes = 120

// headingLevels is how many levels of headings Markdown has.
const headingLevels = 6

// A markdown follows the headings of a document: lines of # that are not in a fenced
// block. Headings that are underlined are text like any other.
type markdown struct {
	path   []string // of the section, outermost first
	levels []int    // of each heading of path
	fence  string   // that ends the block; "" outside of one
}

// heading takes a line, and reports whether it begins a section. path is new then.
func (m *markdown) heading(line []byte) bool {
	text := bytes.TrimLeft(line, " ")
	if len(line)-len(text) > 3 { // a block of code
		return false
	}
	if m.fenced(string(bytes.TrimRight(text, " \t\r"))) {
		return false
	}
	title := bytes.TrimLeft(text, "#")
	level := len(text) - len(title)
	if level == 0 || level > headingLevels || len(title) > 0 && title[0] != ' ' && title[0] != '\t' && title[0] != '\r' {
		return false
	}
	m.enter(level, cleanTitle(title))
	return true
}

// fenced follows the fences, and reports whether the line is one or is inside.
func (m *markdown) fenced(line string) bool {
	if m.fence != "" {
		if strings.HasPrefix(line, m.fence) && strings.Trim(line, m.fence[:1]) == "" {
			m.fence = ""
		}
		return true
	}
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && !strings.Contains(rest, "`") {
			m.fence = line[:n]
			return true
		}
	}
	return false
}

// enter leaves the sections that end where a heading of this level begins.
func (m *markdown) enter(level int, title string) {
	n := len(m.levels)
	for n > 0 && m.levels[n-1] >= level {
		n--
	}
	m.levels = append(m.levels[:n], level)
	m.path = append(slices.Clone(m.path[:n]), title)
}

// cleanTitle takes the closing # off a heading, and what is too long.
func cleanTitle(title []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(title), ""))
	if bare := strings.TrimRight(text, "#"); bare == "" || strings.HasSuffix(bare, " ") {
		text = strings.TrimSpace(bare)
	}
	if r := []rune(text); len(r) > headingRunes {
		text = string(r[:headingRunes]) + "…"
	}
	return text
}
