package window

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/model"
)

func TestEarlierTopicsAreFoundByWordsAndByScene(t *testing.T) {
	topics := []Topic{
		{Title: "sound check", Scenes: []string{PreLive}, Summary: Summary{Todos: []string{"buy a microphone"}}},
		{Title: "price of 1001", Scenes: []string{OnLive}, Summary: Summary{Done: []string{"set_price 1001 to 89"}}},
		{Title: "coupons", Scenes: []string{OnLive}, Summary: Summary{Done: []string{"issued 20 coupons"}}},
	}
	for _, tt := range []struct {
		name, args string
		ok         bool
		has, not   string
	}{
		{"by words", `{"query":"microphone"}`, true, "sound check", "coupons"},
		{"by scene", `{"scene":"on-live"}`, true, "set_price 1001 to 89", "sound check"},
		{"by both", `{"scene":"on-live","query":"coupons"}`, true, "issued 20", "price of"},
		{"the newest", ``, true, "coupons", "hint"},
		{"nothing", `{"query":"weather"}`, true, "nothing fits", "coupons"},
		{"no JSON", `{"query":`, false, "cannot be read", "coupons"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := AnswerTopics(model.Call{ID: "c1", Tool: TopicsTool, Args: tt.args}, topics)
			if m.OK != tt.ok || m.CallID != "c1" || m.Role != model.RoleTool || !strings.Contains(m.Text, tt.has) || strings.Contains(m.Text, tt.not) {
				t.Errorf("got %+v", m)
			}
			if tt.ok && !json.Valid([]byte(m.Text)) {
				t.Errorf("%s is not JSON", m.Text)
			}
		})
	}
	if m := AnswerTopics(model.Call{Args: `{"query":"x"}`, CutOff: true}, topics); m.OK {
		t.Error("a search that was cut off is answered")
	}
	many := make([]Topic, 50)
	if m := AnswerTopics(model.Call{}, many); strings.Count(m.Text, `"title"`) != topicHits {
		t.Errorf("50 topics give %s", m.Text)
	}
}
