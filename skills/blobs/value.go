package main

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

func readValue(c sdk.Call, in At) (Value, error) {
	steps, err := parsePath(in.Path)
	if err != nil {
		return Value{}, err
	}
	w := walk{scanner: scanner{pieces: pieces{call: c, id: in.ID}}, steps: steps}
	out, err := w.value(0)
	if err != nil {
		return Value{}, err
	}
	out.Value = bytes.ToValidUTF8(out.Value, []byte("�"))
	if !json.Valid(out.Value) {
		return Value{}, w.malformed()
	}
	return out, nil
}

// A walk follows a path through JSON.
type walk struct {
	scanner
	steps []step
}

// value follows the path from step i on; the value it leads from is next.
func (w *walk) value(i int) (Value, error) {
	c, err := w.peek()
	if err != nil {
		return Value{}, err
	}
	if c == 0 {
		return Value{}, w.malformed()
	}
	kind := kindOf(c)
	switch {
	case i == len(w.steps):
		return w.take(kind, step{to: open}, i)
	case w.steps[i].isIndex && kind != "list", !w.steps[i].isIndex && kind != "object":
		return Value{}, w.otherKind(kind, i)
	case w.steps[i].to > 0:
		return w.take(kind, w.steps[i], i)
	case w.steps[i].isIndex:
		return w.item(i)
	}
	return w.member(i)
}

func kindOf(c byte) string {
	switch c {
	case '{':
		return "object"
	case '[':
		return "list"
	case '"':
		return "text"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// otherKind is the problem of a step that the value does not have.
func (w *walk) otherKind(kind string, i int) error {
	p := sdk.Refuse(abi.NotFound, "%s is %s, and the path goes on with %s", pathText(w.steps[:i]), withArticle(kind), pathText(w.steps[i:i+1])).WithField("path")
	switch kind {
	case "object":
		return p.WithHint("Go on with the name of a member.")
	case "list":
		return p.WithHint("Go on with a place from 0, such as [0], or with a range, such as [0:10].")
	}
	return p.WithHint("End the path there.")
}

func withArticle(kind string) string {
	switch kind {
	case "object":
		return "an object"
	case "null":
		return "null"
	}
	return "a " + kind
}

func (w *walk) item(i int) (Value, error) {
	count, found, err := w.toItem(w.steps[i].from)
	switch {
	case err != nil:
		return Value{}, err
	case !found:
		return Value{}, w.noItem(i, count)
	}
	return w.value(i + 1)
}

func (w *walk) noItem(i, count int) error {
	p := sdk.Refuse(abi.OutOfBounds, "%s has %d items", pathText(w.steps[:i]), count).WithField("path")
	if count == 0 {
		return p.WithHint("It is empty.")
	}
	return p.WithHint("Places go from 0 to %d.", count-1)
}

// namesKept bounds the names that a problem's candidates are looked for among.
const namesKept = 500

func (w *walk) member(i int) (out Value, err error) {
	want, found := w.steps[i].name, false
	var names []string
	err = w.members(func(raw []byte) (bool, error) {
		name := unquote(raw)
		if name != want {
			if len(names) < namesKept {
				names = append(names, name)
			}
			return false, w.skip()
		}
		found = true
		out, err = w.value(i + 1)
		return true, err
	})
	if err == nil && !found {
		err = sdk.Refuse(abi.NotFound, "%s has no member %.80q", pathText(w.steps[:i]), want).WithField("path").
			WithCandidates(near(want, names)...).WithHint("Use the name of a member that is there.")
	}
	return out, err
}

// take gives the value that is next, or the items of it that are wanted: as
// much as there is room for.
func (w *walk) take(kind string, want step, i int) (Value, error) {
	out := Value{Type: kind, Offset: w.at}
	var err error
	switch kind {
	case "list":
		err = w.takeItems(&out, want, i)
	case "object":
		err = w.takeMembers(&out)
	default:
		err = w.takeOne(&out)
	}
	out.Length = w.at - out.Offset
	if out.Cut && err == nil {
		out.Hint = hintOf(out, want, w.steps[:i])
	}
	return out, err
}

func (w *walk) takeOne(out *Value) error {
	raw, over, err := w.copied(valueRoom, w.skip)
	out.Value, out.Cut = bytes.Clone(raw), over
	switch {
	case !over:
	case out.Type == "text":
		out.Value = append(out.Value[:wholeEscapes(raw)], '"')
	default:
		out.Value = abi.RawMessage("null") // the beginning of a number is another number
	}
	return err
}

// wholeEscapes gives how many bytes of a raw text that was cut off end neither
// inside an escape nor inside a character.
func wholeEscapes(raw []byte) int {
	for n := 1; ; {
		size := 1
		switch {
		case n < len(raw) && raw[n] == '\\':
			if size = 2; n+1 < len(raw) && raw[n+1] == 'u' {
				size = 6
			}
		case n < len(raw):
			if !utf8.FullRune(raw[n:]) {
				return n
			}
			_, size = utf8.DecodeRune(raw[n:])
		}
		if n+size > len(raw) {
			return n
		}
		n += size
	}
}

// takeItems copies items one after the other, as long as each finds room, and
// counts the others.
func (w *walk) takeItems(out *Value, want step, i int) error {
	count, more, err := w.toItem(want.from)
	if err == nil && !more && want.from > 0 {
		return w.noItem(i, count)
	}
	body := []byte{}
	for n := want.from; more && err == nil; n++ {
		var part []byte
		part, out.Cut, err = w.copied(max(0, valueRoom-len(body)-1), w.skip)
		if err == nil && !out.Cut {
			body = appendPart(body, nil, part)
		}
		out.Count = n + 1
		if err == nil && (out.Cut || n+1 == want.to) {
			count, err = w.rest()
			out.Count += count
			break
		}
		if err == nil {
			more, err = w.another(']')
		}
	}
	out.Value = append(append([]byte("["), body...), ']')
	return err
}

// takeMembers copies members likewise, and names the others as long as names
// find room.
func (w *walk) takeMembers(out *Value) error {
	body, names := []byte{}, namesRoom
	err := w.members(func(raw []byte) (bool, error) {
		out.Count++
		name := bytes.Clone(raw)
		part, over, err := w.copied(max(0, valueRoom-len(body)-len(name)-2), w.skip)
		if out.Cut = out.Cut || over; !out.Cut {
			body = appendPart(body, name, part)
		} else if out.addName(unquote(name), &names); names < 0 && err == nil {
			count, err := w.rest()
			out.Count += count
			return true, err
		}
		return false, err
	})
	out.Value = append(append([]byte("{"), body...), '}')
	return err
}

func appendPart(body, name, part []byte) []byte {
	if len(body) > 0 {
		body = append(body, ',')
	}
	if name != nil {
		body = append(append(body, name...), ':')
	}
	return append(body, part...)
}

// addName names a member that is not shown, while there is room.
func (v *Value) addName(name string, room *int) {
	if *room -= writtenText(name) + 3; *room >= 0 {
		v.Names = append(v.Names, name)
	}
}

// hintOf says how to get at the rest.
func hintOf(v Value, want step, steps []step) string {
	at := "offset " + strconv.FormatInt(v.Offset, 10) + " and length " + strconv.FormatInt(v.Length, 10)
	switch v.Type {
	case "object":
		return "Go on in the path with one of the names, or read it as text with read_blob from " + at + "."
	case "list":
		at := ""
		if path := pathText(steps); len(steps) > 0 && len(path) <= hintPath {
			at = path
		}
		return "Ask for fewer items, such as " + at + "[" + strconv.Itoa(want.from) + ":" + strconv.Itoa(want.from+5) + "], or for one and a member of it."
	}
	return "Read it as text with read_blob from " + at + "."
}

// hintPath bounds the path that a hint repeats.
const hintPath = 100
