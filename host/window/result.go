package window

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// What the model sees of one result inline. Of 572 recorded results of a real
// model's tools 1 % are longer.
const (
	ResultChars = 4000
	ResultLines = 400
)

// Result gives what the model reads of an outcome: the preview and the data of
// a success, with what is wrong in files that it wrote behind them, or {"problem": …}. A problem without a hint of its own has beside
// it the hint that its code has for a model, which is no word for a user.
//
// Data that is too long is shortened. JSON stays valid and keeps its shape:
// lists, objects and texts lose their ends, and say how much. What is not JSON
// shows its head and its tail, half of the room each, and a marker.
func Result(o host.Outcome) string {
	if o.Problem != nil {
		return problemText(o.Problem)
	}
	text := shown(o.Data)
	if o.Preview != "" {
		text = o.Preview + "\n" + text
	}
	if len(o.Findings) > 0 {
		text += "\n" + foundText + strings.Join(o.Findings, "\n- ")
	}
	return text
}

// foundText stands before what was found in the files that a call has written.
const foundText = "[the files were written, and a check of them found:]\n- "

// Shortens reports whether Result leaves a part of the data out: then all of
// it belongs into a blob, and ResultIn says which.
func Shortens(o host.Outcome) bool {
	return o.Problem == nil && (o.Cut || !fitsInline(o.Data))
}

// ResultIn is Result for an outcome whose whole data lies in a blob: behind
// the shorter form it says where, and by which tools parts of it are read.
func ResultIn(o host.Outcome, blob string, readers ...string) string {
	size := int64(len(o.Data))
	if o.Blob != nil {
		size = o.Blob.Size // Data may be cut
	}
	how := "read parts of that by its id, offset and length"
	if n := len(readers); n > 0 {
		last := readers[n-1]
		if n > 1 {
			last = strings.Join(readers[:n-1], ", ") + " or " + last
		}
		how = "take what you need of that by its id, with " + last
	}
	return fmt.Sprintf("%s\n[all %d bytes of it are in blob %s; %s]", Result(o), size, blob, how)
}

// Short gives JSON that is too long for the model in the shape that Result
// shows, and always as JSON. What is short enough is given as it is.
func Short(data json.RawMessage) json.RawMessage {
	if fitsInline(data) {
		return data
	}
	if short, ok := shorten(bytes.NewReader(data), ResultChars); ok {
		return json.RawMessage(short)
	}
	return json.RawMessage(shortenText(string(data), ResultChars))
}

// ShortJSON is Short for what comes as a stream. It reports false for what is
// not JSON.
func ShortJSON(from io.Reader) (json.RawMessage, bool) {
	short, ok := shorten(from, ResultChars)
	return json.RawMessage(short), ok
}

// ShortEnds gives the ends of a text of so many bytes, of which the head and
// the tail are at hand, as much as can be shown of each or more; the tail is
// empty where the head is all of it. Characters that were cut are left out.
func ShortEnds(head, tail string, size int64) string {
	if tail == "" {
		return ends(strings.ToValidUTF8(head, ""), ResultChars)
	}
	head, tail = headOf(strings.ToValidUTF8(head, ""), ResultChars/2), tailOf(strings.ToValidUTF8(tail, ""), ResultChars/2)
	if len(head)+len(tail) == int(size) {
		return head + tail
	}
	return fmt.Sprintf("%s\n[… %d bytes left out; ask for a smaller part …]\n%s", head, size-int64(len(head)+len(tail)), tail)
}

func problemText(p *abi.Problem) string {
	told := struct {
		Problem *abi.Problem `json:"problem"`
		Hint    string       `json:"hint,omitempty"`
	}{Problem: p}
	if p.Hint == "" {
		told.Hint = abi.RowOf(p.Code).Model
	}
	return string(encode(told))
}

func shown(data json.RawMessage) string {
	if fitsInline(data) {
		return string(data)
	}
	if short, ok := shorten(bytes.NewReader(data), ResultChars); ok {
		return short
	}
	return ends(string(data), ResultChars)
}

// fitsInline is fits for data, of which megabytes are not looked at.
func fitsInline(data []byte) bool {
	return len(data) <= ResultChars*utf8.UTFMax && fits(string(data), ResultChars)
}

func fits(text string, most int) bool {
	return utf8.RuneCountInString(text) <= most && strings.Count(text, "\n") < ResultLines
}

// ends gives the head and the tail of a text, each with half of the room and
// half of the lines at most, and between them how much is left out. A text
// that fits is given as it is.
func ends(text string, room int) string {
	count := utf8.RuneCountInString(text)
	if count <= room && strings.Count(text, "\n") < ResultLines {
		return text
	}
	head := headOf(text, room/2)
	tail := tailOf(text[len(head):], room/2)
	left := count - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	return fmt.Sprintf("%s\n[… %d characters left out; ask for a smaller part …]\n%s", head, left, tail)
}

// headOf gives the beginning of a text: at most so many characters, and half
// of the lines.
func headOf(text string, most int) string {
	count, lines := 0, 0
	for i, c := range text {
		if count == most || lines == ResultLines/2 {
			return text[:i]
		}
		count++
		if c == '\n' {
			lines++
		}
	}
	return text
}

// tailOf gives the end of a text likewise.
func tailOf(text string, most int) string {
	at, lines := len(text), 0
	for count := 0; count < most && at > 0; count++ {
		c, size := utf8.DecodeLastRuneInString(text[:at])
		if c == '\n' {
			if lines++; lines == ResultLines/2 {
				break
			}
		}
		at -= size
	}
	return text[at:]
}

// encode writes JSON without the escapes of HTML, which no model needs.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: a plain value does not marshal: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
