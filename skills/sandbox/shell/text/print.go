package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

func echo(e *Env, args []string) int {
	newline, escapes := true, false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, c := range args[0][1:] {
			switch c {
			case 'n':
				newline = false
			case 'e':
				escapes = true
			case 'E':
				escapes = false
			}
		}
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escapes {
		before, _, ends := strings.Cut(strings.ReplaceAll(text, `\\`, "\\\x00"), `\c`)
		text, newline = Unescape(strings.ReplaceAll(before, "\\\x00", `\\`)), newline && !ends
	}
	if newline {
		text += "\n"
	}
	e.Out.Text(text)
	return 0
}

// maxWidth bounds a field of printf.
const maxWidth = 10_000

// A printer is one call of printf.
type printer struct {
	*Env
	args   []string
	used   bool // a directive took an argument
	status int
	ended  bool // by \c
}

func printf(e *Env, args []string) int {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return e.fail(2, "there is no format: write printf FORMAT [ARGUMENT ...]")
	}
	p := printer{Env: e, args: args[1:]}
	for {
		out, ok := p.once(args[0])
		if !e.Out.Write(out) || !ok || p.ended || len(p.args) == 0 || !p.used || !e.Budget.Step() {
			return p.status
		}
	}
}

// once fills the format in.
func (p *printer) once(format string) (out []byte, ok bool) {
	p.used = false
	for format != "" && !p.ended {
		switch c := format[0]; {
		case c == '\\' && len(format) > 1 && format[1] == '"':
			out, format = append(out, '"'), format[2:]
		case c == '\\' && len(format) > 1 && strings.IndexByte("abefnrtv\\xuU01234567'", format[1]) >= 0:
			r, n := escaped(format)
			out, format = appendEscaped(out, format[:n], r), format[n:]
		case c == '%' && strings.HasPrefix(format, "%%"):
			out, format = append(out, '%'), format[2:]
		case c == '%':
			text, n := p.directive(format)
			if n == 0 {
				p.status = p.fail(1, "%q is no directive known here; known are %%s %%b %%c %%d %%i %%u %%o %%x %%X %%e %%f %%g %%%%", format)
				return out, false
			}
			out, format = append(out, text...), format[n:]
		default:
			out, format = append(out, c), format[1:]
		}
	}
	return out, true
}

func (p *printer) next() string {
	p.used = true
	if len(p.args) == 0 {
		return ""
	}
	arg := p.args[0]
	p.args = p.args[1:]
	return arg
}

// directive fills in the directive that a format begins with; n is its length,
// 0 if it is none.
func (p *printer) directive(format string) (text string, n int) {
	n = 1
	flags := "%"
	for n < len(format) && strings.IndexByte("-+ #0", format[n]) >= 0 {
		flags += format[n : n+1]
		n++
	}
	width, n := p.size(format, n)
	precision := -1
	if n < len(format) && format[n] == '.' {
		precision, n = p.size(format, n+1)
		precision = max(precision, 0)
	}
	if n == len(format) {
		return "", 0
	}
	if width < 0 && width != unset {
		flags, width = flags+"-", -width
	}
	if width != unset {
		flags += strconv.Itoa(min(width, maxWidth))
	}
	if precision >= 0 {
		flags += "." + strconv.Itoa(min(precision, maxWidth))
	}
	text, ok := p.value(flags, format[n])
	if !ok {
		return "", 0
	}
	return text, n + 1
}

// unset is a width that is not given.
const unset = math.MinInt

func (p *printer) size(format string, n int) (size, after int) {
	if n < len(format) && format[n] == '*' {
		return int(p.integer(p.next())), n + 1
	}
	from := n
	for n < len(format) && '0' <= format[n] && format[n] <= '9' {
		n++
	}
	size, err := strconv.Atoi(format[from:n])
	if err != nil {
		return unset, n
	}
	return size, n
}

func (p *printer) value(flags string, letter byte) (text string, ok bool) {
	switch letter {
	case 's':
		return fmt.Sprintf(flags+"s", p.next()), true
	case 'b':
		before, _, ends := strings.Cut(p.next(), `\c`)
		p.ended = ends
		return fmt.Sprintf(flags+"s", Unescape(before)), true
	case 'c':
		text := p.next()
		_, n := utf8.DecodeRuneInString(text)
		return fmt.Sprintf(flags+"s", text[:n]), true
	case 'd', 'i':
		return fmt.Sprintf(plainZeros(flags)+"d", p.integer(p.next())), true
	case 'u':
		return fmt.Sprintf(plainZeros(flags)+"d", uint64(p.integer(p.next()))), true
	case 'o', 'x', 'X':
		return fmt.Sprintf(plainZeros(flags)+string(letter), uint64(p.integer(p.next()))), true
	case 'e', 'f', 'g', 'E', 'F', 'G':
		return fmt.Sprintf(flags+string(letter), p.float(p.next())), true
	}
	return "", false
}

// plainZeros takes the 0 from flags that have a precision, as C does.
func plainZeros(flags string) string {
	if strings.Contains(flags, ".") && strings.HasPrefix(flags, "%0") {
		return "%" + flags[2:]
	}
	return flags
}

func (p *printer) integer(text string) int64 {
	if text == "" {
		return 0
	}
	if text[0] == '\'' || text[0] == '"' {
		r, _ := utf8.DecodeRuneInString(text[1:])
		return int64(r)
	}
	v, err := strconv.ParseInt(strings.TrimSpace(text), 0, 64)
	if err == nil {
		return v
	}
	p.status = p.fail(1, "%s: invalid number", text)
	v, _ = strconv.ParseInt(leadingInteger(text), 10, 64)
	return v
}

func leadingInteger(text string) string {
	n := 0
	for n < len(text) && ('0' <= text[n] && text[n] <= '9' || n == 0 && (text[n] == '-' || text[n] == '+')) {
		n++
	}
	return text[:n]
}

func (p *printer) float(text string) float64 {
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		p.status = p.fail(1, "%s: invalid number", text)
	}
	return v
}

// maxNumbers bounds what one seq counts: nobody reads as many.
const maxNumbers = 1_000_000

func seq(e *Env, args []string) int {
	args = negative(args)
	f, err := parseFlags("s:,separator w,equal-width", args)
	if err != nil {
		return e.fail(1, "%v", err)
	}
	first, step, last, places, err := seqNumbers(f.args)
	if err != nil {
		return e.fail(1, "%v", err)
	}
	between, given := f.last('s')
	if !given {
		between = "\n"
	}
	count := math.Floor((last-first)/step+1e-9) + 1
	if count > maxNumbers {
		return e.fail(1, "these are more than %d numbers", maxNumbers)
	}
	width := 0
	if f.has('w') {
		width = max(len(strconv.FormatFloat(first, 'f', places, 64)), len(strconv.FormatFloat(last, 'f', places, 64)))
	}
	var line []byte
	for i := 0; i < int(count); i++ {
		line = line[:0]
		if i > 0 {
			line = append(line, between...)
		}
		if line = appendNumber(line, first+float64(i)*step, places, width); !e.Out.Write(line) {
			return 0
		}
	}
	if count >= 1 {
		e.Out.Text("\n")
	}
	return 0
}

// appendNumber appends a number with so many decimal places, and zeros before
// it up to a width.
func appendNumber(line []byte, v float64, places, width int) []byte {
	if width > 0 {
		return append(line, fmt.Sprintf("%0*.*f", width, places, v)...)
	}
	if places == 0 {
		return strconv.AppendInt(line, int64(math.Round(v)), 10)
	}
	return strconv.AppendFloat(line, v, 'f', places, 64)
}

// negative keeps numbers such as -1 from being read as flags.
func negative(args []string) []string {
	for i, a := range args {
		if len(a) > 1 && a[0] == '-' && (a[1] == '.' || '0' <= a[1] && a[1] <= '9') {
			return append(append(append([]string(nil), args[:i]...), "--"), args[i:]...)
		}
	}
	return args
}

// seqNumbers reads FIRST, STEP and LAST, and how many decimal places they have.
func seqNumbers(args []string) (first, step, last float64, places int, err error) {
	if len(args) == 0 || len(args) > 3 {
		return 0, 0, 0, 0, fmt.Errorf("write seq LAST, seq FIRST LAST or seq FIRST STEP LAST")
	}
	numbers := make([]float64, len(args))
	for i, a := range args {
		numbers[i], err = strconv.ParseFloat(a, 64)
		if err != nil || math.IsInf(numbers[i], 0) || math.IsNaN(numbers[i]) {
			return 0, 0, 0, 0, fmt.Errorf("%q is no number", a)
		}
		if _, fraction, ok := strings.Cut(a, "."); ok && (i < len(args)-1 || len(args) == 1) {
			places = max(places, len(fraction))
		}
	}
	first, step, last = 1, 1, numbers[len(numbers)-1]
	if len(args) > 1 {
		first = numbers[0]
	}
	if len(args) == 3 {
		step = numbers[1]
	}
	if step == 0 {
		return 0, 0, 0, 0, fmt.Errorf("the step must not be 0")
	}
	return first, step, last, min(places, 15), nil
}
