package agent

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// MaxSessions bounds one page of Sessions: each is read by itself.
const MaxSessions = 100

// An Overview is what there is to know of a session without its messages.
type Overview struct {
	ID       host.SessionID `json:"id"`
	Created  time.Time      `json:"created"` // by the clock of the replica that made it
	Updated  time.Time      `json:"updated"` // by the store's clock
	Live     host.LiveID    `json:"live,omitempty"`
	Locale   string         `json:"locale,omitempty"`
	Inputs   int            `json:"inputs"`
	Messages int            `json:"messages"`
	Active   host.InputID   `json:"active,omitempty"` // the input whose turn is not over: it runs, or may be resumed
	Mode     host.Mode      `json:"mode,omitempty"`
	Used     host.Amount    `json:"used"`
}

// Sessions gives a user's sessions in which something was said, in the order
// of their ids, from the first one greater than after. A limit of 0 means
// MaxSessions, the most. Next is the after of the next page, empty at the end;
// a page may have fewer sessions than the limit, or none. It reads only, and
// needs no lease.
func Sessions(ctx context.Context, store *state.Store, tenant host.TenantID, user host.UserID, after host.SessionID, limit int) (page []Overview, next host.SessionID, err error) {
	if limit <= 0 || limit > MaxSessions {
		limit = MaxSessions
	}
	refs, err := store.Sessions(ctx, tenant, user, after, limit)
	if err != nil {
		return nil, "", err
	}
	for _, ref := range refs {
		overview, found, err := overviewOf(ctx, store, ref)
		if err != nil {
			return nil, "", err
		}
		if found {
			page = append(page, overview)
		}
	}
	if len(refs) == limit {
		next = refs[limit-1].Session
	}
	return page, next, nil
}

// Show gives one session, or NotFound if nothing was said in it.
func Show(ctx context.Context, store *state.Store, ref host.SessionRef) (Overview, error) {
	overview, found, err := overviewOf(ctx, store, ref)
	if err == nil && !found {
		err = host.Fail("agent.Show", abi.NewProblem(abi.NotFound, "%s of tenant %s has said nothing in a session %s", ref.User, ref.Tenant, ref.Session).
			WithHint("list the user's sessions"), nil)
	}
	return overview, err
}

func overviewOf(ctx context.Context, store *state.Store, ref host.SessionRef) (Overview, bool, error) {
	values, err := store.LoadState(ctx, ref, keySession)
	if err != nil {
		return Overview{}, false, err
	}
	meta, version, err := read(sessionForm(), values, keySession)
	return Overview{
		ID: ref.Session, Created: meta.Created, Updated: values[keySession].UpdatedAt, Live: meta.Live, Locale: meta.Locale,
		Inputs: meta.Inputs, Messages: meta.Messages, Active: meta.Active,
		Mode: meta.Mode, Used: meta.Used,
	}, version != 0 && meta.Inputs > 0, err
}

// Messages gives what was said in a session, to the letter, from the message
// with an index on, at most state.MaxPage of them. After the last one it gives
// none. A session in which nothing was said is NotFound.
func Messages(ctx context.Context, store *state.Store, ref host.SessionRef, from int) ([]model.Message, error) {
	overview, err := Show(ctx, store, ref)
	if err != nil {
		return nil, err
	}
	from = max(0, from)
	return loadMessages(ctx, store, ref, from, min(overview.Messages, from+state.MaxPage))
}

// Resume goes on with the session's input whose turn is not over, without its
// words being given again; else it is Turn. It fails with NotFound if there is
// no such input.
func (a *Agent) Resume(ctx context.Context, s Session, on func(host.Event)) (Answer, error) {
	in, err := a.activeInput(ctx, s.Ref)
	if err != nil {
		return Answer{}, err
	}
	return a.Turn(ctx, s, in, on)
}

func (a *Agent) activeInput(ctx context.Context, ref host.SessionRef) (Input, error) {
	overview, err := Show(ctx, a.Store, ref)
	if err != nil {
		return Input{}, err
	}
	if overview.Active == "" {
		return Input{}, host.Fail("agent.Resume", abi.NewProblem(abi.NotFound, "session %s has nothing to go on with: its last input was answered", ref.Session).
			WithHint("say something new"), nil)
	}
	key := inputKey(overview.Active)
	values, err := a.Store.LoadState(ctx, ref, key)
	if err != nil {
		return Input{}, err
	}
	input, _, err := read(inputForm(), values, key)
	if err != nil {
		return Input{}, err
	}
	said, err := findMessage(ctx, a.Store, ref, input.Message)
	in := Input{ID: overview.Active, Text: said.Text, stored: true}
	if isAnswer(in.ID) {
		in.question = &state.Approval{} // what it said is in the conversation
	}
	return in, err
}
