package main

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// A scanner passes over JSON that comes in pieces. It sees where values begin
// and end; what it copies is checked by whoever gets it.
type scanner struct {
	pieces
	piece []byte // what is not passed yet
	at    int64  // offset of piece[0]

	keep bool   // what is passed is copied
	room int    // bytes that may still be copied
	kept []byte // the copy
	over bool   // there was no room for all of it
}

// peek gives the next byte that is no space; 0 at the end.
func (s *scanner) peek() (byte, error) {
	for {
		for i, c := range s.piece {
			if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				s.pass(i)
				return c, nil
			}
		}
		s.pass(len(s.piece))
		if err := s.fill(); err != nil || len(s.piece) == 0 {
			return 0, err
		}
	}
}

func (s *scanner) fill() (err error) {
	if len(s.piece) == 0 {
		s.piece, err = s.read()
	}
	return err
}

// pass goes on by n bytes of the piece.
func (s *scanner) pass(n int) {
	if s.keep {
		fits := min(n, s.room)
		s.kept, s.room = append(s.kept, s.piece[:fits]...), s.room-fits
		s.over = s.over || fits < n
	}
	s.piece, s.at = s.piece[n:], s.at+int64(n)
}

// copied runs what passes over a value, and gives a copy of it, with at most so
// many bytes; over says that it is longer, and then the copy is a part of it.
func (s *scanner) copied(room int, do func() error) (b []byte, over bool, err error) {
	s.keep, s.room, s.kept, s.over = true, room, s.kept[:0], false
	err = do()
	s.keep = false
	return s.kept, s.over, err
}

// expect passes one mark, such as a colon.
func (s *scanner) expect(mark byte) error {
	c, err := s.peek()
	if err == nil && c != mark {
		err = s.malformed()
	}
	if err == nil {
		s.pass(1)
	}
	return err
}

func (s *scanner) malformed() error {
	return sdk.Refuse(abi.NotAllowed, "the blob is no JSON from byte %d on", s.at).WithField("id").
		WithHint("Read it as text with read_blob, or find a text in it with search_blob.")
}

// skip passes one value, of which the first byte is next.
func (s *scanner) skip() error {
	c, err := s.peek()
	switch {
	case err != nil:
		return err
	case c == '"' || isOpening(c):
		_, err = s.skipMarked(&nesting{})
		return err
	case c == 0 || ends(c):
		return s.malformed()
	}
	return s.skipWord()
}

// Brackets and braces differ in one bit of case: that is two comparisons for
// four marks, in the loop that sees every byte of 64 MiB.
const bracketBit = 0x20

func isOpening(c byte) bool { return c|bracketBit == '{' }
func isClosing(c byte) bool { return c|bracketBit == '}' }

// ends reports whether a number or a word ends before c.
func ends(c byte) bool {
	return c == ',' || c == ':' || c == ' ' || c == '\n' || c == '\r' || c == '\t' || isOpening(c) || isClosing(c)
}

// skipWord passes a number, true, false or null, which may end with the blob.
func (s *scanner) skipWord() error {
	for {
		for i, c := range s.piece {
			if ends(c) {
				s.pass(i)
				return nil
			}
		}
		s.pass(len(s.piece))
		if err := s.fill(); err != nil || len(s.piece) == 0 {
			return err
		}
	}
}

// A nesting is where in a value the scanner is, across pieces.
type nesting struct {
	depth           int
	inText, escaped bool
	commas          int // passed in the list or object at depth 1
	most            int // of them, after which it stops; 0 for no stop
}

// skipMarked passes a value that ends with a mark: a text, a list, an object. It
// reports whether it has come to that end, or stopped before.
func (s *scanner) skipMarked(n *nesting) (end bool, err error) {
	for {
		if err := s.fill(); err != nil {
			return false, err
		}
		if len(s.piece) == 0 {
			return false, s.malformed()
		}
		passed, end := n.over(s.piece)
		s.pass(passed)
		if end || n.most > 0 && n.commas == n.most {
			return end, nil
		}
	}
}

// over passes the bytes of a piece, up to the end of the value or the stop.
func (n *nesting) over(p []byte) (passed int, end bool) {
	i, depth := 0, n.depth
	for i < len(p) {
		switch c := p[i]; {
		case n.inText:
			if i += n.overText(p[i:]); !n.inText && depth == 0 {
				return i, true
			}
			continue
		case c == '"':
			n.inText = true
		case isOpening(c):
			depth++
		case isClosing(c):
			if depth--; depth == 0 {
				return i + 1, true
			}
		case c == ',' && depth == 1:
			if n.commas++; n.commas == n.most {
				n.depth = depth
				return i + 1, false
			}
		}
		i++
	}
	n.depth = depth
	return i, false
}

// overText passes what a piece has of a text.
func (n *nesting) overText(p []byte) (passed int) {
	i := 0
	if n.escaped {
		n.escaped, i = false, 1
	}
	for ; i < len(p); i++ {
		switch p[i] {
		case '"':
			n.inText = false
			return i + 1
		case '\\':
			if i++; i == len(p) {
				n.escaped = true
				return i
			}
		}
	}
	return i
}

// toItem passes the beginning of a list, of which the bracket is next, up to
// its n-th item. Where there are fewer, count says how many.
func (s *scanner) toItem(n int) (count int, found bool, err error) {
	s.pass(1)
	c, err := s.peek()
	if err != nil || c == ']' {
		s.pass(min(1, len(s.piece)))
		return 0, false, err
	}
	if n == 0 {
		return 0, true, nil
	}
	list := nesting{depth: 1, most: n}
	end, err := s.skipMarked(&list)
	return list.commas + 1, !end, err
}

// another passes the comma before the next part, or the end.
func (s *scanner) another(end byte) (more bool, err error) {
	c, err := s.peek()
	if err == nil && c != ',' && c != end {
		err = s.malformed()
	}
	if err == nil {
		s.pass(1)
	}
	return c == ',', err
}

// rest passes the parts behind the one that was just passed, and counts them.
func (s *scanner) rest() (count int, err error) {
	n := nesting{depth: 1}
	_, err = s.skipMarked(&n)
	return n.commas, err
}

// nameBytes bounds a name that is looked at.
const nameBytes = 512

// members passes an object, of which the brace is next, and calls for each
// member with its value next; name is raw, with its quotes, and valid during
// the call. It ends where each has all that it wants.
func (s *scanner) members(each func(name []byte) (enough bool, err error)) error {
	s.pass(1)
	if c, err := s.peek(); err != nil || c == '}' {
		s.pass(min(1, len(s.piece)))
		return err
	}
	for more := true; more; {
		c, err := s.peek()
		if err == nil && c != '"' {
			err = s.malformed()
		}
		var name []byte
		if err == nil {
			name, _, err = s.copied(nameBytes, s.skip)
		}
		if err == nil {
			err = s.expect(':')
		}
		if err == nil {
			_, err = s.peek()
		}
		if err != nil {
			return err
		}
		if enough, err := each(name); err != nil || enough {
			return err
		}
		if more, err = s.another('}'); err != nil {
			return err
		}
	}
	return nil
}

// unquote gives the text of a raw JSON text. What is no escape stays.
func unquote(raw []byte) string {
	text := strings.TrimSuffix(strings.TrimPrefix(string(raw), `"`), `"`)
	if !strings.Contains(text, `\`) {
		return strings.ToValidUTF8(text, "�")
	}
	var b []byte
	for text != "" {
		before, after, found := strings.Cut(text, `\`)
		b = append(b, before...)
		if !found || after == "" {
			break
		}
		var r rune
		r, text = escape(after)
		b = utf8.AppendRune(b, r)
	}
	return strings.ToValidUTF8(string(b), "�")
}

// escape reads what stands behind a backslash.
func escape(text string) (rune, string) {
	if i := strings.IndexByte(`bfnrt`, text[0]); i >= 0 {
		return rune("\b\f\n\r\t"[i]), text[1:]
	}
	if text[0] != 'u' {
		return rune(text[0]), text[1:]
	}
	r, text := unit(text[1:])
	if low, found := strings.CutPrefix(text, `\u`); found && utf16.IsSurrogate(r) {
		second, after := unit(low)
		if both := utf16.DecodeRune(r, second); both != utf8.RuneError {
			return both, after
		}
	}
	return r, text
}

// unit reads four hex digits.
func unit(text string) (rune, string) {
	if len(text) < 4 {
		return utf8.RuneError, ""
	}
	n, err := strconv.ParseUint(text[:4], 16, 16)
	if err != nil {
		return utf8.RuneError, text[4:]
	}
	return rune(n), text[4:]
}
