package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// Bounds of one EndIdle.
const (
	idlePage = 100   // sessions of one question to the store
	maxIdle  = 1_000 // sessions that are looked at: memory takes some milliseconds for the end of each, and the jobs behind this one wait
	maxFails = 10    // sessions that fail, after which it gives up: the store is away, and not one session damaged
)

// waitingTimes is how many times as long as others a session that waits for a person's
// answer may be still: a day, where others end after half an hour. Questions have no
// time-out, so without it a session that nobody answers would never end.
const waitingTimes = 48

// EndIdle ends sessions of all tenants in which nothing has happened for so long, as
// EndSession does, and gives how many. It leaves a session whose turn runs, on any
// replica; of two that end the same one, one does. One that waits for a person's answer
// ends after 48 times as long; its questions stay open, and their answers go on with it. It looks at a bounded number, those that have rested for longest first: call it
// again for the rest. A session that fails keeps no other one from its end.
func (a *Agent) EndIdle(ctx context.Context, idle time.Duration) (ended int, err error) {
	var errs []error
	for range maxIdle / idlePage {
		page, before, err := a.Store.Rests(ctx, idle, idlePage)
		if err != nil {
			return ended, errors.Join(append(errs, err)...)
		}
		for _, rest := range page {
			first, err := a.endRest(ctx, rest, stillness{before, idle})
			if first {
				ended++
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("session %s: %w", rest.Ref, err))
			}
			if len(errs) == maxFails || ctx.Err() != nil {
				return ended, errors.Join(append(errs, ctx.Err())...)
			}
		}
		if len(page) < idlePage {
			break
		}
	}
	return ended, errors.Join(errs...)
}

// A stillness is how long a session must have been still to end.
type stillness struct {
	before time.Time // since when, at the latest
	idle   time.Duration
}

// outlasts reports whether a session that waits for a person ends, too.
func (s stillness) outlasts(last time.Time) bool {
	return s.before.Sub(last)/(waitingTimes-1) > s.idle // before is one idle time ago already
}

// endRest looks at one session, and ends it if it is idle. It is
// looked at again in another while if it may have to be ended then.
func (a *Agent) endRest(ctx context.Context, rest state.Rest, still stillness) (first bool, err error) {
	found, err := a.look(ctx, rest.Ref, still)
	if err == nil && found.end != nil {
		first, err = a.endLeased(ctx, rest.Ref, still)
	}
	again := err != nil || found.again
	if err != nil && host.ProblemOf(err).Code == abi.Busy {
		err = nil // a turn has it now
	}
	return first, errors.Join(err, a.Store.Looked(ctx, rest, again))
}

// endLeased ends a session that seems idle, if under its lease it still is. The lease is
// given back before the hooks are told.
func (a *Agent) endLeased(ctx context.Context, ref host.SessionRef, still stillness) (first bool, err error) {
	fence, err := a.Store.Lease(ctx, ref, host.NewID("idle_"), a.Lease)
	if err != nil {
		return false, err
	}
	found, err := a.look(ctx, ref, still)
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	var owed state.Owed
	if err == nil && found.end != nil {
		ending := endingOf(ref, *found.end)
		ending.Fence = fence
		owed, err = a.Store.SaveEnd(releasing, ending)
		first = err == nil
	}
	err = errors.Join(err, a.Store.Release(releasing, ref, fence))
	if first {
		a.tellNow(ctx, owed)
	}
	return first, err
}

// A finding is what a look at a session shows: the change that ends it, or whether it
// may have to be ended later.
type finding struct {
	end   *state.Change
	again bool
}

// look looks whether a session is idle. Every input, and all that
// a turn keeps, changes the session's value; so the store knows when it was last.
func (a *Agent) look(ctx context.Context, ref host.SessionRef, still stillness) (finding, error) {
	end, last, err := a.endOf(ctx, ref)
	if err != nil || end == nil {
		return finding{}, err
	}
	if !last.Before(still.before) {
		return finding{again: true}, nil
	}
	if still.outlasts(last) {
		return finding{end: end}, nil
	}
	open, err := a.Store.Approvals(ctx, ref.Tenant, state.ApprovalFilter{Session: ref, Status: state.ApprovalOpen, Limit: 1})
	if err != nil || len(open) > 0 {
		return finding{again: true}, err
	}
	return finding{end: end}, nil
}
