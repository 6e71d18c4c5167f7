package keeper

import (
	"context"
	"database/sql"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// MaxChange bounds the memories of one change: a job's page.
const MaxChange = 256

// Supersede keeps a newer memory in the place of an old one, which is no longer
// recalled: it was true until the newer one's Valid.From, or where that is zero its
// At. The newer one may be one that the owner has already; else it is kept as by
// Remember, but never taken for the old one. It gives the newer one's id. A memory
// that does not count any more (superseded before, falsified) is refused with
// BadValue.
func (k *Keeper) Supersede(ctx context.Context, o Owner, old memory.ID, by memory.Node) (memory.ID, error) {
	const op = "keeper.Supersede"
	if err := checkNodes(o, []memory.Node{by}); err != nil {
		return "", fail(op, err)
	}
	var id memory.ID
	err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
		id, err = t.supersede(ctx, o, old, by)
		return err
	})
	if err != nil {
		return "", fail(op, err)
	}
	return id, nil
}

func (t *tx) supersede(ctx context.Context, o Owner, old memory.ID, by memory.Node) (memory.ID, error) {
	s, err := find(ctx, t.on, t.lock, o, old)
	if err != nil {
		return "", err
	}
	if !counts(s.Status) {
		return "", badValue("memory %s is %s already", old, s.Status)
	}
	n := t.fresh(o, by)
	end := orTime(n.Valid.From, n.At)
	s.end(memory.Superseded, end, t.at)
	if err := t.save(ctx, s); err != nil { // first: else the newer one might be taken for it
		return "", err
	}
	next, err := t.rememberUnless(ctx, n, func(same stored) bool { return same.counts() || same.ID == old })
	if err != nil {
		return "", err
	}
	s.SupersededBy = next.ID
	if next.ID == old { // asked again after a lost answer
		return "", badValue("memory %s cannot be superseded by what its own source said", old)
	}
	if err := t.save(ctx, s); err != nil {
		return "", err
	}
	if err := t.link(ctx, o, old, roleNext, string(next.ID)); err != nil {
		return "", err
	}
	if err := t.closeGaps(ctx, s.Node, memory.Updated); err != nil {
		return "", err
	}
	return next.ID, t.lived(ctx, o, old, Superseded, string(next.ID))
}

// end closes a memory's validity, and keeps what was thought before.
func (s *stored) end(status memory.Status, until, now time.Time) {
	s.Status, s.Prior, s.Ended = status, s.Valid.Until, now
	if s.Valid.Until.IsZero() || until.Before(s.Valid.Until) {
		s.Valid.Until = until
	}
}

// Falsify marks a memory as shown to be wrong: from now on it is not known, and was
// never true. The cause is an id that tells why, and may be empty.
func (k *Keeper) Falsify(ctx context.Context, o Owner, id memory.ID, cause string) error {
	return fail("keeper.Falsify", k.change(ctx, func(ctx context.Context, t *tx) error {
		var wrong memory.Node
		err := t.alter(ctx, o, id, Falsified, cause, func(s *stored, at time.Time) bool {
			if s.Status == memory.Falsified {
				return false
			}
			s.Status, s.Known.Until = memory.Falsified, at
			wrong = s.Node
			return true
		})
		if err != nil || wrong.ID == "" {
			return err
		}
		return t.closeGaps(ctx, wrong, memory.Retired)
	}))
}

// Pin keeps a memory from being archived by a job, or no longer does.
func (k *Keeper) Pin(ctx context.Context, o Owner, id memory.ID, pinned bool) error {
	event := Unpinned
	if pinned {
		event = Pinned
	}
	return k.changeOne(ctx, "keeper.Pin", o, id, event, "", func(s *stored, _ time.Time) bool {
		changed := s.Pinned != pinned
		s.Pinned = pinned
		return changed
	})
}

// changeOne changes one memory, unless it is that way already.
func (k *Keeper) changeOne(ctx context.Context, op string, o Owner, id memory.ID, event, cause string, alter func(s *stored, at time.Time) bool) error {
	return fail(op, k.change(ctx, func(ctx context.Context, t *tx) error {
		return t.alter(ctx, o, id, event, cause, alter)
	}))
}

func (t *tx) alter(ctx context.Context, o Owner, id memory.ID, event, cause string, alter func(s *stored, at time.Time) bool) error {
	s, err := find(ctx, t.on, t.lock, o, id)
	if err != nil || !alter(&s, t.at) {
		return err
	}
	if err := t.lived(ctx, o, id, event, cause); err != nil {
		return err
	}
	return t.save(ctx, s)
}

// Archive takes active memories out of recall, and gives those that it took. It
// leaves what a job may not take: pinned memories, constraints, and what a question waits
// about; and what is not there any more. The cause is a word or an id that tells why, at
// most host.MaxIDBytes. It fails with BadValue for more than MaxChange ids.
func (k *Keeper) Archive(ctx context.Context, o Owner, ids []memory.ID, cause string) ([]memory.ID, error) {
	return k.changeSome(ctx, "keeper.Archive", o, ids, Archived, cause, func(s *stored, _ time.Time) bool {
		may := s.Status == memory.Active && !s.Stays()
		if may {
			s.Status = memory.Archived
		}
		return may
	})
}

// A Fading is a memory that was archived because of what it was worth.
type Fading struct {
	ID   memory.ID   `json:"id"`
	Fate memory.Fate `json:"fate"`
}

// Tidy judges all memories of an owner, and archives those that are worth too little:
// the work of the job that forgets. It gives what it archived and why, worded for the
// locale. What it does is undone by Restore.
func (k *Keeper) Tidy(ctx context.Context, o Owner, set memory.ForgetConfig, locale string) ([]Fading, error) {
	const op = "keeper.Tidy"
	if err := o.check(); err != nil {
		return nil, fail(op, err)
	}
	set, err := k.rulesOf(ctx, o, set)
	if err != nil {
		return nil, fail(op, err)
	}
	var all []Fading
	for after, more := memory.ID(""), true; more; {
		var some []Fading
		last := after
		err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
			some, last, more, err = t.tidy(ctx, o, set, locale, after)
			return err
		})
		if err != nil {
			return all, fail(op, err)
		}
		all, after = append(all, some...), last
	}
	return all, nil
}

// tidy judges one page.
func (t *tx) tidy(ctx context.Context, o Owner, set memory.ForgetConfig, locale string, after memory.ID) (faded []Fading, last memory.ID, more bool, err error) {
	var page []stored
	err = each(ctx, t.on, nodesAfter, append(ownerArgs(o), string(after), MaxPage), func(rows *sql.Rows) error {
		s, err := scanNode(rows)
		page, last = append(page, s), s.ID
		return err
	})
	if err != nil || len(page) == 0 {
		return nil, last, false, err
	}
	asked, err := asksAbout(ctx, t.on, o)
	for _, s := range page {
		fate := set.Judge(s.Node, t.at, locale)
		if err != nil || !fate.Archive || asked[s.ID] {
			continue
		}
		s.Status = memory.Archived
		faded = append(faded, Fading{s.ID, fate})
		if err = t.lived(ctx, o, s.ID, Archived, fate.Reason); err == nil {
			err = t.save(ctx, s)
		}
	}
	return faded, last, len(page) == MaxPage, err
}

// rulesOf gives the rules as they are for an owner: how often a memory was adopted says
// nothing where none ever was, since nobody tells then.
func (k *Keeper) rulesOf(ctx context.Context, o Owner, set memory.ForgetConfig) (memory.ForgetConfig, error) {
	const query = "SELECT memory_id FROM memory_node" + ofOwner + " AND adopts > 0 LIMIT 1"
	var id string
	adopts, err := row(ctx, k.db.Reads, query, ownerArgs(o), &id)
	if !adopts {
		set.MinRecall = 0
	}
	return set, err
}

// asksAbout gives the memories of an owner that a question waits about.
func asksAbout(ctx context.Context, on host.Statements, o Owner) (map[memory.ID]bool, error) {
	open, err := documents[memory.Question](ctx, on, openOfOwner, append(ownerArgs(o), maxGaps)...)
	about := map[memory.ID]bool{}
	for _, q := range open {
		about[q.Memory] = true
		if q.IsChoice() {
			about[q.Other] = true
		}
	}
	return about, err
}

// Restore has memories that were archived, superseded or falsified count again, as
// if that had not been, and gives those that did not count before. Who asks what was
// known meanwhile is told what was thought then. What had superseded one may be
// forgotten without it from then on. Of what a user declared the gaps count again and the
// question waits again, and where it contradicts another declaration that counts, the
// user is to be asked which of them does, as Declare has it.
func (k *Keeper) Restore(ctx context.Context, o Owner, ids []memory.ID) ([]memory.ID, error) {
	return k.changeSome(ctx, "keeper.Restore", o, ids, Restored, "", func(s *stored, at time.Time) bool {
		if s.Status == memory.Active {
			return false
		}
		if s.Status == memory.Superseded || !s.Ended.IsZero() { // it may have been falsified since
			s.takeBack(takenBack{Known: memory.Span{From: s.Ended, Until: at}, Until: s.Valid.Until})
			s.Valid.Until, s.Prior, s.Ended = s.Prior, time.Time{}, time.Time{}
		}
		if s.Status == memory.Falsified {
			s.takeBack(takenBack{Known: memory.Span{From: s.Known.Until, Until: at}, Wrong: true})
			s.Known.Until = time.Time{}
		}
		s.Status, s.SupersededBy = memory.Active, ""
		return true
	})
}

func (s *stored) takeBack(one takenBack) {
	s.Taken = append(s.Taken, one)
	s.Taken = s.Taken[max(0, len(s.Taken)-maxTaken):]
}

// changeSome changes those of some memories that are there and not that way already.
func (k *Keeper) changeSome(ctx context.Context, op string, o Owner, ids []memory.ID, event, cause string, alter func(s *stored, at time.Time) bool) (changed []memory.ID, err error) {
	if err := o.check(); err != nil {
		return nil, fail(op, err)
	}
	if len(ids) > MaxChange {
		return nil, fail(op, badValue("%d memories in one change; at most %d are changed together", len(ids), MaxChange))
	}
	if len(ids) == 0 {
		return nil, nil
	}
	err = k.change(ctx, func(ctx context.Context, t *tx) error {
		changed = nil
		all, err := findAll(ctx, t.on, o, ids)
		if err != nil {
			return err
		}
		var asked map[memory.ID]bool
		if event == Archived { // a person may restore what a question waits about
			asked, err = asksAbout(ctx, t.on, o)
		}
		for _, s := range all {
			if err != nil || asked[s.ID] || !alter(&s, t.at) {
				continue
			}
			changed = append(changed, s.ID)
			if err = t.lived(ctx, o, s.ID, event, cause); err == nil {
				err = t.save(ctx, s)
			}
			if err == nil && event == Restored {
				err = t.standAgain(ctx, s.Node)
			}
		}
		return err
	})
	if err != nil {
		return nil, fail(op, err)
	}
	return changed, nil
}
