package precheck

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
)

// onceRules look at writes that say that they may run again.
func onceRules() []Rule {
	return []Rule{{
		ID: "one-effect", Severity: Failure, Title: "An idempotent write does one thing, however often it runs with one key",
		Reason: "After a crash the host runs it again. It takes back what it keeps itself; what another host was asked for, nobody can.",
		Mend:   "Send what follows from the arguments and the key alone: no time, no attempt, no count. If that cannot be, take idempotent out.",
		check:  (*examination).hasOneEffect,
	}}
}

// laterBy is how much later a crashed call runs again.
const laterBy = 10 * time.Minute

func (x *examination) hasOneEffect(ctx context.Context) {
	x.eachWrite(func(at string, t *manifest.Tool) {
		if !t.Idempotent {
			return
		}
		deeds := 0
		for i, e := range t.Examples {
			if ctx.Err() != nil {
				return
			}
			done, err := x.runsAgain(ctx, fmt.Sprintf("%s.examples[%d]", at, i), t, e)
			if err != nil {
				return // the rule examples has said so
			}
			deeds += done
		}
		if deeds == 0 {
			x.say(Message{Kind: Skipped, Rule: x.rule.ID, Text: fmt.Sprintf("no example of %s changes anything here", t.Name)})
		}
	})
}

// runsAgain runs one example again with its key, as after a crash, and gives how much
// it did at first.
func (x *examination) runsAgain(ctx context.Context, at string, t *manifest.Tool, e abi.Example) (int, error) {
	first, err := x.trial.stand(ctx, x.skill, t, e)
	if err != nil {
		return 0, err
	}
	before, err := x.attempt(ctx, first, 1, 0)
	if err != nil {
		return 0, err
	}
	// The host takes back what an unfinished call wrote, and runs it later.
	again, err := x.attempt(ctx, x.trial.standIn(first.session, x.skill, t, e), 2, laterBy)
	if err != nil {
		return 0, err
	}
	if d, ok := another(before, again); ok {
		x.inTool(t.Name, at, "%q: run again with its key, it sends %s with %s, which it did not the first time", e.Say, d.what, short([]byte(d.how)))
	}
	// A host of Extism's plug-ins does not: the second attempt finds what the first wrote.
	kept, err := x.attempt(ctx, first, 2, 0)
	if err != nil {
		return 0, err
	}
	if d, ok := anew(before, kept); ok {
		x.find(Finding{Severity: Warning, File: x.ManifestFile, Tool: t.Name, Field: at,
			Message: fmt.Sprintf("%q: run again with its key, it changes %s once more where it finds what it wrote; it is safe only on a host that takes back what an unfinished call wrote, as this one does", e.Say, d.what),
			Mend:    "keep the key with what was written under it, and give the same answer where it is found"})
	}
	return len(before), nil
}

// attempt calls the tool of a stand and gives what it did.
func (x *examination) attempt(ctx context.Context, s *stand, attempt int, later time.Duration) ([]deed, error) {
	request, err := s.request(attempt, trialNow.Add(later))
	if err != nil {
		return nil, err
	}
	x.limited.Call(ctx, request)
	return s.taken(), nil
}
