package memorytest

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	api "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Query gives the nearest of one vector, dense or sparse.
func (s points) Query(_ context.Context, r *api.QueryPoints) (*api.QueryResponse, error) {
	if err := only(r, "collection_name", "query", "using", "filter", "params", "limit", "with_payload", "read_consistency"); err != nil {
		return nil, err
	}
	nearest := r.GetQuery().GetNearest()
	if nearest == nil || r.Limit == nil || r.GetLimit() == 0 {
		return nil, status.Error(codes.Unimplemented, "the test's server plays queries for the nearest, with a limit")
	}
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	c, err := s.q.find(r.GetCollectionName())
	if err != nil {
		return nil, err
	}
	score, err := c.scorer(r.GetUsing(), nearest)
	if err != nil {
		return nil, err
	}
	if err := c.checkFilter(r.GetFilter()); err != nil {
		return nil, err
	}
	found := c.matching(r.GetFilter(), score)
	// Of equal scores the greatest id comes first: Qdrant promises no order, and nobody is to rely on one.
	slices.SortFunc(found, func(a, b *api.ScoredPoint) int {
		return cmp.Or(cmp.Compare(b.GetScore(), a.GetScore()), strings.Compare(b.GetId().GetUuid(), a.GetId().GetUuid()))
	})
	found = found[:min(uint64(len(found)), r.GetLimit())]
	for _, p := range found {
		p.Payload = chosen(p.GetPayload(), r.GetWithPayload().GetInclude().GetFields())
	}
	return &api.QueryResponse{Result: found}, nil
}

func chosen(payload map[string]*api.Value, fields []string) map[string]*api.Value {
	out := map[string]*api.Value{}
	for _, field := range fields {
		if v, ok := payload[field]; ok {
			out[field] = v
		}
	}
	return out
}

// matching scores the points that a filter lets through.
func (c *collection) matching(filter *api.Filter, score func(*point) (float32, bool)) []*api.ScoredPoint {
	var found []*api.ScoredPoint
	for id, p := range c.points {
		if !passesAll(p, filter) {
			continue
		}
		if s, ok := score(p); ok {
			found = append(found, &api.ScoredPoint{Id: api.NewIDUUID(id), Score: s, Payload: p.payload})
		}
	}
	return found
}

// scorer gives the function that scores a point, if it has the vector.
func (c *collection) scorer(using string, nearest *api.VectorInput) (func(*point) (float32, bool), error) {
	switch {
	case nearest.GetDense() != nil:
		query, err := c.denseOf(using, nearest.GetDense().GetData())
		return func(p *point) (float32, bool) {
			v, ok := p.dense[using]
			return dot(query, v), ok
		}, err
	case nearest.GetSparse() != nil:
		query, err := c.sparseOf(using, nearest.GetSparse())
		if err != nil {
			return nil, err
		}
		if c.made.GetSparseVectorsConfig().GetMap()[using].GetModifier() == api.Modifier_Idf {
			c.weigh(using, query)
		}
		order := nearest.GetSparse().GetIndices()
		return func(p *point) (sum float32, shares bool) {
			for _, id := range order {
				if w, ok := p.sparse[using][id]; ok {
					sum, shares = sum+query[id]*w, true
				}
			}
			return sum, shares
		}, nil
	}
	return nil, status.Error(codes.Unimplemented, "the test's server plays dense and sparse queries")
}

func dot(a, b []float32) (sum float32) {
	for i := range b {
		sum += a[i] * b[i]
	}
	return sum
}

// weigh multiplies a query with the IDF of its terms, counted over all points of
// the shard that have the vector, whatever the filter: ln((n - df + 0.5)/(df + 0.5) + 1).
func (c *collection) weigh(using string, query map[uint32]float32) {
	n := 0
	df := map[uint32]int{}
	for _, p := range c.points {
		if len(p.sparse[using]) == 0 {
			continue
		}
		n++
		for id := range query {
			if _, ok := p.sparse[using][id]; ok {
				df[id]++
			}
		}
	}
	for id := range query {
		d := float64(df[id])
		query[id] *= float32(math.Log((float64(n)-d+0.5)/(d+0.5) + 1))
	}
}

// checkFilter refuses a filter that is not played: one of conditions that must all
// be met, on fields that have the right index.
func (c *collection) checkFilter(filter *api.Filter) error {
	if err := only(filter, "must"); err != nil {
		return err
	}
	for _, condition := range filter.GetMust() {
		field := condition.GetField()
		if field == nil {
			return status.Error(codes.Unimplemented, "the test's server plays conditions on fields")
		}
		if err := only(field, "key", "match", "range"); err != nil {
			return err
		}
		needs := api.PayloadSchemaType_Keyword
		switch field.GetMatch().GetMatchValue().(type) {
		case nil:
			needs = api.PayloadSchemaType_Integer
		case *api.Match_Keyword, *api.Match_Keywords:
		default:
			return status.Error(codes.Unimplemented, "the test's server plays matches of keywords")
		}
		if c.indexes[field.GetKey()].GetDataType() != needs {
			return status.Errorf(codes.InvalidArgument, "Bad request: Index required but not found for %q of one of the following types: [%s]", field.GetKey(), needs)
		}
	}
	return nil
}

func passesAll(p *point, filter *api.Filter) bool {
	for _, condition := range filter.GetMust() {
		field := condition.GetField()
		if !meets(p.payload[field.GetKey()], field) {
			return false
		}
	}
	return true
}

func meets(value *api.Value, field *api.FieldCondition) bool {
	text, isText := value.GetKind().(*api.Value_StringValue)
	number, isNumber := value.GetKind().(*api.Value_IntegerValue)
	switch match := field.GetMatch().GetMatchValue().(type) {
	case *api.Match_Keyword:
		return isText && text.StringValue == match.Keyword
	case *api.Match_Keywords:
		return isText && slices.Contains(match.Keywords.GetStrings(), text.StringValue)
	}
	return isNumber && within(float64(number.IntegerValue), field.GetRange())
}

func within(x float64, r *api.Range) bool {
	return r != nil && (r.Gte == nil || x >= *r.Gte) && (r.Lt == nil || x < *r.Lt) && (r.Gt == nil || x > *r.Gt) && (r.Lte == nil || x <= *r.Lte)
}
