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

// EndIdle ends sessions of all tenants in which nothing has happened for so long, as
// EndSession does, and gives how many. It leaves a session whose turn runs, on any
// replica, and one that waits for a person's answer; of two that end the same one, one
// does. It looks at a bounded number, those that have rested for longest first: call it
// again for the rest. A session that fails keeps no other one from its end.
func (a *Agent) EndIdle(ctx context.Context, idle time.Duration) (ended int, err error) {
	var errs []error
	for range maxIdle / idlePage {
		page, before, err := a.Store.Rests(ctx, idle, idlePage)
		if err != nil {
			return ended, errors.Join(append(errs, err)...)
		}
		for _, rest := range page {
			first, err := a.endRest(ctx, rest, before)
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

// endRest looks at one session, and ends it if it is idle since before a time. It is
// looked at again in another while if it may have to be ended then.
func (a *Agent) endRest(ctx context.Context, rest state.Rest, before time.Time) (first bool, err error) {
	found, err := a.look(ctx, rest.Ref, before)
	if err == nil && found.end != nil {
		first, err = a.endLeased(ctx, rest.Ref, before)
	}
	again := err != nil || found.again
	if err != nil && host.ProblemOf(err).Code == abi.Busy {
		err = nil // a turn has it now
	}
	return first, errors.Join(err, a.Store.Looked(ctx, rest, again))
}

// endLeased ends a session that seems idle, if under its lease it still is.
func (a *Agent) endLeased(ctx context.Context, ref host.SessionRef, before time.Time) (first bool, err error) {
	fence, err := a.Store.Lease(ctx, ref, host.NewID("idle_"), a.Lease)
	if err != nil {
		return false, err
	}
	found, err := a.look(ctx, ref, before)
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	if err != nil || found.end == nil {
		return false, errors.Join(err, a.Store.Release(releasing, ref, fence))
	}
	if err := a.Store.SaveReleasing(releasing, ref, fence, *found.end); err != nil {
		return false, err
	}
	return true, a.tellSessionEnd(ctx, ref)
}

// A finding is what a look at a session shows: the change that ends it, or whether it
// may have to be ended later.
type finding struct {
	end   *state.Change
	again bool
}

// look looks whether a session is idle since before a time. Every input, and all that
// a turn keeps, changes the session's value; so the store knows when it was last.
func (a *Agent) look(ctx context.Context, ref host.SessionRef, before time.Time) (finding, error) {
	end, last, err := a.endOf(ctx, ref)
	if err != nil || end == nil {
		return finding{}, err
	}
	if !last.Before(before) {
		return finding{again: true}, nil
	}
	open, err := a.Store.Approvals(ctx, ref.Tenant, state.ApprovalFilter{Session: ref, Status: state.ApprovalOpen, Limit: 1})
	if err != nil || len(open) > 0 {
		return finding{again: true}, err
	}
	return finding{end: end}, nil
}
