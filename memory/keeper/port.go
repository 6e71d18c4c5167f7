package keeper

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of an import. A line holds a memory with both texts at their limit, each
// byte escaped.
const (
	MaxLineBytes = 16 * memory.MaxTextBytes
	MaxImport    = 1_000_000
)

// Export writes all memories of an owner, one JSON object of a memory.Node in a line, with
// what was thought of it before (ended, prior, taken_back), and gives
// how many. Mask, which may be nil, is given every text and gives what is written
// in its place: for a copy that leaves the house. Text is also what a claim is about, the
// domain, the document and the device. The index text and the numbers of claims are then
// left out. Of documents it writes the memories, and not their places: see Learn.
func (k *Keeper) Export(ctx context.Context, o Owner, w io.Writer, mask func(text string) string) (int, error) {
	const op = "keeper.Export"
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	if err := o.check(); err != nil {
		return 0, fail(op, err)
	}
	for n, after := 0, memory.ID(""); ; {
		page, err := k.list(ctx, o, Page{After: after, Limit: MaxPage})
		for _, one := range page {
			if err == nil {
				one.Node = masked(one.Node, mask)
				err = lines.Encode(one)
			}
			if err == nil {
				n, after = n+1, one.ID
			}
		}
		if err != nil || len(page) < MaxPage {
			return n, fail(op, err)
		}
	}
}

func masked(n memory.Node, mask func(text string) string) memory.Node {
	if mask == nil {
		return n
	}
	n.Text, n.IndexText = mask(n.Text), ""
	for _, text := range []*string{&n.Entity, &n.Domain, &n.Source.Speaker, &n.Source.Document, &n.Source.Device} {
		*text = mask(*text)
	}
	if n.Claim != nil {
		c := memory.Claim{Topic: mask(n.Claim.Topic), Unit: mask(n.Claim.Unit), Not: n.Claim.Not}
		for _, word := range n.Claim.Words {
			c.Words = append(c.Words, mask(word))
		}
		n.Claim = &c
	}
	return n
}

// Imported tells what became of the lines of an import.
type Imported struct {
	Lines int // read; empty ones count
	Kept  int // new memories
	Known int // memories that were there already
}

// Import reads what Export wrote and keeps it for an owner, whoever's it was. A
// memory that the owner has already, by its id or by an earlier import of the same
// line, stays as it is; of one without an id, see Remember. What a user declared is
// settled as if it were heard: with what the owner declared of the same matter, by the
// policy (see Declare), and with what was seen of him (see Reconcile). It stops at the
// first line that cannot be kept, with BadValue and the line's number: what is before it
// is kept, and the import can be repeated. Lines have at most MaxLineBytes, and there
// are at most MaxImport.
func (k *Keeper) Import(ctx context.Context, o Owner, r io.Reader, set memory.ReconcileConfig, policy memory.ConflictPolicy) (done Imported, err error) {
	const op = "keeper.Import"
	if err := o.check(); err != nil {
		return done, fail(op, err)
	}
	in := &importing{owner: o, policy: policy, brought: map[memory.ID]bool{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxLineBytes)
	for {
		batch, read, broken := readBatch(lines, done.Lines)
		kept, err := k.importSome(ctx, in, batch)
		if err != nil {
			return done, fail(op, err)
		}
		done.Lines, done.Kept, done.Known = done.Lines+read, done.Kept+kept, done.Known+len(batch)-kept
		if broken != nil {
			return done, fail(op, broken)
		}
		if read == 0 {
			break
		}
	}
	if len(in.brought) > 0 { // also where all were there: the import before may have been broken off
		_, err = k.Reconcile(ctx, o, set)
	}
	return done, fail(op, err)
}

// An importing is one Import under way.
type importing struct {
	owner   Owner
	policy  memory.ConflictPolicy
	brought map[memory.ID]bool // declarations of its lines that count
}

// readBatch reads lines until there are enough memories, the end, or a line that
// cannot be kept, which does not count as read.
func readBatch(lines *bufio.Scanner, before int) (batch []stored, read int, broken error) {
	for len(batch) < MaxRemember && lines.Scan() {
		n, ok, err := parseLine(lines.Bytes())
		if err != nil || before+read == MaxImport {
			return batch, read, lineProblem(before+read+1, err)
		}
		read++
		if ok {
			batch = append(batch, n)
		}
	}
	if err := lines.Err(); err != nil {
		return batch, read, lineProblem(before+read+1, err)
	}
	return batch, read, nil
}

// importSome keeps memories, and gives how many were not there.
func (k *Keeper) importSome(ctx context.Context, in *importing, batch []stored) (kept int, err error) {
	if len(batch) == 0 {
		return 0, nil
	}
	err = k.change(ctx, func(ctx context.Context, t *tx) error {
		kept = 0
		for _, n := range batch {
			is, err := t.importOne(ctx, in, n)
			if err != nil {
				return err
			}
			if is {
				kept++
			}
		}
		return nil
	})
	return kept, err
}

// importOne keeps a memory unless it is there, and settles it where it is a declaration.
func (t *tx) importOne(ctx context.Context, in *importing, s stored) (kept bool, err error) {
	id, kept, err := t.bring(ctx, in.owner, s)
	if err != nil || s.Layer != memory.Declared || s.Claim == nil || cmp.Or(s.Status, memory.Active) != memory.Active {
		return kept, err
	}
	if kept || s.ID == "" { // said again, an archived one has come back
		err = t.settleBrought(ctx, in, id)
	}
	in.brought[id] = true
	return kept, err
}

// bring keeps a memory of an import, and gives its id and whether it is new.
func (t *tx) bring(ctx context.Context, o Owner, s stored) (id memory.ID, kept bool, err error) {
	n := s.Node
	if n.ID == "" {
		r, err := t.remember(ctx, t.fresh(o, n))
		return r.ID, r.Kept, err
	}
	id, there, err := t.importedID(ctx, o, n.ID)
	if err != nil || there {
		return id, false, err
	}
	recalls, adopts, used := n.Recalls, n.Adopts, n.LastUsed
	n = t.fresh(o, n)
	n.ID, n.Recalls, n.Adopts, n.LastUsed = id, max(0, recalls), max(0, adopts), used
	if n.SupersededBy != "" {
		n.SupersededBy, _, err = t.importedID(ctx, o, n.SupersededBy)
	}
	derived := n.Source.Derived
	n.Source.Derived = nil
	for _, from := range derived {
		if err == nil && !ofCall(from) {
			from, _, err = t.importedID(ctx, o, from)
		}
		if err == nil {
			n.Source.Derived = append(n.Source.Derived, from)
		}
	}
	if err == nil {
		s.Node = n
		err = t.addNew(ctx, s, bandsOf(n))
	}
	if err == nil && n.SupersededBy != "" {
		err = t.link(ctx, o, n.ID, roleNext, string(n.SupersededBy))
	}
	if err == nil && n.Status == memory.Archived { // it is purged as long after that as any other
		err = t.lived(ctx, o, n.ID, Archived, "import")
	}
	return id, err == nil, err
}

// settleBrought settles a declaration of an import with what its owner declared of the
// same matter. Of two that came with one import both counted where they are from, so that
// neither replaces the other: the user is asked.
func (t *tx) settleBrought(ctx context.Context, in *importing, id memory.ID) error {
	s, err := find(ctx, t.on, t.lock, in.owner, id)
	if err != nil {
		return err
	}
	others, err := t.ofMatter(ctx, s.Node)
	if err != nil {
		return err
	}
	d := Declaring{ID: id}
	for _, other := range others {
		policy := in.policy
		if in.brought[other.ID] {
			policy = memory.AskUser
		}
		switch c := memory.Settle(policy, other, s.Node); {
		case c.Outcome == memory.OneWins:
			err = t.standBehind(ctx, in.owner, c.Loser.ID, c.Winner.ID, c.Loser.Valid.Until)
		case c.Outcome == memory.UserAsked && len(d.Opposed) < maxOpposed:
			d.Opposed = append(d.Opposed, other)
		}
		if err != nil {
			return err
		}
	}
	return t.oppose(ctx, s.Node, &d)
}

// ofCall tells whether a memory was made of what a call did, and not of another memory:
// its id is the call's, a slash, and the topic. Calls keep their names in an import.
func ofCall(from memory.ID) bool { return strings.Contains(string(from), "/") }

const thereIs = "SELECT memory_id FROM memory_node" + ofMemory

// importedID gives the id that a memory of an import has, and whether it is there:
// its own where the owner has that, and else one that no other owner's can have. It is the
// same each time.
func (t *tx) importedID(ctx context.Context, o Owner, id memory.ID) (memory.ID, bool, error) {
	var there string
	own, err := row(ctx, t.on, thereIs, memoryArgs(o, id), &there)
	if err != nil || own {
		return id, own, err
	}
	name := fmt.Appendf(nil, "%d:%s%d:%s%s", len(o.Tenant), o.Tenant, len(o.User), o.User, id)
	id = memory.ID(uuid.NewSHA1(importSpace(), name).String())
	again, err := row(ctx, t.on, thereIs, memoryArgs(o, id), &there)
	return id, again, err
}

// importSpace separates these name-based UUIDs from everybody else's.
func importSpace() uuid.UUID { return uuid.MustParse("0c9a35c8-7f0e-5f3c-9d0b-2f6f8f3f1a5d") }

// parseLine reads one line, and refuses one that is no memory. An empty line is
// none.
func parseLine(line []byte) (s stored, ok bool, err error) {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return s, false, nil
	}
	if err := json.Unmarshal(line, &s); err != nil {
		return s, false, err
	}
	if len(s.Taken) > maxTaken {
		return s, false, badValue("what was thought of it changed %d times; at most %d are kept", len(s.Taken), maxTaken)
	}
	return s, true, checkNode(s.Node)
}

func lineProblem(line int, cause error) error {
	var problem *abi.Problem
	why := "it is not JSON of a memory"
	switch {
	case cause == nil:
		return badValue("there are more than %d lines", MaxImport).WithHint("import the rest as another file")
	case errors.Is(cause, bufio.ErrTooLong):
		return badValue("line %d has more than %d bytes", line, MaxLineBytes)
	case errors.As(cause, &problem):
		why = problem.Message
	}
	return badValue("line %d cannot be kept: %s", line, why).WithHint("give one JSON object in a line, as an export has them")
}
