package text

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A span is a range of fields, characters or bytes, from 1 on; to is maxCount
// where it is open.
type span struct{ from, to int }

// parseSpans reads a list such as 1,3-5,7-.
func parseSpans(text string) ([]span, error) {
	var spans []span
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		low, high, ranged := strings.Cut(one, "-")
		s := span{1, maxCount}
		var err1, err2 error
		if low != "" {
			s.from, err1 = parseCount(low)
		}
		switch {
		case !ranged:
			s.to = s.from
		case high != "":
			s.to, err2 = parseCount(high)
		}
		if errors.Join(err1, err2) != nil || s.from == 0 || s.to < s.from || one == "-" {
			return nil, fmt.Errorf("%q is no range; write one such as 2, 1,3 or 2-4", one)
		}
		spans = append(spans, s)
	}
	if len(spans) == 0 {
		return nil, errors.New("the list is empty; write one such as 2, 1,3 or 2-4")
	}
	return spans, nil
}

// A cutter is one call of cut.
type cutter struct {
	flags
	spans    []span
	mark     []byte // between fields
	between  []byte // between what is written
	joined   bool   // between was given
	lone     bool   // lines without a mark are left out
	opposite bool
	most     int    // no field or character behind this one is picked
	out      []byte // of the last line
}

func cut(e *Env, args []string) int {
	c, err := newCutter(args)
	if err != nil {
		return e.fail(1, "%v", err)
	}
	do := c.characters
	switch {
	case c.has('f'):
		do = c.fields
	case c.has('b'):
		do = c.bytes
	}
	return e.inputs(c.args, func(_ string, in *Source) bool {
		for {
			line, _, ok := in.Line()
			if !ok {
				return true
			}
			if out, shown := do(line); shown && !e.Out.line(out) {
				return false
			}
		}
	})
}

// Flags that have no letter.
const (
	complementFlag = '1'
	betweenFlag    = '2'
)

func newCutter(args []string) (c cutter, err error) {
	if c.flags, err = parseFlags("f:,fields c:,characters b:,bytes d:,delimiter s,only-delimited 1,complement 2:,output-delimiter n", args); err != nil {
		return c, err
	}
	kinds := 0
	for _, letter := range []byte("fcb") {
		if list, ok := c.last(letter); ok {
			kinds++
			if c.spans, err = parseSpans(list); err != nil {
				return c, err
			}
		}
	}
	c.mark = []byte("\t")
	if text, ok := c.last('d'); ok {
		c.mark = []byte(text)
	}
	c.between = c.mark
	if text, ok := c.last(betweenFlag); ok {
		c.between, c.joined = []byte(text), true
	}
	c.lone, c.opposite = c.has('s'), c.has(complementFlag)
	for _, s := range c.spans {
		c.most = max(c.most, s.to)
	}
	if c.opposite {
		c.most = maxCount
	}
	switch {
	case kinds != 1:
		return c, errors.New("say what to cut by one of -f LIST (fields), -c LIST (characters) and -b LIST (bytes)")
	case utf8.RuneCount(c.mark) != 1:
		return c, errors.New("the delimiter must be a single character; for several blanks, squeeze them first: tr -s ' ' | cut -d ' ' -f 2")
	}
	return c, nil
}

func (c *cutter) picks(i int) bool {
	for _, s := range c.spans {
		if s.from <= i && i <= s.to {
			return !c.opposite
		}
	}
	return c.opposite
}

func (c *cutter) fields(line []byte) (out []byte, shown bool) {
	at := bytes.Index(line, c.mark)
	if at < 0 {
		return line, !c.lone
	}
	c.out = c.out[:0]
	some := false
	for i := 1; i <= c.most; i++ {
		field := line
		if at >= 0 {
			field = line[:at]
		}
		if c.picks(i) {
			if some {
				c.out = append(c.out, c.between...)
			}
			c.out, some = append(c.out, field...), true
		}
		if at < 0 {
			break
		}
		line = line[at+len(c.mark):]
		at = bytes.Index(line, c.mark)
	}
	return c.out, true
}

func (c *cutter) characters(line []byte) ([]byte, bool) {
	return c.pieces(line, func(b []byte) int {
		_, n := utf8.DecodeRune(b)
		return n
	})
}

func (c *cutter) bytes(line []byte) ([]byte, bool) {
	return c.pieces(line, func([]byte) int { return 1 })
}

// pieces picks characters or bytes; between those that do not follow each
// other stands the output delimiter, if one is given.
func (c *cutter) pieces(line []byte, size func([]byte) int) (out []byte, shown bool) {
	last := 0
	c.out = c.out[:0]
	for i := 1; len(line) > 0 && i <= c.most; i++ {
		n := size(line)
		if c.picks(i) {
			if c.joined && last > 0 && last < i-1 {
				c.out = append(c.out, c.between...)
			}
			c.out, last = append(c.out, line[:n]...), i
		}
		line = line[n:]
	}
	return c.out, true
}
