package keeper

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/sluicehq/sluice/memory"
)

// MaxPage bounds the memories of one List.
const MaxPage = 256

// A Moment asks for the past. A zero field means now.
type Moment struct {
	True  time.Time // what held at this time
	Known time.Time // as far as it was known at this time
}

// clockSkew is how far behind the writer's clock a reader's may be. What another
// replica has kept is known now, whatever the clock here says.
const clockSkew = 5 * time.Second

// holds tells whether a memory held at a moment, as far as it was known then.
func (s stored) holds(m Moment, now time.Time) bool {
	at, from, until := m.orNow(now), s.Valid.From, s.Valid.Until
	if !s.Known.Until.IsZero() && !at.Known.Before(s.Known.Until) {
		return false
	}
	if !m.Known.IsZero() {
		if m.Known.Before(s.Known.From) {
			return false
		}
		if m.Known.Before(s.Ended) { // nobody knew yet that it would end
			until = s.Prior
		}
		for _, thought := range s.Taken {
			if m.Known.Before(thought.Known.From) || !m.Known.Before(thought.Known.Until) {
				continue
			}
			if thought.Wrong {
				return false
			}
			until = thought.Until
		}
	}
	if m.True.IsZero() {
		from = from.Add(-clockSkew)
	}
	return !at.True.Before(from) && (until.IsZero() || at.True.Before(until))
}

// orNow fills in what is not said. What is to come is asked as of what is known now.
func (m Moment) orNow(now time.Time) Moment {
	if m.True.IsZero() {
		m.True = now
	}
	if m.Known.IsZero() {
		m.Known = now
	}
	return m
}

// Get gives one memory of an owner, whatever its status. It fails with NotFound.
func (k *Keeper) Get(ctx context.Context, o Owner, id memory.ID) (memory.Node, error) {
	s, err := find(ctx, k.db.Reads, "", o, id)
	if err != nil {
		return memory.Node{}, fail("keeper.Get", err)
	}
	return s.Node, nil
}

// A Page asks for some of an owner's memories, in the order of their ids, which is
// that of their writing. Each field that is set must match; empty ones ask for all.
type Page struct {
	After    memory.ID // the last one of the page before
	Limit    int       // at most and by default MaxPage
	Kinds    []memory.Kind
	Layers   []memory.Layer
	Statuses []memory.Status
	Entity   string
	Document string  // that they were learned from
	Scene    string  // of this scene, or of none
	AsOf     *Moment // only what held then; nil for all
}

// List gives a page of memories. Fewer than the limit are the end.
func (k *Keeper) List(ctx context.Context, o Owner, p Page) ([]memory.Node, error) {
	const op = "keeper.List"
	if err := o.check(); err != nil {
		return nil, fail(op, err)
	}
	if p.Limit <= 0 || p.Limit > MaxPage {
		p.Limit = MaxPage
	}
	all, err := k.list(ctx, o, p)
	var page []memory.Node
	for _, s := range all {
		page = append(page, s.Node)
	}
	return page, fail(op, err)
}

// list gives a page with what an as-of question needs.
func (k *Keeper) list(ctx context.Context, o Owner, p Page) (page []stored, err error) {
	for after, more := p.After, true; more && len(page) < p.Limit; {
		var some []stored
		if some, after, more, err = k.next(ctx, o, p, after); err != nil {
			return nil, err
		}
		for _, s := range some {
			if len(page) < p.Limit && p.wants(s, k.now()) {
				page = append(page, s)
			}
		}
	}
	return page, nil
}

const nodesAfter = nodeColumns + ofOwner + " AND memory_id > ? ORDER BY memory_id LIMIT ?"

// The pages of one document, thing, kind or layer go on in an index where the one before
// ended: a status and a layer at a time, since of several together all that come after
// would be put in order for each page. What an older Sluice wrote may be of any document.
const (
	idsAfter   = " AND status = ? AND layer = ? AND memory_id > ? ORDER BY memory_id LIMIT ?"
	idsFrom    = "SELECT memory_id FROM memory_node" + ofOwner + " AND document_id = ?" + idsAfter
	idsFromAny = "SELECT memory_id FROM memory_node" + ofOwner + " AND document_id IS NULL" + idsAfter
	idsAbout   = "SELECT memory_id FROM memory_node" + ofOwner + " AND entity = ?" + idsAfter
	idsOfKind  = "SELECT memory_id FROM memory_node" + ofOwner + " AND kind = ?" + idsAfter
	idsOfLayer = "SELECT memory_id FROM memory_node" + ofOwner + idsAfter
)

// next gives some memories after one, in the order of their ids, among which are
// all that the page wants: few of many, where it says what it wants of them. It tells
// after which one to go on, and whether there may be more.
func (k *Keeper) next(ctx context.Context, o Owner, p Page, after memory.ID) (some []stored, last memory.ID, more bool, err error) {
	var ids []memory.ID
	switch {
	case p.Document != "":
		ids, err = k.idsOfDocument(ctx, o, p, after)
	case p.Entity != "":
		ids, err = k.idsOf(ctx, o, p, after, idsAbout, p.Entity)
	case len(p.Kinds) > 0:
		for _, kind := range p.Kinds {
			if err == nil {
				var more []memory.ID
				more, err = k.idsOf(ctx, o, p, after, idsOfKind, string(kind))
				ids = append(ids, more...)
			}
		}
	case len(p.Layers) > 0:
		ids, err = k.idsOf(ctx, o, p, after, idsOfLayer)
	default:
		some, err = k.nextOfAll(ctx, o, after, p.ahead())
		if last = after; len(some) > 0 {
			last = some[len(some)-1].ID
		}
		return some, last, len(some) == p.ahead(), err
	}
	if err != nil || len(ids) == 0 {
		return nil, after, false, err
	}
	ids = firstOf(ids, p.ahead())
	some, err = findAll(ctx, k.db.Reads, o, ids)
	slices.SortFunc(some, func(a, b stored) int { return cmp.Compare(a.ID, b.ID) })
	return some, ids[len(ids)-1], len(ids) == p.ahead(), err
}

// ahead gives how many memories are read at once: as many as are asked for, where the page
// wants all that next finds, and else MaxPage, of which it may want few.
func (p Page) ahead() int {
	finds := 0
	for _, by := range []bool{p.Document != "", p.Entity != "", len(p.Kinds) > 0} {
		if by {
			finds++
		}
	}
	all := finds == 0 && len(p.Layers) == 0 // they are gone through, whatever their status
	if p.Scene != "" || p.AsOf != nil || finds > 1 || all && len(p.Statuses) > 0 {
		return MaxPage
	}
	return p.Limit
}

// idsOf gives the first ids after one of each status and layer that a page wants.
func (k *Keeper) idsOf(ctx context.Context, o Owner, p Page, after memory.ID, query string, of ...any) (ids []memory.ID, err error) {
	for _, status := range orAll(p.Statuses, memory.Active, memory.Superseded, memory.Falsified, memory.Archived) {
		for _, layer := range orAll(p.Layers, memory.Declared, memory.Fact, memory.Behaviour) {
			args := slices.Concat(ownerArgs(o), of, []any{string(status), int(layer), string(after), p.ahead()})
			some, err := texts[memory.ID](ctx, k.db.Reads, query, args...)
			if err != nil {
				return nil, err
			}
			ids = append(ids, some...)
		}
	}
	return ids, nil
}

// idsOfDocument does so of what may be of the page's document.
func (k *Keeper) idsOfDocument(ctx context.Context, o Owner, p Page, after memory.ID) ([]memory.ID, error) {
	ids, err := k.idsOf(ctx, o, p, after, idsFrom, p.Document)
	if err != nil {
		return nil, err
	}
	unknown, err := k.idsOf(ctx, o, p, after, idsFromAny)
	return append(ids, unknown...), err
}

// firstOf gives the first of what several statements gave, in order. What is beyond is
// read again.
func firstOf(ids []memory.ID, most int) []memory.ID {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids[:min(len(ids), most)]
}

// orAll gives what is wanted, or all that there is where nothing is named.
func orAll[T any](wanted []T, all ...T) []T {
	if len(wanted) > 0 {
		return wanted
	}
	return all
}

func (k *Keeper) nextOfAll(ctx context.Context, o Owner, after memory.ID, most int) (some []stored, err error) {
	err = each(ctx, k.db.Reads, nodesAfter, append(ownerArgs(o), string(after), most), func(rows *sql.Rows) error {
		s, err := scanNode(rows)
		some = append(some, s)
		return err
	})
	return some, err
}

func (p Page) wants(s stored, now time.Time) bool {
	return among(p.Kinds, s.Kind) && among(p.Layers, s.Layer) && among(p.Statuses, s.Status) &&
		(p.Entity == "" || p.Entity == s.Entity) && (p.Document == "" || p.Document == s.Source.Document) &&
		(p.Scene == "" || s.Scene == "" || p.Scene == s.Scene) && (p.AsOf == nil || s.holds(*p.AsOf, now))
}

func among[T comparable](wanted []T, one T) bool {
	for _, w := range wanted {
		if w == one {
			return true
		}
	}
	return len(wanted) == 0
}

// Owners gives up to MaxPage owners that have memories, after one of them, in order:
// what a job goes through. Fewer are the end.
func (k *Keeper) Owners(ctx context.Context, after Owner) ([]Owner, error) {
	const query = "SELECT DISTINCT tenant_id, user_id FROM memory_node WHERE tenant_id > ? OR (tenant_id = ? AND user_id > ?) ORDER BY tenant_id, user_id LIMIT ?"
	var owners []Owner
	err := each(ctx, k.db.Reads, query, []any{string(after.Tenant), string(after.Tenant), string(after.User), MaxPage}, func(rows *sql.Rows) error {
		var o Owner
		err := rows.Scan(&o.Tenant, &o.User)
		owners = append(owners, o)
		return err
	})
	return owners, fail("keeper.Owners", err)
}

// A Life is all that is known of one memory. What an entry points to may have been
// forgotten since.
type Life struct {
	Node      memory.Node       `json:"memory"`
	Events    []Event           `json:"events"`                // oldest first, the last maxEvents
	Gaps      []memory.Gap      `json:"gaps,omitempty"`        // oldest first, the last maxEvents
	Evidence  []string          `json:"evidence_of,omitempty"` // gaps of other memories that it is evidence of
	Questions []memory.Question `json:"questions,omitempty"`
	Traces    []memory.Trace    `json:"traces,omitempty"`  // whose output points to it
	Derived   []memory.ID       `json:"derived,omitempty"` // memories that were made of it
	Fate      memory.Fate       `json:"fate"`              // what the forgetting job would do now, and why
}

// Bounds of a Life: more than people read.
const maxEvents = 256

const (
	eventsOf       = "SELECT happened_at, event, cause FROM memory_life" + ofMemory + " ORDER BY life_no DESC LIMIT ?"
	questionsAbout = "SELECT detail FROM memory_question" + ofMemory + " ORDER BY question_id LIMIT ?"
)

// Why gives the life of one memory: where it comes from, what bore it out and what
// contradicted it, what came of it, and what it is worth now, worded for the locale.
// It fails with NotFound.
func (k *Keeper) Why(ctx context.Context, o Owner, id memory.ID, set memory.ForgetConfig, locale string) (Life, error) {
	const op = "keeper.Why"
	life, err := k.life(ctx, o, id)
	if err != nil {
		return Life{}, fail(op, err)
	}
	if set, err = k.rulesOf(ctx, o, set); err != nil {
		return Life{}, fail(op, err)
	}
	life.Fate = set.Judge(life.Node, k.now(), locale)
	asked, err := asksAbout(ctx, k.db.Reads, o)
	if err != nil {
		return Life{}, fail(op, err)
	}
	if asked[id] {
		life.Fate = life.Fate.Asked(locale)
	}
	return life, nil
}

func (k *Keeper) life(ctx context.Context, o Owner, id memory.ID) (life Life, err error) {
	on, args := k.db.Reads, memoryArgs(o, id)
	s, err := find(ctx, on, "", o, id)
	if err != nil {
		return life, err
	}
	life.Node = s.Node
	err = each(ctx, on, eventsOf, append(args, maxEvents), func(rows *sql.Rows) error {
		var e Event
		var at int64
		err := rows.Scan(&at, &e.What, &e.Cause)
		e.At = timeOf(at)
		life.Events = append([]Event{e}, life.Events...)
		return err
	})
	if err != nil {
		return life, err
	}
	if life.Gaps, err = documents[memory.Gap](ctx, on, gapsOfOne, append(args, maxEvents)...); err != nil {
		return life, err
	}
	slices.Reverse(life.Gaps)
	if life.Questions, err = documents[memory.Question](ctx, on, questionsAbout, append(args, maxEvents)...); err != nil {
		return life, err
	}
	choices, err := choicesOf(ctx, on, o, id)
	if err != nil {
		return life, err
	}
	life.Questions = append(life.Questions, choices...)
	if life.Evidence, err = texts[string](ctx, on, linksOf, append(args, roleEvidence, maxEvents)...); err != nil {
		return life, err
	}
	if life.Derived, err = texts[memory.ID](ctx, on, linksOf, append(args, roleDerived, maxEvents)...); err != nil {
		return life, err
	}
	traces, err := texts[string](ctx, on, linksOf, append(args, roleTrace, maxEvents)...)
	for _, trace := range traces {
		if err != nil {
			break
		}
		var found []memory.Trace
		found, err = documents[memory.Trace](ctx, on, traceOf, append(ownerArgs(o), trace)...)
		life.Traces = append(life.Traces, found...)
	}
	return life, err
}
