package main

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"

	"github.com/sluicehq/sluice/host/audit"
	"github.com/sluicehq/sluice/host/state"
)

// sequencer gives what seals and proves the records of a store. Only in the
// home's own store does it begin a log with a key that it makes: any other is
// sealed by hosts that have a key already, and could not go on from this one's.
func (p *program) sequencer(store *state.Store) *audit.Sequencer {
	return &audit.Sequencer{
		Store: store, MakesKey: p.store == "",
		Keys: audit.KeyFile(cmp.Or(p.auditKey, filepath.Join(p.home, "audit", "key"))),
	}
}

// sealer gives the sequencer of a host that serves. On a store that hosts share,
// it fails where this one has not the key of all that is sealed there: once the
// sealing is its turn, nothing would be sealed any more.
func (p *program) sealer(ctx context.Context, store *state.Store, log *slog.Logger) (*audit.Sequencer, error) {
	q := p.sequencer(store)
	q.Log, q.MakesKey = log, !store.Shared()
	if !store.Shared() {
		return q, nil
	}
	if p.auditKey == "" {
		log.Warn("several hosts can seal this store, and this one's key is in its own home: give all the same file with --audit-key", slog.String("key", string(q.Keys)))
	}
	return q, q.CheckKeys(ctx)
}
