package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/sluicehq/sluice/abi"
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

// remember lets the expressions of the call ask for the session's past. Without
// a history, what needs it counts as the stricter answer.
func (f *flight) remember(ctx context.Context) {
	if f.History == nil {
		return
	}
	m := &memory{flight: f, ctx: ctx}
	f.env.Last, f.env.Count = m.lastDone, m.countDone
}

// A memory puts the questions of one attempt to the history, the same one once.
type memory struct {
	*flight
	ctx    context.Context // of the attempt
	last   map[[2]string]*manifest.LastCall
	counts map[string]int
}

func (m *memory) lastDone(tool, target string) (*manifest.LastCall, error) {
	key := [2]string{tool, target}
	found, known := m.last[key]
	if known {
		return found, nil
	}
	if err := m.full(); err != nil {
		return nil, err
	}
	found, err := m.History.LastDone(m.ctx, m.call.Session, tool, target)
	if err == nil {
		if m.last == nil {
			m.last = map[[2]string]*manifest.LastCall{}
		}
		m.last[key] = found
	}
	return found, err
}

func (m *memory) countDone(tool string, within time.Duration) (int, error) {
	key := fmt.Sprint(tool, "\n", within)
	n, known := m.counts[key]
	if known {
		return n, nil
	}
	if err := m.full(); err != nil {
		return 0, err
	}
	n, err := m.History.CountDone(m.ctx, m.call.Session, tool, within)
	if err == nil {
		if m.counts == nil {
			m.counts = map[string]int{}
		}
		m.counts[key] = n
	}
	return n, err
}

func (m *memory) full() error {
	if len(m.last)+len(m.counts) >= maxQuestions {
		return fmt.Errorf("more than %d questions about earlier calls", maxQuestions)
	}
	return nil
}

// redLines are the operator's: what the policy forbids or wants to be asked,
// whatever the skill declares.
func (f *flight) redLines(ctx context.Context) []opinion {
	if f.Policy == nil {
		return nil
	}
	var problem *abi.Problem
	if f.ruled, problem = f.seeing(ctx, f.Policy.StateRead(f.env)); problem != nil {
		return []opinion{{by: "red lines", problem: problem}}
	}
	crossed := f.Policy.Crossed(f.ruled)
	if len(crossed) == 0 {
		return []opinion{{by: "red lines"}}
	}
	var opinions []opinion
	for _, c := range crossed {
		opinions = append(opinions, opinion{by: "red line " + c.Name, tier: c.Tier, say: c.Say})
	}
	return opinions
}

// seeing gives what expressions that are not the skill's may see, with all of
// the session's state that is at the given paths: the skill may not read that,
// and neither it nor a hook is given it. What the call has loaded stays as it is.
func (f *flight) seeing(ctx context.Context, paths []string) (manifest.Env, *abi.Problem) {
	env := f.env
	if len(paths) == 0 {
		return env, nil
	}
	env.State = map[string]json.RawMessage{}
	for _, path := range paths {
		if problem := f.loadPath(ctx, path, env.State); problem != nil {
			return env, problem
		}
	}
	maps.Copy(env.State, f.env.State)
	return env, nil
}

// loadPath loads the state keys at a path, above it and below it.
func (f *flight) loadPath(ctx context.Context, path string, into map[string]json.RawMessage) *abi.Problem {
	keys := []string{path}
	for i, c := range path {
		if c == '.' {
			keys = append(keys, path[:i])
		}
	}
	values, err := f.Store.LoadState(ctx, f.call.Session, keys...)
	if err != nil {
		return host.ProblemOf(err)
	}
	for key, v := range values {
		into[key] = v.Data
	}
	tooMany := func() error {
		if len(into) > maxStateKeys {
			return abi.NewProblem(abi.QuotaReached, "the session has more than %d state keys at %s, which the operator's rules read", maxStateKeys, path)
		}
		return nil
	}
	err = eachOf(ctx, f.Store, f.call.Session, path+".", func(v state.Value) error {
		into[v.Key] = v.Data
		return tooMany()
	})
	if err == nil {
		err = tooMany()
	}
	return host.ProblemOf(err)
}
