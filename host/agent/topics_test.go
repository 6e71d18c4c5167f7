package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/window"
)

// TestWhatWasTalkedAboutIsFoundAgainByScene: before, during and after a live the
// user talks of different things; the model finds them by scene and by words,
// also what has left its window.
func TestWhatWasTalkedAboutIsFoundAgainByScene(t *testing.T) {
	m := &talker{}
	h := newHouse(t, m)
	h.agent.Window, h.agent.TopicRounds = smallWindow, 4
	friday := session
	friday.Live = "friday"
	say := func(n int, words string) {
		t.Helper()
		for i := range n {
			in := Input{ID: host.InputID(fmt.Sprintf("%s %d", words, i)), Text: fmt.Sprintf("%s %s (%d)", words, words, i)}
			if _, err := h.agent.Turn(t.Context(), friday, in, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	say(4, "microphone check")
	if _, err := h.agent.StartLive(t.Context(), "acme", "friday", nil); err != nil {
		t.Fatal(err)
	}
	say(12, "thermos price")
	if _, err := h.agent.EndLive(t.Context(), "acme", "friday"); err != nil {
		t.Fatal(err)
	}
	say(4, "parcel address")
	for scene, want := range map[string]string{window.PreLive: "microphone", window.OnLive: "thermos", window.PostLive: "parcel"} {
		topics, err := h.agent.Topics(t.Context(), session.Ref, scene, "")
		if err != nil || len(topics) == 0 {
			t.Fatalf("%s has %d topics, %v", scene, len(topics), err)
		}
		for _, topic := range topics {
			if !strings.Contains(topic.Title, want) {
				t.Errorf("%s has the topic %q, want only %s", scene, topic.Title, want)
			}
		}
	}
	all, err := h.agent.Topics(t.Context(), session.Ref, "", "")
	if err != nil || all[0].From != 0 {
		t.Errorf("the topics begin with %+v, %v", all[0], err)
	}
	for i := 1; i < len(all); i++ {
		if all[i].From != all[i-1].To {
			t.Errorf("topic %d is of messages %d to %d, and the one before ends with %d", i, all[i].From, all[i].To, all[i-1].To)
		}
	}
	last := m.last()
	if tool := last.Tools[len(last.Tools)-1].Name; tool != window.TopicsTool {
		t.Errorf("the model's last tool is %s", tool)
	}
	if text := last.Messages[len(last.Messages)-1].Text; !strings.Contains(text, "parcel") {
		t.Errorf("the last words are %q", text)
	}
}

func TestTheModelLooksUpEarlierTopics(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){
		says("noted"), says("noted"), calls(`session_topics {"query":"microphone"}`), says("You have one."),
	}}
	h := newHouse(t, m)
	h.agent.TopicRounds = 2
	h.mustTurn("1", "The microphone is broken.")
	h.mustTurn("2", "Buy a new microphone.")
	if answer := h.mustTurn("3", "What was to be bought?"); answer.Text != "You have one." {
		t.Errorf("the answer is %q", answer.Text)
	}
	result := m.asked[3].Messages[len(m.asked[3].Messages)-1]
	if !result.OK || result.CallID != "c0" || !strings.Contains(result.Text, "microphone is broken") {
		t.Errorf("the model read %+v", result)
	}
}

func TestClearEndsShortTermMemoryOnly(t *testing.T) {
	m := &talker{}
	h := newHouse(t, m)
	h.agent.TopicRounds = 2
	if err := h.agent.Clear(t.Context(), session.Ref); err != nil {
		t.Fatalf("a session that said nothing: %v", err)
	}
	for i := range 3 {
		h.mustTurn(fmt.Sprint(i), "The secret word is marmalade.")
	}
	if err := h.agent.Clear(t.Context(), session.Ref); err != nil {
		t.Fatal(err)
	}
	h.mustTurn("after", "Which word?")
	last := m.last()
	if len(last.Messages) != 1 || strings.Contains(fmt.Sprint(last), "marmalade") {
		t.Errorf("after a clear the model reads %+v", last.Messages)
	}
	if topics, err := h.agent.Topics(t.Context(), session.Ref, "", ""); err != nil || len(topics) != 0 {
		t.Errorf("topics are left: %+v, %v", topics, err)
	}
	if first := h.message(0); !strings.Contains(first.Text, "marmalade") {
		t.Errorf("what was said is not on record any more: %+v", first)
	}
	h.mustTurn("more", "And now?")
	topics, err := h.agent.Topics(t.Context(), session.Ref, "", "marmalade")
	if err != nil || len(topics) != 0 {
		t.Errorf("what was cleared is a topic again: %+v, %v", topics, err)
	}
	// An input that was broken off before is over.
	m.fails = true
	if _, err := h.turn("broken", "Hello?"); err == nil {
		t.Fatal("the turn did not break off")
	}
	m.fails = false
	if err := h.agent.Clear(t.Context(), session.Ref); err != nil {
		t.Fatal(err)
	}
	if answer := h.mustTurn("broken", "Hello?"); answer.Reason != Superseded {
		t.Errorf("the input that was cleared ends as %s", answer.Reason)
	}
	h.mustTurn("last", "Hello again")
	if _, err := h.store.Lease(t.Context(), session.Ref, "somebody", time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := h.agent.Clear(t.Context(), session.Ref); err == nil || host.ProblemOf(err).Code != abi.Busy {
		t.Errorf("a session with a running turn: %v", err)
	}
}

// message gives a stored message.
func (h *house) message(i int) model.Message {
	h.t.Helper()
	m, err := findMessage(context.Background(), h.store, session.Ref, i)
	if err != nil {
		h.t.Fatal(err)
	}
	return m
}
