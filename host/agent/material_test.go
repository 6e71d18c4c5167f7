package agent

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
)

// withFiles gives the house's session files of its own.
func (h *house) withFiles(named map[string]string) {
	h.t.Helper()
	store, err := files.Open(filepath.Join(h.t.TempDir(), "files"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { store.Close() })
	view := store.View(session.Ref)
	for name, text := range named {
		if _, err := view.Write(h.t.Context(), name, []byte(text), abi.FileCondition{}); err != nil {
			h.t.Fatal(err)
		}
	}
	change, err := view.Apply(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	change.Keep()
	h.agent.Dispatch.Files = store
}

func TestAMessageBringsTheFilesThatItNames(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){says("read"), says("again")}}
	h := newHouse(t, m)
	h.withFiles(map[string]string{"plan.md": "1. sell the thermos", "pic.png": "\x89PNG"})
	h.mustTurn("1", "Look at @plan.md, @pic.png and @plam.md")
	asked := m.asked[0].Messages[0].Text
	for _, want := range []string{"Look at @plan.md", "[file plan.md]\n1. sell the thermos", "[image pic.png: image/png, 4 bytes]"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the model reads %q, without %q", asked, want)
		}
	}
	var told *abi.Problem
	for _, e := range h.events {
		if e.Kind == host.EventNotice {
			told = e.Problem
		}
	}
	if told == nil || told.Field != "plam.md" || len(told.Candidates) == 0 || told.Candidates[0] != "plan.md" {
		t.Errorf("of the file that is not there the user is told %+v", told)
	}
	// The same delivery is the same input, whatever it brought with it.
	if answer := h.mustTurn("1", "Look at @plan.md, @pic.png and @plam.md"); !answer.Repeated {
		t.Errorf("the redelivery gives %+v", answer)
	}
	if _, err := h.turn("1", "Look at @plan.md"); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.Conflict {
		t.Errorf("other words under the same id: %v", err)
	}
}

func TestTheProjectsNotesStandInThePrompt(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){says("yes"), says("yes")}}
	h := newHouse(t, m)
	h.withFiles(map[string]string{"SLUICE.md": "Prices in yuan.", ".sluice/SLUICE.local.md": "Prices in cents."})
	h.mustTurn("1", "hello")
	general, local := strings.Index(m.asked[0].System, "Prices in yuan."), strings.Index(m.asked[0].System, "Prices in cents.")
	if general < 0 || local < general {
		t.Errorf("the prompt is %q", m.asked[0].System)
	}
	h.withFiles(map[string]string{"SLUICE.md": "\xff"})
	h.events = nil
	h.mustTurn("2", "hello again")
	if strings.Contains(m.asked[1].System, "Project notes") || !strings.Contains(h.kinds(), "notice") {
		t.Errorf("notes that are no text are read, or not told: %s", h.kinds())
	}
}

func TestAGuideIsReadFromTheFirstCallOfItsSkillOn(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(`total {"item":"pen"}`), says("none")}}
	h := newHouse(t, m)
	for _, skill := range h.agent.Releases.Current() {
		skill.Skill.Guide, skill.Skill.GuideText = "SKILL.md", "Count twice."
	}
	h.mustTurn("1", "how many pens?")
	if strings.Contains(m.asked[0].System, "Count twice.") || !strings.Contains(m.asked[1].System, "## How to use test.guest\nCount twice.") {
		t.Errorf("the prompts are\n%s\nand\n%s", m.asked[0].System, m.asked[1].System)
	}
}

// What is stored of an input may be longer than what a user may say: it goes on
// all the same.
func TestAnInputThatNamesLargeFilesGoesOn(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){fails(abi.ModelUnavailable)}}
	h := newHouse(t, m)
	h.withFiles(map[string]string{"a.csv": strings.Repeat("1,2\n", 15_000)})
	if _, err := h.turn("1", "Summarise @a.csv. "+strings.Repeat("Look closely. ", 1000)); err == nil {
		t.Fatal("the turn did not break off")
	}
	m.answers = []func() (model.Reply, error){says("ones and twos")}
	answer, err := h.agent.Resume(t.Context(), session, nil)
	if err != nil || answer.Text != "ones and twos" {
		t.Fatalf("it goes on to %+v, %v", answer, err)
	}
	if _, err := h.turn("2", strings.Repeat("x", MaxInputBytes+1)); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.InputLimit {
		t.Errorf("words that are too many: %v", err)
	}
}

// A shelf is that of the skills that are there now, and not of as many others.
func TestAShelfIsOfTheSkillsThatAreThere(t *testing.T) {
	h := newHouse(t, nil)
	shelf := func(missing string) any {
		turn := &turn{catalog: &release.Catalog{Missing: map[string]error{missing: abi.NewProblem(abi.NotFound, "gone")}}}
		turn.meta.Pins = release.Pins{"a": "1.0.0", "b": "1.0.0"}
		return h.agent.shelfOf(turn)
	}
	if shelf("a@1.0.0") == shelf("b@1.0.0") || shelf("a@1.0.0") != shelf("a@1.0.0") {
		t.Error("the shelf does not go by what is missing")
	}
}
