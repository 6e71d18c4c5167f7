package agent

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// maxBegins bounds how often a turn reads the session: again after it waited,
// after it took the lease, and when others were in between, a few times.
const maxBegins = 8

// saveTime bounds one save of a turn whose caller has gone.
const saveTime = 10 * time.Second

// Why a turn begins again.
var (
	errAgain      = errors.New("what was read may have changed")
	errLeaseFirst = errors.New("the lease comes before what is to be read")
)

// begin finds the session and the input. An input that is over is left at that;
// else the turn has the session's lease afterwards.
//
// The lease is mostly taken with the first save, and the versions in that save
// protect what was read before it. Where another turn was in between, all
// begins again from the store.
func (t *turn) begin(ctx context.Context, in Input) error {
	for try := 1; ; try++ {
		err := t.tryBegin(ctx, in)
		var held *state.HeldError
		switch {
		case err == nil || try == maxBegins:
			return err
		case errors.As(err, &held), errors.Is(err, errLeaseFirst):
			err = t.lease.take(ctx)
		case errors.Is(err, errAgain), errors.Is(err, state.ErrUnknownEnd), host.ProblemOf(err).Code == abi.StoreConflict:
			err = nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *turn) tryBegin(ctx context.Context, in Input) error {
	t.conversation, t.untold = conversation{ref: t.session.Ref, inputID: in.ID}, nil
	if err := t.find(ctx, t.Store, in.Text); err != nil {
		return err
	}
	t.know()
	if t.input.Answer != nil {
		return nil
	}
	if waited, err := t.lease.enter(ctx); err != nil {
		return err
	} else if waited {
		return errAgain
	}
	if t.inputVersion != 0 && t.lease.fence == 0 {
		return errLeaseFirst // the turn goes on without a first save
	}
	if err := t.load(ctx, t.Store); err != nil {
		return err
	}
	t.catalog, t.meta.Pins = t.Releases.Catalog(ctx, t.meta.Pins)
	t.shelf = t.shelfOf(t)
	if t.inputVersion != 0 {
		t.resumed = t.count()
		return nil
	}
	if len(t.open()) > 0 && t.lease.fence == 0 {
		return errLeaseFirst // no version protects what the records say of a call
	}
	return t.hear(ctx, in)
}

// know completes what the session and the turn know of each other.
func (t *turn) know() {
	if t.version == 0 {
		t.meta = t.newSession(t.session)
	}
	if t.session.Live == "" {
		t.session.Live = t.meta.Live
	}
	if t.session.Locale == "" {
		t.session.Locale = t.meta.Locale
	}
	if t.inputVersion != 0 && t.input.Answer == nil && t.meta.Active != t.inputID {
		t.input.Answer = &Answer{Reason: Superseded, Text: abi.RowOf(abi.Cancelled).User(t.session.Locale)}
	}
}

// hear stores the user's words, with the files that they name, behind results for the calls that an earlier
// turn has left open.
func (t *turn) hear(ctx context.Context, in Input) error {
	results, err := t.interrupted(ctx)
	if err != nil {
		return err
	}
	scene, err := t.sceneNow(ctx)
	if err != nil {
		return err
	}
	t.say(results...)
	t.meta.Inputs++
	t.meta.Active = in.ID
	t.input, t.inputChanged = inputValue{Ordinal: t.meta.Inputs, Message: t.count(), At: t.Now().UTC(), Digest: host.Digest([]byte(in.Text)), Limit: in.Limit}, true
	if in.question == nil {
		t.say(t.message(in.Text))
	} else if err := t.hearAnswer(*in.question); err != nil {
		return err
	}
	t.meta.enterScene(scene, t.input.Message)
	return t.save(ctx)
}

// save stores what was said, and whatever else goes with it, also for a caller
// that has gone.
func (t *turn) save(ctx context.Context, more ...state.Change) error {
	return t.saveBy(ctx, t.lease.save, more...)
}

// finish stores the turn's end with its input, and whatever else goes with it,
// and gives the lease back.
func (t *turn) finish(ctx context.Context, more ...state.Change) error {
	answer := t.answer
	t.input.Answer, t.inputChanged = &answer, true
	t.meta.Active = ""
	return t.saveBy(ctx, t.lease.saveLast, more...)
}

func (t *turn) saveBy(ctx context.Context, save func(context.Context, []state.Change) error, more ...state.Change) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	if err := save(ctx, append(t.changes(), more...)); err != nil {
		return err
	}
	t.saved()
	return nil
}
