package measure

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/embed"
	"github.com/sluicehq/sluice/memory/tokens"
)

// weights are what the dense leg may count beside the words, whose best candidate counts
// 1. Of two that are as good the lesser one is chosen.
func weights() []float64 { return []float64{0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5} }

// A Way is one way of searching, with what it found.
type Way struct {
	Ranking string           `json:"ranking"` // memory.Ranking.Name
	Meaning float64          `json:"meaning"` // weight of the dense leg; 0 for words alone
	Halves  map[Half]Figures `json:"halves"`

	ranking memory.Ranking
	sums    map[Half]*Figures
	heldOut [][]memory.ID // what each held-out question found
}

func newWay(ranking memory.Ranking, meaning float64) *Way {
	ranking.Meaning = meaning
	return &Way{Ranking: ranking.Name(), Meaning: meaning, ranking: ranking, sums: map[Half]*Figures{}, Halves: map[Half]Figures{}}
}

// A Judgement says what the dense leg is worth in one ranking.
type Judgement struct {
	Ranking string        `json:"ranking"`
	Meaning float64       `json:"meaning"` // the weight that was judged
	Verdict embed.Verdict `json:"verdict"`
}

// A Judged is what the vectors of one model are worth on one folder.
type Judged struct {
	Folder     string      `json:"folder"`
	Digest     string      `json:"digest"` // Folder.Digest
	Model      string      `json:"model"`
	Sessions   bool        `json:"sessions"`
	Ways       []Way       `json:"ways"`  // each ranking by words alone and with the leg
	Tried      []Way       `json:"tried"` // every weight, for the measured ranking
	Judgements []Judgement `json:"judgements"`
}

// Judge fills a store, which must be empty, with texts and their vectors, and asks every
// question by words alone and with the dense leg, as measured and as specified. The
// weight of the leg in the measured ranking is the best one of the tuned half; the
// verdicts are those of the held-out half. Progress is told how many texts and questions
// are done. It fails as the model does, and for more questions than are judged.
func Judge(ctx context.Context, store memory.Store, model memory.Embedder, f *Folder, progress func(done int)) (Judged, error) {
	if len(f.Queries) > embed.LabelledMax {
		return Judged{}, host.Fail("measure.Judge", abi.NewProblem(abi.InputLimit, "%s has %d questions, of %d at most", f.Name, len(f.Queries), embed.LabelledMax).
			WithHint("judge by a part of them that was drawn by chance"), nil)
	}
	turns := f.turns()
	if err := fill(ctx, store, turns, model, progress); err != nil {
		return Judged{}, err
	}
	j := newJudging(store, f, turns)
	for from := 0; from < len(f.Queries); from += batch {
		some := f.Queries[from:min(from+batch, len(f.Queries))]
		if err := j.askSome(ctx, model, from, some); err != nil {
			return Judged{}, err
		}
		progress(len(turns) + from + len(some))
	}
	return j.judged(model.Name())
}

// A judging is a judgement under way.
type judging struct {
	store    memory.Store
	folder   *Folder
	session  map[int]host.SessionID
	relevant [][]memory.ID // of each held-out question

	words, specifiedWords, specified *Way
	fused                            []*Way // one of each weight
}

func newJudging(store memory.Store, f *Folder, turns []turn) *judging {
	j := &judging{store: store, folder: f, session: sessionsOf(turns)}
	j.words, j.specifiedWords = newWay(memory.Measured(), 0), newWay(memory.Specified(), 0)
	j.specified = newWay(memory.Specified(), memory.Specified().Meaning)
	for _, w := range weights() {
		j.fused = append(j.fused, newWay(memory.Measured(), w))
	}
	return j
}

func (j *judging) ways() []*Way {
	return append([]*Way{j.words, j.specifiedWords, j.specified}, j.fused...)
}

// askSome asks questions, the first of which is the folder's at from.
func (j *judging) askSome(ctx context.Context, model memory.Embedder, from int, some []Query) error {
	texts := make([]string, len(some))
	for i, q := range some {
		texts[i] = q.Text
	}
	vectors, err := vectorsOf(ctx, model, texts)
	if err != nil {
		return err
	}
	for i, q := range some {
		if len(q.Relevant) == 0 {
			continue
		}
		if err := j.ask(ctx, q, j.folder.half(from+i), vectors[i]); err != nil {
			return err
		}
	}
	return nil
}

// ask searches both legs once, and ranks what they gave in every way.
func (j *judging) ask(ctx context.Context, q Query, half Half, vector []float32) error {
	most, _ := memory.Specified().Windows(embed.Depth) // of words; of it the best are what any other way gets
	sparse, err := j.store.Sparse(ctx, filterOf(q), tokens.Query(q.Text), most)
	if err != nil {
		return err
	}
	var dense []memory.Found
	if vector != nil {
		if dense, err = j.store.Dense(ctx, filterOf(q), vector, memory.Candidates(embed.Depth)); err != nil {
			return err
		}
	}
	for _, w := range j.ways() {
		w.take(q, half, j.session, sparse, dense)
	}
	if half == HeldOut {
		ids := make([]memory.ID, len(q.Relevant))
		for i, id := range q.Relevant {
			ids[i] = idOf(id)
		}
		j.relevant = append(j.relevant, ids)
	}
	return nil
}

// take ranks the candidates of one question, and counts what was found.
func (w *Way) take(q Query, half Half, session map[int]host.SessionID, sparse, dense []memory.Found) {
	words, near := w.ranking.Windows(embed.Depth)
	sparse, dense = sparse[:min(words, len(sparse))], dense[:min(near, len(dense))]
	if w.Meaning == 0 {
		dense = nil
	}
	hits := memory.Rank(memory.Asked{Text: q.Text, Limit: memory.Candidates(embed.Depth), Near: near}, sparse, dense, w.ranking)
	found := count(q, hits, session)
	for _, h := range []Half{All, half} {
		if w.sums[h] == nil {
			w.sums[h] = &Figures{}
		}
		w.sums[h].add(found)
	}
	if half == HeldOut {
		w.heldOut = append(w.heldOut, firstOf(hits))
	}
}

// judged chooses the weight, and gives the verdicts.
func (j *judging) judged(model string) (Judged, error) {
	for _, w := range j.ways() {
		for half, sum := range w.sums {
			w.Halves[half] = sum.mean()
		}
	}
	best := slices.MaxFunc(j.fused, func(a, b *Way) int { // the first of equals
		return cmp.Compare(a.Halves[Tuned].Quality, b.Halves[Tuned].Quality)
	})
	result := Judged{Folder: j.folder.Name, Digest: j.folder.Digest, Model: model, Sessions: len(j.folder.dates) > 0}
	for _, pair := range [][2]*Way{{j.words, best}, {j.specifiedWords, j.specified}} {
		verdict, err := embed.Judge(j.labelled(pair[0], pair[1]), embed.Rule{})
		if err != nil {
			return Judged{}, err
		}
		result.Ways = append(result.Ways, *pair[0], *pair[1])
		result.Judgements = append(result.Judgements, Judgement{pair[1].Ranking, pair[1].Meaning, verdict})
	}
	for _, w := range j.fused {
		result.Tried = append(result.Tried, *w)
	}
	return result, nil
}

// labelled gives the held-out questions with what two ways found.
func (j *judging) labelled(without, with *Way) []embed.Labelled[memory.ID] {
	set := make([]embed.Labelled[memory.ID], len(j.relevant))
	for i := range set {
		set[i] = embed.Labelled[memory.ID]{Relevant: j.relevant[i], Without: without.heldOut[i], With: with.heldOut[i]}
	}
	return set
}

// vectorsOf gives a vector for each text, nil ones where there is no model or where it
// makes nothing of a text.
func vectorsOf(ctx context.Context, model memory.Embedder, texts []string) ([][]float32, error) {
	if model == nil {
		return make([][]float32, len(texts)), ctx.Err()
	}
	vectors, err := model.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("BUG: the embedder %s gave %d vectors for %d texts", model.Name(), len(vectors), len(texts))
	}
	return vectors, err
}
