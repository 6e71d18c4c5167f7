package qdrant

import (
	"cmp"
	"context"
	"slices"
	"time"

	api "github.com/qdrant/go-client/qdrant"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// Sparse gives the limit best by BM25 over the terms of the query; of equal
// scores the lesser id first. A query without terms finds nothing. A limit is
// from 1 to MaxLimit.
func (s *Store) Sparse(ctx context.Context, filter memory.Filter, query tokens.Vector, limit int) ([]memory.Found, error) {
	const op = "qdrant.Sparse"
	if problem := checkTerms(query); problem != nil {
		return nil, host.Fail(op, problem, nil)
	}
	search := &api.QueryPoints{Using: api.PtrOf(sparseName), Query: api.NewQuerySparse(columns(query))}
	if len(query) == 0 {
		search = nil
	}
	return s.search(ctx, op, filter, search, limit)
}

// Dense gives the limit nearest by cosine, in the same order. Of one user's
// memories every one is compared; over all users of a tenant with very many,
// Qdrant's graph may miss some.
func (s *Store) Dense(ctx context.Context, filter memory.Filter, query []float32, limit int) ([]memory.Found, error) {
	const op = "qdrant.Dense"
	if problem := checkDense(query, s.dimensions); problem != nil {
		return nil, host.Fail(op, problem, nil)
	}
	search := &api.QueryPoints{Using: api.PtrOf(denseName), Query: api.NewQueryDense(query)}
	if filter.User != "" {
		search.Params = &api.SearchParams{Exact: api.PtrOf(true)}
	}
	return s.search(ctx, op, filter, search, limit)
}

// search asks one leg. Qdrant leaves the order of equal scores open, so where
// the limit cuts through such, it asks for more, until all of them are there or
// MaxLimit is reached.
func (s *Store) search(ctx context.Context, op string, filter memory.Filter, search *api.QueryPoints, limit int) ([]memory.Found, error) {
	if problem := checkFilter(filter); problem != nil {
		return nil, host.Fail(op, problem, nil)
	}
	if limit < 1 || limit > MaxLimit {
		return nil, host.Fail(op, abi.NewProblem(abi.BadValue, "a search of memories gives 1 to %d, not %d", MaxLimit, limit), nil)
	}
	if err := ctx.Err(); err != nil {
		return nil, host.Fail(op, nil, err)
	}
	if search == nil {
		return nil, nil
	}
	search.Filter, search.ReadConsistency = filterOf(filter), majority()
	search.WithPayload = api.NewWithPayloadInclude(fieldID, fieldTenant, fieldUser, fieldSession, fieldOrder, fieldAt)
	for ask := limit + 1; ; ask = min(4*ask, MaxLimit+1) {
		found, err := s.ask(ctx, op, filter, search, ask)
		if err != nil {
			return nil, err
		}
		if len(found) < ask || found[limit-1].Score > found[len(found)-1].Score || ask > MaxLimit {
			return found[:min(limit, len(found))], nil
		}
	}
}

// ask sends a search, and gives what came back in our order.
func (s *Store) ask(ctx context.Context, op string, filter memory.Filter, search *api.QueryPoints, limit int) ([]memory.Found, error) {
	search.Limit = api.PtrOf(uint64(limit))
	var points []*api.ScoredPoint
	err := s.onCollection(ctx, op, func(ctx context.Context, collection string) error {
		search.CollectionName = collection
		reply, err := s.client.Points().Query(ctx, search)
		points = reply.GetResult()
		return err
	})
	if err != nil {
		return nil, err
	}
	found := make([]memory.Found, len(points))
	for i, p := range points {
		payload := p.GetPayload()
		if payload[fieldTenant].GetStringValue() != string(filter.Tenant) || filter.User != "" && payload[fieldUser].GetStringValue() != string(filter.User) {
			return nil, host.Fail(op, abi.NewProblem(abi.StoreFailure, "Qdrant at %s gave a memory of somebody else; none of the answer is used", s.target.address()), nil)
		}
		found[i] = foundOf(p)
	}
	slices.SortFunc(found, func(a, b memory.Found) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return found, nil
}

func foundOf(p *api.ScoredPoint) memory.Found {
	payload := p.GetPayload()
	return memory.Found{
		ID:      memory.ID(payload[fieldID].GetStringValue()),
		Score:   float64(p.GetScore()),
		User:    host.UserID(payload[fieldUser].GetStringValue()),
		Session: host.SessionID(payload[fieldSession].GetStringValue()),
		Order:   payload[fieldOrder].GetIntegerValue(),
		At:      time.UnixMicro(payload[fieldAt].GetIntegerValue()).UTC(),
	}
}
