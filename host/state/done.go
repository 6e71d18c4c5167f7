package state

import (
	"context"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of what is kept of a write for the totals of its session.
const (
	MaxDoneTargets = 256                  // targets of one write: a gate asks a person long before
	MaxDoneBytes   = 4 * int(abi.KiB)     // of its arguments, and of its data; larger ones are left out
	MaxCounted     = MaxPage              // rows of one count: a rule's limit is a small number
	MaxDoneSpan    = 366 * 24 * time.Hour // that a count looks back
)

// A Done is what a write that succeeded adds to the totals of its session. Its
// arguments and data are kept for LastDone as they are, or left out where they
// are larger than MaxDoneBytes: the claim's outcome has them.
type Done struct {
	Tool    string
	Targets []string        // what it changed: up to MaxDoneTargets, a name given twice counts once; may be empty
	Args    json.RawMessage // canonical; may be nil
	Data    json.RawMessage // of its reply; may be nil
}

// A LastDone is the newest write of a tool in a session.
type LastDone struct {
	Call host.CallID
	At   time.Time       // by the store's clock
	Ago  time.Duration   // likewise
	Args json.RawMessage // nil if it was left out
	Data json.RawMessage // nil if it was left out
}

// A DoneCount is how often a tool has written.
type DoneCount struct {
	Calls   int
	Targets int  // all targets of all calls; a call without any counts as one
	More    bool // there are more than MaxCounted; the numbers are of the newest
}

func (d *Done) check() error {
	switch {
	case d == nil:
		return nil
	case d.Tool == "":
		return badValue("a write that is done has no tool")
	case len(d.Targets) > MaxDoneTargets:
		return badValue("a write with %d targets; at most %d are kept", len(d.Targets), MaxDoneTargets)
	}
	if err := checkText("tool", d.Tool, abi.KeyBytes); err != nil {
		return err
	}
	for _, document := range []json.RawMessage{d.Args, d.Data} {
		if document == nil {
			continue
		}
		if err := checkDocument("write's arguments or data", document); err != nil {
			return err
		}
	}
	return nil
}

// targetKey gives the stored form of a target: itself, or its digest where it
// does not fit a column. A write must not fail because of its target's name.
func targetKey(target string) string {
	if len(target) > abi.KeyBytes || !utf8.ValidString(target) || checkKeyText(target) != nil {
		return "sha256:" + host.Digest([]byte(target))
	}
	return target
}

func (d *Done) rows() []string {
	if len(d.Targets) == 0 {
		return []string{""}
	}
	rows := make([]string, len(d.Targets))
	for i, target := range d.Targets {
		rows[i] = targetKey(target)
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// addDone keeps what a call did. Its rows are the call's own.
func (s *Store) addDone(ctx context.Context, ex *executor, st Settlement, at time.Time) error {
	if st.Done == nil {
		return nil
	}
	args, data := small(st.Done.Args), small(st.Done.Data)
	for _, target := range st.Done.rows() {
		_, err := ex.exec(ctx, s.queries.addDone, append(sessionArgs(st.Session), st.Done.Tool, at.UnixMicro(), string(st.Call), target, args, data)...)
		if err != nil {
			return err
		}
	}
	return nil
}

func small(document json.RawMessage) []byte {
	if len(document) > MaxDoneBytes {
		return []byte{}
	}
	return bytesOf(document)
}

// LastDone gives the newest write of a tool on a target in a session, and
// whether there is one. An empty target asks for the newest on whatever it was.
func (s *Store) LastDone(ctx context.Context, session host.SessionRef, tool, target string) (LastDone, bool, error) {
	const op = "state.LastDone"
	if err := checkDone(session, tool); err != nil {
		return LastDone{}, false, s.fail(ctx, op, err)
	}
	query, args := s.queries.lastDone, append(sessionArgs(session), tool)
	if target != "" {
		query, args = s.queries.lastDoneTo, append(args, targetKey(target))
	}
	last, found, err := s.lastDone(ctx, query, args)
	if err != nil {
		return LastDone{}, false, s.fail(ctx, op, err)
	}
	return last, found, nil
}

func (s *Store) lastDone(ctx context.Context, query string, args []any) (last LastDone, found bool, err error) {
	var done, micros int64
	var given, data []byte
	found, err = s.reader.row(ctx, query, args, (*string)(&last.Call), &done, &given, &data, &micros)
	if err != nil || !found {
		return LastDone{}, false, err
	}
	at, err := s.timeOfRow(ctx, s.reader, found, micros)
	last.At = timeOf(done)
	last.Ago = at.Sub(last.At)
	last.Args, last.Data = documentOf(given), documentOf(data)
	return last, true, err
}

// documentOf gives nil for a document that was left out.
func documentOf(stored []byte) json.RawMessage {
	if len(stored) == 0 {
		return nil
	}
	return stored
}

// CountDone counts the writes of a tool in a session that were done within so
// long before now, by the store's clock, up to MaxDoneSpan.
func (s *Store) CountDone(ctx context.Context, session host.SessionRef, tool string, within time.Duration) (DoneCount, error) {
	const op = "state.CountDone"
	err := checkDone(session, tool)
	if err == nil {
		err = checkSpan("time to look back", within, MaxDoneSpan)
	}
	if err != nil {
		return DoneCount{}, s.fail(ctx, op, err)
	}
	at, err := s.now(ctx, s.reader)
	if err != nil {
		return DoneCount{}, s.fail(ctx, op, err)
	}
	var calls []string
	args := append(sessionArgs(session), tool, at.Add(-within).UnixMicro(), MaxCounted+1)
	if err := s.reader.each(ctx, s.queries.doneSince, args, scanText(&calls)); err != nil {
		return DoneCount{}, s.fail(ctx, op, err)
	}
	count := DoneCount{Targets: min(len(calls), MaxCounted), More: len(calls) > MaxCounted}
	calls = calls[:count.Targets]
	slices.Sort(calls)
	count.Calls = len(slices.Compact(calls))
	return count, nil
}

func checkDone(session host.SessionRef, tool string) error {
	if err := checkRef(session); err != nil {
		return err
	}
	if tool == "" {
		return badValue("no tool is named")
	}
	return checkText("tool", tool, abi.KeyBytes)
}
