package keeper

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of one Remember.
const (
	MaxRemember = 256 // memories: the turns of a long session, the chunks of a batch. Others wait for its transaction, which takes a millisecond for each ten
	maxDerived  = 1024
)

// A Remembering tells what became of one memory.
type Remembering struct {
	ID   memory.ID // of the new memory, or of the one that said so already
	Kept bool      // it is new
}

// Remember keeps memories of an owner, all or none, and tells in the order of nodes
// what became of each. What one of the owner's active or archived memories says
// already, of the same layer, kind and target, is not kept twice: that one counts as
// verified, once for each source that is named down to its call or input, and comes back if it was archived. So Remember may
// be called again with the same.
//
// Text, Layer and Kind must be set. Tenant and User are the owner's, whatever the
// node says, and ID, SupersededBy, Recalls, Adopts and LastUsed are given here. At and Known.From
// are now where they are zero, Status is Active, and Freshness Slow. It fails with
// BadValue for more than MaxRemember memories or one out of its bounds. When it
// returns, the memories are on the disk; this keeper recalls them some milliseconds
// later (see Sync), others within a second.
func (k *Keeper) Remember(ctx context.Context, o Owner, nodes []memory.Node) ([]Remembering, error) {
	const op = "keeper.Remember"
	if err := checkNodes(o, nodes); err != nil {
		return nil, fail(op, err)
	}
	var all []Remembering
	err := k.change(ctx, func(ctx context.Context, t *tx) error {
		all = make([]Remembering, len(nodes))
		for i, n := range nodes {
			var err error
			if all[i], err = t.remember(ctx, t.fresh(o, n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fail(op, err)
	}
	return all, nil
}

// fresh makes a memory of what a caller gives.
func (t *tx) fresh(o Owner, n memory.Node) memory.Node {
	n.ID, n.Tenant, n.User = newID(), o.Tenant, o.User
	n.Recalls, n.Adopts, n.LastUsed = 0, 0, time.Time{}
	n.Status = cmp.Or(n.Status, memory.Active)
	n.Freshness = cmp.Or(n.Freshness, memory.Slow)
	n.Known.From = orTime(n.Known.From, t.at)
	n.At = orTime(n.At, t.at)
	return n
}

func orTime(at, otherwise time.Time) time.Time {
	if at.IsZero() {
		at = otherwise
	}
	return at.UTC().Truncate(time.Microsecond)
}

// newID gives an id whose first bytes are the time: rows that come together lie
// together.
func newID() memory.ID { return memory.ID(uuid.Must(uuid.NewV7()).String()) }

// remember keeps a memory that is new.
func (t *tx) remember(ctx context.Context, n memory.Node) (Remembering, error) {
	return t.rememberUnless(ctx, n, func(stored) bool { return true })
}

// rememberUnless keeps a memory that is new, or where the one that says the same will not
// do. Nothing has superseded it yet: an id in its SupersededBy
// would be one of nobody's, or of the memory that it is a copy of.
func (t *tx) rememberUnless(ctx context.Context, n memory.Node, will func(same stored) bool) (Remembering, error) {
	n.SupersededBy = ""
	marks := bandsOf(n)
	old, found, err := t.findSame(ctx, n, marks)
	switch {
	case err != nil:
		return Remembering{}, err
	case found && will(old):
		return Remembering{ID: old.ID}, t.verify(ctx, old, n)
	}
	return Remembering{ID: n.ID, Kept: true}, t.addNew(ctx, stored{Node: n}, marks)
}

const (
	makeBands = "INSERT INTO memory_band (tenant_id, user_id, band, memory_id) VALUES (?, ?, ?, ?), (?, ?, ?, ?), (?, ?, ?, ?), (?, ?, ?, ?)"
	bandMates = "SELECT memory_id FROM memory_band" + ofOwner + " AND band IN (?, ?, ?, ?) LIMIT ?" // without an order: SQLite would go through all of the user's for it
)

// addNew writes a memory with what finds it again.
func (t *tx) addNew(ctx context.Context, s stored, marks [bands]int64) error {
	o := Owner{s.Tenant, s.User}
	if err := t.add(ctx, s); err != nil {
		return err
	}
	if err := t.addBands(ctx, o, s.ID, marks); err != nil {
		return err
	}
	if err := t.addSource(ctx, o, s.ID, SourceKey(s.Source)); err != nil {
		return err
	}
	return t.lived(ctx, o, s.ID, Remembered, SourceKey(s.Source))
}

func (t *tx) addBands(ctx context.Context, o Owner, id memory.ID, marks [bands]int64) error {
	var rows []any
	for _, band := range marks {
		rows = append(rows, string(o.Tenant), string(o.User), band, string(id))
	}
	_, err := exec(ctx, t.on, makeBands, rows...)
	return err
}

// findSame looks for a memory that says the same, and still counts or comes from the same
// source.
func (t *tx) findSame(ctx context.Context, n memory.Node, marks [bands]int64) (stored, bool, error) {
	found, err := t.findAlike(ctx, n, marks)
	if err != nil {
		return stored{}, false, err
	}
	for _, s := range found {
		if counts(s.Status) {
			return s, true, nil
		}
	}
	return t.ofSource(ctx, found, n.Source)
}

// ofSource gives the one of some memories that a source has counted for, if there is one.
func (t *tx) ofSource(ctx context.Context, some []stored, from memory.Source) (stored, bool, error) {
	for _, s := range some {
		if known, err := t.knows(ctx, s, SourceKey(from)); err != nil || known {
			return s, known, err
		}
	}
	return stored{}, false, nil
}

// findAlike gives the memories that say the same until the same time, whether they count
// or not. One that said so until another time says something else: a coupon of last week
// is no news of this week's.
func (t *tx) findAlike(ctx context.Context, n memory.Node, marks [bands]int64) ([]stored, error) {
	o := Owner{n.Tenant, n.User}
	args := ownerArgs(o)
	for _, band := range marks {
		args = append(args, band)
	}
	mates, err := texts[memory.ID](ctx, t.on, bandMates, append(args, sameMatches)...)
	if err != nil || len(mates) == 0 {
		return nil, err
	}
	slices.Sort(mates)
	found, err := findAll(ctx, t.on, o, slices.Compact(mates))
	return slices.DeleteFunc(found, func(s stored) bool { return !sameMeaning(s.Node, n) || !s.until().Equal(n.Valid.Until) }), err
}

// counts tells whether saying so again adds to a memory; else it makes a new one.
func counts(status memory.Status) bool { return status == memory.Active || status == memory.Archived }

func (s stored) counts() bool { return counts(s.Status) }

// SourceKey tells whether two memories come from the same call, message or place of
// a document: it is the same for both then, a digest of the session with those. It is ""
// for a source that names none of these: nothing tells then whether it is the same one
// again.
func SourceKey(s memory.Source) string {
	if s.Call == "" && s.Input == "" && s.Document == "" && (s.Session == "" || s.Order == 0) {
		return ""
	}
	if s.Call != "" || s.Input != "" { // these tell, and the order only where they are
		s.Order = 0
	}
	return host.Digest(fmt.Appendf(nil, "%q %q %q %q %d", s.Session, s.Input, s.Call, s.Document, s.Order))
}

// checkNodes refuses what cannot be kept.
func checkNodes(o Owner, nodes []memory.Node) error {
	if err := o.check(); err != nil {
		return err
	}
	if len(nodes) > MaxRemember {
		return badValue("%d memories at once; at most %d are kept together", len(nodes), MaxRemember)
	}
	for i, n := range nodes {
		if err := checkNode(n); err != nil {
			return fmt.Errorf("memory %d: %w", i+1, err)
		}
	}
	return nil
}

func checkNode(n memory.Node) error {
	switch {
	case n.Text == "":
		return badValue("a memory has no text")
	case len(n.Text) > memory.MaxTextBytes || len(n.IndexText) > memory.MaxTextBytes:
		return badValue("the text of a memory has %d bytes, its index text %d; at most %d each are kept", len(n.Text), len(n.IndexText), memory.MaxTextBytes)
	case !utf8.ValidString(n.Text) || !utf8.ValidString(n.IndexText):
		return badValue("the text of a memory is not UTF-8")
	case n.Layer < memory.Declared || n.Layer > memory.Behaviour:
		return badValue("there is no layer %d of memories; give 1, 2 or 3", n.Layer)
	case !(n.Trust >= 0 && n.Trust <= 1):
		return badValue("a memory's trust is %v; give 0 to 1", n.Trust)
	case len(n.Source.Derived) > maxDerived:
		return badValue("a memory is made of %d others; at most %d are kept", len(n.Source.Derived), maxDerived)
	case n.Claim != nil && len(n.Claim.Topic) > memory.MaxTopicBytes:
		return badValue("the topic of a claim has %d bytes; at most %d are kept", len(n.Claim.Topic), memory.MaxTopicBytes)
	case len(n.Source.Speaker) > memory.MaxEntityBytes || len(n.Source.Device) > memory.MaxEntityBytes || len(n.Source.Document) > memory.MaxEntityBytes:
		return badValue("a part of a memory's source is longer than %d bytes", memory.MaxEntityBytes)
	}
	return checkWords(n)
}

// checkWords refuses what is in a column and does not fit, or is no word of ours.
func checkWords(n memory.Node) error {
	if n.Kind == "" {
		return badValue("a memory has no kind")
	}
	switch n.Status {
	case "", memory.Active, memory.Superseded, memory.Falsified, memory.Archived:
	default:
		return badValue("there is no status %.40q of memories", string(n.Status))
	}
	if len(n.Entity) > memory.MaxEntityBytes || !utf8.ValidString(n.Entity) {
		return badValue("what a memory is about has %d bytes; give at most %d of UTF-8", len(n.Entity), memory.MaxEntityBytes)
	}
	ids := []string{string(n.Kind), string(n.Source.Session), string(n.Source.Live), n.Source.Platform, string(n.Source.Input), string(n.Source.Call), n.Domain, n.Scene, string(n.SupersededBy)}
	for _, id := range n.Source.Derived {
		ids = append(ids, string(id))
	}
	for _, id := range ids {
		if len(id) > host.MaxIDBytes || !utf8.ValidString(id) {
			return badValue("an id or a name of a memory's source has %d bytes; give at most %d of UTF-8", len(id), host.MaxIDBytes)
		}
	}
	return nil
}
