package measure

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
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
	At5         float64 `json:"recall_at_5"`  // share of the relevant texts among the first 5, mean over questions
	At10        float64 `json:"recall_at_10"` // likewise
	SessionsAt5 float64 `json:"sessions_hit_at_5"`
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
	if err := fill(ctx, store, turns); err != nil {
		return Recalled{}, err
	}
	session := map[int]host.SessionID{}
	for _, t := range turns {
		session[t.ID] = t.node.Source.Session
	}
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

func fill(ctx context.Context, store memory.Store, turns []turn) error {
	const batch = 500
	entries := make([]memory.Entry, 0, batch)
	for i, t := range turns {
		text := t.node.IndexText
		if text == "" {
			text = t.node.Text
		}
		entries = append(entries, entryOf(t.node, text))
		if len(entries) == batch || i == len(turns)-1 {
			if err := store.Put(ctx, entries); err != nil {
				return err
			}
			entries = entries[:0]
		}
	}
	return nil
}

func entryOf(n memory.Node, text string) memory.Entry {
	return memory.Entry{
		ID: n.ID, Tenant: n.Tenant, User: n.User, Session: n.Source.Session, Kind: n.Kind, Layer: n.Layer, Status: n.Status,
		Order: n.Source.Order, At: n.At, Sparse: tokens.Document(text),
	}
}

// ask gives all that was found, ranked: sessions are counted over more than a list shows.
func ask(ctx context.Context, store memory.Store, q Query, ranking memory.Ranking) ([]memory.Hit, error) {
	limit := memory.Candidates(10)
	filter := memory.Filter{Tenant: tenant, User: host.UserID(q.Scope)}
	found, err := store.Sparse(ctx, filter, tokens.Query(q.Text), limit)
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
	for _, s := range memory.Sessions(hits, 5) {
		if sessions[s.Session] {
			f.SessionsAt5 = 1
		}
	}
	return f
}

func (f *Figures) add(g Figures) {
	f.Questions += g.Questions
	f.At5 += g.At5
	f.At10 += g.At10
	f.SessionsAt5 += g.SessionsAt5
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
		n := float64(sum.Questions)
		mean := Figures{Questions: sum.Questions, At5: sum.At5 / n, At10: sum.At10 / n, SessionsAt5: sum.SessionsAt5 / n}
		var category string
		if _, err := fmt.Sscanf(group, "category %s", &category); err == nil {
			r.Categories[category] = mean
		} else {
			r.Halves[Half(group)] = mean
		}
	}
	return r
}
