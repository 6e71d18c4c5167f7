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

// How often an end is told again that not all hooks have taken. The waits double: the
// first two hours see three tries, and the last of all comes after two weeks, which is longer
// than a database is away, or than a release with a fault in a hook runs.
const (
	owedFirst = 10 * time.Minute // also what the hooks have at first: longer than they take, for a live, too
	owedMost  = 24 * time.Hour   // between two tries
	owedTries = 24
)

// owedUnheard is how long an end stays that was due and that nobody told of, where the
// hosts that run have no hook for it. A host that has one looks each minute: by then there
// is none, and the ends of a store without memory do not pile up.
const owedUnheard = 30 * 24 * time.Hour

// Bounds of one TellOwed, beside maxFails.
const (
	owedPage = 100   // ends of one question to the store
	maxOwed  = 1_000 // ends that are told: memory takes some milliseconds for each
)

// owedWait gives how long an end waits after so many tries to tell it again; 0 where
// there is no next one.
func owedWait(tries int) time.Duration {
	if tries >= owedTries {
		return 0
	}
	wait := owedFirst
	for range tries {
		wait = min(2*wait, owedMost)
	}
	return wait
}

// tell tells the hooks of an end that the store has. What fails is for the log: the end
// stays owed then, and is told again.
func (a *Agent) tell(ctx context.Context, o state.Owed) error {
	var errs []error
	if o.Live == "" {
		errs = a.Dispatch.Hooks.SessionEnd(ctx, o.Session)
	} else {
		errs = a.Dispatch.Hooks.Event(ctx, host.BusinessEvent{Session: o.Session, Live: o.Live, Kind: liveEnded, Time: o.EndedAt})
	}
	a.Dispatch.Complain(o.Session, errs)
	failed, what := errors.Join(errs...), ""
	if failed != nil {
		what = failed.Error()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	err := a.Store.SettleOwed(ctx, o, what)
	if err != nil {
		a.Dispatch.Log.WarnContext(ctx, "what became of telling an end could not be kept; it is told again", "end", nameOf(o), "error", err)
	}
	return errors.Join(failed, err)
}

// tellNow tells of an end for whoever has just saved it, also where they have gone. An
// agent none of whose hooks hears of ends leaves it to others.
func (a *Agent) tellNow(ctx context.Context, o state.Owed) {
	if a.Dispatch.Hooks.HearsEnds() {
		_ = a.tell(context.WithoutCancel(ctx), o) // it is in the log, and told again
	}
}

// TellOwed tells the hooks again of ends of sessions and lives of all tenants that not
// all of them have taken: because the process died before, or because a hook failed. It
// gives how many all hooks have taken now. An end whose session a turn has comes
// another time; of two that tell the same one, one does. Each failure makes the wait
// for the next try longer, and after the last one the log says so, and the end is left
// on the list of state.Store.OwedEnds. It tells a bounded number, those that have waited
// longest first: call it again for the rest. An agent none of whose hooks hears of ends
// leaves them to others, and drops those that nobody has told of for a month.
func (a *Agent) TellOwed(ctx context.Context) (told int, err error) {
	if !a.Dispatch.Hooks.HearsEnds() {
		return 0, a.dropUnheard(ctx)
	}
	var errs []error
	for range maxOwed / owedPage {
		page, err := a.Store.DueEnds(ctx, owedPage)
		if err != nil {
			return told, errors.Join(append(errs, err)...)
		}
		for _, o := range page {
			first, err := a.tellAgain(ctx, o)
			if first {
				told++
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", nameOf(o), err))
			}
			if len(errs) == maxFails || ctx.Err() != nil {
				return told, errors.Join(append(errs, ctx.Err())...)
			}
		}
		if len(page) < owedPage {
			break
		}
	}
	return told, errors.Join(errs...)
}

// dropUnheard drops ends that were due long ago, up to a page of them, and says so.
func (a *Agent) dropUnheard(ctx context.Context) error {
	page, err := a.Store.OverdueEnds(ctx, owedUnheard, owedPage)
	if err != nil {
		return err
	}
	for _, o := range page {
		o, mine, err := a.Store.TakeOwed(ctx, o, owedFirst)
		if err == nil && mine {
			a.Dispatch.Log.WarnContext(ctx, "an end is dropped that no host had a hook for; what memory would have kept of it is not kept", "end", nameOf(o), "ended", o.EndedAt)
			err = a.Store.SettleOwed(ctx, o, "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func nameOf(o state.Owed) string {
	if o.Live != "" {
		return fmt.Sprintf("the end of live %s of tenant %s", o.Live, o.Session.Tenant)
	}
	return fmt.Sprintf("the end of session %s", o.Session)
}

// tellAgain tells of one end. That of a session is told under its lease, so that no
// turn and no purge goes on beside it, and is looked at once more there: a purge takes
// it along.
func (a *Agent) tellAgain(ctx context.Context, o state.Owed) (told bool, err error) {
	if o.Live != "" {
		return a.tellTaken(ctx, o)
	}
	began := false
	err = a.leased(ctx, o.Session, func(ctx context.Context) error {
		began = true
		told, err = a.tellTaken(ctx, o)
		return err
	})
	if err != nil && !began && host.ProblemOf(err).Code == abi.Busy {
		err = a.Store.PostponeOwed(ctx, o, owedFirst) // a turn has it now
	}
	return told, err
}

// tellTaken takes a try and tells.
func (a *Agent) tellTaken(ctx context.Context, o state.Owed) (told bool, err error) {
	o, mine, err := a.Store.TakeOwed(ctx, o, owedWait(o.Tries+1))
	if err != nil || !mine {
		return false, err
	}
	if err = a.tell(ctx, o); err != nil && o.Next.IsZero() {
		a.Dispatch.Log.ErrorContext(ctx, "an end could not be told to all hooks and is not told again by itself; mend what they fail with, then run sluice jobs --again",
			"end", nameOf(o), "tries", o.Tries, "error", err)
	}
	return err == nil, err
}

// leased does something to a session under a lease that is kept for as long as it takes.
// It waits for nobody: a session that somebody has is Busy.
func (a *Agent) leased(ctx context.Context, ref host.SessionRef, do func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	l := a.newLease(ref, end)
	l.waits = time.Now()
	defer l.leave(ctx)
	if _, err := l.enter(ctx); err != nil {
		return err
	}
	if err := l.take(ctx); err != nil {
		return err
	}
	return do(ctx)
}
