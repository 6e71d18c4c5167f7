package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/skills/sandbox/shell/text"
	"mvdan.cc/sh/v3/syntax"
)

func syntaxTooDeep() error {
	return abi.NewProblem(abi.QuotaReached, "more than %d pipes and substitutions are at work together", maxPipes).
		WithHint("Do it in several steps, with variables in between.")
}

// call runs a simple command.
func (s *shell) call(c *syntax.CallExpr, io streams) {
	words, err := s.words(c.Args)
	if err != nil {
		s.complain(io, c.Pos(), err)
		return
	}
	if len(words) == 0 {
		s.status = 0 // unless a substitution sets it
		if err := s.assigns(c.Assigns); err != nil {
			s.complain(io, c.Pos(), err)
		}
		return
	}
	kept := map[string]*string{}
	for _, a := range c.Assigns {
		if old, ok := s.vars[a.Name.Value]; ok {
			kept[a.Name.Value] = &old
		} else {
			kept[a.Name.Value] = nil
		}
	}
	if err := s.assigns(c.Assigns); err != nil {
		s.complain(io, c.Pos(), err)
		return
	}
	s.status = s.run(words[0], words[1:], io)
	for name, old := range kept { // they were for the command alone
		if old == nil {
			delete(s.vars, name)
		} else {
			s.vars[name] = *old
		}
	}
}

func (s *shell) assigns(list []*syntax.Assign) error {
	for _, a := range list {
		value := ""
		if a.Value != nil {
			var err error
			if value, err = s.text(a.Value); err != nil {
				return err
			}
		}
		if a.Append {
			value = s.vars[a.Name.Value] + value
		}
		s.assign(a.Name.Value, value)
	}
	return nil
}

// maxValue bounds the value of a variable, and what is made of one word.
const maxValue = 1 << 20

// maxValues bounds all values together: there may be thousands of names.
const maxValues = 16 << 20

func (s *shell) assign(name, value string) {
	total := len(value)
	for other, v := range s.vars {
		if other != name {
			total += len(v)
		}
	}
	if len(value) > maxValue || total > maxValues {
		s.budget.Stop(tooLarge())
		return
	}
	s.vars[name] = value
}

func tooLarge() error {
	return abi.NewProblem(abi.OutOfMemory, "a variable or a word is longer than %d bytes, or all together are", maxValue).
		WithHint("Let commands pass long texts on through pipes.")
}

func (s *shell) run(name string, args []string, io streams) int {
	switch name {
	case "break", "continue", "exit":
		return s.leaves(name, args, io)
	case "read":
		return s.read(args, io)
	case "set":
		return s.set(args, io)
	}
	run, ok := text.Find(name)
	if !ok {
		io.err.Text(name + ": there is no such command here\n")
		return 127
	}
	return run(&text.Env{Name: name, In: io.in, Out: io.out, Err: io.err, Open: s.blob, Budget: s.budget}, args)
}

// leaves is break, continue and exit.
func (s *shell) leaves(name string, args []string, io streams) int {
	n, err := 1, error(nil)
	if len(args) > 0 {
		n, err = strconv.Atoi(args[0])
	}
	switch {
	case err != nil || len(args) > 1:
		io.err.Text(name + ": it takes one number\n")
		return 2
	case name == "exit":
		s.jump = exits
		if len(args) == 0 {
			return s.status
		}
		return n & 0xff
	case s.loops == 0 || n < 1:
		return truth(s.loops == 0)
	case name == "break":
		s.jump = breaks
	default:
		s.jump = continues
	}
	s.levels = min(n, s.loops)
	return 0
}

// set knows -e, -u and -o pipefail, with which people begin scripts. Names that
// are not set are refused with or without -u.
func (s *shell) set(args []string, io streams) int {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(a) < 2 || a[0] != '-' && a[0] != '+' {
			return unknownSet(a, io)
		}
		on := a[0] == '-'
		for _, c := range a[1:] {
			switch {
			case c == 'e':
				s.errexit = on
			case c == 'u':
			case c == 'o' && i+1 < len(args) && args[i+1] == "pipefail":
				s.pipefail = on
				i++
			default:
				return unknownSet(a, io)
			}
		}
	}
	return 0
}

func unknownSet(arg string, io streams) int {
	io.err.Text("set: " + arg + " is not known here; known are -e, -u and -o pipefail\n")
	return 2
}

// read takes a line of standard input apart into variables.
func (s *shell) read(args []string, io streams) int {
	raw := false
	for len(args) > 0 && args[0] == "-r" {
		raw, args = true, args[1:]
	}
	if len(args) == 0 {
		args = []string{"REPLY"}
	}
	line, ended, ok := io.in.Line()
	whole := string(line)
	for !raw && ended && strings.HasSuffix(whole, `\`) && !strings.HasSuffix(whole, `\\`) { // goes on in the next line
		line, ended, _ = io.in.Line()
		if whole = whole[:len(whole)-1] + string(line); len(whole) > maxValue {
			s.budget.Stop(tooLarge())
			break
		}
	}
	fields := s.readFields(whole, len(args), raw)
	for i, name := range args {
		value := ""
		if i < len(fields) {
			value = fields[i]
		}
		s.assign(name, value)
	}
	return truth(ok && ended)
}

// readFields splits a line into so many parts, of which the last has the rest.
func (s *shell) readFields(line string, most int, raw bool) (fields []string) {
	ifs := s.separators()
	isSpace := func(c byte) bool { return strings.IndexByte(ifs, c) >= 0 && strings.IndexByte(" \t\n", c) >= 0 }
	at := 0
	for at < len(line) && isSpace(line[at]) {
		at++
	}
	for at < len(line) {
		if len(fields) == most-1 {
			return append(fields, s.lastField(line[at:], ifs, raw))
		}
		var field []byte
		for at < len(line) && strings.IndexByte(ifs, line[at]) < 0 {
			if line[at] == '\\' && !raw && at+1 < len(line) {
				at++
			}
			field = append(field, line[at])
			at++
		}
		fields = append(fields, string(field))
		for at < len(line) && isSpace(line[at]) {
			at++
		}
		if at < len(line) && strings.IndexByte(ifs, line[at]) >= 0 {
			at++
			for at < len(line) && isSpace(line[at]) {
				at++
			}
		}
	}
	return fields
}

// lastField is the rest of a line: without blanks at its end, and without a
// separator at its end if that is the only one.
func (s *shell) lastField(rest, ifs string, raw bool) string {
	blanks := ""
	for _, c := range " \t\n" {
		if strings.ContainsRune(ifs, c) {
			blanks += string(c)
		}
	}
	rest = strings.TrimRight(rest, blanks)
	if n := len(rest); n > 0 && strings.IndexByte(ifs, rest[n-1]) >= 0 && strings.IndexAny(rest[:n-1], ifs) < 0 {
		rest = strings.TrimRight(rest[:n-1], blanks)
	}
	if !raw {
		rest = unquoted(rest)
	}
	return rest
}

// separators gives the characters that separate words.
func (s *shell) separators() string {
	if ifs, ok := s.vars["IFS"]; ok {
		return ifs
	}
	return " \t\n"
}

// redirected gives the streams with the redirects of a statement.
func (s *shell) redirected(list []*syntax.Redirect, io streams) (streams, error) {
	for _, r := range list {
		switch r.Op {
		case syntax.RdrIn:
			name, err := s.text(r.Word)
			if err != nil {
				return io, err
			}
			if io.in, err = s.blob(name); err != nil {
				return io, fmt.Errorf("%s: %w", name, err)
			}
		case syntax.WordHdoc:
			value, err := s.text(r.Word)
			if err != nil {
				return io, err
			}
			io.in = text.SourceOf(s.budget, value+"\n")
		case syntax.Hdoc, syntax.DashHdoc:
			value, err := s.document(r)
			if err != nil {
				return io, err
			}
			io.in = text.SourceOf(s.budget, value)
		default:
			io = s.outputs(r, io)
		}
	}
	return io, nil
}

// outputs joins or drops what a command writes.
func (s *shell) outputs(r *syntax.Redirect, io streams) streams {
	target, _ := literalOf(r.Word)
	sink := text.Discard(s.budget)
	switch target {
	case "1", "/dev/stdout":
		sink = io.out
	case "2", "/dev/stderr":
		sink = io.err
	}
	both := r.Op == syntax.RdrAll || r.Op == syntax.AppAll
	if both || r.N == nil || r.N.Value == "1" {
		io.out = sink
	}
	if both || r.N != nil && r.N.Value == "2" {
		io.err = sink
	}
	return io
}

func (s *shell) document(r *syntax.Redirect) (string, error) {
	if r.Hdoc == nil {
		return "", nil
	}
	value := ""
	if quotedWord(r.Word) {
		for _, p := range r.Hdoc.Parts {
			if lit, ok := p.(*syntax.Lit); ok {
				value += lit.Value
			}
		}
	} else {
		b := builder{s: s}
		err := b.quotedParts(r.Hdoc.Parts, "$`\\\n")
		if err != nil {
			return "", err
		}
		value = string(b.cur)
	}
	if r.Op == syntax.DashHdoc {
		lines := strings.SplitAfter(value, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		value = strings.Join(lines, "")
	}
	return value, nil
}

func quotedWord(w *syntax.Word) bool {
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}
