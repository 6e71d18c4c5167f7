package index

import (
	"cmp"
	"container/heap"
	"context"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// Sparse gives the limit best by BM25 over the terms of the query, best first. An
// entry without a term of the query is not found. Limit is from 1 to 10,000.
func (x *Index) Sparse(ctx context.Context, filter memory.Filter, query tokens.Vector, limit int) ([]memory.Found, error) {
	v, err := x.begin(ctx, "index.Sparse", filter, limit, query, func() *abi.Problem { return checkTerms(query) })
	if err != nil {
		return nil, err
	}
	var scores []float64
	return v.search(ctx, "index.Sparse", filter, limit, func(s *segment, offer func(number int, score float64)) {
		scores = append(scores[:0], make([]float64, len(s.docs))...)
		for _, term := range v.terms {
			var at posting
			for l := s.postings.find(term.id); len(l) > 0; {
				at, l = l.next(at.doc)
				scores[at.doc] += term.weight * float64(s.weights[int(s.docs[at.doc].weights)+at.level])
			}
		}
		for number, score := range scores {
			if score > 0 {
				offer(number, score)
			}
		}
	})
}

// Dense gives the limit nearest by cosine, in the same order. An entry without a
// vector is not found. It compares with every vector that the filter lets it.
func (x *Index) Dense(ctx context.Context, filter memory.Filter, query []float32, limit int) ([]memory.Found, error) {
	v, err := x.begin(ctx, "index.Dense", filter, limit, nil, func() *abi.Problem {
		if x.length == 0 { // no vector is here to compare with
			return nil
		}
		return checkVector(query, x.length)
	})
	if err != nil {
		return nil, err
	}
	return v.search(ctx, "index.Dense", filter, limit, func(s *segment, offer func(number int, score float64)) {
		for number, vector := range s.dense {
			if vector != nil {
				offer(number, dot(query, vector))
			}
		}
	})
}

// begin checks a search, and its question while mu is held, and takes what it reads.
func (x *Index) begin(ctx context.Context, op string, filter memory.Filter, limit int, query tokens.Vector, check func() *abi.Problem) (view, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if err := x.ready(ctx, op); err != nil {
		return view{}, err
	}
	problem := checkSearch(filter, limit)
	if problem == nil {
		problem = check()
	}
	if problem != nil {
		return view{}, host.Fail(op, problem, nil)
	}
	return x.look(filter, query), nil
}

// dot is the cosine of normalised vectors. Four sums let the processor work ahead.
func dot(a, b []float32) float64 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return float64(s0) + float64(s1) + float64(s2) + float64(s3)
}

// search goes through the segments. The leg offers each doc with its score, the
// filter decides, and the best are kept.
func (v view) search(ctx context.Context, op string, filter memory.Filter, limit int, leg func(s *segment, offer func(int, float64))) ([]memory.Found, error) {
	top := best{limit: limit}
	for i, u := range v.users {
		if err := ctx.Err(); err != nil {
			return nil, host.Fail(op, nil, err)
		}
		for _, s := range v.parts[i] {
			wanted := newSieve(filter, s)
			leg(s, func(number int, score float64) {
				if top.wants(score, s.docs[number].id) && wanted.passes(s.docs[number]) {
					top.add(s.found(u, number, score))
				}
			})
		}
	}
	return top.list(), nil
}

// best keeps the limit best of what it is given: a heap, the worst on top.
type best struct {
	limit int
	kept  foundHeap
}

func (b *best) wants(score float64, id memory.ID) bool {
	if len(b.kept) < b.limit {
		return true
	}
	worst := b.kept[0]
	return score > worst.Score || score == worst.Score && id < worst.ID
}

func (b *best) add(f memory.Found) {
	if len(b.kept) < b.limit {
		heap.Push(&b.kept, f)
		return
	}
	b.kept[0] = f
	heap.Fix(&b.kept, 0)
}

func (b *best) list() []memory.Found {
	slices.SortFunc(b.kept, func(a, b memory.Found) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return b.kept
}

type foundHeap []memory.Found

func (h foundHeap) Len() int { return len(h) }
func (h foundHeap) Less(i, j int) bool {
	return h[i].Score < h[j].Score || h[i].Score == h[j].Score && h[i].ID > h[j].ID
}
func (h foundHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *foundHeap) Push(x any)   { *h = append(*h, x.(memory.Found)) }
func (h *foundHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
