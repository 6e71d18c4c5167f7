package memory

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sluicehq/sluice/host"
)

// A Hit is a memory of a ranked list. Its Score is the sum of its parts.
type Hit struct {
	Found
	Parts []Part `json:"parts"`
}

// A Part is what one reason adds to the score of a hit.
type Part struct {
	Name  string  `json:"name"` // "words", "meaning", "neighbours", "session", "date", "recency"
	Value float64 `json:"value"`
}

// An Asked is a question to the memories.
type Asked struct {
	Text  string
	Now   time.Time // what "yesterday" is said of; zero where nobody knows
	Limit int       // of the list
	Near  int       // how many the dense leg was asked for; 0 where nobody knows
}

// A Ranking is how candidates become one list. A weight of zero adds nothing.
type Ranking struct {
	Words   float64 // of the sparse leg; its best candidate gets all of it
	Meaning float64 // of the dense leg; likewise, its last candidate none

	// Rescore is the mode of a search server that takes the nearest by meaning alone
	// and scores those anew by words: Meaning x cosine + Words x BM25, as they are. A
	// candidate of the sparse leg alone is not found, unless there is no dense leg, or it
	// gave fewer than it was asked for: what it lacks then has no vector yet. Beside a
	// full window such a memory is not found until it has one.
	Rescore bool

	Beside   float64 // of the turn before and the one after, each: what is talked about goes on
	TwoAway  float64 // of the turns two away, each: they are the same speaker's
	Session  float64 // of the best turn of the session: a strong session lifts all that it has
	Date     float64 // share that is added where the question names the day, month or year
	Recency  float64 // of what was said now
	HalfLife time.Duration
}

// Measured is the ranking whose constants were chosen on half of the scopes that
// memory/measure reads. Without a dense leg Meaning adds nothing.
func Measured() Ranking {
	return Ranking{Words: 1, Meaning: 0.5, Beside: 0.05, TwoAway: 0.2, Session: 0.3, Date: 0.08}
}

// Specified is the ranking by two stages: the nearest by meaning, and of those the
// best by words.
func Specified() Ranking { return Ranking{Words: 1, Meaning: 0.2, Rescore: true} }

// The names of the rankings.
const (
	MeasuredRanking  = "measured"
	SpecifiedRanking = "specified"
)

// RankingOf gives the ranking of a name.
func RankingOf(name string) (r Ranking, ok bool) {
	switch name {
	case MeasuredRanking:
		return Measured(), true
	case SpecifiedRanking:
		return Specified(), true
	}
	return Ranking{}, false
}

// Name tells which of the two ways of ranking it is, whatever its weights.
func (r Ranking) Name() string {
	if r.Rescore {
		return SpecifiedRanking
	}
	return MeasuredRanking
}

// Bounds of candidates: 30 for each place of a list.
const (
	perPlace         = 30
	fewestCandidates = 300 // even for a short list, so that neighbours are among them
	mostCandidates   = 3000
)

// Candidates tells how many candidates to ask each leg for, for a list of limit.
func Candidates(limit int) int {
	return min(max(limit*perPlace, fewestCandidates), mostCandidates)
}

// Windows tells how many candidates to ask each leg for, for a list of limit. Where words
// score anew what is near, the window of the nearest is 30 times the list, no more, and
// the words of as many as possible are known.
func (r Ranking) Windows(limit int) (sparse, dense int) {
	if r.Rescore {
		return mostCandidates, min(limit*perPlace, mostCandidates)
	}
	return Candidates(limit), Candidates(limit)
}

// Rank makes one list of the candidates of both legs, best first; of equal scores
// the lesser id comes first. Candidates are of one tenant; turns are neighbours only
// within one session of one user. It is pure.
func Rank(asked Asked, sparse, dense []Found, r Ranking) []Hit {
	hits := fuse(sparse, dense, r, asked.Near)
	r.liftNeighbours(hits)
	if named := datesIn(asked.Text, asked.Now); len(named) > 0 && r.Date > 0 {
		liftDates(hits, named, r.Date)
	}
	if r.Recency > 0 && r.HalfLife > 0 && !asked.Now.IsZero() {
		r.liftRecent(hits, asked.Now)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return hits[:min(max(asked.Limit, 0), len(hits))]
}

// fuse gives the union of both legs. What a leg found says so, even where that is worth
// nothing.
func fuse(sparse, dense []Found, r Ranking, near int) []Hit {
	var hits []Hit
	at := map[ID]int{}
	add := func(f Found, name string, value float64) {
		i, ok := at[f.ID]
		if !ok {
			i, at[f.ID] = len(hits), len(hits)
			f.Score = 0
			hits = append(hits, Hit{Found: f})
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			value = 0
		}
		hits[i].Parts = append(hits[i].Parts, Part{name, value})
		hits[i].Score += value
	}
	words, meaning := shareOfBest, shareOfRange
	if r.Rescore {
		words, meaning = asItIs, asItIs
	}
	weigh := meaning(dense)
	for _, f := range dense {
		add(f, "meaning", r.Meaning*weigh(f.Score))
	}
	weigh = words(sparse)
	for _, f := range sparse {
		if _, isNear := at[f.ID]; isNear || !r.Rescore || len(dense) == 0 || len(dense) < near {
			add(f, "words", r.Words*weigh(f.Score))
		}
	}
	return hits
}

func (h *Hit) add(name string, value float64) {
	if value == 0 || math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	h.Parts = append(h.Parts, Part{name, value})
	h.Score += value
}

func asItIs([]Found) func(float64) float64 { return func(score float64) float64 { return score } }

// shareOfBest measures against the best: BM25 has no upper end.
func shareOfBest(list []Found) func(float64) float64 {
	_, most := ends(list)
	return func(score float64) float64 { return score / most }
}

// shareOfRange measures between the last and the best: cosines of texts that have
// nothing in common are far from 0, and how far depends on the model.
func shareOfRange(list []Found) func(float64) float64 {
	least, most := ends(list)
	return func(score float64) float64 {
		if most == least {
			return 1
		}
		return (score - least) / (most - least)
	}
}

func ends(list []Found) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, f := range list {
		least, most = min(least, f.Score), max(most, f.Score)
	}
	return least, most
}

// A place is where a turn stands. Turns without a session have no neighbours.
type place struct {
	user    host.UserID
	session host.SessionID
	order   int64
}

// liftNeighbours adds to each turn what the turns around it have, and its session.
// All are measured as they were before.
func (r Ranking) liftNeighbours(hits []Hit) {
	scores, bests := map[place]float64{}, map[place]float64{}
	for _, h := range hits {
		if h.Session == "" {
			continue
		}
		p := place{h.User, h.Session, h.Order}
		scores[p] = max(scores[p], h.Score)
		p.order = 0
		bests[p] = max(bests[p], h.Score)
	}
	for i := range hits {
		h := &hits[i]
		if h.Session == "" {
			continue
		}
		away := func(steps int64) float64 { return scores[place{h.User, h.Session, h.Order + steps}] }
		h.add("neighbours", r.Beside*(away(-1)+away(1))+r.TwoAway*(away(-2)+away(2)))
		h.add("session", r.Session*bests[place{h.User, h.Session, 0}])
	}
}

func liftDates(hits []Hit, named []namedDate, share float64) {
	for i := range hits {
		if slices.ContainsFunc(named, func(d namedDate) bool { return d.covers(hits[i].At) }) {
			hits[i].add("date", share*hits[i].Score)
		}
	}
}

func (r Ranking) liftRecent(hits []Hit, now time.Time) {
	for i := range hits {
		age := max(now.Sub(hits[i].At), 0)
		hits[i].add("recency", r.Recency*math.Exp2(-float64(age)/float64(r.HalfLife)))
	}
}

// A SessionHit is a session of a ranked list.
type SessionHit struct {
	User    host.UserID
	Session host.SessionID
	Score   float64
}

// Sessions ranks the sessions of a list of hits: by the best turn of each, half of
// the second and a quarter of the third. The list should be longer than one that is
// shown, see [Candidates].
func Sessions(hits []Hit, limit int) []SessionHit {
	const counted = 3
	type key struct {
		user    host.UserID
		session host.SessionID
	}
	at, turns := map[key]int{}, []int{}
	var list []SessionHit
	for _, h := range slices.SortedStableFunc(slices.Values(hits), func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) }) {
		k := key{h.User, h.Session}
		i, ok := at[k]
		if !ok {
			i, at[k] = len(list), len(list)
			list, turns = append(list, SessionHit{User: h.User, Session: h.Session}), append(turns, 0)
		}
		if turns[i] < counted {
			list[i].Score += math.Ldexp(h.Score, -turns[i])
			turns[i]++
		}
	}
	slices.SortStableFunc(list, func(a, b SessionHit) int { return cmp.Compare(b.Score, a.Score) })
	return list[:min(max(limit, 0), len(list))]
}
