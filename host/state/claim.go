package state

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A ClaimState says who may run a write.
type ClaimState string

// Claim states.
const (
	ClaimNew      ClaimState = "new"       // the caller, and nobody else
	ClaimDone     ClaimState = "done"      // nobody: it succeeded, and here is its outcome
	ClaimInFlight ClaimState = "in flight" // its holder is at it
	ClaimUnknown  ClaimState = "unknown"   // its holder's time ran out, or its lease on the session is over, without an end
)

// A ClaimRequest asks for the right to run one write.
type ClaimRequest struct {
	Session host.SessionRef
	Key     host.Key      // the idempotency key
	Digest  string        // of the tool, the release and the canonical arguments
	Call    host.CallID   // who asks
	Fence   Fence         // of the session's lease that the caller has; see Fence
	Lease   time.Duration // more than 0, at most a day; after it others may doubt the call
	Intent  host.Record   // kept together with the claim; without a session it gets the request's
}

// A Claim is the answer to a ClaimRequest.
type Claim struct {
	State   ClaimState
	Outcome json.RawMessage // of ClaimDone
	Call    host.CallID     // the holder
}

// Claim asks for the right to run a write. ClaimNew goes to one caller only,
// and then the claim and the intent's record are durable, together. A key that
// is taken is no error: the State says what to do. The same key with another
// digest is Conflict; a fence that is not the session's is Busy. Asking again never gives a second ClaimNew, not even to
// the same call, unless the claim was released.
func (s *Store) Claim(ctx context.Context, req ClaimRequest) (Claim, error) {
	return s.claim(ctx, "state.Claim", req, false)
}

// Reclaim is Claim, and takes over a ClaimUnknown: the caller runs the write
// again under the same key, which is right only for a tool that says so. The
// former holder can neither settle nor release from then on. Holders are told
// apart by their call, by the Store that they claimed with and by their fence,
// so a call that is resumed after a crash keeps its id; without a lease, one
// Store must not run one call twice at the same time.
func (s *Store) Reclaim(ctx context.Context, req ClaimRequest) (Claim, error) {
	return s.claim(ctx, "state.Reclaim", req, true)
}

func (s *Store) claim(ctx context.Context, op string, req ClaimRequest, takeOver bool) (Claim, error) {
	intents, err := checkRecords(req.Session, []host.Record{req.Intent})
	if err == nil {
		err = checkClaim(req)
	}
	if err != nil {
		return Claim{}, s.fail(ctx, op, err)
	}
	req.Intent = intents[0]
	var claim Claim
	err = s.writeFor(ctx, op, req.Session, req.Fence, func(ctx context.Context, ex *executor, at time.Time) (err error) {
		claim, err = s.decideClaim(ctx, ex, req, takeOver, at)
		return err
	})
	if err != nil {
		return Claim{}, err
	}
	return claim, nil
}

func checkClaim(req ClaimRequest) error {
	if err := checkHolder(req.Session, req.Key, req.Call); err != nil {
		return err
	}
	if err := checkID("digest", req.Digest); err != nil {
		return err
	}
	if req.Lease <= 0 || req.Lease > maxLease {
		return badValue("a lease of %s; give more than 0 and at most %s", req.Lease, maxLease)
	}
	return nil
}

func checkHolder(session host.SessionRef, key host.Key, call host.CallID) error {
	if err := checkRef(session); err != nil {
		return err
	}
	if err := checkID("idempotency key", string(key)); err != nil {
		return err
	}
	return checkID("call id", string(call))
}

// A claimRow is a stored claim.
type claimRow struct {
	digest     string
	call       host.CallID
	done       bool
	leaseUntil int64
	fence      Fence
	outcome    []byte
}

// endedFor reports whether somebody with that fence need not wait for the
// holder: its time ran out, or its lease on the session is over.
func (r claimRow) endedFor(fence Fence, at time.Time) bool {
	return at.UnixMicro() >= r.leaseUntil || r.fence != 0 && fence > r.fence
}

func (s *Store) claimRow(ctx context.Context, ex *executor, session host.SessionRef, key host.Key) (row claimRow, found bool, err error) {
	found, err = ex.row(ctx, s.queries.claim, claimArgs(session, key),
		&row.digest, (*string)(&row.call), &row.done, &row.leaseUntil, (*int64)(&row.fence), &row.outcome)
	return row, found, err
}

func (s *Store) decideClaim(ctx context.Context, ex *executor, req ClaimRequest, takeOver bool, at time.Time) (Claim, error) {
	held, found, err := s.claimRow(ctx, ex, req.Session, req.Key)
	switch {
	case err != nil:
		return Claim{}, err
	case !found:
		err = s.makeClaim(ctx, ex, req, at)
	case held.digest != req.Digest:
		return Claim{}, abi.NewProblem(abi.Conflict, "key %s was used for something else by call %s", req.Key, held.call)
	case held.done:
		return Claim{State: ClaimDone, Outcome: held.outcome, Call: held.call}, nil
	case !held.endedFor(req.Fence, at):
		return Claim{State: ClaimInFlight, Call: held.call}, nil
	case !takeOver:
		return Claim{State: ClaimUnknown, Call: held.call}, nil
	default:
		err = s.takeClaim(ctx, ex, req, at)
	}
	if err == nil {
		err = s.keepRecords(ctx, ex, at, []host.Record{req.Intent})
	}
	return Claim{State: ClaimNew, Call: req.Call}, err
}

func (s *Store) makeClaim(ctx context.Context, ex *executor, req ClaimRequest, at time.Time) error {
	_, err := ex.exec(ctx, s.queries.makeClaim, append(claimArgs(req.Session, req.Key),
		req.Digest, string(req.Call), s.owner, false, at.Add(req.Lease).UnixMicro(), at.UnixMicro(), int64(req.Fence), []byte{})...)
	return err
}

func (s *Store) takeClaim(ctx context.Context, ex *executor, req ClaimRequest, at time.Time) error {
	args := []any{string(req.Call), s.owner, at.Add(req.Lease).UnixMicro(), at.UnixMicro(), int64(req.Fence)}
	_, err := ex.exec(ctx, s.queries.takeClaim, append(args, claimArgs(req.Session, req.Key)...)...)
	return err
}

// ReleaseClaim gives a key back after a failure, which does not consume it, and
// commits the records with that. The fence is the one that the call claimed
// with. A holder whose lease on the session is over may still say that its call
// failed, until somebody takes the claim over: that harms nobody, and spares
// others the doubt. It fails with InFlight, and keeps nothing, if the call does
// not hold the claim, or not under that fence.
func (s *Store) ReleaseClaim(ctx context.Context, session host.SessionRef, fence Fence, key host.Key, call host.CallID, records ...host.Record) error {
	const op = "state.ReleaseClaim"
	records, err := checkRecords(session, records)
	if err == nil {
		err = checkHolder(session, key, call)
	}
	if err != nil {
		return s.fail(ctx, op, err)
	}
	return s.write(ctx, op, func(ctx context.Context, ex *executor, at time.Time) error {
		released, err := ex.exec(ctx, s.queries.releaseClaim, s.holderArgs(session, key, call, fence)...)
		if err != nil {
			return err
		}
		if released == 0 {
			return s.notHeld(ctx, ex, session, key, call)
		}
		return s.keepRecords(ctx, ex, at, records)
	})
}

// notHeld says what became of a claim that a call holds no more.
func (s *Store) notHeld(ctx context.Context, ex *executor, session host.SessionRef, key host.Key, call host.CallID) error {
	held, found, err := s.claimRow(ctx, ex, session, key)
	switch {
	case err != nil:
		return err
	case !found:
		return abi.NewProblem(abi.InFlight, "call %s does not hold key %s: nobody does", call, key)
	case held.done:
		return abi.NewProblem(abi.InFlight, "call %s does not hold key %s: call %s is done with it", call, key, held.call)
	}
	return abi.NewProblem(abi.InFlight, "call %s does not hold key %s: call %s took it over", call, key, held.call)
}

func claimArgs(session host.SessionRef, key host.Key) []any {
	return append(sessionArgs(session), string(key))
}

// holderArgs are for ofHolder. A claim that was made without a lease is told
// apart by call and store alone.
func (s *Store) holderArgs(session host.SessionRef, key host.Key, call host.CallID, fence Fence) []any {
	return append(claimArgs(session, key), string(call), s.owner, int64(fence))
}
