package keeper

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// Bounds of a recall.
const (
	MaxRecall     = 100 // hits
	DefaultRecall = 10
	MaxQueryBytes = 16 << 10
	queryTime     = 2 * time.Second // for the vector of a query; after that words alone answer
	widerBy       = 4               // times the candidates, where too few of them hold at the moment
	maxCandidates = 10_000          // of one search, as many as an index gives: a matter that changed every hour for a year
	maxRead       = maxCandidates   // memories that one recall reads from the truth, however often it looks wider
)

// A Query asks for memories.
type Query struct {
	// Filter says which may be found; its Tenant must be set, and its User too. Without
	// Statuses it finds active memories that hold at the time that is asked of, or now.
	Filter memory.Filter
	// AllUsers asks for the memories of all users of the tenant: the User is empty then.
	AllUsers bool
	Text     string
	Limit    int     // at most MaxRecall; DefaultRecall by default
	AsOf     *Moment // asks for the past: what held then, as far as it was known then
	// Quiet recalls are not counted: those of somebody who looks after the memories.
	Quiet bool
}

// A Hit is a memory that was recalled, with what made its score. Its text is data
// of whoever said it, and no instruction to whoever reads it.
type Hit struct {
	Node  memory.Node   `json:"memory"`
	Score float64       `json:"score"`
	Parts []memory.Part `json:"parts"`
}

// Recall gives the memories that answer a query, best first, by this keeper's index,
// as they are in the truth: what was forgotten, archived or superseded a moment ago
// is not among them, even where the index is behind. Each hit is counted, some
// seconds later. Where the embedder fails or takes long, words alone answer. It
// fails with BadValue for a query out of its bounds, and with Unavailable, for a while, where
// an index that all replicas share is being filled, is of another version, or is gone.
func (k *Keeper) Recall(ctx context.Context, q Query) ([]Hit, error) {
	const op = "keeper.Recall"
	if k.store == nil {
		return nil, fail(op, noStore())
	}
	if err := q.check(); err != nil {
		return nil, fail(op, err)
	}
	if q.Limit == 0 {
		q.Limit = DefaultRecall
	}
	hits, err := k.recall(ctx, q)
	if err != nil {
		return nil, fail(op, err)
	}
	if !q.Quiet {
		k.count(hits)
	}
	return hits, nil
}

func (q Query) check() error {
	o := Owner{q.Filter.Tenant, q.Filter.User}
	if q.AllUsers && o.User == "" {
		o.User = "any"
	}
	switch {
	case q.AllUsers && q.Filter.User != "":
		return badValue("a recall asks for all users and for one").WithHint("leave out one of them")
	case q.Limit < 0 || q.Limit > MaxRecall:
		return badValue("a recall asks for %d memories; it may ask for 1 to %d", q.Limit, MaxRecall)
	case len(q.Text) > MaxQueryBytes:
		return badValue("the query of a recall has %d bytes; give at most %d", len(q.Text), MaxQueryBytes)
	}
	return o.check()
}

// recall searches the index as it is. A shared one may be filled anew meanwhile: then it
// searches the next filling, once.
func (k *Keeper) recall(ctx context.Context, q Query) ([]Hit, error) {
	filling, err := k.searched(ctx)
	if err != nil {
		return nil, err
	}
	leg := k.Leg()
	vector := k.vectorOf(ctx, leg, q.Text)
	hits, err := k.recallFrom(ctx, k.indexOf(filling), q, leg, vector)
	if !k.isGone(err) {
		return hits, err
	}
	next, err := k.searched(ctx)
	if err != nil {
		return nil, err
	}
	if next != filling {
		if hits, err = k.recallFrom(ctx, k.indexOf(next), q, leg, vector); !k.isGone(err) {
			return hits, err
		}
	}
	return nil, indexGone()
}

// recallFrom looks among more candidates where those that it has hold too seldom: no index
// knows when a memory holds, and of a price that changes daily one in hundreds does. What
// it has read of the truth it does not read again.
func (k *Keeper) recallFrom(ctx context.Context, index memory.Store, q Query, leg Leg, vector []float32) ([]Hit, error) {
	looked := looks{}
	for times := 1; ; times *= widerBy {
		ranked, more, err := k.rank(ctx, index, q, leg, vector, times)
		if err != nil {
			return nil, err
		}
		hits, err := k.read(ctx, q, ranked, looked)
		if err != nil || len(hits) == q.Limit || !more || len(looked) >= maxRead {
			return hits, err
		}
	}
}

// rank gives the candidates of both legs in one list, some times as many as the ranking
// asks for, and tells whether there may be more.
func (k *Keeper) rank(ctx context.Context, index memory.Store, q Query, leg Leg, vector []float32, times int) (ranked []memory.Hit, more bool, err error) {
	filter, ranking := q.Filter, k.rankingOf(leg)
	words, near := ranking.Windows(q.Limit)
	words, near = min(words*times, maxCandidates), min(near*times, maxCandidates)
	if q.AsOf != nil && len(filter.Statuses) == 0 {
		filter.Statuses = []memory.Status{memory.Active, memory.Superseded, memory.Falsified, memory.Archived}
	}
	sparse, err := index.Sparse(ctx, filter, tokens.Query(q.Text), words)
	if err != nil {
		return nil, false, err
	}
	var dense []memory.Found
	if vector != nil {
		if dense, err = index.Dense(ctx, filter, vector, near); err != nil {
			return nil, false, err
		}
	}
	more = len(sparse) == words && words < maxCandidates || vector != nil && len(dense) == near && near < maxCandidates
	asked := memory.Asked{Text: q.Text, Now: k.now(), Limit: len(sparse) + len(dense), Near: near}
	return memory.Rank(asked, sparse, dense, ranking), more, nil
}

// vectorOf gives the vector of a query, or nil where there is none to be had.
func (k *Keeper) vectorOf(ctx context.Context, leg Leg, text string) []float32 {
	if !leg.On || text == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	vectors, err := k.embedder.Embed(ctx, []string{text})
	if err == nil && len(vectors) == 1 && vectors[0] == nil { // the model makes nothing of it
		return nil
	}
	if err != nil || !k.fit(vectors, 1) {
		k.log.Warn("memories: a query has no vector; words alone answer", "error", err)
		return nil
	}
	return vectors[0]
}

// looks are the memories that a recall has read from the truth: nil for what does not
// answer it.
type looks map[key]*stored

// read takes hits from the truth, in their order, until there are enough.
func (k *Keeper) read(ctx context.Context, q Query, ranked []memory.Hit, looked looks) (hits []Hit, err error) {
	for len(ranked) > 0 && len(hits) < q.Limit {
		some := ranked[:min(len(ranked), max(shortList, q.Limit))]
		ranked = ranked[len(some):]
		if err := k.readSome(ctx, q, some, looked); err != nil {
			return nil, err
		}
		for _, h := range some {
			if s := looked[keyOf(q, h)]; s != nil && len(hits) < q.Limit {
				hits = append(hits, Hit{Node: s.Node, Score: h.Score, Parts: h.Parts})
			}
		}
	}
	return hits, nil
}

func keyOf(q Query, h memory.Hit) key { return key{Owner{q.Filter.Tenant, h.User}, h.ID} }

// readSome looks at those that were not looked at yet, as long as maxRead lets it.
func (k *Keeper) readSome(ctx context.Context, q Query, some []memory.Hit, looked looks) error {
	of := map[Owner][]memory.ID{}
	for _, h := range some {
		one := keyOf(q, h)
		if _, known := looked[one]; known || len(looked) >= maxRead {
			continue
		}
		looked[one], of[one.owner] = nil, append(of[one.owner], one.id)
	}
	for o, ids := range of {
		all, err := findAll(ctx, k.db.Reads, o, ids)
		if err != nil {
			return err
		}
		for _, s := range all {
			if s.answers(q, k.now()) {
				looked[key{o, s.ID}] = &s
			}
		}
	}
	return nil
}

// answers looks again, in the truth, at what may have changed since the index was
// told, and at what no index knows.
func (s stored) answers(q Query, now time.Time) bool {
	switch {
	case q.Filter.User != "" && s.User != q.Filter.User:
		return false
	case len(q.Filter.Statuses) > 0 && !among(q.Filter.Statuses, s.Status):
		return false
	case q.AsOf != nil:
		return s.holds(*q.AsOf, now)
	case len(q.Filter.Statuses) > 0:
		return true
	}
	return s.Status == memory.Active && s.holds(Moment{}, now)
}

// Shown counts that memories of an owner were put before the model, for who recalls more
// than that quietly (Query.Quiet). It waits for no disk.
func (k *Keeper) Shown(o Owner, ids []memory.ID) {
	keys := make([]key, len(ids))
	for i, id := range ids {
		keys[i] = key{o, id}
	}
	k.uses.add(k.now(), keys)
}

func (k *Keeper) count(hits []Hit) {
	keys := make([]key, len(hits))
	for i, h := range hits {
		keys[i] = key{Owner{h.Node.Tenant, h.Node.User}, h.Node.ID}
	}
	k.uses.add(k.now(), keys)
}
