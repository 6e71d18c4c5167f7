package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/documents"
	"github.com/sluicehq/sluice/memory/keeper"
)

// carriers tell which records, blobs and sessions carry what is to be forgotten: by
// where the memories came from, and by their words.
type carriers struct {
	calls    map[host.CallID]bool
	inputs   map[message]bool
	makings  []making
	keys     map[string]bool // keeper.SourceKeys of whatever said the memories or bore them out
	words    wording
	sessions map[host.SessionID]bool

	blobs  *blob.Store                // nil for none
	note   func(host.SessionID) error // of a session that a record was found in, before the record is erased; nil for nothing
	failed error                      // of what could not be looked at or removed
}

// A message is one input of a session.
type message struct {
	session host.SessionID
	input   host.InputID
}

// A making is what a habit of several lives is made of, and would be made of again: the
// calls of a tool about an entity, up to a time. The memory names the newest alone.
type making struct {
	skill, tool, entity string
	until               time.Time
}

func newCarriers(blobs *blob.Store) *carriers {
	return &carriers{calls: map[host.CallID]bool{}, inputs: map[message]bool{}, keys: map[string]bool{}, sessions: map[host.SessionID]bool{}, words: newWording(), blobs: blobs}
}

func (c *carriers) empty() bool {
	return len(c.calls) == 0 && len(c.inputs) == 0 && len(c.keys) == 0 && len(c.words.whole) == 0
}

func (c *carriers) addNode(n memory.Node) {
	c.words.add(n.Text)
	if n.Source.Document != "" {
		c.words.add(ownEnd(n.Text))
	}
	c.add(n.Source)
}

func (c *carriers) add(s memory.Source) {
	if s.Call != "" {
		c.calls[s.Call] = true
	}
	if s.Session != "" {
		c.sessions[s.Session] = true
		if s.Input != "" {
			c.inputs[message{s.Session, s.Input}] = true
		}
	}
	for _, id := range s.Derived { // a habit is made of calls, which it would be made of again
		if call, _, ok := strings.Cut(string(id), "/"); ok {
			c.calls[host.CallID(call)] = true
		}
	}
}

// ownEnd gives what of a document's piece is surely its own: it may begin with the end of
// the piece before, and is shown without that where it stands around another one.
func ownEnd(text string) string {
	r := []rune(text)
	return string(r[min(len(r), documents.OverlapRunes):])
}

// A payload is what a record's detail may say of where else its payload is.
type payload struct {
	Input     json.Number   `json:"input"`
	HostCalls *grant.Stored `json:"host_calls"`
	Blob      *host.BlobRef `json:"blob"` // of a result that is too long for the record
}

// carry reports whether a record's payload is to go, with its blobs gone and its session
// noted: once the record is erased, nobody finds them any more. Where one of that fails
// the record stays, to be found again.
func (c *carriers) carry(ctx context.Context, r host.Record) bool {
	var of payload
	if json.Unmarshal(r.Detail, &of) != nil {
		of = payload{} // of another form: only its words tell
	}
	if !c.from(r, host.InputID(of.Input)) && !c.words.in(r.Detail) && !c.inHostCalls(ctx, of, r.Session) && !c.inResult(ctx, of, r.Session) {
		return false
	}
	if err := c.let(ctx, of, r.Session); err != nil {
		c.failed = errors.Join(c.failed, err)
		return false
	}
	return true
}

// from reports whether memories came from a record's call or message.
func (c *carriers) from(r host.Record, input host.InputID) bool {
	if c.makes(r) {
		c.calls[r.Call] = true // of which more records follow
	}
	if c.calls[r.Call] || input != "" && c.inputs[message{r.Session.Session, input}] {
		return true
	}
	return r.Call != "" && c.bore(r.Session.Session, "", r.Call) || input != "" && c.bore(r.Session.Session, input, "") ||
		r.Call != "" && input != "" && c.bore(r.Session.Session, input, r.Call)
}

// makes reports whether a record begins a call that a habit is made of.
func (c *carriers) makes(r host.Record) bool {
	return r.Kind == host.RecordIntent && slices.ContainsFunc(c.makings, func(m making) bool {
		return m.tool == r.Tool && m.skill == skillOf(r) && !r.Time.After(m.until) && (m.entity == "" || hasArg(r, m.entity))
	})
}

// skillOf gives the skill of a record's call: in all of its releases a tool does the same.
func skillOf(r host.Record) string {
	skill, _, _ := strings.Cut(r.Release, "@")
	return skill
}

// hasArg reports whether a call has an argument of that value.
func hasArg(r host.Record, want string) bool {
	var of struct {
		Args map[string]any `json:"args"`
	}
	if json.Unmarshal(r.Detail, &of) != nil {
		return false
	}
	for _, arg := range of.Args {
		if arg == want {
			return true
		}
	}
	return false
}

// addMaking notes what a habit of several lives is made of, as the log tells of its
// calls: none where all of them are erased, and the earlier ones with them.
func (c *carriers) addMaking(ctx context.Context, store *state.Store, n memory.Node) error {
	if n.Lives < 2 {
		return nil
	}
	for _, id := range n.Source.Derived {
		call, _, isCall := strings.Cut(string(id), "/")
		if !isCall {
			continue
		}
		records, err := store.Records(ctx, n.Tenant, state.RecordFilter{Call: host.CallID(call), Kinds: []host.RecordKind{host.RecordIntent}})
		if err != nil {
			return err
		}
		for _, r := range records {
			if m := (making{skillOf(r), r.Tool, n.Entity, n.At}); r.Session.User == n.User && !slices.Contains(c.makings, m) {
				c.makings = append(c.makings, m)
			}
		}
	}
	return nil
}

// bore reports whether a message or a call said one of the memories, first or later.
func (c *carriers) bore(session host.SessionID, input host.InputID, call host.CallID) bool {
	return c.keys[keeper.SourceKey(memory.Source{Session: session, Input: input, Call: call})]
}

// let removes the blobs of a record that is to go, and notes its session.
func (c *carriers) let(ctx context.Context, of payload, ref host.SessionRef) error {
	if session := ref.Session; session != "" && !c.sessions[session] {
		if c.note != nil {
			if err := c.note(session); err != nil {
				return err
			}
		}
		c.sessions[session] = true
	}
	if c.blobs == nil {
		return nil
	}
	var err error
	if of.HostCalls != nil && of.HostCalls.Blob != "" {
		err = c.blobs.Delete(ctx, ref, of.HostCalls.Blob)
	}
	if of.Blob != nil {
		err = errors.Join(err, c.blobs.Delete(ctx, ref, of.Blob.ID))
	}
	return err
}

// inHostCalls looks into what a call read and wrote, which is packed in its record or
// in a blob of the session.
func (c *carriers) inHostCalls(ctx context.Context, of payload, session host.SessionRef) bool {
	if of.HostCalls == nil || len(c.words.whole) == 0 {
		return false
	}
	recording, err := of.HostCalls.Load(ctx, c.blobs, session)
	if err != nil {
		c.missed(err)
		return false
	}
	if c.words.in(recording.Input) {
		return true
	}
	return slices.ContainsFunc(recording.Calls, func(call grant.HostCall) bool {
		return c.words.in(call.Result) || slices.ContainsFunc(call.Args, c.words.in)
	})
}

// inResult looks into a result that is in a blob of the session.
func (c *carriers) inResult(ctx context.Context, of payload, session host.SessionRef) bool {
	if of.Blob == nil || c.blobs == nil || len(c.words.whole) == 0 {
		return false
	}
	r, err := c.blobs.Open(ctx, session, of.Blob.ID)
	if err != nil {
		c.missed(err)
		return false
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(abi.BlobBytes)))
	if err = errors.Join(err, r.Close()); err != nil {
		c.missed(err)
		return false
	}
	return c.words.in(data)
}

// missed keeps why something could not be looked at. What was never kept, or is gone,
// carries nothing.
func (c *carriers) missed(err error) {
	if host.ProblemOf(err).Code != abi.NotFound {
		c.failed = errors.Join(c.failed, err)
	}
}

// list gives the sessions, sorted.
func (c *carriers) list() []host.SessionID { return slices.Sorted(maps.Keys(c.sessions)) }

// spoke reports whether the memories were said in one of a session's inputs.
func (c *carriers) spoke(session host.SessionID, inputs int) bool {
	for n := 1; n <= inputs; n++ {
		if input := host.InputID(fmt.Sprint(n)); c.inputs[message{session, input}] || c.bore(session, input, "") {
			return true
		}
	}
	return false
}

// Bounds of what is taken for a memory's words.
const (
	leastCarried = 6  // bytes, two Chinese characters: what is shorter stands for itself nowhere
	leastPart    = 16 // bytes, six Chinese characters: what is shorter stands in sentences that have nothing to do with it
)

// A wording is a set of texts that are looked for. A short one is found where it is all
// that a value says, a longer one also as a part.
type wording struct {
	whole map[string]bool
	parts map[string][]string // by their first leastPart bytes
}

func newWording() wording { return wording{map[string]bool{}, map[string][]string{}} }

func (w wording) add(text string) {
	text = strings.TrimSpace(text)
	if len(text) < leastCarried || isBareWord(text) || w.whole[text] {
		return
	}
	w.whole[text] = true
	if len(text) >= leastPart {
		head := text[:leastPart]
		w.parts[head] = append(w.parts[head], text)
	}
}

// isBareWord tells words that records and tools use themselves, such as a status.
func isBareWord(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_-.") == ""
}

// in reports whether data say one of the texts: in a value of JSON, or as they stand.
func (w wording) in(data []byte) bool {
	if len(w.whole) == 0 || len(data) == 0 {
		return false
	}
	var value any
	if json.Unmarshal(data, &value) != nil {
		return w.said(string(data))
	}
	return w.inValue(value)
}

func (w wording) inValue(value any) bool {
	switch v := value.(type) {
	case string:
		return w.said(v) || strings.ContainsAny(v, "{[\"") && json.Valid([]byte(v)) && w.in([]byte(v)) // JSON in JSON
	case []any:
		return slices.ContainsFunc(v, w.inValue)
	case map[string]any:
		for _, one := range v {
			if w.inValue(one) {
				return true
			}
		}
	}
	return false
}

func (w wording) said(text string) bool {
	if w.whole[strings.TrimSpace(text)] {
		return true
	}
	if len(w.parts) == 0 {
		return false
	}
	for rest := text; len(rest) >= leastPart; rest = rest[1:] {
		if slices.ContainsFunc(w.parts[rest[:leastPart]], func(part string) bool { return strings.HasPrefix(rest, part) }) {
			return true
		}
	}
	return false
}
