package recall

import (
	"context"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// Remembered keeps what a call of a skill remembers for the user of its session. The
// same ones again are kept once. Facts about prices and stock go stale fast, as those do
// that tools return. It is grant.Config's Remember.
func (r *Recall) Remembered(ctx context.Context, from host.CallRef, memories []abi.Memory) error {
	if err := valid("recall.Remembered", from.Session); err != nil {
		return err
	}
	nodes := make([]memory.Node, len(memories))
	for i, m := range memories {
		nodes[i] = memory.Node{Text: m.Text, Kind: memory.Kind(m.Kind), Entity: m.Entity, Layer: memory.Fact,
			Trust: memory.FactTrust, Source: memory.Source{Session: from.Session.Session, Live: from.Live, Call: from.Call}}
		if nodes[i].Kind == memory.FactOf {
			nodes[i].Freshness = memory.FactFreshness(m.Text)
		}
	}
	_, err := r.Keeper.Remember(ctx, ownerOf(from.Session), nodes)
	return err
}

// Recalled gives the memories of the user of a session that answer a skill's query,
// best first; of pieces of documents the text that they stand in. It is grant.Config's Recall.
func (r *Recall) Recalled(ctx context.Context, ref host.SessionRef, q abi.RecallQuery) ([]abi.Memory, error) {
	if err := valid("recall.Recalled", ref); err != nil {
		return nil, err
	}
	kinds := make([]memory.Kind, len(q.Kinds))
	for i, k := range q.Kinds {
		kinds[i] = memory.Kind(k)
	}
	hits, err := r.Keeper.Recall(ctx, keeper.Query{Filter: memory.Filter{Tenant: ref.Tenant, User: ref.User, Kinds: kinds}, Text: q.Query, Limit: q.Limit})
	if err != nil {
		return nil, err
	}
	found, scores := make([]memory.Node, len(hits)), map[memory.ID]float64{}
	for i, h := range hits {
		found[i], scores[h.Node.ID] = h.Node, h.Score
	}
	shown, err := r.surround(ctx, ownerOf(ref), found)
	if err != nil {
		r.Logger.WarnContext(ctx, "pieces of documents stand alone", "session", ref.String(), "error", err)
	}
	return shown.memories(scores), nil
}

// valid refuses a session that does not say whose it is: without a user all of the
// tenant's might be meant.
func valid(op string, ref host.SessionRef) error {
	if err := ref.Valid(); err != nil {
		return host.Fail(op, abi.NewProblem(abi.BadValue, "whose memories are meant is not clear: %v", err), nil)
	}
	return nil
}
