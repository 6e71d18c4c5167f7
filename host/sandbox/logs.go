package sandbox

import (
	"bytes"
	"io"
	"strings"
)

// Levels of a log besides Extism's trace, debug, info, warn and error.
const (
	LevelStdout = "stdout" // a line that the guest printed
	LevelStderr = "stderr" // likewise; a Go guest's panic ends up here
	LevelHost   = "host"   // what the host tells operators of a failure, such as the stack of a trap
)

// logOverhead is what an entry costs beside its text, so that a flood of empty
// ones is bounded too.
const logOverhead = 16

// A Log is one entry that a guest logged, or one line that it printed.
type Log struct{ Level, Text string }

// A logBook keeps the logs of one call up to a number of bytes and counts what
// it leaves out.
type logBook struct {
	left    int // bytes that it still takes
	cut     int // bytes of text that it left out
	entries []Log
}

func (b *logBook) add(level string, text []byte) {
	room := b.left - logOverhead
	if room < 0 {
		b.left = 0
		b.cut += len(text)
		return
	}
	if len(text) > room {
		b.cut += len(text) - room
		text = text[:room]
	}
	b.left = room - len(text)
	b.entries = append(b.entries, Log{level, strings.ToValidUTF8(string(text), "\uFFFD")})
}

var _ io.Writer = (*lineLog)(nil)

// A lineLog makes an entry of every line that a guest prints.
type lineLog struct {
	book  *logBook
	level string
	line  []byte // the last, unfinished line
}

// Write never fails and never keeps more than the book has room for.
func (l *lineLog) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if l.book.left == 0 {
			l.book.cut += len(p)
			break
		}
		part, rest, ended := bytes.Cut(p, []byte("\n"))
		room := min(len(part), max(0, l.book.left-len(l.line)))
		l.line = append(l.line, part[:room]...)
		l.book.cut += len(part) - room
		if ended {
			l.flush()
		}
		p = rest
	}
	return n, nil
}

func (l *lineLog) flush() {
	l.book.add(l.level, l.line)
	l.line = l.line[:0]
}

// end makes an entry of an unfinished line.
func (l *lineLog) end() {
	if len(l.line) > 0 {
		l.flush()
	}
}
