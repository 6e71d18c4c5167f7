package wording

import (
	"cmp"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi/value"
)

// value writes a value by its own method or by its kind; depth is how many
// values it lies in.
func (p *printer) value(v reflect.Value, depth int) {
	if !v.IsValid() { // what a nil interface holds
		p.write("<nil>")
		return
	}
	if v.CanInterface() && p.byMethod(v) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		p.boolean(v)
	case reflect.String:
		p.textual(v, v.String())
	case reflect.Float32, reflect.Float64:
		p.float(v)
	case reflect.Slice, reflect.Array:
		p.list(v, depth)
	case reflect.Map:
		p.table(v, depth)
	case reflect.Struct:
		p.record(v, depth)
	case reflect.Interface:
		p.value(v.Elem(), depth+1)
	case reflect.Pointer:
		p.pointer(v, depth)
	default:
		p.other(v)
	}
}

// other writes integers, and the address of what has no form.
func (p *printer) other(v reflect.Value) {
	switch {
	case v.CanInt():
		p.integer(v, uint64(v.Int()), v.Int() < 0)
	case v.CanUint():
		p.integer(v, v.Uint(), false)
	case v.Kind() == reflect.Chan || v.Kind() == reflect.Func || v.Kind() == reflect.UnsafePointer:
		p.address(v)
	default:
		p.write("?" + v.Type().String() + "?")
	}
}

// byMethod has a value write itself by its Error or String, where it has one
// and the verb is for text.
func (p *printer) byMethod(v reflect.Value) (done bool) {
	if p.erring {
		return false
	}
	if !strings.ContainsRune("vsxXq", p.letter) {
		return false
	}
	name := "Error"
	defer func() {
		if cause := recover(); cause != nil {
			p.panicked(v, name, cause)
			done = true
		}
	}()
	switch own := value.Interface(v).(type) {
	case error:
		p.textual(v, own.Error())
	case interface{ String() string }:
		name = "String"
		p.textual(v, own.String())
	default:
		return false
	}
	return true
}

func (p *printer) panicked(v reflect.Value, method string, cause any) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		p.write("<nil>")
		return
	}
	p.note("(PANIC=" + method + " method: ")
	kept := p.verb
	p.verb = verb{letter: 'v', width: none, precision: none}
	p.argument(cause)
	p.verb = kept
	p.write(")")
}

func (p *printer) boolean(v reflect.Value) {
	if p.letter != 't' && p.letter != 'v' {
		p.misused(v)
		return
	}
	p.pad(strconv.FormatBool(v.Bool()))
}

// textual writes the text that a value is or gives.
func (p *printer) textual(v reflect.Value, text string) {
	switch p.letter {
	case 'v', 's':
		p.text(text)
	case 'q':
		p.quoted(text)
	case 'x', 'X':
		p.hexadecimal(text)
	default:
		p.misused(v)
	}
}

// hexadecimal writes the bytes of a text.
func (p *printer) hexadecimal(text string) {
	if p.precision >= 0 && p.precision < len(text) {
		text = text[:p.precision]
	}
	digits, prefix := "0123456789abcdef", "0x"
	if p.letter == 'X' {
		digits, prefix = "0123456789ABCDEF", "0X"
	}
	var b []byte
	for i := range len(text) {
		if i > 0 && p.room {
			b = append(b, ' ')
		}
		if p.sharp && (i == 0 || p.room) {
			b = append(b, prefix...)
		}
		b = append(b, digits[text[i]>>4], digits[text[i]&0xf])
	}
	p.pad(string(b))
}

// integer writes a whole number; n is its two's complement.
func (p *printer) integer(v reflect.Value, n uint64, negative bool) {
	base, prefix := 10, ""
	switch p.letter {
	case 'v', 'd':
	case 'b':
		base, prefix = 2, "0b"
	case 'o', 'O':
		base, prefix = 8, "0"
	case 'x':
		base, prefix = 16, "0x"
	case 'X':
		base, prefix = 16, "0X"
	case 'c', 'q', 'U':
		p.character(n)
		return
	default:
		p.misused(v)
		return
	}
	if negative {
		n = -n
	}
	if !p.sharp {
		prefix = ""
	}
	p.signed(n, base, prefix, negative)
}

func (p *printer) signed(n uint64, base int, prefix string, negative bool) {
	sign := p.sign(negative)
	kept := p.zero
	defer func() { p.zero = kept }()
	if p.precision == 0 && n == 0 {
		p.zero = false
		p.pad("")
		return
	}
	text := strconv.FormatUint(n, base)
	if p.letter == 'X' {
		text = upper(text)
	}
	least := p.precision
	if least < 0 && p.zero && !p.minus {
		least = p.width - len(sign)
	}
	text = zeros(least-len(text)) + text
	if base != 8 || text[0] != '0' {
		text = prefix + text
	}
	if p.letter == 'O' {
		text = "0o" + text
	}
	p.zero = false
	p.pad(sign + text)
}

func zeros(n int) string {
	b := make([]byte, max(n, 0))
	for i := range b {
		b[i] = '0'
	}
	return string(b)
}

// upper gives hexadecimal digits in capitals.
func upper(digits string) string {
	b := []byte(digits)
	for i, c := range b {
		if c >= 'a' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

func (p *printer) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case p.plus:
		return "+"
	case p.room:
		return " "
	}
	return ""
}

// character writes a number as the character that has it.
func (p *printer) character(n uint64) {
	r := rune(utf8.RuneError)
	if n <= utf8.MaxRune {
		r = rune(n)
	}
	switch {
	case p.letter == 'c':
		p.pad(string(r))
	case p.letter == 'q' && p.plus:
		p.pad(strconv.QuoteRuneToASCII(r))
	case p.letter == 'q':
		p.pad(strconv.QuoteRune(r))
	default:
		p.unicode(n)
	}
}

func (p *printer) unicode(n uint64) {
	text := upper(strconv.FormatUint(n, 16))
	text = "U+" + zeros(max(p.precision, 4)-len(text)) + text
	if p.sharp && n <= utf8.MaxRune && strconv.IsPrint(rune(n)) {
		text += " '" + string(rune(n)) + "'"
	}
	kept := p.zero
	p.zero = false
	p.pad(text)
	p.zero = kept
}

func (p *printer) float(v reflect.Value) {
	letter, precision := byte('g'), -1
	switch p.letter {
	case 'v':
	case 'g', 'G', 'b', 'x', 'X':
		letter = byte(p.letter)
	case 'e', 'E', 'f':
		letter, precision = byte(p.letter), 6
	case 'F':
		letter, precision = 'f', 6
	default:
		p.misused(v)
		return
	}
	if p.precision >= 0 {
		precision = p.precision
	}
	f := v.Float()
	text := strconv.FormatFloat(f, letter, precision, v.Type().Bits())
	text = strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	sign := p.sign(math.Signbit(f) && !math.IsNaN(f))
	kept := p.zero
	if math.IsInf(f, 0) || math.IsNaN(f) {
		p.zero = false
	}
	if math.IsInf(f, 1) && sign == "" {
		sign = "+"
	}
	if p.zero && !p.minus {
		text = zeros(p.width-len(sign)-len(text)) + text
	}
	p.pad(sign + text)
	p.zero = kept
}

// list writes a list; of bytes, verbs for text write the text.
func (p *printer) list(v reflect.Value, depth int) {
	if v.Type().Elem().Kind() == reflect.Uint8 && strings.ContainsRune("sqxX", p.letter) {
		p.textual(v, string(bytesOf(v)))
		return
	}
	p.write("[")
	for i := range v.Len() {
		if i > 0 {
			p.write(" ")
		}
		p.value(v.Index(i), depth+1)
	}
	p.write("]")
}

func bytesOf(v reflect.Value) []byte {
	b := make([]byte, v.Len())
	for i := range b {
		b[i] = byte(v.Index(i).Uint())
	}
	return b
}

// An entry is one of a map.
type entry struct{ key, item reflect.Value }

// table writes a map in the order of its keys.
func (p *printer) table(v reflect.Value, depth int) {
	entries := make([]entry, 0, v.Len())
	for each := v.MapRange(); each.Next(); {
		entries = append(entries, entry{each.Key(), each.Value()})
	}
	for i := range entries { // messages hold small maps
		for j := i; j > 0 && compareKeys(entries[j].key, entries[j-1].key) < 0; j-- {
			entries[j], entries[j-1] = entries[j-1], entries[j]
		}
	}
	p.write("map[")
	for i, e := range entries {
		if i > 0 {
			p.write(" ")
		}
		p.value(e.key, depth+1)
		p.write(":")
		p.value(e.item, depth+1)
	}
	p.write("]")
}

// compareKeys orders numbers, texts and truth values; keys of other kinds stay
// as they come.
func compareKeys(a, b reflect.Value) int {
	switch {
	case a.Kind() == reflect.Interface:
		if a.IsNil() || b.IsNil() || a.Elem().Type() != b.Elem().Type() {
			return 0
		}
		return compareKeys(a.Elem(), b.Elem())
	case a.Kind() == reflect.String:
		return strings.Compare(a.String(), b.String())
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	case a.Kind() == reflect.Bool && a.Bool() != b.Bool():
		if b.Bool() {
			return -1
		}
		return 1
	}
	return 0
}

func (p *printer) record(v reflect.Value, depth int) {
	p.write("{")
	for i := range v.NumField() {
		if i > 0 {
			p.write(" ")
		}
		if name := v.Type().Field(i).Name; p.fields {
			p.write(name + ":")
		}
		field := v.Field(i)
		if field.Kind() == reflect.Interface && !field.IsNil() {
			field = field.Elem()
		}
		p.value(field, depth+1)
	}
	p.write("}")
}

// pointer writes what a pointer points to, but inside of other values its
// address, since it may lead back.
func (p *printer) pointer(v reflect.Value, depth int) {
	if depth == 0 && !v.IsNil() {
		switch v.Elem().Kind() {
		case reflect.Array, reflect.Slice, reflect.Struct, reflect.Map:
			p.write("&")
			p.value(v.Elem(), depth+1)
			return
		}
	}
	p.address(v)
}

func (p *printer) address(v reflect.Value) {
	at := uint64(v.Pointer())
	switch {
	case p.letter == 'v' && at == 0:
		p.pad("<nil>")
	case p.letter == 'v' || p.letter == 'p':
		prefix := "0x"
		if p.sharp {
			prefix = ""
		}
		p.signed(at, 16, prefix, false)
	case strings.ContainsRune("bodxX", p.letter):
		p.integer(v, at, false)
	default:
		p.misused(v)
	}
}
