package window

import (
	"testing"

	"github.com/sluicehq/sluice/host/model"
)

// messagesOf gives a recorded conversation as the agent stores it.
func messagesOf(run model.Run) []model.Message {
	var messages []model.Message
	for _, r := range run.Messages {
		if r.Role == "system" {
			continue
		}
		m := model.Message{Role: model.Role(r.Role), Text: r.Text(), CallID: r.ToolCallID}
		for _, c := range r.ToolCalls {
			m.Calls = append(m.Calls, model.Call{ID: c.ID, Tool: c.Function.Name, Args: c.Function.Arguments})
		}
		if m.Role == model.RoleTool {
			m.Tool, m.OK = r.Name, len(m.Text) < 6 || m.Text[:6] != "Error:"
		}
		messages = append(messages, m)
	}
	return messages
}

func TestTheToolThatAModelUsedIsAmongThoseShown(t *testing.T) {
	shelf := NewShelf(crowd(t), nil, 0)
	if len(shelf.stock) < 520 {
		t.Fatalf("%d tools stand on the shelf", len(shelf.stock))
	}
	var calls, shownCalls, changes, models int
	missing := map[string]int{}
	for _, run := range recordedRuns(t) {
		messages := messagesOf(run)
		var shown Shown
		for i, m := range messages {
			if m.Role != model.RoleAssistant {
				continue
			}
			models++
			before := len(shown.Tools)
			shown = shelf.Choose(shown, messages[:i], "")
			if len(shown.Tools) > DefaultTools-1 {
				t.Fatalf("%d tools are shown", len(shown.Tools))
			}
			if before != len(shown.Tools) {
				changes++
			}
			for _, c := range m.Calls {
				if calls++; hasTool(shelf.Tools(shown), c.Tool) {
					shownCalls++
				} else {
					missing[c.Tool]++
				}
			}
		}
	}
	part := float64(shownCalls) / float64(calls)
	t.Logf("of %d recorded calls %.1f %% were of a tool that was shown, %d of %d; the tools changed at %d of %d requests; missing %v",
		calls, 100*part, DefaultTools, len(shelf.stock), changes, models, missing)
	if part < 0.97 {
		t.Errorf("only %.1f %% of the recorded calls are of a tool that was shown", 100*part)
	}
}

func hasTool(tools []model.Tool, name string) bool {
	for _, t := range tools {
		if t.Name == name {
			return true
		}
	}
	return false
}
