package wording

import (
	"reflect"
	"strconv"
	"unicode/utf8"
)

// maxNumber bounds a width, a precision and an argument's number, as in fmt.
const maxNumber = 1_000_000

// none is the width or the precision of a verb without one.
const none = -1 << 31

// A printer fills in one format.
type printer struct {
	out  []byte
	args []any
	next int  // the argument that comes next
	free bool // an argument was chosen by its number, so none counts as left over
	verb
}

// A verb is what stands between a percent sign and its letter.
type verb struct {
	letter                         rune
	sharp, zero, plus, minus, room bool // the flags # 0 + - and space
	fields                         bool // %+v: the names of fields too
	width, precision               int
	wrong                          bool // the argument's number is none
	erring                         bool // inside a note on a wrong verb: no methods are called
}

func formatted(format string, args []any) string {
	p := printer{args: args}
	for i := 0; i < len(format); {
		start := i
		for i < len(format) && format[i] != '%' {
			i++
		}
		p.write(format[start:i])
		if i < len(format) {
			i = p.directive(format, i+1)
		}
	}
	p.leftOver()
	return string(p.out)
}

// write is not inlined: in a guest that would be 40 KB.
//
//go:noinline
func (p *printer) write(text string) { p.out = append(p.out, text...) }

// directive reads a verb from behind its percent sign, writes its argument,
// and gives the index behind it.
func (p *printer) directive(format string, i int) int {
	p.verb = verb{width: none, precision: none}
	i = p.number(format, p.flags(format, i))
	p.width, i = p.size(format, i, "%!(BADWIDTH)")
	if p.width < 0 && p.width != none {
		p.width, p.minus, p.zero = -p.width, true, false
	}
	if i+1 < len(format) && format[i] == '.' {
		i = p.number(format, i+1)
		star := i < len(format) && format[i] == '*'
		p.precision, i = p.size(format, i, "%!(BADPREC)")
		switch {
		case p.precision == none && !star:
			p.precision = 0
		case p.precision < 0 && p.precision != none:
			p.write("%!(BADPREC)")
			p.precision = none
		}
	}
	i = p.number(format, i)
	if i >= len(format) {
		p.write("%!(NOVERB)")
		return i
	}
	letter, size := utf8.DecodeRuneInString(format[i:])
	p.letter = letter
	switch {
	case letter == '%':
		p.write("%")
	case p.wrong:
		p.note("(BADINDEX)")
	case p.next >= len(p.args):
		p.note("(MISSING)")
	default:
		if letter == 'v' {
			p.fields, p.plus, p.sharp = p.plus || p.sharp, false, false
		}
		p.next++
		p.argument(p.args[p.next-1])
	}
	return i + size
}

func (p *printer) note(text string) { p.write("%!" + string(p.letter) + text) }

func (p *printer) flags(format string, i int) int {
	for ; i < len(format); i++ {
		switch format[i] {
		case '#':
			p.sharp = true
		case '0':
			p.zero = true
		case '+':
			p.plus = true
		case '-':
			p.minus = true
		case ' ':
			p.room = true
		default:
			return i
		}
	}
	return i
}

// number reads the number of an argument, such as [2].
func (p *printer) number(format string, i int) int {
	if i >= len(format) || format[i] != '[' {
		return i
	}
	p.free = true
	n, end := digits(format, i+1)
	if end < len(format) && format[end] == ']' && n >= 1 && n <= len(p.args) {
		p.next = n - 1
		return end + 1
	}
	p.wrong = true
	for end < len(format) && format[end] != ']' {
		end++
	}
	if end == len(format) {
		return i + 1
	}
	return end + 1
}

// digits gives a number, or none, and the index behind it.
func digits(format string, i int) (int, int) {
	n, start := 0, i
	for ; i < len(format) && format[i]-'0' <= 9; i++ {
		if n > maxNumber {
			return none, len(format)
		}
		n = n*10 + int(format[i]-'0')
	}
	if i == start {
		return none, i
	}
	return n, i
}

// size reads a width or a precision, of the format or, for a star, of the
// arguments.
func (p *printer) size(format string, i int, bad string) (int, int) {
	if i >= len(format) || format[i] != '*' {
		return digits(format, i)
	}
	if p.next < len(p.args) {
		p.next++
		v := reflect.ValueOf(p.args[p.next-1])
		if v.CanInt() && v.Int() >= -maxNumber && v.Int() <= maxNumber {
			return int(v.Int()), i + 1
		}
		if v.CanUint() && v.Uint() <= maxNumber {
			return int(v.Uint()), i + 1
		}
	}
	p.write(bad)
	return none, i + 1
}

// leftOver lists the arguments that no verb took.
func (p *printer) leftOver() {
	if p.free || p.next >= len(p.args) {
		return
	}
	p.verb = verb{letter: 'v', width: none, precision: none}
	p.write("%!(EXTRA ")
	for i, arg := range p.args[p.next:] {
		if i > 0 {
			p.write(", ")
		}
		if arg == nil {
			p.write("<nil>")
			continue
		}
		p.write(reflect.TypeOf(arg).String() + "=")
		p.argument(arg)
	}
	p.write(")")
}

func (p *printer) argument(arg any) {
	switch {
	case arg == nil && (p.letter == 'T' || p.letter == 'v'):
		p.pad("<nil>")
	case arg == nil:
		p.note("(<nil>)")
	case p.letter == 'T':
		p.text(reflect.TypeOf(arg).String())
	default:
		p.value(reflect.ValueOf(arg), 0)
	}
}

// misused says that the verb is not for the value.
func (p *printer) misused(v reflect.Value) {
	p.note("(" + v.Type().String() + "=")
	kept := p.verb
	p.letter, p.erring = 'v', true
	p.value(v, 0)
	p.verb = kept
	p.write(")")
}

// pad writes text in the width.
func (p *printer) pad(text string) {
	blank := p.width - utf8.RuneCountInString(text)
	if p.minus {
		p.write(text)
	}
	for fill := byte(' '); blank > 0; blank-- {
		if p.zero && !p.minus {
			fill = '0'
		}
		p.out = append(p.out, fill)
	}
	if !p.minus {
		p.write(text)
	}
}

// text writes text, cut to the precision.
func (p *printer) text(text string) { p.pad(p.cut(text)) }

// cut gives at most as many characters as the precision says.
func (p *printer) cut(text string) string {
	if p.precision < 0 {
		return text
	}
	n := p.precision
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

// quoted writes text as a Go string.
func (p *printer) quoted(text string) {
	switch text = p.cut(text); {
	case p.sharp && strconv.CanBackquote(text):
		p.pad("`" + text + "`")
	case p.plus:
		p.pad(strconv.QuoteToASCII(text))
	default:
		p.pad(strconv.Quote(text))
	}
}
