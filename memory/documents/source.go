package documents

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// MaxBytes bounds one document: what a person hands over as one text is far smaller,
// and the list of its parents, the one thing that grows with it, stays in the thousands.
const MaxBytes = 1 << 30

// peekBytes is how far a line is looked at before it is read: a heading that is
// longer is no heading that helps anybody. It is more than bufio's least buffer.
const peekBytes = 1 << 10

// A source gives the runes of a document, checked.
type source struct {
	from *bufio.Reader
	at   int64 // bytes given, with the byte order mark
}

func newSource(r io.Reader) *source {
	return &source{from: bufio.NewReaderSize(r, 64<<10)}
}

// begin takes the byte order mark, and refuses those of other encodings.
func (s *source) begin() error {
	head, err := s.from.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return unreadable(err)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return refuse("save it as UTF-8, for example with: iconv -f UTF-16 -t UTF-8", "the document is UTF-16; only UTF-8 is read")
	case string(head) == "\ufeff":
		n, _ := s.from.Discard(len(head)) // what was peeked is there
		s.at += int64(n)
	}
	return nil
}

// next gives the next rune, or io.EOF, or an error of host.Fail.
func (s *source) next() (rune, error) {
	r, size, err := s.from.ReadRune()
	switch {
	case err == io.EOF:
		return 0, io.EOF
	case err != nil:
		return 0, unreadable(err)
	case r == utf8.RuneError && size == 1:
		return 0, refuse("save it as UTF-8; a text in GBK is changed by: iconv -f GB18030 -t UTF-8", "byte %d of the document is not UTF-8", s.at+1)
	case r == 0:
		return 0, refuse("give text: UTF-16 must be saved as UTF-8, a PDF or an office file as plain text or Markdown", "byte %d of the document is NUL: this is no plain text", s.at+1)
	}
	s.at += int64(size)
	if s.at > MaxBytes {
		return 0, refuse("give it in parts", "the document is longer than %d MiB", MaxBytes>>20)
	}
	return r, nil
}

// line looks at the line that comes next, or at the beginning of a very long one.
func (s *source) line() []byte {
	ahead, _ := s.from.Peek(peekBytes) // an error comes again when the bytes are read
	line, _, _ := bytes.Cut(ahead, []byte{'\n'})
	return line
}

// refuse makes the error of a document that is not taken as it is.
func refuse(hint, format string, args ...any) error {
	return host.Fail("documents.Split", abi.NewProblem(abi.BadValue, format, args...).WithHint("%s", hint), nil)
}

func unreadable(err error) error {
	return host.Fail("documents.Split", abi.NewProblem(abi.SystemFailure, "the document could not be read to its end").
		WithHint("try again; nothing of it counts until all of it was read"), err)
}
