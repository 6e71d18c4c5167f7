package text

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An order is how keys are compared.
type order struct{ numeric, fold, blanks, endBlanks, reverse bool }

// A key is a part of a line by which lines are sorted, with fields and bytes
// from 0 on. The end is behind the last byte; maxCount is the line's.
type key struct {
	order
	fromField, fromByte int
	toField, toByte     int
	own                 bool // it has an order of its own
}

// A sorter is one call of sort.
type sorter struct {
	flags
	order
	keys           []key
	mark           int // between fields; -1 for blanks
	unique, stable bool
}

// An entry is a line that is sorted, with the place of its first key.
type entry struct {
	line     []byte
	from, to int32
	head     uint64 // what is compared now, as a number
}

// entryCost is what an entry costs beside its text, with what growing takes.
const entryCost = 80

func sortLines(e *Env, args []string) int {
	s, err := newSorter(args)
	if err != nil {
		return e.fail(2, "%v", err)
	}
	entries, held, status := s.read(e)
	defer func() { e.Budget.Held += int64(held) }()
	if e.Budget.Stopped() != nil || status != 0 {
		return 2
	}
	order := s.places(entries)
	for i, at := range order {
		if s.unique && i > 0 && s.same(&entries[order[i-1]], &entries[at]) {
			continue
		}
		if !e.Out.line(entries[at].line) {
			break
		}
	}
	return 0
}

// places gives the places of the entries as they are sorted: by the keys, then,
// unless lines with equal keys count as equal, by all of their bytes.
func (s *sorter) places(entries []entry) []int32 {
	order := make([]int32, len(entries))
	for i := range order {
		order[i] = int32(i)
	}
	lines := sorting{entries, func(e *entry) []byte { return e.line }, s.reverse}
	if len(s.keys) == 0 {
		lines.sort(order, 0, 0)
		return order
	}
	if k := s.keys[0]; len(s.keys) == 1 && !k.numeric && !k.fold {
		keys := sorting{entries, func(e *entry) []byte { return e.line[e.from:e.to] }, k.reverse}
		keys.sort(order, 0, 0)
	} else {
		slices.SortFunc(order, func(a, b int32) int {
			return cmp.Or(s.compare(&entries[a], &entries[b]), int(a)-int(b))
		})
	}
	if s.unique || s.stable {
		return order
	}
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && s.compare(&entries[order[from]], &entries[order[to]]) == 0 {
			to++
		}
		lines.sort(order[from:to], 0, 0)
		from = to
	}
	return order
}

// same reports whether two lines count as one for -u.
func (s *sorter) same(a, b *entry) bool {
	if len(s.keys) > 0 {
		return s.compare(a, b) == 0
	}
	return bytes.Equal(a.line, b.line)
}

// A sorting sorts texts byte by byte, a few bytes at a time as one number: what
// all of them begin with alike is passed over, and those with the same number
// are sorted by what follows. Bytes are then looked at about once, and not once
// for each comparison. Texts that are the same keep their order.
type sorting struct {
	entries []entry
	text    func(*entry) []byte
	reverse bool
}

// maxRounds bounds how often a sorting calls itself; behind that it compares.
const maxRounds = 50

func (s *sorting) sort(order []int32, from, rounds int) {
	if len(order) < 2 {
		return
	}
	if rounds == maxRounds {
		slices.SortFunc(order, func(a, b int32) int {
			d := bytes.Compare(s.text(&s.entries[a])[from:], s.text(&s.entries[b])[from:])
			return cmp.Or(reversedIf(s.reverse, d), int(a)-int(b))
		})
		return
	}
	rest := s.text(&s.entries[order[0]])[from:]
	same := len(rest)
	for _, at := range order[1:] {
		same = common(rest[:same], s.text(&s.entries[at])[from:])
	}
	from += same
	for _, at := range order {
		e := &s.entries[at]
		e.head = headOf(s.text(e)[from:])
	}
	slices.SortFunc(order, func(a, b int32) int {
		x, y := s.entries[a].head, s.entries[b].head
		switch {
		case x == y:
			return int(a) - int(b)
		case x < y != s.reverse:
			return -1
		}
		return 1
	})
	for i := 0; i < len(order); {
		head, j := s.entries[order[i]].head, i+1
		for j < len(order) && s.entries[order[j]].head == head {
			j++
		}
		if !tellsAll(head) {
			s.sort(order[i:j], from+headBytes, rounds+1)
		}
		i = j
	}
}

func common(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// headBytes is how much of a text its head holds; the eighth byte is the text's
// length, or one more for all that are longer.
const headBytes = 7

// headOf gives the beginning of a text as a number, in the order of texts.
func headOf(b []byte) (head uint64) {
	for i := range headBytes {
		head <<= 8
		if i < len(b) {
			head |= uint64(b[i])
		}
	}
	return head<<8 | uint64(min(len(b), headBytes+1))
}

// tellsAll reports whether texts with this head are the same.
func tellsAll(head uint64) bool { return head&0xff <= headBytes }

func newSorter(args []string) (s sorter, err error) {
	s.flags, err = parseFlags("n,numeric-sort r,reverse u,unique f,ignore-case b,ignore-leading-blanks s,stable k:,key t:,field-separator", args)
	if err != nil {
		return s, err
	}
	s.unique, s.stable, s.mark = s.has('u'), s.has('s'), -1
	s.order = order{s.has('n'), s.has('f'), s.has('b'), s.has('b'), s.has('r')}
	if text, ok := s.last('t'); ok {
		if text == `\0` || len(text) != 1 {
			return s, fmt.Errorf("the separator %q must be one character of ASCII", text)
		}
		s.mark = int(text[0])
	}
	for _, text := range s.all('k') {
		k, err := parseKey(text)
		if err != nil {
			return s, err
		}
		if !k.own {
			k.order = s.order
		}
		s.keys = append(s.keys, k)
	}
	if len(s.keys) == 0 && (s.numeric || s.fold || s.blanks) {
		s.keys = []key{{order: s.order, toField: maxCount}}
	}
	return s, nil
}

// parseKey reads a key such as 2, 2,2, 2n,2 or 1.3,1.5.
func parseKey(text string) (k key, err error) {
	from, to, ends := strings.Cut(text, ",")
	field, char, flags, err1 := keyPlace(from)
	k = key{fromField: field - 1, fromByte: max(char-1, 0), toField: maxCount}
	err2 := k.flags(flags, false)
	var err3 error
	if field == 0 || err1 != nil {
		err3 = errors.New("a field is counted from 1")
	}
	if ends {
		field, char, flags, err1 = keyPlace(to)
		err2 = errors.Join(err2, k.flags(flags, true))
		k.toField, k.toByte = field, char
		if char > 0 {
			k.toField--
		}
		if field == 0 || err1 != nil {
			err3 = errors.New("a field is counted from 1")
		}
	}
	if err := cmp.Or(err2, err3); err != nil {
		return k, fmt.Errorf("%q is no key (%v); write one such as -k 2,2 or -k 3,3nr", text, err)
	}
	return k, nil
}

func keyPlace(text string) (field, char int, flags string, err error) {
	place := strings.TrimRight(text, "bfnrdigMhVR")
	flags = text[len(place):]
	first, second, dotted := strings.Cut(place, ".")
	field, err = parseCount(first)
	if dotted && err == nil {
		char, err = parseCount(second)
	}
	return field, char, flags, err
}

func (k *key) flags(letters string, end bool) error {
	for _, c := range letters {
		switch {
		case c == 'n':
			k.numeric = true
		case c == 'f':
			k.fold = true
		case c == 'r':
			k.reverse = true
		case c == 'b' && end:
			k.endBlanks = true
		case c == 'b':
			k.blanks = true
		default:
			return fmt.Errorf("known orders of a key are b f n r, not %c", c)
		}
		k.own = true
	}
	return nil
}

// blockBytes is how much of the lines lies together: a piece of memory for
// each line would cost more than most lines.
const blockBytes = 1 << 20

func (s *sorter) read(e *Env) (entries []entry, held, status int) {
	var block []byte
	status = e.inputs(s.args, func(_ string, in *Source) bool {
		for {
			line, _, ok := in.Line()
			if !ok {
				return true
			}
			held += len(line) + entryCost
			if !e.hold(len(line) + entryCost) {
				return false
			}
			if len(block)+len(line) > cap(block) {
				block = make([]byte, 0, max(blockBytes, len(line)))
			}
			from := len(block)
			block = append(block, line...)
			kept := entry{line: block[from:len(block):len(block)]}
			if len(s.keys) > 0 {
				low, high := s.place(&s.keys[0], kept.line)
				kept.from, kept.to = int32(low), int32(high)
			}
			entries = append(entries, kept)
		}
	})
	return entries, held, status
}

// compare compares two lines by the keys.
func (s *sorter) compare(a, b *entry) int {
	for i := range s.keys {
		k := &s.keys[i]
		x, y := a.line[a.from:a.to], b.line[b.from:b.to]
		if i > 0 {
			low, high := s.place(k, a.line)
			x = a.line[low:high]
			low, high = s.place(k, b.line)
			y = b.line[low:high]
		}
		if d := k.compare(x, y); d != 0 {
			return d
		}
	}
	return 0
}

func reversedIf(is bool, d int) int {
	if is {
		return -d
	}
	return d
}

func (k *key) compare(x, y []byte) (d int) {
	switch {
	case k.numeric:
		d = compareNumbers(x, y)
	case k.fold:
		d = compareFolded(x, y)
	default:
		d = bytes.Compare(x, y)
	}
	return reversedIf(k.reverse, d)
}

func compareFolded(x, y []byte) int {
	for i := range min(len(x), len(y)) {
		if d := cmp.Compare(upper(x[i]), upper(y[i])); d != 0 {
			return d
		}
	}
	return cmp.Compare(len(x), len(y))
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// compareNumbers compares what the texts begin with as decimal numbers of any
// length; what is none counts as 0.
func compareNumbers(x, y []byte) int {
	a, b := decimalOf(x), decimalOf(y)
	switch {
	case a.negative != b.negative && a.negative:
		return -1
	case a.negative != b.negative:
		return 1
	case a.negative:
		a, b = b, a
	}
	return cmp.Or(cmp.Compare(len(a.whole), len(b.whole)), bytes.Compare(a.whole, b.whole), bytes.Compare(a.fraction, b.fraction))
}

// A decimal is a number without zeros at its ends.
type decimal struct {
	negative        bool
	whole, fraction []byte
}

func decimalOf(text []byte) (d decimal) {
	text = bytes.TrimLeft(text, " \t")
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	n := digitsIn(text)
	d.whole = bytes.TrimLeft(text[:n], "0")
	if rest := text[n:]; len(rest) > 0 && rest[0] == '.' {
		d.fraction = bytes.TrimRight(rest[1:1+digitsIn(rest[1:])], "0")
	}
	d.negative = negative && len(d.whole)+len(d.fraction) > 0
	return d
}

func digitsIn(text []byte) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// place gives where a key lies in a line.
func (s *sorter) place(k *key, line []byte) (from, to int) {
	from = s.field(line, k.fromField, true)
	if k.blanks {
		from = skipBlanks(line, from)
	}
	from = min(from+k.fromByte, len(line))
	to = len(line)
	if k.toField < maxCount {
		to = s.field(line, k.toField, k.toByte > 0)
		if k.toByte > 0 {
			if k.endBlanks {
				to = skipBlanks(line, to)
			}
			to = min(to+k.toByte, len(line))
		}
	}
	return from, max(from, to)
}

func skipBlanks(line []byte, at int) int {
	for at < len(line) && isBlank(line[at]) {
		at++
	}
	return at
}

// field gives where so many fields end, and behind the mark, if start is set,
// where the next begins.
func (s *sorter) field(line []byte, n int, start bool) (at int) {
	for ; n > 0 && at < len(line); n-- {
		if s.mark < 0 {
			at = skipBlanks(line, at)
			for at < len(line) && !isBlank(line[at]) {
				at++
			}
			continue
		}
		i := bytes.IndexByte(line[at:], byte(s.mark))
		if i < 0 {
			return len(line)
		}
		at += i
		if n > 1 || start {
			at++
		}
	}
	return at
}
