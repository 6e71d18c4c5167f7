package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
)

// A History knows the calls of a session that succeeded. Tools are given by
// their own name, without the skill's. Both may be asked by several goroutines.
type History interface {
	// LastDone gives the last successful call of a tool on a target, as its
	// targets name it; nil if there is none.
	LastDone(ctx context.Context, session host.SessionRef, tool, target string) (*manifest.LastCall, error)
	// CountDone counts the successful calls of a tool since then.
	CountDone(ctx context.Context, session host.SessionRef, tool string, since time.Time) (int, error)
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
		n, err := f.History.CountDone(ctx, f.call.Session, tool, f.env.Now.Add(-within))
		if err == nil {
			counts[key] = n
		}
		return n, err
	}
}

// redLines are the operator's: what the policy forbids or wants to be asked,
// whatever the skill declares.
func (f *flight) redLines() []opinion {
	var opinions []opinion
	for _, c := range f.Policy.Crossed(f.env) {
		opinions = append(opinions, opinion{by: "red line " + c.Name, tier: c.Tier, say: c.Say})
	}
	return opinions
}
