package keeper

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of one reconciliation: what a user of years has, and what one transaction
// can read. Of more claims the newest count, and of more open gaps those of the newest
// memories, each with all of them but the last one, which may be cut. Of closed ones, which only tell what evidence has
// counted, the newest are looked at.
const (
	maxClaims = 4096 // of each layer
	maxGaps   = 4096 // of the open ones, and of the closed ones

	reconcileTries = 5 // while others change what is compared
)

const (
	withClaims   = "SELECT memory_id FROM memory_claim" + ofOwner + " AND layer = ? AND is_active = 1 ORDER BY memory_id DESC LIMIT ?"
	openFirst    = " FROM memory_gap" + ofOwner + " AND closed = '' ORDER BY memory_id DESC, seen_at DESC, gap_id DESC LIMIT ?"
	gapsStand    = "SELECT gap_id, question_id" + openFirst
	openGaps     = "SELECT detail" + openFirst
	closedGaps   = "SELECT detail FROM memory_gap" + ofOwner + " AND closed <> '' ORDER BY seen_at DESC, gap_id DESC LIMIT ?"
	gapsOfOne    = "SELECT detail FROM memory_gap" + ofMemory + " ORDER BY seen_at DESC, gap_id DESC LIMIT ?"
	openOfOne    = "SELECT detail FROM memory_gap" + ofMemory + " AND closed = '' ORDER BY seen_at, gap_id LIMIT ?"
	gapThere     = "SELECT gap_id FROM memory_gap" + ofMemory + " AND occasion = ?"
	gapNamed     = "SELECT gap_id FROM memory_gap" + ofOwner + " AND gap_id = ?"
	makeGap      = "INSERT INTO memory_gap (tenant_id, user_id, memory_id, gap_id, occasion, seen_at, question_id, closed, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	changeGap    = "UPDATE memory_gap SET question_id = ?, closed = ?, detail = ? WHERE tenant_id = ? AND user_id = ? AND gap_id = ?"
	ofQuestion   = ofOwner + " AND question_id = ?"
	questionOf   = "SELECT detail FROM memory_question" + ofQuestion
	questionsOf  = "SELECT detail FROM memory_question" + ofOwner + " ORDER BY question_id LIMIT ?"
	openOfOwner  = "SELECT detail FROM memory_question" + ofOwner + " AND answer = '' ORDER BY memory_id, question_id LIMIT ?" // as the index has them: SQLite takes the primary key for any other order
	makeQuestion = "INSERT INTO memory_question (tenant_id, user_id, memory_id, question_id, answer, detail) VALUES (?, ?, ?, ?, ?, ?)"
	setQuestion  = "UPDATE memory_question SET answer = ?, detail = ?" + ofQuestion
)

// Reconcile compares what a user declared with what was seen of him, by memory's
// rules, and keeps what follows: more trust where it agrees, gaps where it does not,
// and questions. It changes no word of a memory. It gives what was kept: of a memory
// and a session one gap, of a memory one question that waits. It may be repeated. It
// fails with StoreConflict, and keeps nothing, where the memories do not hold still.
func (k *Keeper) Reconcile(ctx context.Context, o Owner, set memory.ReconcileConfig) (memory.Reconciliation, error) {
	const op = "keeper.Reconcile"
	if err := o.check(); err != nil {
		return memory.Reconciliation{}, fail(op, err)
	}
	for range reconcileTries {
		before, err := readClaims(ctx, k.db.Reads, o)
		if err != nil {
			return memory.Reconciliation{}, fail(op, err)
		}
		r := memory.Reconcile(set, before.declared, before.seen, before.gaps, before.waiting, k.now().UTC().Truncate(time.Microsecond))
		kept, done, err := k.keepReconciled(ctx, o, before, r)
		if err != nil || done {
			return kept, fail(op, err)
		}
	}
	return memory.Reconciliation{}, fail(op, abi.NewProblem(abi.StoreConflict, "the user's memories change faster than they can be compared").WithHint("try again"))
}

// A claims is what a reconciliation compares. It is compared outside of a transaction,
// since that takes a while and all others would wait for it.
type claims struct {
	declared, seen []memory.Node
	gaps           []memory.Gap      // those that are open first
	waiting        []memory.Question // choices among them
	marks          []string          // tell whether anything of it has changed
}

func readClaims(ctx context.Context, on host.Statements, o Owner) (c claims, err error) {
	if c.marks, err = claimMarks(ctx, on, o); err != nil { // first: what comes later shows then
		return c, err
	}
	for _, layer := range []memory.Layer{memory.Declared, memory.Behaviour} {
		ids, err := claimsOf(ctx, on, o, layer)
		if err != nil {
			return c, err
		}
		all, err := findAll(ctx, on, o, ids)
		if err != nil {
			return c, err
		}
		for _, s := range all {
			if layer == memory.Declared {
				c.declared = append(c.declared, s.Node)
			} else {
				c.seen = append(c.seen, s.Node)
			}
		}
	}
	if c.waiting, err = documents[memory.Question](ctx, on, openOfOwner, append(ownerArgs(o), maxGaps)...); err != nil {
		return c, err
	}
	c.gaps, err = readGaps(ctx, on, o)
	return c, err
}

// readGaps gives the gaps of an owner, those that are open first.
func readGaps(ctx context.Context, on host.Statements, o Owner) ([]memory.Gap, error) {
	open, err := documents[memory.Gap](ctx, on, openGaps, append(ownerArgs(o), maxGaps)...)
	if err != nil {
		return nil, err
	}
	closed, err := documents[memory.Gap](ctx, on, closedGaps, append(ownerArgs(o), maxGaps)...)
	return append(open, closed...), err
}

// claimsOf gives the newest active memories of a layer that have a claim.
func claimsOf(ctx context.Context, on host.Statements, o Owner, layer memory.Layer) ([]memory.ID, error) {
	return texts[memory.ID](ctx, on, withClaims, append(ownerArgs(o), int(layer), maxClaims)...)
}

// claimMarks gives what changes with anything that a reconciliation compares: which
// memories there are, whose text and claim never change, and which gaps are open. Whatever
// answers or removes a question closes or changes those that name it.
func claimMarks(ctx context.Context, on host.Statements, o Owner) (marks []string, err error) {
	for _, layer := range []memory.Layer{memory.Declared, memory.Behaviour} {
		ids, err := claimsOf(ctx, on, o, layer)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			marks = append(marks, string(id))
		}
	}
	err = each(ctx, on, gapsStand, append(ownerArgs(o), maxGaps), func(rows *sql.Rows) error {
		var gap, question string
		err := rows.Scan(&gap, &question)
		marks = append(marks, gap, question)
		return err
	})
	return marks, err
}

// keepReconciled keeps what follows, unless what was compared has changed.
func (k *Keeper) keepReconciled(ctx context.Context, o Owner, before claims, r memory.Reconciliation) (kept memory.Reconciliation, done bool, err error) {
	if len(r.Agreed)+len(r.Gaps)+len(r.Questions)+len(r.Asked)+len(r.Lapsed)+len(r.Closed) == 0 {
		return memory.Reconciliation{Asked: r.Asked}, true, nil
	}
	err = k.change(ctx, func(ctx context.Context, t *tx) error {
		marks, err := claimMarks(ctx, t.on, o)
		if done = err == nil && slices.Equal(marks, before.marks); err != nil || !done {
			return err
		}
		kept, err = t.keepReconciled(ctx, o, before, r)
		return err
	})
	if err != nil {
		return memory.Reconciliation{}, false, err
	}
	return kept, done, nil
}

func (t *tx) keepReconciled(ctx context.Context, o Owner, before claims, r memory.Reconciliation) (kept memory.Reconciliation, err error) {
	if err := t.lapse(ctx, r.Lapsed, r.Closed); err != nil { // first: of a memory one question waits
		return kept, err
	}
	kept.Lapsed, kept.Closed = r.Lapsed, r.Closed
	for _, a := range r.Agreed {
		added, err := t.agree(ctx, o, before, a)
		if err != nil {
			return kept, err
		}
		if added {
			kept.Agreed = append(kept.Agreed, a)
		}
	}
	for _, g := range r.Gaps {
		added, err := t.addGap(ctx, g)
		if err != nil {
			return kept, err
		}
		if added {
			kept.Gaps = append(kept.Gaps, g)
		}
	}
	for _, q := range r.Questions {
		added, err := t.addQuestion(ctx, q)
		if err != nil {
			return kept, err
		}
		if added {
			kept.Questions = append(kept.Questions, q)
		}
	}
	kept.Asked = r.Asked
	for _, g := range before.gaps {
		if question, ok := r.Asked[g.ID]; ok {
			g.Question = question
			if err := t.saveGap(ctx, g); err != nil {
				return kept, err
			}
		}
	}
	return kept, nil
}

// agree keeps an agreement, unless the memory is believed otherwise by now: then the
// next reconciliation finds it again.
func (t *tx) agree(ctx context.Context, o Owner, before claims, a memory.Agreement) (bool, error) {
	s, err := find(ctx, t.on, t.lock, o, a.Memory)
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(before.declared, func(n memory.Node) bool { return n.ID == a.Memory })
	if was := before.declared[at]; s.Trust != was.Trust || s.Verified != was.Verified || !s.Agreed.Equal(was.Agreed) {
		return false, nil
	}
	s.Node = a.Apply(s.Node)
	if err := t.lived(ctx, o, s.ID, Verified, "behaviour"); err != nil {
		return false, err
	}
	return true, t.note(ctx, s)
}

// addGap keeps a gap, unless its memory has one of its live, by which its id is made, or
// of its session.
func (t *tx) addGap(ctx context.Context, g memory.Gap) (added bool, err error) {
	o := Owner{g.Tenant, g.User}
	args := memoryArgs(o, g.Memory)
	occasion := string(g.Session)
	if g.Live != "" || occasion == "" {
		occasion = g.ID
	}
	var there string
	for query, args := range map[string][]any{gapThere: append(args, occasion), gapNamed: append(ownerArgs(o), g.ID)} {
		if found, err := row(ctx, t.on, query, args, &there); err != nil || found {
			return false, err
		}
	}
	detail, err := json.Marshal(g)
	if err != nil {
		return false, err
	}
	if _, err := exec(ctx, t.on, makeGap, append(args, g.ID, occasion, micros(g.At), g.Question, g.Closed, detail)...); err != nil {
		return false, err
	}
	for _, id := range slices.Concat(g.Evidence, g.Habits) {
		if err := t.link(ctx, o, id, roleEvidence, g.ID); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (t *tx) saveGap(ctx context.Context, g memory.Gap) error {
	detail, err := json.Marshal(g)
	if err == nil {
		_, err = exec(ctx, t.on, changeGap, g.Question, g.Closed, detail, string(g.Tenant), string(g.User), g.ID)
	}
	return err
}

// addQuestion keeps a question of gaps, unless its memory has one that waits, or had
// this one. Choices are beside the point: see addChoice.
func (t *tx) addQuestion(ctx context.Context, q memory.Question) (added bool, err error) {
	o := Owner{q.Tenant, q.User}
	args := memoryArgs(o, q.Memory)
	open, err := documents[memory.Question](ctx, t.on, waiting, append(args, maxGaps)...)
	if err != nil || slices.ContainsFunc(open, func(q memory.Question) bool { return !q.IsChoice() }) {
		return false, err
	}
	if same, err := documents[memory.Question](ctx, t.on, questionOf, append(ownerArgs(o), q.ID)...); err != nil || len(same) > 0 {
		return false, err
	}
	detail, err := json.Marshal(q)
	if err == nil {
		_, err = exec(ctx, t.on, makeQuestion, append(args, q.ID, string(q.Answer), detail)...)
	}
	return err == nil, err
}

func (t *tx) saveQuestion(ctx context.Context, q memory.Question) error {
	detail, err := json.Marshal(q)
	if err == nil {
		_, err = exec(ctx, t.on, setQuestion, string(q.Answer), detail, string(q.Tenant), string(q.User), q.ID)
	}
	return err
}

// Gaps gives the gaps of an owner, oldest first: those that are open, and the newest of
// those that are closed.
func (k *Keeper) Gaps(ctx context.Context, o Owner) ([]memory.Gap, error) {
	gaps, err := readGaps(ctx, k.db.Reads, o)
	slices.SortFunc(gaps, func(a, b memory.Gap) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return gaps, fail("keeper.Gaps", err)
}

// Questions gives the questions to an owner, answered or not, by id.
func (k *Keeper) Questions(ctx context.Context, o Owner) ([]memory.Question, error) {
	questions, err := documents[memory.Question](ctx, k.db.Reads, questionsOf, append(ownerArgs(o), maxGaps)...)
	return questions, fail("keeper.Questions", err)
}

// Question gives one question to an owner, answered or not. It fails with NotFound.
func (k *Keeper) Question(ctx context.Context, o Owner, id string) (memory.Question, error) {
	q, err := readQuestion(ctx, k.db.Reads, o, id)
	return q, fail("keeper.Question", err)
}

func readQuestion(ctx context.Context, on host.Statements, o Owner, id string) (memory.Question, error) {
	found, err := documents[memory.Question](ctx, on, questionOf, append(ownerArgs(o), id)...)
	if err != nil {
		return memory.Question{}, err
	}
	if len(found) == 0 {
		return memory.Question{}, abi.NewProblem(abi.NotFound, "there is no question %.80q to this user", id).WithHint("list the user's gaps to see the questions")
	}
	return found[0], nil
}

// Answer keeps a user's answer to a question, and what it does to the memory and its
// gaps, by memory.Resolve, or to the two memories of a choice, by memory.Choose: all of
// it or nothing. It fails with NotFound where there is no such question, and as those do.
func (k *Keeper) Answer(ctx context.Context, o Owner, question string, set memory.ReconcileConfig, a memory.Answer) (memory.Resolved, error) {
	const op = "keeper.Answer"
	if err := o.check(); err != nil {
		return memory.Resolved{}, fail(op, err)
	}
	var r memory.Resolved
	err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
		r, err = t.answer(ctx, o, question, set, a)
		return err
	})
	if err != nil {
		return memory.Resolved{}, fail(op, err)
	}
	return r, nil
}

func (t *tx) answer(ctx context.Context, o Owner, question string, set memory.ReconcileConfig, a memory.Answer) (r memory.Resolved, err error) {
	q, err := readQuestion(ctx, t.on, o, question)
	if err != nil {
		return r, err
	}
	a.At = orTime(a.At, t.at)
	if q.IsChoice() {
		return t.choose(ctx, o, q, set, a)
	}
	s, err := find(ctx, t.on, t.lock, o, q.Memory)
	if err != nil {
		return r, err
	}
	gaps, err := documents[memory.Gap](ctx, t.on, openOfOne, append(memoryArgs(o, s.ID), maxGaps)...)
	if err != nil {
		return r, err
	}
	if r, err = memory.Resolve(set, q, s.Node, gaps, a); err != nil {
		return r, err
	}
	return r, t.keepAnswer(ctx, s, &r, question)
}

func (t *tx) keepAnswer(ctx context.Context, s stored, r *memory.Resolved, question string) error {
	o, event := Owner{s.Tenant, s.User}, Verified
	if r.Memory.Status == memory.Superseded {
		s.end(memory.Superseded, r.Memory.Valid.Until, t.at)
		r.Memory.Valid, event = s.Valid, Superseded
	}
	s.Node = r.Memory
	if err := t.save(ctx, s); err != nil {
		return err
	}
	if r.New != nil {
		n := t.fresh(o, *r.New)
		if err := checkNode(n); err != nil {
			return err
		}
		next, err := t.rememberUnless(ctx, n, stored.counts)
		if err != nil {
			return err
		}
		n.ID, s.SupersededBy = next.ID, next.ID
		*r.New, r.Memory = n, s.Node
		if err := t.save(ctx, s); err != nil {
			return err
		}
		if err := t.link(ctx, o, s.ID, roleNext, string(next.ID)); err != nil {
			return err
		}
	}
	for _, g := range r.Gaps {
		if err := t.saveGap(ctx, g); err != nil {
			return err
		}
	}
	if err := t.saveQuestion(ctx, r.Question); err != nil {
		return err
	}
	if event == Superseded { // choices that it is in have nothing left to choose
		if err := t.closeGaps(ctx, s.Node, r.Question.Answer); err != nil {
			return err
		}
	}
	return t.lived(ctx, o, s.ID, event, question)
}

const waiting = "SELECT detail FROM memory_question" + ofMemory + " AND answer = '' ORDER BY question_id LIMIT ?"

// closeGaps settles what is open about a memory that was changed without a question:
// there is nothing left to ask.
func (t *tx) closeGaps(ctx context.Context, said memory.Node, by memory.Resolution) error {
	args := append(memoryArgs(Owner{said.Tenant, said.User}, said.ID), maxGaps)
	gaps, err := documents[memory.Gap](ctx, t.on, openOfOne, args...)
	if err != nil {
		return err
	}
	for _, g := range memory.CloseGaps(gaps, said, by) {
		if err := t.saveGap(ctx, g); err != nil {
			return err
		}
	}
	open, err := documents[memory.Question](ctx, t.on, waiting, args...)
	if err != nil {
		return err
	}
	choices, err := choicesOf(ctx, t.on, Owner{said.Tenant, said.User}, said.ID)
	for _, q := range append(open, choices...) {
		if err == nil && q.Answered.IsZero() {
			err = t.saveQuestion(ctx, q.Ceased(by, t.at))
		}
	}
	return err
}

// documents gives the rows of a statement whose only column is JSON.
func documents[T any](ctx context.Context, on host.Statements, query string, args ...any) (all []T, err error) {
	err = each(ctx, on, query, args, func(rows *sql.Rows) error {
		var raw []byte
		var one T
		err := rows.Scan(&raw)
		if err == nil {
			err = json.Unmarshal(raw, &one)
		}
		all = append(all, one)
		return err
	})
	return all, err
}
