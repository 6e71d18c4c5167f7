package dispatch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
)

// recordedRuns are the conversations of a real model with an airline's tools.
func recordedRuns(t *testing.T) []model.Run {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "..", "shared", "data", "tau-airline", "runs.jsonl")
	f, err := os.Open(file)
	if err != nil {
		t.Skipf("%s cannot be read: the recorded runs are not here", file)
	}
	defer f.Close()
	runs, err := model.ParseRuns(f)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// trips gives what the breaker says of each recorded call that it would cut off.
func trips(run model.Run) []string {
	var found []string
	var past, open []host.Past
	input, round := 0, 0
	for _, m := range run.Messages {
		switch m.Role {
		case "user":
			input++
		case "assistant":
			round++
			open = nil
			for _, c := range m.ToolCalls {
				p := host.Past{Tool: c.Function.Name, Args: (*Dispatcher)(nil).Plain("", c.Function.Arguments), Input: input, Round: round}
				if rule := circles(p, past, false); rule != "" {
					found = append(found, rule+": "+p.Tool+" "+p.Args)
				}
				open = append(open, p)
			}
		case "tool":
			if len(open) == 0 {
				continue
			}
			p := open[0]
			open = open[1:]
			p.Status, p.Result = host.Done, host.Digest([]byte(m.Text()))
			if strings.HasPrefix(m.Text(), "Error") {
				p.Status = host.Failed
			}
			past = append(past, p)
		}
	}
	return found
}

// TestTheBreakerLeavesRecordedRunsThatSucceededAlone: at most one of them is
// cut off anywhere.
func TestTheBreakerLeavesRecordedRunsThatSucceededAlone(t *testing.T) {
	succeeded, tripped, others := 0, 0, 0
	for _, run := range recordedRuns(t) {
		found := trips(run)
		if run.Reward == 1 {
			succeeded++
		}
		if len(found) == 0 {
			continue
		}
		t.Logf("task %d, trial %d, reward %v: %s", run.TaskID, run.Trial, run.Reward, strings.Join(found, "; "))
		if run.Reward == 1 {
			tripped++
		} else {
			others++
		}
	}
	t.Logf("%d of %d runs that succeeded would be cut off somewhere, and %d of the others", tripped, succeeded, others)
	if succeeded != 43 || tripped > 1 {
		t.Errorf("the breaker cuts off %d of %d runs that succeeded; at most 1 of 43 may be", tripped, succeeded)
	}
}

// airlineWrites are the tools of the recorded airline that change something.
var airlineWrites = map[string]bool{
	"book_reservation": true, "cancel_reservation": true, "send_certificate": true, "update_reservation_baggages": true,
	"update_reservation_flights": true, "update_reservation_passengers": true,
}

// repeated gives the writes of a recorded run that would be asked for because
// the very same had succeeded for the same words of the user.
func repeated(run model.Run) (found []string, writes int) {
	done := map[string]bool{}
	var open []string
	for _, m := range run.Messages {
		switch m.Role {
		case "user":
			clear(done)
		case "assistant":
			open = nil
			for _, c := range m.ToolCalls {
				meaning := c.Function.Name + " " + (*Dispatcher)(nil).Plain("", c.Function.Arguments)
				open = append(open, meaning)
				if airlineWrites[c.Function.Name] {
					if writes++; done[meaning] {
						found = append(found, meaning)
					}
				}
			}
		case "tool":
			if len(open) > 0 {
				done[open[0]] = done[open[0]] || !strings.HasPrefix(m.Text(), "Error")
				open = open[1:]
			}
		}
	}
	return found, writes
}

// TestFewRecordedWritesAreSuspicious: a question must be worth asking.
func TestFewRecordedWritesAreSuspicious(t *testing.T) {
	questions, writes := 0, 0
	for _, run := range recordedRuns(t) {
		found, n := repeated(run)
		questions, writes = questions+len(found), writes+n
		for _, f := range found {
			t.Logf("task %d, trial %d, reward %v: %s", run.TaskID, run.Trial, run.Reward, f)
		}
	}
	t.Logf("%d of %d writes would be asked for because the very same had just succeeded", questions, writes)
	if writes == 0 || questions > 2 {
		t.Errorf("%d of %d writes would be asked for; at most 2 may be", questions, writes)
	}
}
