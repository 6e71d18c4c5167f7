package measure

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/embed"
	"github.com/sluicehq/sluice/memory/keeper"
	"github.com/sluicehq/sluice/memory/tokens"
)

// tenant has all scopes of a folder as its users.
const tenant host.TenantID = "measured"

// A Half tells which questions a figure is of.
type Half string

// The halves. Of several scopes every other one is held out, of a single scope every
// other question.
const (
	All     Half = "all"
	Tuned   Half = "tuned"
	HeldOut Half = "held out"
)

// Figures are what was found of what answers the questions, each 0 to 1.
type Figures struct {
	Questions   int     `json:"questions"`
	At5         float64 `json:"recall_at_5"`       // share of the relevant texts among the first 5, mean over questions
	At10        float64 `json:"recall_at_10"`      // likewise
	SessionsAt5 float64 `json:"sessions_hit_at_5"` // whether memory.Sessions, which makes a list of sessions of all turns found, has a relevant one among the first 5

	// SessionsIn10 is whether the first 10 turns, which is what a recall gives, have one
	// of a relevant session among them.
	SessionsIn10 float64 `json:"sessions_hit_in_10"`

	Quality float64 `json:"ndcg_at_10"` // see embed.Quality
}

// A Recalled is the figures of one folder.
type Recalled struct {
	Folder     string             `json:"folder"`
	Sessions   bool               `json:"sessions"` // it has any
	Halves     map[Half]Figures   `json:"halves"`
	Categories map[string]Figures `json:"categories"`
}

// Recall fills a store, which must be empty, and asks every question of the folder.
func Recall(ctx context.Context, store memory.Store, f *Folder, ranking memory.Ranking) (Recalled, error) {
	turns := f.turns()
	if err := fill(ctx, store, turns, nil, func(int) {}); err != nil {
		return Recalled{}, err
	}
	session := sessionsOf(turns)
	sums := map[string]*Figures{}
	for i, q := range f.Queries {
		if len(q.Relevant) == 0 {
			continue
		}
		hits, err := ask(ctx, store, q, ranking)
		if err != nil {
			return Recalled{}, err
		}
		found := count(q, hits, session)
		for _, group := range []string{string(All), string(f.half(i)), "category " + q.Category} {
			if sums[group] == nil {
				sums[group] = &Figures{}
			}
			sums[group].add(found)
		}
	}
	return f.recalled(sums), nil
}

// batch is how many texts are embedded and put together.
const batch = 500

// fill puts the texts into a store, with their vectors where there is a model, and tells
// after each batch how many are in.
func fill(ctx context.Context, store memory.Store, turns []turn, model memory.Embedder, progress func(done int)) error {
	done := 0
	for some := range slices.Chunk(turns, batch) {
		texts := make([]string, len(some))
		for i, t := range some {
			texts[i] = cmp.Or(t.node.IndexText, t.node.Text)
		}
		vectors, err := vectorsOf(ctx, model, texts)
		if err != nil {
			return err
		}
		entries := make([]memory.Entry, len(some))
		for i, t := range some {
			entries[i] = entryOf(t.node, texts[i])
			entries[i].Dense = vectors[i]
		}
		if err := store.Put(ctx, entries); err != nil {
			return err
		}
		done += len(some)
		progress(done)
	}
	return nil
}

func entryOf(n memory.Node, text string) memory.Entry {
	return memory.Entry{
		ID: n.ID, Tenant: n.Tenant, User: n.User, Session: n.Source.Session, Kind: n.Kind, Layer: n.Layer, Status: n.Status,
		Order: n.Source.Order, At: n.At, Sparse: tokens.Document(text),
	}
}

// sessionsOf tells the session of each text.
func sessionsOf(turns []turn) map[int]host.SessionID {
	session := map[int]host.SessionID{}
	for _, t := range turns {
		session[t.ID] = t.node.Source.Session
	}
	return session
}

func filterOf(q Query) memory.Filter {
	return memory.Filter{Tenant: tenant, User: host.UserID(q.Scope)}
}

// ask gives all that was found, ranked: sessions are counted over more than a list shows.
func ask(ctx context.Context, store memory.Store, q Query, ranking memory.Ranking) ([]memory.Hit, error) {
	limit := memory.Candidates(embed.Depth)
	found, err := store.Sparse(ctx, filterOf(q), tokens.Query(q.Text), limit)
	if err != nil {
		return nil, err
	}
	return memory.Rank(memory.Asked{Text: q.Text, Limit: limit}, found, nil, ranking), nil
}

// count measures one question.
func count(q Query, hits []memory.Hit, session map[int]host.SessionID) Figures {
	f := Figures{Questions: 1}
	relevant, sessions := map[memory.ID]bool{}, map[host.SessionID]bool{}
	for _, id := range q.Relevant {
		relevant[idOf(id)] = true
		sessions[session[id]] = true
	}
	share := 1 / float64(len(relevant))
	for i, hit := range hits[:min(10, len(hits))] {
		if relevant[hit.ID] {
			f.At10 += share
			if i < 5 {
				f.At5 += share
			}
		}
	}
	if slices.ContainsFunc(hits[:min(keeper.DefaultRecall, len(hits))], func(hit memory.Hit) bool { return sessions[hit.Session] }) {
		f.SessionsIn10 = 1
	}
	for _, s := range memory.Sessions(hits, 5) {
		if sessions[s.Session] {
			f.SessionsAt5 = 1
		}
	}
	f.Quality = embed.Quality(firstOf(hits), slices.Collect(maps.Keys(relevant)), embed.Depth)
	return f
}

// firstOf gives the ids of the hits that count.
func firstOf(hits []memory.Hit) []memory.ID {
	ids := make([]memory.ID, 0, embed.Depth)
	for _, hit := range hits[:min(embed.Depth, len(hits))] {
		ids = append(ids, hit.ID)
	}
	return ids
}

func (f *Figures) add(g Figures) {
	f.Questions += g.Questions
	f.At5 += g.At5
	f.At10 += g.At10
	f.SessionsAt5 += g.SessionsAt5
	f.SessionsIn10 += g.SessionsIn10
	f.Quality += g.Quality
}

// mean gives the figures of one question, of sums.
func (f *Figures) mean() Figures {
	n := float64(f.Questions)
	return Figures{Questions: f.Questions, At5: f.At5 / n, At10: f.At10 / n, SessionsAt5: f.SessionsAt5 / n, SessionsIn10: f.SessionsIn10 / n, Quality: f.Quality / n}
}

// half tells which half the question at i is of.
func (f *Folder) half(i int) Half {
	at := i
	if len(f.scopes) > 1 {
		for at = range f.scopes {
			if f.scopes[at] == f.Queries[i].Scope {
				break
			}
		}
	}
	if at%2 == 0 {
		return Tuned
	}
	return HeldOut
}

func (f *Folder) recalled(sums map[string]*Figures) Recalled {
	r := Recalled{Folder: f.Name, Sessions: len(f.dates) > 0, Halves: map[Half]Figures{}, Categories: map[string]Figures{}}
	for group, sum := range sums {
		mean := sum.mean()
		var category string
		if _, err := fmt.Sscanf(group, "category %s", &category); err == nil {
			r.Categories[category] = mean
		} else {
			r.Halves[Half(group)] = mean
		}
	}
	return r
}
