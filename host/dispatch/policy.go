package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// A History knows the calls of a session that succeeded. Tools are given by
// their own name, without the skill's. Both may be asked by several goroutines.
type History interface {
	// LastDone gives the last successful call of a tool on a target, as its
	// targets name it; nil if there is none.
	LastDone(ctx context.Context, session host.SessionRef, tool, target string) (*manifest.LastCall, error)
	// CountDone counts what a tool has changed within so long before now: its
	// successful calls, and for one that had several targets each of them.
	CountDone(ctx context.Context, session host.SessionRef, tool string, within time.Duration) (int, error)
}

// storeHistory is what the store knows; its clock counts.
type storeHistory struct {
	store *state.Store
	now   func() time.Time
}

// LastDone gives the last write of a tool on a target.
func (h storeHistory) LastDone(ctx context.Context, session host.SessionRef, tool, target string) (*manifest.LastCall, error) {
	last, found, err := h.store.LastDone(ctx, session, tool, target)
	if err != nil || !found {
		return nil, err
	}
	return &manifest.LastCall{Time: h.now().Add(-last.Ago), Args: last.Args, Data: last.Data}, nil
}

// CountDone counts what the writes of a tool have changed.
func (h storeHistory) CountDone(ctx context.Context, session host.SessionRef, tool string, within time.Duration) (int, error) {
	count, err := h.store.CountDone(ctx, session, tool, within)
	if err == nil && count.More {
		err = fmt.Errorf("%s has changed more than %d things, which is more than is counted", tool, state.MaxCounted)
	}
	return count.Targets, err
}

// maxQuestions bounds how many different questions the expressions of one call
// may put to the history: each is a query.
const maxQuestions = 16

// remember lets the expressions of the call ask for the session's past. The
// same question is asked once for each attempt. Without a history, what needs
// it counts as the stricter answer.
func (f *flight) remember(ctx context.Context) {
	f.env.Tool, f.env.Skill = f.entry.Tool.Name, f.entry.Release.Skill.Name
	if f.History == nil {
		return
	}
	last, counts := map[[2]string]*manifest.LastCall{}, map[string]int{}
	full := func() error {
		if len(last)+len(counts) >= maxQuestions {
			return fmt.Errorf("more than %d questions about earlier calls", maxQuestions)
		}
		return nil
	}
	f.env.Last = func(tool, target string) (*manifest.LastCall, error) {
		key := [2]string{tool, target}
		found, known := last[key]
		if known {
			return found, nil
		}
		if err := full(); err != nil {
			return nil, err
		}
		found, err := f.History.LastDone(ctx, f.call.Session, tool, target)
		if err == nil {
			last[key] = found
		}
		return found, err
	}
	f.env.Count = func(tool string, within time.Duration) (int, error) {
		key := fmt.Sprint(tool, "\n", within)
		n, known := counts[key]
		if known {
			return n, nil
		}
		if err := full(); err != nil {
			return 0, err
		}
		n, err := f.History.CountDone(ctx, f.call.Session, tool, within)
		if err == nil {
			counts[key] = n
		}
		return n, err
	}
}

// redLines are the operator's: what the policy forbids or wants to be asked,
// whatever the skill declares.
func (f *flight) redLines() []opinion {
	if f.Policy == nil {
		return nil
	}
	crossed := f.Policy.Crossed(f.env)
	if len(crossed) == 0 {
		return []opinion{{by: "red lines"}}
	}
	var opinions []opinion
	for _, c := range crossed {
		opinions = append(opinions, opinion{by: "red line " + c.Name, tier: c.Tier, say: c.Say})
	}
	return opinions
}
