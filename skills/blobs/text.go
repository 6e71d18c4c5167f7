package main

import (
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

func readBlob(c sdk.Call, in Range) (Part, error) {
	want := in.Length
	if want == 0 {
		want = textRoom * utf8.UTFMax
	}
	raw, err := sdk.BlobRead(c, in.ID, in.Offset, want+utf8.UTFMax)
	if err != nil {
		return Part{}, explained(err)
	}
	more := int64(len(raw)) > want
	skipped := 0
	for in.Offset > 0 && skipped < min(len(raw), utf8.UTFMax-1) && !utf8.RuneStart(raw[skipped]) {
		skipped++
	}
	text, cut := shown(raw[skipped:], int(max(want-int64(skipped), 1)), textRoom)
	if text == "" && len(raw) > skipped || !isText(text) {
		return Part{}, sdk.Refuse(abi.NotAllowed, "from byte %d on, the blob is no text", in.Offset).WithField("id").
			WithHint("It is binary, such as an image. Give its id to a tool that takes such files.")
	}
	part := Part{Offset: in.Offset + int64(skipped), Text: text}
	if more || cut {
		part.Next = part.Offset + int64(len(text))
	}
	return part, nil
}

// shown gives the beginning of b that has at most so many bytes, whole
// characters, and so many characters as JSON; at least one character. It
// reports whether there is more. At bytes that are no text it ends.
func shown(b []byte, most, room int) (text string, more bool) {
	n := 0
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if room -= written(r); room < 0 || r == utf8.RuneError && size == 1 || n > 0 && n+size > most {
			break
		}
		n += size
	}
	return string(b[:n]), n < len(b)
}

// written gives how many characters one takes in JSON.
func written(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r == '\b' || r == '\f':
		return 2
	case r < ' ' || r == '\u2028' || r == '\u2029':
		return 6
	}
	return 1
}

func writtenText(s string) (n int) {
	for _, r := range s {
		n += written(r)
	}
	return n
}

// isText reports whether there is no NUL in what is UTF-8.
func isText(s string) bool {
	for i := range len(s) {
		if s[i] == 0 {
			return false
		}
	}
	return true
}

// explained says what to do about an id or an offset that leads to nothing.
func explained(err error) error {
	p, ok := err.(*abi.Problem)
	switch {
	case !ok:
	case p.Code == abi.NotFound:
		return p.WithHint("Use an id to the letter as a result or an upload of this session named it.")
	case p.Code == abi.OutOfBounds:
		return p.WithHint("Begin before the end that the message tells.")
	}
	return err
}
