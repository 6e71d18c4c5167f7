package dispatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// Every call writes one envelope and reads one. Both are done here by hand, to
// the byte and to the letter as encoding/json does it, in a fraction of its time.

// writeEnvelope gives what the guest gets. Its arguments are valid JSON.
func writeEnvelope(in abi.Invocation) ([]byte, error) {
	if year := in.Call.Now.Year(); year < 0 || year > 9999 {
		return nil, fmt.Errorf("the year %d cannot be told", year)
	}
	b := make([]byte, 0, envelopeBytes+len(in.Args))
	b = append(b, `{"abi":`...)
	b = strconv.AppendInt(b, int64(in.ABI), 10)
	b = appendText(append(b, `,"tool":`...), in.Tool)
	b = appendJSON(append(b, `,"args":`...), in.Args)
	b = appendCall(append(b, `,"call":`...), in.Call)
	for _, part := range []struct {
		name   string
		values map[string]json.RawMessage
	}{{`,"state":`, in.State}, {`,"facts":`, in.Facts}} {
		if len(part.values) == 0 {
			continue
		}
		values, err := json.Marshal(part.values)
		if err != nil {
			return nil, err
		}
		b = append(append(b, part.name...), values...)
	}
	return append(b, '}'), nil
}

// envelopeBytes is about what an envelope has beside the arguments.
const envelopeBytes = 288

func appendCall(b []byte, c abi.CallInfo) []byte {
	b = appendText(append(b, `{"id":`...), c.ID)
	b = appendOptional(b, `,"key":`, c.Key)
	b = strconv.AppendInt(append(b, `,"attempt":`...), int64(c.Attempt), 10)
	b = append(b, `,"now":"`...)
	b = c.Now.AppendFormat(b, time.RFC3339Nano)
	b = appendText(append(b, `","tenant":`...), c.Tenant)
	b = appendOptional(b, `,"live":`, c.Live)
	b = appendOptional(b, `,"locale":`, c.Locale)
	return append(b, '}')
}

func appendOptional(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return appendText(append(b, name...), text)
}

func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || escapedForHTML(c) {
			return append(b, marshalled(text)...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

func appendJSON(b []byte, raw json.RawMessage) []byte {
	if !isCompact(raw) {
		return append(b, marshalled(raw)...)
	}
	return append(b, raw...)
}

// isCompact reports whether encoding/json writes valid JSON as it is. Of what is
// not ASCII, it may escape what begins as U+2028 does.
func isCompact(raw []byte) bool {
	inText := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inText = !inText
		case c == '\\':
			i++
		case c <= ' ' && !inText, escapedForHTML(c), c == "\u2028"[0]:
			return false
		}
	}
	return len(raw) > 0
}

func escapedForHTML(c byte) bool { return c == '<' || c == '>' || c == '&' }

// What a guest's answer has at its top at most, since each member is held
// against all before it, letter by letter; and usually.
const (
	maxReplyMembers   = 64
	maxNameBytes      = 256
	usualReplyMembers = 8
)

// keptWhole is how much longer than a part that is kept an answer may be for the
// part not to be copied out of it: what is kept for long is counted by itself.
const keptWhole = 1024

var errNoEnvelope = errors.New("it is not one envelope")

// A twiceError says that a member of an answer stands twice, in whatever case: the
// last word of two would be that of whoever can get text into a skill's answer.
type twiceError struct{ name string }

func (e twiceError) Error() string { return fmt.Sprintf("it has the member %q twice", e.name) }

// readEnvelope reads what the guest gave. The reply shares the bytes of an answer
// that is hardly more than what it shares. An answer null has no members.
func readEnvelope(answer []byte, reply *abi.Reply) error {
	if string(bytes.Trim(answer, " \t\r\n")) == "null" {
		return nil
	}
	m := members{object: answer}
	if !m.open() {
		return errNoEnvelope
	}
	names := make([][]byte, 0, usualReplyMembers)
	var again error
	for m.next() {
		if len(names) == maxReplyMembers || len(m.name) > maxNameBytes {
			return errNoEnvelope
		}
		for _, name := range names {
			if again == nil && bytes.EqualFold(name, m.name) {
				again = twiceError{string(m.name)}
			}
		}
		names = append(names, m.name)
		if len(m.value)+keptWhole < len(answer) {
			m.value = bytes.Clone(m.value)
		}
		if readMember(reply, m.name, m.value) != nil {
			return errNoEnvelope
		}
	}
	return again
}

// readMember reads one member, by its name in whatever case. Others count for
// nothing, so that a guest may be newer than its host.
func readMember(r *abi.Reply, name, value []byte) error {
	is := func(known string) bool { return bytes.EqualFold(name, []byte(known)) }
	switch {
	case is("ok"):
		return readBool(&r.OK, value)
	case is("data"):
		r.Data = value
	case is("state"):
		r.State = value
	case is("action"):
		r.Action = value
	case is("preview"):
		return json.Unmarshal(value, &r.Preview)
	case is("problem"):
		return json.Unmarshal(value, &r.Problem)
	}
	return nil
}

func readBool(b *bool, value []byte) error {
	switch string(value) {
	case "true", "false":
		*b = value[0] == 't'
		return nil
	case "null":
		return nil
	}
	return errNoEnvelope
}

// members goes through the members of a JSON object, from its top alone.
type members struct {
	object []byte
	at     int
	name   []byte // of the member that next came to, without escapes
	value  []byte
}

// open reports whether the text is one object in valid JSON.
func (m *members) open() bool {
	if !json.Valid(m.object) {
		return false
	}
	m.space()
	return m.object[m.at] == '{'
}

// next comes to the next member, if there is one. It stands on what opens the
// object, or separates two members.
func (m *members) next() bool {
	if m.object[m.at] == '}' {
		return false
	}
	m.at++
	m.space()
	if m.object[m.at] == '}' {
		return false // of an object that has none
	}
	m.name = plainName(m.skip())
	m.space()
	m.at++ // the colon
	m.space()
	m.value = m.skip()
	m.space()
	return true
}

func plainName(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		panic("BUG: a name of valid JSON is none")
	}
	return []byte(name)
}

func (m *members) space() {
	for m.at < len(m.object) && (m.object[m.at] == ' ' || m.object[m.at] == '\t' || m.object[m.at] == '\r' || m.object[m.at] == '\n') {
		m.at++
	}
}

// skip goes to the end of a value, and gives it.
func (m *members) skip() []byte {
	start, depth := m.at, 0
	for ; ; m.at++ {
		switch m.object[m.at] {
		case '"':
			m.text()
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // of what is around a number or a word
				return m.object[start:m.at:m.at]
			}
			depth--
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return m.object[start:m.at:m.at]
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			m.at++
			return m.object[start:m.at:m.at]
		}
	}
}

// text goes to the end of a text.
func (m *members) text() {
	for m.at++; m.object[m.at] != '"'; m.at++ {
		if m.object[m.at] == '\\' {
			m.at++
		}
	}
}
