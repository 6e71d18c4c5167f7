package text

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A tally is what wc counts of a stream.
type tally struct {
	lines, words, chars, bytes int
	name                       string
}

func wc(e *Env, args []string) int {
	f, err := parseFlags("l,lines w,words c,bytes m,chars", args)
	if err != nil {
		return e.fail(1, "%v", err)
	}
	var all []tally
	total, blobs := tally{name: "total"}, true
	status := e.inputs(f.args, func(name string, in *Source) bool {
		t := countIn(in, f.has('w') || f.has('m') || len(f.given) == 0)
		blobs = blobs && in.Blob
		if len(f.args) > 0 {
			t.name = name
		}
		all = append(all, t)
		total = tally{total.lines + t.lines, total.words + t.words, total.chars + t.chars, total.bytes + t.bytes, total.name}
		return true
	})
	if len(f.args) > 1 {
		all = append(all, total)
	}
	width := columnWidth(len(columnsOf(f)), len(f.args), total.bytes, blobs)
	for _, t := range all {
		e.Out.Text(t.text(f, width))
	}
	return status
}

// columnsOf gives the counts that are asked for, in the order in which they are
// written.
func columnsOf(f flags) (letters []byte) {
	for _, c := range []byte("lwmc") {
		if f.has(c) || len(f.given) == 0 && c != 'm' {
			letters = append(letters, c)
		}
	}
	return letters
}

// columnWidth is that of GNU's wc: of the largest number that there may be,
// and at least 7 where a stream's length is not known before it is read.
func columnWidth(columns, operands, bytes int, blobs bool) int {
	switch {
	case columns == 1 && operands <= 1:
		return 1
	case !blobs:
		return max(7, len(strconv.Itoa(bytes)))
	}
	return len(strconv.Itoa(bytes))
}

func (t tally) text(f flags, width int) string {
	var b strings.Builder
	for i, c := range columnsOf(f) {
		n := strconv.Itoa(map[byte]int{'l': t.lines, 'w': t.words, 'm': t.chars, 'c': t.bytes}[c])
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.Repeat(" ", max(0, width-len(n))) + n)
	}
	if t.name != "" {
		b.WriteString(" " + t.name)
	}
	return b.String() + "\n"
}

// countIn counts a stream; characters and words only where it must, since that
// looks at every one.
func countIn(in *Source, all bool) (t tally) {
	word, carry := false, []byte(nil)
	for {
		piece := in.Piece()
		if len(piece) == 0 {
			return t
		}
		t.bytes += len(piece)
		t.lines += bytes.Count(piece, []byte{'\n'})
		if !all {
			continue
		}
		text := piece
		if len(carry) > 0 {
			text = append(carry, piece...)
		}
		n := t.characters(text, &word)
		carry = append([]byte(nil), text[n:]...)
	}
}

// characters counts whole characters, and gives where the rest begins.
func (t *tally) characters(text []byte, word *bool) (n int) {
	for n < len(text) {
		r, size := rune(text[n]), 1
		if r >= utf8.RuneSelf {
			if !utf8.FullRune(text[n:]) {
				break
			}
			r, size = utf8.DecodeRune(text[n:])
		}
		n += size
		if r == utf8.RuneError && size == 1 {
			continue // no character, and no part of a word by itself
		}
		t.chars++
		space := unicode.IsSpace(r)
		if !space && !*word {
			t.words++
		}
		*word = !space
	}
	return n
}
