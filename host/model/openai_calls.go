package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/sluicehq/sluice/host"
)

// callsMax bounds the calls of one answer; it is the ceiling of parallel calls
// of one turn.
const callsMax = 64

// A callDelta is a piece of a tool call.
type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string   `json:"name"`
		Arguments wireText `json:"arguments"`
	} `json:"function"`
}

// A wireText is text, or the JSON value that a vendor sends where text is due.
type wireText string

// UnmarshalJSON reads either.
func (t *wireText) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	if !bytes.Equal(b, []byte("null")) {
		*t = wireText(b)
	}
	return nil
}

// A callList puts the pieces of calls together. Vendors agree on little: an
// index may be missing, or 0 for every call; an id may be missing, come with
// every piece, or be the same for two calls; a call may come whole or in
// pieces, its name once or with every piece.
type callList struct {
	calls []*openCall
}

// An openCall is a call whose pieces are still coming.
type openCall struct {
	index    *int
	id, name string
	args     strings.Builder
	lastByte byte
}

// add takes in one piece; it reports false when there are too many calls.
func (l *callList) add(d callDelta) bool {
	c := l.find(d)
	if c == nil {
		if len(l.calls) == callsMax {
			return false
		}
		c = &openCall{index: d.Index, id: d.ID, name: d.Function.Name}
		l.calls = append(l.calls, c)
	}
	c.write(d)
	return true
}

// find gives the call that a piece goes on with, or nil for a new one.
func (l *callList) find(d callDelta) *openCall {
	for i := len(l.calls) - 1; i >= 0; i-- {
		c := l.calls[i]
		if c.sameIndex(d) && !c.partsFrom(d) {
			return c
		}
		if d.Index == nil && d.ID == "" {
			return nil // without either, only the last call can go on
		}
	}
	return nil
}

// sameIndex reports whether the piece can belong to c by its index, or where
// it has none by its id.
func (c *openCall) sameIndex(d callDelta) bool {
	if d.Index != nil && c.index != nil {
		return *d.Index == *c.index
	}
	return d.ID == "" || c.id == "" || d.ID == c.id
}

// partsFrom reports whether the piece begins a call of its own all the same: it
// has a name, and another id, another name or, c being whole, arguments from
// their start.
func (c *openCall) partsFrom(d callDelta) bool {
	if d.Function.Name == "" {
		return false
	}
	return d.ID != "" && c.id != "" && d.ID != c.id ||
		c.name != "" && d.Function.Name != c.name ||
		c.lastByte == '}' && strings.HasPrefix(strings.TrimSpace(string(d.Function.Arguments)), "{")
}

func (c *openCall) write(d callDelta) {
	c.id, c.name = cmp.Or(c.id, d.ID), cmp.Or(c.name, d.Function.Name)
	args := string(d.Function.Arguments)
	c.args.WriteString(args)
	if trimmed := strings.TrimRight(args, " \t\r\n"); trimmed != "" {
		c.lastByte = trimmed[len(trimmed)-1]
	}
}

// finished gives the calls with ids of their own. In an answer that was cut,
// a call without whole arguments is marked.
func (l *callList) finished(cut bool) []Call {
	var calls []Call
	seen := map[string]bool{}
	for _, c := range l.calls {
		if c.id == "" || seen[c.id] {
			c.id = host.NewID("call_")
		}
		seen[c.id] = true
		args := c.args.String()
		calls = append(calls, Call{ID: c.id, Tool: c.name, Args: args, CutOff: cut && !wholeObject(args)})
	}
	return calls
}

// wholeObject reports whether text is one JSON object.
func wholeObject(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && json.Valid([]byte(text))
}
