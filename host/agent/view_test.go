package agent

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/window"
)

// A talker answers everything at length, until it is told to fail.
type talker struct {
	asked []model.Request
	fails bool
}

func (m *talker) Complete(_ context.Context, req model.Request, _ func(model.Event)) (model.Reply, error) {
	m.asked = append(m.asked, req)
	if m.fails {
		return model.Reply{}, host.Fail("talker", abi.NewProblem(abi.Unavailable, "told to"), nil)
	}
	text := fmt.Sprintf("Answer %d. ", len(m.asked)) + strings.Repeat("The thermos sells well, and the scarf is sold out. ", 20)
	return model.Reply{Text: text, Finish: model.FinishStop, Usage: model.Usage{Input: window.RequestTokens(req)}}, nil
}

func (m *talker) last() model.Request { return m.asked[len(m.asked)-1] }

const smallWindow = 6000

// A session that is much longer than the window goes on, within the window; and
// what the model sees is the same on another replica, after a turn that broke off.
func TestASessionGoesOnBeyondItsWindow(t *testing.T) {
	m := &talker{}
	h := newHouse(t, m)
	h.agent.Window = smallWindow
	for i := range 40 {
		h.mustTurn(fmt.Sprint("i", i), fmt.Sprintf("Question %d about the thermos: how does it sell? ", i)+strings.Repeat("Please look closely. ", 10))
	}
	budget := window.Budget{Window: smallWindow}
	for i, req := range m.asked {
		if n := window.RequestTokens(req); n > budget.Threshold() {
			t.Errorf("request %d has %d tokens, above %d", i, n, budget.Threshold())
		}
	}
	if first := m.last().Messages[0].Text; !strings.Contains(first, "Question 0 ") || len(m.last().Messages) > 40 {
		t.Errorf("the last request has %d messages and begins with %.300q", len(m.last().Messages), first)
	}
	events, err := h.store.ListState(context.Background(), session.Ref, keyCompaction, "", 100)
	if err != nil || len(events) < 2 {
		t.Fatalf("%d compactions are stored (%v)", len(events), err)
	}

	m.fails = true
	if _, err := h.turn("broken", "And the scarf?"); err == nil {
		t.Fatal("the turn did not break off")
	}
	before := m.last()
	other := New(Config{Store: h.store, Releases: h.agent.Releases, Dispatch: h.agent.Dispatch, Model: m, Window: smallWindow})
	m.fails = false
	if _, err := other.Turn(context.Background(), session, Input{ID: "broken", Text: "And the scarf?"}, nil); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m.last(), before) {
		t.Errorf("the other replica asks\n%+v\nand the first one asked\n%+v", m.last(), before)
	}
}

// A summary is the small model's where it has one that holds, and else an
// extract.
func TestASummaryIsTheSmallModelsIfItHolds(t *testing.T) {
	for name, tt := range map[string]struct{ answer, want string }{
		"one that holds": {`{"requests":["the user asks about the thermos"],"done":[],"consensus":["it sells well"],"todos":[]}`, "it sells well"},
		"none at all":    {"I cannot do that.", "Question 0 "},
	} {
		t.Run(name, func(t *testing.T) {
			m := &talker{}
			h := newHouse(t, m)
			h.agent.Window, h.agent.Small = smallWindow, &script{answers: slices.Repeat([]func() (model.Reply, error){says(tt.answer)}, 100)}
			for i := range 25 {
				h.mustTurn(fmt.Sprint("i", i), fmt.Sprintf("Question %d about the thermos? ", i)+strings.Repeat("Please look closely. ", 10))
			}
			if first := m.last().Messages[0].Text; !strings.Contains(first, tt.want) {
				t.Errorf("the window begins with %.400q, want %q", first, tt.want)
			}
		})
	}
}

// F11: before each answer the model is told the newest state, and what of it
// this turn changed.
func TestTheModelIsToldTheStateAndWhatChanged(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){
		calls(`set_goal {"text":"sell more"}`), says("done"),
		calls(`emphasise {}`), says("done"),
	}}
	h := newHouse(t, m)
	h.mustTurn("i1", "set the goal")
	h.mustTurn("i2", "louder")
	for i, want := range []string{"", `* goal.text: "sell more"`, `goal.text: "sell more"`, `* goal.text: "sell more!" (was "sell more")`} {
		if hint := m.asked[i].Hint; !strings.Contains(hint, want) || want == "" && strings.Contains(hint, "goal") || strings.HasPrefix(want, "goal") && strings.Contains(hint, "* goal") {
			t.Errorf("request %d is told %q, want %q", i, hint, want)
		}
	}
	if strings.Contains(fmt.Sprint(m.asked), "agent/") {
		t.Error("the agent's own state is told")
	}
}

// With more tools than the model sees at once it searches, and what it finds is
// shown from then on.
func TestAModelFindsAToolThatItDoesNotSee(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){
		calls(window.SearchTool + ` {"query":"set the goal of the session"}`), calls(`set_goal {"text":"x"}`), says("done"),
	}}
	h := newHouse(t, m)
	h.agent.Tools = window.MinTools
	h.mustTurn("i1", "hello")
	names := func(i int) (names []string) {
		for _, tool := range m.asked[i].Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	if shown := names(0); len(shown) > window.MinTools || !slices.Contains(shown, window.SearchTool) || slices.Contains(shown, "set_goal") {
		t.Errorf("at first it sees %v", shown)
	}
	if shown := names(1); !slices.Contains(shown, "set_goal") {
		t.Errorf("after the search it sees %v", shown)
	}
	found := m.asked[1].Messages[len(m.asked[1].Messages)-1]
	if found.Role != model.RoleTool || !found.OK || !strings.Contains(found.Text, "set_goal") {
		t.Errorf("the search gave %+v", found)
	}
}

// Only what skills declare is read, a key by itself and the others by what they
// begin with, however many skills share it.
func TestTheDeclaredStateIsReadOnce(t *testing.T) {
	of := func(reads, writes []string) *manifest.Skill {
		return &manifest.Skill{Manifest: abi.Manifest{Capabilities: abi.Capabilities{State: &abi.StateAccess{Reads: reads, Writes: writes}}}}
	}
	keys, prefixes := declaredState([]*manifest.Skill{{}, of([]string{"live.*", "goal"}, []string{"goal"}), of([]string{"cart", "live.*"}, nil)})
	if !slices.Equal(keys, []string{"cart", "goal"}) || !slices.Equal(prefixes, []string{"live."}) {
		t.Errorf("keys are %v, prefixes %v", keys, prefixes)
	}
}
