package text

import (
	"bytes"
	"iter"

	"github.com/sluicehq/sluice/abi"
)

// pipeBytes is how much one command writes before the next one goes on: enough
// that changing over costs nothing beside it, and little beside what is held.
const pipeBytes = 32 << 10

// maxLine bounds one line, which is in memory as a whole.
const maxLine = 16 << 20

// A Source is a stream that commands read, line by line or in pieces. What it
// gives is valid until it is read again.
type Source struct {
	next   func() []byte // the next piece; empty at the end
	budget *Budget
	buf    []byte
	at     int    // buf[at:] is not read yet
	spare  []byte // of the source's own
	owned  bool   // buf is spare, and no piece of somebody else's
	ended  bool

	// Blob says that this is a blob and no pipe: its length could be known
	// before it is read, which is how wc chooses the width of its columns.
	Blob bool
}

// NewSource makes a stream of pieces. Next gives them one after the other, and
// an empty one at the end.
func NewSource(b *Budget, next func() []byte) *Source { return &Source{next: next, budget: b} }

// SourceOf makes a stream of a text.
func SourceOf(b *Budget, text string) *Source {
	rest := []byte(text)
	return NewSource(b, func() []byte {
		piece := rest
		rest = nil
		return piece
	})
}

// fill gets another piece behind what is not read, and reports whether there
// was one.
func (s *Source) fill() bool {
	if s.ended || s.budget.Stopped() != nil {
		return false
	}
	rest := s.buf[s.at:] // in somebody else's memory, who uses it again for the next piece
	switch {
	case len(rest) == 0:
		s.spare = s.spare[:0]
	case !s.owned:
		s.spare = append(s.spare[:0], rest...)
	case s.at > 0:
		s.spare = s.spare[:copy(s.spare, rest)]
	}
	piece := s.next()
	s.ended = len(piece) == 0 || s.budget.Stopped() != nil
	if len(rest) == 0 && !s.ended {
		s.buf, s.at, s.owned = piece, 0, false
		return true
	}
	if !s.ended {
		s.spare = append(s.spare, piece...)
	}
	s.buf, s.at, s.owned = s.spare, 0, true
	return !s.ended
}

// Line gives the next line without its end, and whether it has one; not ok at
// the end.
func (s *Source) Line() (line []byte, ended, ok bool) { return s.until('\n') }

func (s *Source) until(mark byte) (part []byte, ended, ok bool) {
	for seen := 0; ; {
		rest := s.buf[s.at:]
		if i := bytes.IndexByte(rest[seen:], mark); i >= 0 {
			s.at += seen + i + 1
			return rest[:seen+i], true, true
		}
		if seen = len(rest); seen > maxLine {
			s.budget.Stop(abi.NewProblem(abi.OutOfMemory, "a line is longer than %d bytes", maxLine).
				WithHint("It may be JSON in one line: take values out of it with query_json of sandbox.jq."))
		}
		if !s.fill() {
			s.at = len(s.buf)
			return rest, false, len(rest) > 0 && s.budget.Stopped() == nil
		}
	}
}

// Piece gives what is at hand, or the next piece; empty at the end.
func (s *Source) Piece() []byte {
	if s.at == len(s.buf) && !s.fill() {
		return nil
	}
	piece := s.buf[s.at:]
	s.at = len(s.buf)
	return piece
}

// back gives the last n bytes of the last piece back.
func (s *Source) back(n int) { s.at -= n }

// A Sink takes what a command writes.
type Sink struct {
	write  func([]byte) bool
	budget *Budget
	closed bool
}

// NewSink makes a sink. Write reports whether it takes any more.
func NewSink(b *Budget, write func([]byte) bool) *Sink { return &Sink{write: write, budget: b} }

// Discard makes a sink in which everything is lost.
func Discard(b *Budget) *Sink { return NewSink(b, func([]byte) bool { return true }) }

// Write writes bytes, and reports whether anybody still reads them. A command
// whose output is not read ends.
func (s *Sink) Write(b []byte) bool {
	if s.closed || s.budget.Stopped() != nil {
		return false
	}
	if s.budget.Moved -= int64(len(b)); s.budget.Moved < 0 {
		s.budget.Stop(abi.NewProblem(abi.QuotaReached, "the commands of the script wrote more to each other than one call may").
			WithHint("Filter earlier, so that less goes from command to command."))
		return false
	}
	s.closed = !s.write(b)
	return !s.closed
}

// Text writes a text.
func (s *Sink) Text(text string) bool { return s.Write([]byte(text)) }

// line writes a line.
func (s *Sink) line(b []byte) bool { return s.Write(b) && s.Write([]byte{'\n'}) }

// Pipe runs what writes while somebody reads, a piece at a time: no more than
// that is ever in memory. Stop ends it; it must be called. What nobody read has
// run by then, too, until it wrote a piece: it may have failed.
func Pipe(b *Budget, run func(out *Sink)) (in *Source, stop func()) {
	next, end := iter.Pull(func(yield func([]byte) bool) {
		var buf []byte
		run(NewSink(b, func(p []byte) bool {
			if buf = append(buf, p...); len(buf) < pipeBytes {
				return true
			}
			more := yield(buf)
			buf = buf[:0]
			return more
		}))
		if len(buf) > 0 {
			yield(buf)
		}
	})
	begun := false
	in = NewSource(b, func() []byte {
		begun = true
		piece, _ := next()
		return piece
	})
	return in, func() {
		if !begun {
			next()
		}
		end()
	}
}
