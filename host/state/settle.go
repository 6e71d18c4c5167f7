package state

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A Settlement is everything that a call which ran well leaves behind.
type Settlement struct {
	Session host.SessionRef
	Call    host.CallID
	Fence   Fence           // of the session's lease that the caller has; see Fence
	Key     host.Key        // of the claim that the call holds; empty for a read
	Outcome json.RawMessage // kept with the claim and given to whoever asks again; up to MaxDocumentBytes
	Views   []*View         // of the session's tenant
	State   []Change
	Done    *Done         // what the write adds to the totals of its session; nil for a read
	Records []host.Record // without a session they get the settlement's
}

// Settle commits a call: the writes of its views, the state changes, the claim
// with its outcome, the totals, the audit records; durably, all or nothing. It fails with
//   - Busy if the fence is not the session's, with ErrLeaseLost or a HeldError,
//   - InFlight if the call does not hold the claim any more,
//   - StoreConflict if a view read, or a change is based on, what another call
//     has changed since: reset the views and run the call again,
//   - NotAllowed if the tenant's kv has forks and takes no writes,
//   - QuotaReached if the views scanned too much to be checked.
//
// What a call has read is checked if it has a key, whatever it writes, or if it
// writes kv or state. After a StoreFailure, Claim tells whether the commit took
// place after all.
func (s *Store) Settle(ctx context.Context, st Settlement) error {
	const op = "state.Settle"
	records, err := checkRecords(st.Session, st.Records)
	if err == nil {
		err = s.checkSettlement(st)
	}
	if err != nil {
		return s.fail(ctx, op, err)
	}
	st.Records = records
	return s.writeFor(ctx, op, st.Session, st.Fence, func(ctx context.Context, ex *executor, at time.Time) error {
		return s.settle(ctx, ex, st, at)
	})
}

func (s *Store) checkSettlement(st Settlement) error {
	if err := checkID("call id", string(st.Call)); err != nil {
		return err
	}
	if err := checkChanges(st.Session, st.State); err != nil {
		return err
	}
	for _, v := range st.Views {
		if err := v.checkSettle(s, st.Session.Tenant); err != nil {
			return err
		}
	}
	if scanned := scannedBy(st.Views); st.checked() && scanned > maxWatched {
		return abi.NewProblem(abi.QuotaReached, "a call that writes may scan %d entries; this one, with its facts, scanned %d", maxWatched, scanned).
			WithHint("It is for the skill's author: read by key, scan under a longer prefix, or keep the sum of it under a key of its own.")
	}
	if st.Key == "" && st.Done != nil {
		return badValue("call %s is done with a write that it has not claimed", st.Call)
	}
	if st.Key == "" {
		return nil
	}
	if err := st.Done.check(); err != nil {
		return err
	}
	if err := checkHolder(st.Session, st.Key, st.Call); err != nil {
		return err
	}
	return checkDocument("outcome", st.Outcome)
}

// writes reports whether the call writes kv or state.
func (st Settlement) writes() bool {
	for _, v := range st.Views {
		if len(v.writes) > 0 {
			return true
		}
	}
	return len(st.State) > 0
}

// checked reports whether what the call has read must be as it was. A call with
// a key may have written files, or over the network: its views do not show that.
func (st Settlement) checked() bool { return st.Key != "" || st.writes() }

func (s *Store) settle(ctx context.Context, ex *executor, st Settlement, at time.Time) error {
	if err := s.settleClaim(ctx, ex, st, at); err != nil {
		return err
	}
	if err := s.addDone(ctx, ex, st, at); err != nil {
		return err
	}
	if !st.checked() {
		return s.keepRecords(ctx, ex, at, st.Records)
	}
	set := slotsOf(st.Views) | slotOf(string(st.Call)) // one at least, for the records
	if err := s.lockSlots(ctx, ex, st.Session.Tenant, set); err != nil {
		return err
	}
	if err := s.settleWrites(ctx, ex, st, at); err != nil {
		return err
	}
	return s.addRecords(ctx, ex, at, st.Records)
}

// settleClaim comes first: a call that lost its claim has nothing to say.
func (s *Store) settleClaim(ctx context.Context, ex *executor, st Settlement, at time.Time) error {
	if st.Key == "" {
		return nil
	}
	args := append([]any{at.UnixMicro(), []byte(st.Outcome)}, s.holderArgs(st.Session, st.Key, st.Call, st.Fence)...)
	settled, err := ex.exec(ctx, s.queries.settleClaim, args...)
	if err == nil && settled == 0 {
		return s.notHeld(ctx, ex, st.Session, st.Key, st.Call)
	}
	return err
}

// settleWrites verifies all that was read before it writes anything, so that
// the call's own writes do not count as somebody else's.
func (s *Store) settleWrites(ctx context.Context, ex *executor, st Settlement, at time.Time) error {
	for _, v := range st.Views {
		if err := v.verify(ctx, ex); err != nil {
			return err
		}
	}
	for _, v := range st.Views {
		if err := v.apply(ctx, ex); err != nil {
			return err
		}
	}
	return s.applyState(ctx, ex, st.Session, st.State, at)
}
