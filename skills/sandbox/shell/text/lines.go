package text

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// countFlags writes -5 as -n5, and for tail +5 as -n+5.
func countFlags(args []string, plus bool) []string {
	out := append([]string(nil), args...)
	for i, a := range args {
		if a == "--" {
			break
		}
		if len(a) > 1 && (a[0] == '-' || plus && a[0] == '+') && strings.Trim(a[1:], "0123456789") == "" && (i == 0 || !isCountFlag(args[i-1])) {
			out[i] = "-n" + strings.TrimPrefix(a, "-")
		}
	}
	return out
}

func isCountFlag(a string) bool { return a == "-n" || a == "-c" || a == "--lines" || a == "--bytes" }

// A part is what head and tail show: so many lines or bytes.
type part struct {
	flags
	n     int
	minus bool // head -n -5: all but the last; tail -n +5: from that one on
	bytes bool
}

func parsePart(args []string, special byte) (p part, err error) {
	if p.flags, err = parseFlags("n:,lines c:,bytes q,quiet v,verbose", args); err != nil {
		return p, err
	}
	text := "10"
	for _, f := range p.given {
		if f.letter == 'n' || f.letter == 'c' {
			text, p.bytes = f.value, f.letter == 'c'
		}
	}
	if p.minus = text != "" && text[0] == special; p.minus || text != "" && (text[0] == '-' || text[0] == '+') {
		text = text[1:]
	}
	if p.n, err = parseCount(text); err != nil {
		return p, fmt.Errorf("invalid number of lines or bytes: %q", text)
	}
	return p, nil
}

// each runs do over the streams, with headings where there are several.
func (p part) each(e *Env, do func(in *Source) bool) int {
	first := true
	return e.inputs(p.args, func(name string, in *Source) bool {
		if (len(p.args) > 1 || p.has('v')) && !p.has('q') {
			if name == "-" {
				name = "standard input"
			}
			heading := "\n==> " + name + " <==\n"
			if first {
				heading = heading[1:]
			}
			e.Out.Text(heading)
		}
		first = false
		return do(in)
	})
}

func head(e *Env, args []string) int {
	p, err := parsePart(countFlags(args, false), '-')
	switch {
	case err != nil:
		return e.fail(1, "%v", err)
	case p.bytes && p.minus:
		return p.each(e, func(in *Source) bool { return e.butLastBytes(in, p.n) })
	case p.bytes:
		return p.each(e, func(in *Source) bool { return e.firstBytes(in, p.n) })
	case p.minus:
		return p.each(e, func(in *Source) bool { return e.butLast(in, p.n) })
	}
	return p.each(e, func(in *Source) bool { return e.first(in, p.n) })
}

func (e *Env) first(in *Source, n int) bool {
	for range n {
		line, ended, ok := in.Line()
		if !ok || !e.Out.as(line, ended) {
			break
		}
	}
	return true
}

// as writes a line with its end, if it had one.
func (s *Sink) as(line []byte, ended bool) bool {
	return s.Write(line) && (!ended || s.Write([]byte{'\n'}))
}

func (e *Env) firstBytes(in *Source, n int) bool {
	for n > 0 {
		piece := in.Piece()
		if len(piece) == 0 {
			break
		}
		if len(piece) > n {
			in.back(len(piece) - n)
			piece = piece[:n]
		}
		n -= len(piece)
		if !e.Out.Write(piece) {
			break
		}
	}
	return true
}

// butLast keeps n lines back, and writes each when another one comes.
func (e *Env) butLast(in *Source, n int) bool {
	var kept queue
	defer kept.release(e)
	for {
		line, ended, ok := in.Line()
		if !ok || !kept.push(e, line, ended) {
			return true
		}
		if len(kept.lines) > n && !e.Out.Write(kept.pop(e)) {
			return true
		}
	}
}

func (e *Env) butLastBytes(in *Source, n int) bool {
	all, ok := e.readAll(in)
	defer func() { e.Budget.Held += int64(len(all)) }()
	return !ok || n >= len(all) || e.Out.Write(all[:len(all)-n])
}

// readAll keeps all of a stream; the caller gives the memory back.
func (e *Env) readAll(in *Source) (all []byte, ok bool) {
	for {
		piece := in.Piece()
		if len(piece) == 0 {
			return all, e.Budget.Stopped() == nil
		}
		if all = append(all, piece...); !e.hold(len(piece)) {
			return all, false
		}
	}
}

// A queue keeps the last lines of a stream.
type queue struct {
	lines [][]byte
	held  int
}

func (q *queue) push(e *Env, line []byte, ended bool) bool {
	kept := bytes.Clone(line)
	if ended {
		kept = append(kept, '\n')
	}
	q.lines = append(q.lines, kept)
	q.held += len(kept) + lineCost
	return e.hold(len(kept) + lineCost)
}

func (q *queue) pop(e *Env) []byte {
	line := q.lines[0]
	q.lines[0] = nil
	q.lines = q.lines[1:]
	q.held -= len(line) + lineCost
	e.Budget.Held += int64(len(line) + lineCost)
	return line
}

func (q *queue) release(e *Env) { e.Budget.Held += int64(q.held) }

// lineCost is what a line costs of memory beside its text.
const lineCost = 24

func tail(e *Env, args []string) int {
	p, err := parsePart(countFlags(args, true), '+')
	switch {
	case err != nil:
		return e.fail(1, "%v", err)
	case p.bytes && p.minus:
		return p.each(e, func(in *Source) bool { return e.fromByte(in, p.n) })
	case p.bytes:
		return p.each(e, func(in *Source) bool { return e.lastBytes(in, p.n) })
	case p.minus:
		return p.each(e, func(in *Source) bool { return e.from(in, p.n) })
	}
	return p.each(e, func(in *Source) bool { return e.lastLines(in, p.n) })
}

func (e *Env) from(in *Source, n int) bool {
	for range n - 1 {
		if _, _, ok := in.Line(); !ok {
			return true
		}
	}
	return e.copy(in)
}

func (e *Env) fromByte(in *Source, n int) bool {
	skip := max(n-1, 0)
	for {
		piece := in.Piece()
		if len(piece) == 0 {
			return true
		}
		passed := min(skip, len(piece))
		if skip -= passed; !e.Out.Write(piece[passed:]) {
			return true
		}
	}
}

func (e *Env) copy(in *Source) bool {
	for {
		if piece := in.Piece(); len(piece) == 0 || !e.Out.Write(piece) {
			return true
		}
	}
}

func (e *Env) lastLines(in *Source, n int) bool {
	var kept queue
	defer kept.release(e)
	for {
		line, ended, ok := in.Line()
		if !ok {
			break
		}
		if !kept.push(e, line, ended) {
			return false
		}
		if len(kept.lines) > n {
			kept.pop(e)
		}
	}
	for len(kept.lines) > 0 && e.Out.Write(kept.pop(e)) {
	}
	return true
}

func (e *Env) lastBytes(in *Source, n int) bool {
	all, ok := e.readAll(in)
	defer func() { e.Budget.Held += int64(len(all)) }()
	return ok && e.Out.Write(all[max(0, len(all)-n):])
}

func cat(e *Env, args []string) int {
	f, err := parseFlags("n,number b,number-nonblank s,squeeze-blank", args)
	if err != nil {
		return e.fail(1, "%v", err)
	}
	if len(f.given) == 0 {
		return e.inputs(f.args, func(_ string, in *Source) bool { return e.copy(in) })
	}
	number, blank := 0, false
	return e.inputs(f.args, func(_ string, in *Source) bool {
		for {
			line, ended, ok := in.Line()
			if !ok {
				return true
			}
			if again := blank && len(line) == 0; again && f.has('s') {
				continue
			}
			blank = len(line) == 0
			if f.has('b') && !blank || f.has('n') && !f.has('b') {
				number++
				e.Out.Text(fmt.Sprintf("%6d\t", number))
			}
			if !e.Out.as(line, ended) {
				return false
			}
		}
	})
}

func tac(e *Env, args []string) int {
	f, err := parseFlags("", args)
	if err != nil {
		return e.fail(1, "%v", err)
	}
	return e.inputs(f.args, func(_ string, in *Source) bool {
		all, ok := e.readAll(in)
		defer func(held int) { e.Budget.Held += int64(held) }(len(all))
		for ok && len(all) > 0 {
			from := bytes.LastIndexByte(all[:len(all)-1], '\n') + 1
			ok = e.Out.Write(all[from:])
			all = all[:from]
		}
		return ok
	})
}

func rev(e *Env, args []string) int {
	f, err := parseFlags("", args)
	if err != nil {
		return e.fail(1, "%v", err)
	}
	return e.inputs(f.args, func(_ string, in *Source) bool {
		for {
			line, ended, ok := in.Line()
			if !ok || !e.Out.as(reversed(line), ended) {
				return true
			}
		}
	})
}

func reversed(line []byte) []byte {
	runes := []rune(string(line))
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return []byte(string(runes))
}

func paste(e *Env, args []string) int {
	f, err := parseFlags("d:,delimiters s,serial", args)
	marks := []rune("\t")
	if text, ok := f.last('d'); ok {
		marks = []rune(Unescape(text))
	}
	if len(f.args) == 0 {
		f.args = []string{"-"}
	}
	var in []*Source
	for _, name := range f.args {
		one, openErr := e.open(name)
		if openErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, openErr))
		}
		in = append(in, one)
	}
	switch {
	case err != nil:
		return e.fail(1, "%v", err)
	case f.has('s'):
		for _, one := range in {
			e.pasteSerial(one, marks)
		}
		return 0
	}
	e.pasteParallel(in, marks)
	return 0
}

func mark(marks []rune, i int) string {
	if len(marks) == 0 {
		return ""
	}
	return string(marks[i%len(marks)])
}

func (e *Env) pasteSerial(in *Source, marks []rune) {
	for i := 0; ; i++ {
		line, _, ok := in.Line()
		if !ok {
			break
		}
		if i > 0 && !e.Out.Text(mark(marks, i-1)) || !e.Out.Write(line) {
			return
		}
	}
	e.Out.Text("\n")
}

func (e *Env) pasteParallel(in []*Source, marks []rune) {
	for {
		var row []byte
		some := false
		for i, one := range in {
			if i > 0 {
				row = append(row, mark(marks, i-1)...)
			}
			line, _, ok := one.Line()
			row, some = append(row, line...), some || ok
		}
		if !some || !e.Out.line(row) {
			return
		}
	}
}
