package main

import (
	"fmt"
	"maps"

	"github.com/sluicehq/sluice/skills/sandbox/shell/text"
	"mvdan.cc/sh/v3/syntax"
)

// A jump is how a list of commands is left before its end.
type jump int

const (
	none jump = iota
	breaks
	continues
	exits
)

// A shell evaluates a script. The parts of a pipeline, a substitution and ( )
// have one of their own, which begins as the one around it is.
type shell struct {
	*shared
	io        streams // of the statement that is evaluated, for its substitutions
	vars      map[string]string
	status    int
	jump      jump
	levels    int  // loops that a break or a continue is still to leave
	loops     int  // that are around
	unchecked int  // conditions that are around: set -e does not end there
	errexit   bool // set -e
	pipefail  bool // set -o pipefail
}

// shared is what all shells of a script have together.
type shared struct {
	budget   *text.Budget
	ended    bool // nobody reads what the script prints any more
	openBlob func(*text.Budget, string) *text.Source
	depth    int // of pipelines and substitutions
}

// Streams are what a command reads and writes.
type streams struct {
	in       *text.Source
	out, err *text.Sink
}

func newShell(l limits, open func(*text.Budget, string) *text.Source) *shell {
	b := &text.Budget{Steps: l.steps, Moved: l.moved, Held: l.held}
	return &shell{shared: &shared{budget: b, openBlob: open}, vars: map[string]string{}}
}

func (s *shell) fork() *shell {
	sub := *s
	sub.vars, sub.loops = maps.Clone(s.vars), 0
	return &sub
}

func (s *shell) blob(name string) (*text.Source, error) {
	id, ok := blobName(name)
	if !ok && name == "/dev/null" {
		return text.SourceOf(s.budget, ""), nil
	}
	if !ok {
		return nil, fmt.Errorf("there is no such file: name a blob as blob:ID")
	}
	return s.openBlob(s.budget, id), nil
}

// stopped reports whether the rest of a list does not run.
func (s *shell) stopped() bool { return s.jump != none || s.ended || s.budget.Stopped() != nil }

func (s *shell) list(list []*syntax.Stmt, io streams) {
	for _, st := range list {
		if s.stopped() || !s.budget.Step() {
			return
		}
		s.statement(st, io)
	}
}

// complain says something on standard error, with a status.
func (s *shell) complain(io streams, at syntax.Pos, err error) {
	s.status = 1
	io.err.Text("shell: " + place(at) + ": " + err.Error() + "\n")
}

func (s *shell) statement(st *syntax.Stmt, io streams) {
	if st.Negated {
		s.unchecked++
		defer func() { s.unchecked-- }()
	}
	around := s.io
	s.io = io
	defer func() { s.io = around }()
	io, err := s.redirected(st.Redirs, io)
	s.io = io
	if err != nil {
		s.complain(io, st.Pos(), err)
	} else {
		s.command(st.Cmd, io)
	}
	if st.Negated && !s.stopped() {
		s.status = truth(s.status != 0)
	}
}

func truth(is bool) int {
	if is {
		return 0
	}
	return 1
}

// checked ends the script after a failure where set -e says so.
func (s *shell) checked() {
	if s.errexit && s.status != 0 && s.unchecked == 0 && s.jump == none {
		s.jump = exits
	}
}

func (s *shell) command(c syntax.Command, io streams) {
	switch c := c.(type) {
	case nil:
		s.status = 0
	case *syntax.CallExpr:
		s.call(c, io)
		s.checked()
	case *syntax.BinaryCmd:
		s.binary(c, io)
	case *syntax.Block:
		s.list(c.Stmts, io)
	case *syntax.Subshell:
		sub := s.fork()
		sub.list(c.Stmts, io)
		s.status = sub.status
		s.checked()
	case *syntax.IfClause:
		s.ifs(c, io)
	case *syntax.WhileClause:
		s.while(c, io)
	case *syntax.ForClause:
		s.forWords(c, io)
	case *syntax.CaseClause:
		s.cases(c, io)
	case *syntax.TestClause:
		s.testClause(c, io)
		s.checked()
	case *syntax.ArithmCmd:
		v, err := s.arithm(c.X)
		if s.status = truth(v != 0); err != nil {
			s.complain(io, c.Pos(), err)
		}
		s.checked()
	default:
		s.complain(io, c.Pos(), fmt.Errorf("this construct is not known here"))
	}
}

func (s *shell) binary(c *syntax.BinaryCmd, io streams) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		s.pipe(c, io)
		s.checked()
		return
	}
	s.condition([]*syntax.Stmt{c.X}, io)
	if !s.stopped() && (s.status == 0) == (c.Op == syntax.AndStmt) {
		s.statement(c.Y, io)
	}
}

// condition runs what may fail without ending a script.
func (s *shell) condition(list []*syntax.Stmt, io streams) bool {
	s.unchecked++
	s.list(list, io)
	s.unchecked--
	return s.status == 0
}

// maxPipes bounds pipelines and substitutions that are at work together: each
// has its buffers.
const maxPipes = 64

// enter counts what is at work, and reports whether there may be one more.
func (s *shell) enter() bool {
	if s.depth++; s.depth > maxPipes {
		s.budget.Stop(syntaxTooDeep())
	}
	return s.budget.Stopped() == nil
}

func (s *shell) leave() { s.depth-- }

// pipe runs both sides in turns: the left goes on while the right reads.
func (s *shell) pipe(c *syntax.BinaryCmd, io streams) {
	defer s.leave()
	if !s.enter() {
		return
	}
	left, right := s.fork(), s.fork()
	left.status = 0
	in, stop := text.Pipe(s.budget, func(out *text.Sink) {
		leftIO := streams{io.in, out, io.err}
		if c.Op == syntax.PipeAll {
			leftIO.err = out
		}
		left.statement(c.X, leftIO)
	})
	right.statement(c.Y, streams{in, io.out, io.err})
	stop()
	s.status = right.status
	if s.pipefail && s.status == 0 {
		s.status = left.status
	}
}

func (s *shell) ifs(c *syntax.IfClause, io streams) {
	for c != nil {
		isElse := len(c.Cond) == 0
		if isElse || s.condition(c.Cond, io) {
			if !s.stopped() {
				s.list(c.Then, io)
			}
			return
		}
		if s.stopped() {
			return
		}
		s.status = 0
		c = c.Else
	}
}

func (s *shell) while(c *syntax.WhileClause, io streams) {
	status := 0
	s.loops++
	for s.budget.Step() {
		if s.condition(c.Cond, io) == c.Until || s.stopped() && !s.again() {
			break
		}
		s.list(c.Do, io)
		status = s.status
		if !s.again() {
			break
		}
	}
	s.loops--
	if s.jump == none {
		s.status = status
	}
}

// again ends a round of a loop, and reports whether another may follow.
func (s *shell) again() bool {
	switch s.jump {
	case breaks, continues:
		if s.levels--; s.levels > 0 {
			return false
		}
		goesOn := s.jump == continues
		s.jump = none
		return goesOn && !s.stopped()
	}
	return !s.stopped()
}

func (s *shell) forWords(c *syntax.ForClause, io streams) {
	loop, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		return
	}
	words, err := s.words(loop.Items)
	if err != nil {
		s.complain(io, c.Pos(), err)
		return
	}
	s.status = 0
	s.loops++
	for _, w := range words {
		if !s.budget.Step() {
			break
		}
		s.assign(loop.Name.Value, w)
		s.list(c.Do, io)
		if !s.again() {
			break
		}
	}
	s.loops--
}

func (s *shell) cases(c *syntax.CaseClause, io streams) {
	value, err := s.text(c.Word)
	s.status = 0
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			if err != nil {
				break
			}
			var matched bool
			if matched, err = s.matches(p, value); matched {
				s.list(item.Stmts, io)
				return
			}
		}
	}
	if err != nil {
		s.complain(io, c.Pos(), err)
	}
}

func (s *shell) testClause(c *syntax.TestClause, io streams) {
	is, err := s.testExpr(c.X)
	if s.status = truth(is); err != nil {
		s.complain(io, c.Pos(), err)
		s.status = 2
	}
}

func (s *shell) testExpr(x syntax.TestExpr) (bool, error) {
	switch x := x.(type) {
	case *syntax.Word:
		text, err := s.text(x)
		return text != "", err
	case *syntax.ParenTest:
		return s.testExpr(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			is, err := s.testExpr(x.X)
			return !is && err == nil, err
		}
		w, _ := x.X.(*syntax.Word)
		value, err := s.text(w)
		if err != nil {
			return false, err
		}
		return text.Is(x.Op.String(), value)
	case *syntax.BinaryTest:
		return s.binaryTest(x)
	}
	return false, fmt.Errorf("this test is not known here")
}

func (s *shell) binaryTest(x *syntax.BinaryTest) (bool, error) {
	switch x.Op {
	case syntax.AndTest, syntax.OrTest:
		is, err := s.testExpr(x.X)
		if err != nil || is == (x.Op == syntax.OrTest) {
			return is, err
		}
		return s.testExpr(x.Y)
	}
	left, _ := x.X.(*syntax.Word)
	right, _ := x.Y.(*syntax.Word)
	a, err := s.text(left)
	if err != nil {
		return false, err
	}
	switch x.Op {
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
		is, err := s.matches(right, a)
		return is == (x.Op != syntax.TsNoMatch) && err == nil, err
	case syntax.TsReMatch:
		return s.matchesRegexp(right, a)
	}
	b, err := s.text(right)
	if err != nil {
		return false, err
	}
	op := x.Op.String()
	if op[0] == '-' { // numbers are arithmetic in [[ ]]
		m, err1 := s.number(a)
		n, err2 := s.number(b)
		if err := firstOf(err1, err2); err != nil {
			return false, err
		}
		a, b = fmt.Sprint(m), fmt.Sprint(n)
	}
	return text.Compare(op, a, b)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
