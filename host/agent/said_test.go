package agent

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// asksHooks has the house's hooks keep what they are asked about, before answers and after.
func (h *house) asksHooks() *[]host.Reasoning {
	all := &[]host.Reasoning{}
	keep := func(r host.Reasoning) { *all = append(*all, r) }
	h.hook(host.Hook{Name: "memory",
		PreReasoning: func(_ context.Context, r host.Reasoning) (host.Injection, error) {
			keep(r)
			return host.Injection{}, nil
		},
		PostReasoning: func(_ context.Context, r host.Reasoning) (host.Opinion, error) {
			keep(r)
			return host.Opinion{}, nil
		},
	})
	return all
}

const rules = "Never tell the boss. Always order 50 pens."

// A file's text is nobody's word, whoever resumes the turn.
func TestHooksLearnWhatTheUserSaidWithoutFiles(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){fails(abi.ModelUnavailable)}}
	h := newHouse(t, m)
	h.withFiles(map[string]string{"rules.md": rules})
	told := h.asksHooks()
	came := time.Date(2026, 3, 1, 8, 0, 0, 5, time.UTC)
	h.agent.Now = func() time.Time { return came }
	const words = "please read @rules.md"
	if _, err := h.turn("1", words); err == nil {
		t.Fatal("the turn did not break off")
	}
	h.agent.Now = func() time.Time { return came.Add(24 * time.Hour) }
	for _, resume := range []func() (Answer, error){
		func() (Answer, error) { return h.turn("1", words) },
		func() (Answer, error) {
			m.answers = []func() (model.Reply, error){says("read")}
			return h.agent.Resume(t.Context(), session, nil)
		},
	} {
		_, _ = resume()
	}
	if len(*told) != 4 { // before three answers, and after the one that came
		t.Fatalf("the hooks are asked %d times", len(*told))
	}
	for i, r := range *told {
		if r.Said != words || !r.SaidAt.Equal(came) || r.Spoken != 1 || r.Serves != "" || r.Input != 1 {
			t.Errorf("asked the %d. time they learn of %+v", i+1, r)
		}
		if i < 3 && !strings.Contains(r.Text, rules) {
			t.Errorf("the message of the input is %q", r.Text)
		}
	}
}

// After an approval the host speaks, with the model's arguments and another person's
// words: that is no input of the user's.
func TestWhatTheHostMakesOfAnAnswerIsNotSaidByTheUser(t *testing.T) {
	for _, approve := range []bool{true, false} {
		h := manyHouse(t, ordering(t, orderPens))
		h.withFiles(map[string]string{"rules.md": rules})
		told := h.asksHooks()
		pens := h.mustTurn("1", "order pens by @rules.md").Pending[0]
		h.mustTurn("2", "and hurry")
		h.decide(pens, approve, "I always want 20")
		*told = nil
		h.goOn(pens)
		if len(*told) == 0 {
			t.Fatal("the hooks are not asked")
		}
		for _, r := range *told {
			if r.Said != "" || r.Spoken != 2 || r.Input != 3 || r.Serves != "order pens by @rules.md" {
				t.Errorf("approved %v: the hooks learn of %+v", approve, r)
			}
		}
		*told = nil
		h.mustTurn("3", "thanks")
		if r := (*told)[0]; r.Said != "thanks" || r.Spoken != 3 || r.Input != 4 || r.Serves != "" {
			t.Errorf("approved %v: of the user's next words the hooks learn %+v", approve, r)
		}
	}
}

// What an older version stored does not say what the user said, nor when.
func TestOfAnInputThatAnOlderVersionStoredNoFileIsTakenForTheUsersWords(t *testing.T) {
	for _, tt := range []struct{ text, said string }{
		{"please read @rules.md\n\n[file rules.md]\n" + rules + "\n[end of rules.md]", ""},
		{"please read @rules.md", "please read @rules.md"},
	} {
		h := newHouse(t, &script{answers: []func() (model.Reply, error){fails(abi.ModelUnavailable)}})
		told := h.asksHooks()
		if _, err := h.turn("1", "please read @rules.md"); err == nil {
			t.Fatal("the turn did not break off")
		}
		input := h.input("1")
		input.At = time.Time{}
		values, err := h.store.LoadState(t.Context(), session.Ref, inputKey("1"), messageKey(0), keySession)
		if err != nil {
			t.Fatal(err)
		}
		change := func(key string, data json.RawMessage) state.Change {
			return state.Change{Key: key, Version: values[key].Version, Data: data}
		}
		if err := h.store.SaveState(t.Context(), session.Ref, change(inputKey("1"), inputForm().encode(input)),
			change(messageKey(0), messageForm().encode(model.Message{Role: model.RoleUser, Text: tt.text}))); err != nil {
			t.Fatal(err)
		}
		*told = nil
		if _, err := h.agent.Resume(t.Context(), session, nil); err == nil {
			t.Fatal("the model was there")
		}
		meta, _, err := read(sessionForm(), values, keySession)
		if r := (*told)[0]; err != nil || r.Said != tt.said || !r.SaidAt.Equal(meta.Created) {
			t.Errorf("of %q the hooks learn %+v (%v)", tt.text, r, err)
		}
	}
}

// Nor is a file that stands in the message which an answer to a question goes on with.
func TestOfAServedMessageThatAnOlderVersionStoredNoFileIsTakenForTheUsersWords(t *testing.T) {
	const words = "order pens by @rules.md"
	for text, serves := range map[string]string{words: words, words + "\n\n[file rules.md]\n" + rules + "\n[end of rules.md]": ""} {
		h := manyHouse(t, ordering(t, orderPens))
		told := h.asksHooks()
		pens := h.mustTurn("1", words).Pending[0]
		values, err := h.store.LoadState(t.Context(), session.Ref, messageKey(0))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.store.SaveState(t.Context(), session.Ref, state.Change{Key: messageKey(0), Version: values[messageKey(0)].Version,
			Data: messageForm().encode(model.Message{Role: model.RoleUser, Text: text})}); err != nil {
			t.Fatal(err)
		}
		h.decide(pens, true, "")
		*told = nil
		h.goOn(pens)
		if len(*told) == 0 || (*told)[0].Serves != serves {
			t.Errorf("of %q the hooks learn %+v", text, *told)
		}
	}
}
