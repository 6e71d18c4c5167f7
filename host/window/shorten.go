package window

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// A sketch is what is kept of a JSON value: its first values, and how many
// more there were.
type sketch struct {
	scalar  string   // as JSON; of what is neither a list nor an object
	text    *string  // of a text
	list    bool     // else an object, where scalar and text are empty
	names   []string // of an object's members, as many as there are parts
	parts   []*sketch
	leftOut int // parts that are not here
}

// sketchNodes bounds the values of a sketch. No more can be shown: each takes a
// character and a comma.
const sketchNodes = ResultChars / 2

// A measure says how much of a sketch is written.
type measure struct{ parts, runes, depth int }

// measures are tried one after the other until the result fits.
func measures() []measure {
	const all = sketchNodes
	return []measure{
		{all, ResultChars, all}, {100, 1000, all}, {50, 400, all}, {20, 200, all}, {10, 120, all},
		{6, 80, 32}, {4, 60, 16}, {3, 40, 8}, {3, 30, 4}, {3, 30, 3}, {5, 30, 2}, {20, 30, 1}, {1, 30, 1},
	}
}

// shorten gives JSON that is too long in a shape of at most so many characters,
// as valid JSON. It reports false for what is not JSON, or is a number of
// thousands of digits.
func shorten(from io.Reader, most int) (string, bool) {
	d := json.NewDecoder(from)
	d.UseNumber()
	room := sketchNodes
	s, err := read(d, &room)
	if err != nil {
		return "", false
	}
	if _, err := d.Token(); err != io.EOF {
		return "", false
	}
	if s.text != nil {
		return shortenText(*s.text, most), true
	}
	for _, m := range measures() {
		var b bytes.Buffer
		if s.write(&b, m); fits(b.String(), most) {
			return b.String(), true
		}
	}
	return "", false
}

// shortenText gives the ends of a text as JSON. Its escapes take room, too, at
// most six characters for one.
func shortenText(text string, most int) string {
	for room := max(0, most-markerRunes); ; room /= 2 {
		if short := string(encode(ends(text, room))); room == 0 || fits(short, most) {
			return short
		}
	}
}

// markerRunes is more than the marker between two ends takes.
const markerRunes = 100

// read reads a value to its end, and keeps it as long as there is room.
func read(d *json.Decoder, room *int) (*sketch, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	*room--
	switch v := token.(type) {
	case json.Delim:
		return readParts(d, &sketch{list: v == '['}, room)
	case string:
		return &sketch{text: &v}, nil
	}
	return &sketch{scalar: string(encode(token))}, nil
}

func readParts(d *json.Decoder, s *sketch, room *int) (*sketch, error) {
	for d.More() {
		var name string
		if !s.list {
			token, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ = token.(string)
		}
		if *room <= 0 {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return nil, err
			}
			s.leftOut++
			continue
		}
		part, err := read(d, room)
		if err != nil {
			return nil, err
		}
		s.names, s.parts = append(s.names, name), append(s.parts, part)
	}
	_, err := d.Token()
	return s, err
}

func (s *sketch) write(b *bytes.Buffer, m measure) {
	switch {
	case s.text != nil:
		b.Write(encode(cut(*s.text, m.runes)))
	case s.scalar != "":
		b.WriteString(s.scalar)
	case m.depth == 0:
		b.Write(encode(s.summary()))
	case s.list:
		s.writeList(b, m)
	default:
		s.writeObject(b, m)
	}
}

// summary says what is left out as a whole.
func (s *sketch) summary() string {
	kind := "members"
	if s.list {
		kind = "items"
	}
	return fmt.Sprintf("… %d %s left out", len(s.parts)+s.leftOut, kind)
}

func (s *sketch) writeList(b *bytes.Buffer, m measure) {
	b.WriteByte('[')
	n := min(len(s.parts), m.parts)
	for i, part := range s.parts[:n] {
		b.WriteString(comma(i))
		part.write(b, m.below())
	}
	if left := len(s.parts) - n + s.leftOut; left > 0 {
		fmt.Fprintf(b, `%s"… %d more items left out; ask for a smaller part"`, comma(n), left)
	}
	b.WriteByte(']')
}

func (s *sketch) writeObject(b *bytes.Buffer, m measure) {
	b.WriteByte('{')
	n := min(len(s.parts), m.parts)
	for i, part := range s.parts[:n] {
		b.WriteString(comma(i))
		b.Write(encode(cut(s.names[i], m.runes)))
		b.WriteByte(':')
		part.write(b, m.below())
	}
	if left := len(s.parts) - n + s.leftOut; left > 0 {
		fmt.Fprintf(b, `%s"…":"%d more members left out; ask for a smaller part"`, comma(n), left)
	}
	b.WriteByte('}')
}

// comma gives what stands before the n-th part, from 0.
func comma(n int) string {
	if n == 0 {
		return ""
	}
	return ","
}

func (m measure) below() measure { return measure{m.parts, m.runes, m.depth - 1} }

// cut shortens a text to so many characters and says how many are left out.
func cut(text string, most int) string {
	left := utf8.RuneCountInString(text) - most
	for i := range text {
		if most == 0 && left > 0 {
			return fmt.Sprintf("%s… (%d more characters)", text[:i], left)
		}
		most--
	}
	return text
}
