package main

import (
	"bytes"
	"io"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// filler follows a character that takes two cells, so that it is counted as two. It is no
// character to Unicode, so no text has it.
const filler = "\uFFFF"

// A table lays out columns for a terminal, where Chinese characters, wide letters and most
// pictures take two cells. Cells end with a tab, rows with a line break.
type table struct{ *tabwriter.Writer }

func newTable(to io.Writer, flags uint) table {
	const gap = 2
	return table{tabwriter.NewWriter(unfilled{to}, 0, 0, gap, ' ', flags)}
}

// Write takes a part of the table; what it lays out is written by Flush.
func (t table) Write(p []byte) (int, error) {
	filled := make([]byte, 0, len(p))
	for rest := p; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		filled = append(filled, rest[:size]...)
		if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
			filled = append(filled, filler...)
		}
		rest = rest[size:]
	}
	if _, err := t.Writer.Write(filled); err != nil {
		return 0, err
	}
	return len(p), nil
}

// unfilled writes without the fillers.
type unfilled struct{ to io.Writer }

func (u unfilled) Write(p []byte) (int, error) {
	if _, err := u.to.Write(bytes.ReplaceAll(p, []byte(filler), nil)); err != nil {
		return 0, err
	}
	return len(p), nil
}
