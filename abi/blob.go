package abi

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckBlob gives what is wrong with a blob of so many bytes, or nil. Its name
// is for people and may be any line of text; its type is a media type or empty.
func CheckBlob(info BlobInfo, size int) *Problem {
	switch {
	case Size(size) > BlobBytes:
		return NewProblem(QuotaReached, "the blob has %d bytes; at most %s are kept", size, BlobBytes)
	case len(info.Name) > BlobNameBytes || !utf8.ValidString(info.Name) || strings.ContainsFunc(info.Name, unicode.IsControl):
		return NewProblem(BadHostCall, "the blob's name has more than %d bytes or some that are no text", BlobNameBytes).WithField("name")
	case info.Type != "" && !isMediaType(info.Type):
		return NewProblem(BadHostCall, "the blob's type is no media type; give one such as text/csv").WithField("type")
	}
	return nil
}

// isMediaType accepts type/subtype with printable parameters.
func isMediaType(text string) bool {
	essence, _, _ := strings.Cut(text, ";")
	kind, sub, ok := strings.Cut(strings.TrimRight(essence, " "), "/")
	return ok && len(text) <= BlobTypeBytes && isToken(kind) && isToken(sub) &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$&^_.+-", r))
	})
}

// Check gives what is wrong with a range, or nil. Whether it lies in the blob
// shows when it is read.
func (r BlobRange) Check() *Problem {
	switch {
	case r.Offset < 0 || r.Length < 0:
		return NewProblem(BadHostCall, "a range of a blob is negative: offset %d, length %d", r.Offset, r.Length)
	case r.Length > int64(BlobReadBytes):
		return NewProblem(QuotaReached, "the read asks for %d bytes; one read gives at most %s", r.Length, BlobReadBytes).
			WithHint("read it in parts, with offset and length")
	}
	return nil
}
