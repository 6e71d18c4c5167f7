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

// A nesting is where in a value the scanner is, across pieces.
type nesting struct {
	depth                 int
	inText, escaped, word bool
}

// ends moves on by a byte. It reports whether the value ends with it, or before
// it, as a number does; and whether no value can have it here.
func (n *nesting) ends(c byte) (with, before, bad bool) {
	if n.inText {
		switch {
		case n.escaped:
			n.escaped = false
		case c == '\\':
			n.escaped = true
		case c == '"':
			n.inText = false
			return n.depth == 0, false, false
		}
		return false, false, false
	}
	switch c {
	case '"':
		n.inText = true
		return false, false, n.word
	case '{', '[':
		n.depth++
		return false, false, n.word
	case '}', ']':
		if n.depth == 0 {
			return false, n.word, !n.word
		}
		n.depth--
		return n.depth == 0, false, false
	case ',', ':', ' ', '\n', '\r', '\t':
		return false, n.depth == 0 && n.word, n.depth == 0 && !n.word
	}
	n.word = n.depth == 0
	return false, false, false
}

// skip passes one value, of which the first byte is next.
func (s *scanner) skip() error {
	var n nesting
	for {
		if err := s.fill(); err != nil {
			return err
		}
		if len(s.piece) == 0 {
			if n.word {
				return nil // a number that ends with the blob
			}
			return s.malformed()
		}
		for i, c := range s.piece {
			with, before, bad := n.ends(c)
			switch {
			case bad:
				s.pass(i)
				return s.malformed()
			case with:
				s.pass(i + 1)
				return nil
			case before:
				s.pass(i)
				return nil
			}
		}
		s.pass(len(s.piece))
	}
}

// parts passes a list or an object, and calls for each part with its first byte
// next; name is raw, with its quotes, and valid during the call. It ends where
// each reports that it has all that it wants.
func (s *scanner) parts(each func(i int, name []byte) (enough bool, err error)) error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	list := c == '['
	closing := byte('}')
	if list {
		closing = ']'
	}
	s.pass(1)
	for i := 0; ; i++ {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c == closing && i == 0 {
			s.pass(1)
			return nil
		}
		enough, err := s.part(i, list, each)
		if err != nil || enough {
			return err
		}
		if c, err = s.peek(); err != nil {
			return err
		}
		switch c {
		case closing:
			s.pass(1)
			return nil
		case ',':
			s.pass(1)
		default:
			return s.malformed()
		}
	}
}

// nameBytes bounds a name that is looked at.
const nameBytes = 512

func (s *scanner) part(i int, list bool, each func(int, []byte) (bool, error)) (bool, error) {
	var name []byte
	if !list {
		c, err := s.peek()
		if err == nil && c != '"' {
			err = s.malformed()
		}
		if err == nil {
			name, _, err = s.copied(nameBytes, s.skip)
		}
		if err == nil {
			err = s.expect(':')
		}
		if err != nil {
			return false, err
		}
	}
	if _, err := s.peek(); err != nil {
		return false, err
	}
	return each(i, name)
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
