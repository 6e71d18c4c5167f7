package audit

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// maxProved bounds the records of one proof; a call has a dozen.
const maxProved = 1000

// A Proof is what verify.Proof checks, by itself: records with their way to the
// root of one signed checkpoint, or that a log at an earlier checkpoint is the
// beginning of the same log at a later one. It marshals to JSON.
type Proof struct {
	Key         string      `json:"key"`                   // the public one that the host signs with; who checks goes by his own
	Checkpoint  string      `json:"checkpoint"`            // the newest of the log
	Records     []proved    `json:"records,omitempty"`     // in the order of the log
	Earlier     string      `json:"earlier,omitempty"`     // the other checkpoint
	Consistency []tlog.Hash `json:"consistency,omitempty"` // from that one to this one
}

type proved struct {
	Entry published   `json:"entry"`
	Path  []tlog.Hash `json:"path"`
}

// Prove proves records of one call or the one with a seq, whatever of them is
// sealed; in several proofs where they are in several logs. It fails with
// BadValue where there is none, or there are more than a proof takes.
func (q *Sequencer) Prove(ctx context.Context, tenant host.TenantID, call host.CallID, seq int64) ([]Proof, error) {
	records, err := q.toProve(ctx, tenant, call, seq)
	if err != nil {
		return nil, err
	}
	byLog := map[int64][]proved{}
	leaves := leafReader{q: q, tenant: tenant, tiles: map[int64]*tiles{}}
	for _, r := range records {
		leaf, err := leaves.of(ctx, r.Seq)
		if err != nil {
			return nil, err
		}
		if leaf.Secret == nil {
			continue
		}
		hash, err := leaves.hash(ctx, leaf.Log, leaf.Index)
		if err != nil {
			return nil, err
		}
		byLog[leaf.Log] = append(byLog[leaf.Log], proved{Entry: publishedOf(r, leaf, hash)})
	}
	// After the leaves: what was sealed meanwhile is in these.
	logs, err := q.allLogs(ctx, tenant)
	if err != nil {
		return nil, err
	}
	var proofs []Proof
	for _, log := range logs {
		if of := byLog[log.No]; len(of) > 0 {
			proof, err := q.paths(ctx, log, of)
			if err != nil {
				return nil, err
			}
			proofs = append(proofs, proof)
		}
	}
	if len(proofs) == 0 {
		return nil, host.Fail("audit.Prove", abi.NewProblem(abi.BadValue, "no sealed record is this one").
			WithHint("look with sluice audit list; a new record is sealed soon after while a host serves"), nil)
	}
	return proofs, nil
}

// toProve gives the records of a call, or the one with a seq.
func (q *Sequencer) toProve(ctx context.Context, tenant host.TenantID, call host.CallID, seq int64) (records []host.Record, err error) {
	filter := state.RecordFilter{Call: call, Limit: q.testOnlyPage}
	if call == "" {
		if seq < 1 {
			return nil, host.Fail("audit.Prove", abi.NewProblem(abi.BadValue, "there is no record %d", seq).WithHint("records count from 1; look with sluice audit list"), nil)
		}
		filter = state.RecordFilter{AfterSeq: seq - 1, UpToSeq: seq}
	}
	for {
		page, err := q.Store.Records(ctx, tenant, filter)
		if err != nil || len(page) == 0 {
			return records, err
		}
		if records = append(records, page...); len(records) > maxProved {
			return nil, host.Fail("audit.Prove", abi.NewProblem(abi.BadValue, "call %s has more than %d records", call, maxProved).
				WithHint("prove them one by one, by their numbers"), nil)
		}
		filter.AfterSeq = page[len(page)-1].Seq
	}
}

func (q *Sequencer) paths(ctx context.Context, log state.AuditLog, of []proved) (Proof, error) {
	tree, err := openCheckpoint(log.Checkpoint, log.Key, originOf(log.Tenant, log.No))
	if err != nil {
		return Proof{}, damaged("audit.Prove", originOf(log.Tenant, log.No), err)
	}
	hashes := tlog.TileHashReader(tree, tilesOf(ctx, q.Store, log.Tenant, log.No))
	for i := range of {
		path, err := tlog.ProveRecord(tree.N, of[i].Entry.Index, hashes)
		if err != nil {
			return Proof{}, damaged("audit.Prove", originOf(log.Tenant, log.No), err)
		}
		of[i].Path = path
	}
	return Proof{Key: log.Key, Checkpoint: string(log.Checkpoint), Records: of}, nil
}

// ProveSince proves that the log of an earlier checkpoint of the tenant's has
// only grown since. It fails with BadValue if that is not a checkpoint of one of
// the tenant's logs as they are now.
func (q *Sequencer) ProveSince(ctx context.Context, tenant host.TenantID, earlier []byte) (Proof, error) {
	logs, err := q.allLogs(ctx, tenant)
	if err != nil {
		return Proof{}, err
	}
	for _, log := range logs {
		origin := originOf(tenant, log.No)
		old, err := openCheckpoint(earlier, log.Key, origin)
		if err != nil {
			continue // another log's
		}
		tree, err := openCheckpoint(log.Checkpoint, log.Key, origin)
		if err != nil || old.N < 1 || old.N > tree.N {
			return Proof{}, damaged("audit.ProveSince", origin, err)
		}
		path, err := tlog.ProveTree(tree.N, old.N, tlog.TileHashReader(tree, tilesOf(ctx, q.Store, tenant, log.No)))
		if err != nil {
			return Proof{}, damaged("audit.ProveSince", origin, err)
		}
		return Proof{Key: log.Key, Checkpoint: string(log.Checkpoint), Earlier: string(earlier), Consistency: path}, nil
	}
	return Proof{}, host.Fail("audit.ProveSince", abi.NewProblem(abi.BadValue, "this is no checkpoint of an audit log of %s", tenant), nil)
}

// Checkpoint gives the newest checkpoint of a tenant's open log, for whoever
// keeps it where the host cannot change it; nil if there is no log yet.
func (q *Sequencer) Checkpoint(ctx context.Context, tenant host.TenantID) ([]byte, error) {
	log, _, err := q.Store.LastAuditLog(ctx, tenant)
	return log.Checkpoint, err
}
