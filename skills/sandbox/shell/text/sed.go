package text

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/skills/sandbox/shell/text/pattern"
)

// Bounds of a program of sed, which people write in one line.
const maxOrders = 100

// An address says which lines are meant: a number, the last, or those that
// match.
type address struct {
	line int
	last bool
	re   *regexp.Regexp
	step int // first~step
}

// A command is one of sed's, for the lines from one address to another.
type command struct {
	from, to *address
	opposite bool
	letter   byte
	s        substitution
	prints   bool          // s///p
	into     map[rune]rune // y
	inside   bool          // of the range
}

const sedUse = "write sed [-n] [-E] 's/PATTERN/TEXT/g', '1,5p', '/PATTERN/d', '$p' or '10q'; known are s p d q = y"

// An editor is one call of sed.
type editor struct {
	*Env
	flags
	commands []*command
	number   int
	out      []byte
}

func sed(e *Env, args []string) int {
	s := editor{Env: e}
	var err error
	if s.flags, err = parseFlags("n,quiet E,regexp-extended r e:,expression s,separate", args); err != nil {
		return e.fail(1, "%v", err)
	}
	programs := s.all('e')
	if len(programs) == 0 {
		if len(s.args) == 0 {
			return e.fail(1, sedUse)
		}
		programs, s.args = s.args[:1], s.args[1:]
	}
	if s.commands, err = parseSed(strings.Join(programs, "\n"), s.has('E') || s.has('r')); err != nil {
		return e.fail(1, "%v", err)
	}
	return s.run()
}

// run goes through all streams as one; a line is held until it is known
// whether another follows.
func (s *editor) run() int {
	var held []byte
	heldEnded, some, quit := false, false, false
	status := s.inputs(s.args, func(_ string, in *Source) bool {
		for {
			line, ended, ok := in.Line()
			if !ok {
				return true
			}
			if some && !s.line(held, heldEnded, false) {
				quit = true
				return false
			}
			held, heldEnded, some = append(held[:0], line...), ended, true
		}
	})
	if some && !quit {
		s.line(held, heldEnded, true)
	}
	return status * 2
}

// line runs the commands on a line, and reports whether to go on.
func (s *editor) line(line []byte, ended, last bool) bool {
	s.number++
	text := line
	for _, c := range s.commands {
		if c.selects(s.number, text, last) == c.opposite {
			continue
		}
		switch c.letter {
		case 'd':
			return true
		case 'p':
			if !s.Out.as(text, ended) {
				return false
			}
		case '=':
			s.Out.Text(strconv.Itoa(s.number) + "\n")
		case 'q':
			if !s.has('n') {
				s.Out.as(text, ended)
			}
			return false
		case 'y':
			text = bytes.Map(func(r rune) rune {
				if to, ok := c.into[r]; ok {
					return to
				}
				return r
			}, text)
		case 's':
			var changed bool
			if text, changed = c.s.apply(text); changed && c.prints && !s.Out.as(text, ended) {
				return false
			}
		}
	}
	return s.has('n') || s.Out.as(text, ended)
}

// selects reports whether a line is meant. It must see every line.
func (c *command) selects(number int, line []byte, last bool) bool {
	switch {
	case c.from == nil:
		return true
	case c.to == nil:
		return c.from.is(number, line, last)
	case c.inside:
		if c.to.line > 0 && c.to.step == 0 {
			c.inside = number < c.to.line
		} else {
			c.inside = !c.to.is(number, line, last)
		}
		return true
	case !c.from.is(number, line, last):
		return false
	}
	c.inside = !(c.to.line > 0 && c.to.line <= number)
	return true
}

func (a *address) is(number int, line []byte, last bool) bool {
	switch {
	case a.re != nil:
		return a.re.Match(line)
	case a.last:
		return last
	case a.step > 0:
		return number >= a.line && (number-a.line)%a.step == 0
	}
	return number == a.line
}

// A sedReader reads a program.
type sedReader struct {
	text     string
	extended bool
}

func parseSed(text string, extended bool) (commands []*command, err error) {
	r := sedReader{text, extended}
	for {
		r.text = strings.TrimLeft(r.text, " \t\n;")
		if r.text == "" {
			break
		}
		if len(commands) == maxOrders {
			return nil, errors.New("the program is too long")
		}
		c, err := r.command()
		if err != nil {
			return nil, err
		}
		commands = append(commands, c)
	}
	if len(commands) == 0 {
		return nil, errors.New(sedUse)
	}
	return commands, nil
}

func (r *sedReader) command() (c *command, err error) {
	c = &command{}
	if c.from, err = r.address(); err != nil {
		return nil, err
	}
	if c.from != nil && strings.HasPrefix(r.text, ",") {
		r.text = strings.TrimLeft(r.text[1:], " ")
		if c.to, err = r.address(); err == nil && c.to == nil {
			err = errors.New("there is no address behind the comma")
		}
		if err != nil {
			return nil, err
		}
	}
	r.text = strings.TrimLeft(r.text, " ")
	for strings.HasPrefix(r.text, "!") {
		c.opposite, r.text = true, strings.TrimLeft(r.text[1:], " ")
	}
	if r.text == "" {
		return nil, errors.New("there is no command behind the address; " + sedUse)
	}
	c.letter, r.text = r.text[0], r.text[1:]
	switch c.letter {
	case 'p', 'd', 'q', '=':
	case 's':
		err = r.substitution(c)
	case 'y':
		err = r.transliteration(c)
	default:
		return nil, fmt.Errorf("the command %c is not known here; %s", c.letter, sedUse)
	}
	if rest := strings.TrimLeft(r.text, " "); err == nil && rest != "" && rest[0] != ';' && rest[0] != '\n' {
		err = fmt.Errorf("%q is not expected behind the command %c; %s", rest, c.letter, sedUse)
	}
	return c, err
}

// address reads an address; nil where there is none.
func (r *sedReader) address() (*address, error) {
	n := digitsIn([]byte(r.text))
	switch {
	case n > 0:
		line, err := parseCount(r.text[:n])
		r.text = r.text[n:]
		a := &address{line: line}
		if step, ok := strings.CutPrefix(r.text, "~"); ok && err == nil {
			n = digitsIn([]byte(step))
			a.step, err = parseCount(step[:n])
			r.text = step[n:]
		} else if line == 0 {
			err = errors.New("lines are counted from 1")
		}
		return a, err
	case strings.HasPrefix(r.text, "$"):
		r.text = r.text[1:]
		return &address{last: true}, nil
	case strings.HasPrefix(r.text, "/"):
		r.text = r.text[1:]
		text, err := r.until('/', true)
		if err != nil {
			return nil, err
		}
		fold := strings.HasPrefix(r.text, "I")
		if fold {
			r.text = r.text[1:]
		}
		re, err := r.compile(text, fold)
		return &address{re: re}, err
	}
	return nil, nil
}

// until gives what stands before a mark. A mark behind a backslash is the
// mark itself; in a pattern it may stand in brackets.
func (r *sedReader) until(mark byte, isPattern bool) (string, error) {
	var out []byte
	brackets := false
	for i := 0; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '\\' && !brackets && i+1 < len(r.text):
			i++
			if r.text[i] != mark || isPattern && strings.IndexByte(`.*[]^$`, mark) >= 0 {
				out = append(out, '\\')
			}
			out = append(out, r.text[i])
			continue
		case c == mark && !brackets:
			r.text = r.text[i+1:]
			return string(out), nil
		case c == '[' && isPattern && !brackets:
			n := firstMembers(r.text[i:])
			out, i, brackets = append(out, r.text[i:i+n]...), i+n-1, true
			continue
		case c == ']':
			brackets = false
		}
		out = append(out, r.text[i])
	}
	return "", fmt.Errorf("%q does not end with %c; %s", r.text, mark, sedUse)
}

// firstMembers gives the length of what a class begins with: [, [^, [] or [^].
func firstMembers(text string) int {
	n := 1
	for _, c := range []byte("^]") {
		if n < len(text) && text[n] == c {
			n++
		}
	}
	return n
}

func (r *sedReader) compile(text string, fold bool) (*regexp.Regexp, error) {
	if text == "" {
		return nil, errors.New("the empty pattern, for the last one used, is not known here")
	}
	d := pattern.Basic
	if r.extended {
		d = pattern.Extended
	}
	return pattern.Compile(text, d, fold)
}

func (r *sedReader) mark() (byte, error) {
	if r.text == "" || r.text[0] == '\\' || r.text[0] == '\n' || r.text[0] >= 0x80 {
		return 0, errors.New(sedUse)
	}
	mark := r.text[0]
	r.text = r.text[1:]
	return mark, nil
}

func (r *sedReader) substitution(c *command) error {
	mark, err := r.mark()
	if err != nil {
		return err
	}
	text, err := r.until(mark, true)
	if err != nil {
		return err
	}
	with, err := r.until(mark, false)
	if err != nil {
		return err
	}
	c.s.from = 1
	fold := false
	for r.text != "" && strings.IndexByte("gpiI0123456789", r.text[0]) >= 0 {
		switch n := digitsIn([]byte(r.text)); {
		case n > 0:
			if c.s.from, err = parseCount(r.text[:n]); err != nil || c.s.from == 0 {
				return errors.New("matches are counted from 1")
			}
			r.text = r.text[n-1:]
		case r.text[0] == 'g':
			c.s.every = true
		case r.text[0] == 'p':
			c.prints = true
		default:
			fold = true
		}
		r.text = r.text[1:]
	}
	if c.s.re, err = r.compile(text, fold); err != nil {
		return err
	}
	c.s.with, err = parseFills(with, c.s.re.NumSubexp())
	return err
}

func (r *sedReader) transliteration(c *command) error {
	mark, err := r.mark()
	if err != nil {
		return err
	}
	from, err1 := r.until(mark, false)
	to, err2 := r.until(mark, false)
	a, b := []rune(Unescape(from)), []rune(Unescape(to))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if len(a) != len(b) {
		return errors.New("both parts of y must have as many characters")
	}
	c.into = map[rune]rune{}
	for i, r := range a {
		c.into[r] = b[i]
	}
	return nil
}
