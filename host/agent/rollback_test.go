package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/registry"
)

// withFilesSkill gives the house the skill that writes the session's files.
func (h *house) withFilesSkill(named map[string]string) {
	h.t.Helper()
	h.withFiles(named)
	wasm := sandboxtest.Build(h.t, "skills/files")
	sandboxtest.Load(h.t, wasm, abi.Limits{})
	skill := sandboxtest.Describe(h.t, sandboxtest.Shared(h.t), wasm)
	if _, err := h.agent.Releases.Load(h.t.Context(), &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) filesAre(want ...string) {
	h.t.Helper()
	view := h.agent.Dispatch.Files.View(session.Ref)
	entries, err := view.List(h.t.Context(), "")
	if err != nil {
		h.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		text, err := view.Read(h.t.Context(), e.Name)
		if err != nil {
			h.t.Fatal(err)
		}
		got = append(got, e.Name+"="+string(text))
	}
	if !slices.Equal(got, want) {
		h.t.Errorf("the files are %q, want %q", got, want)
	}
}

func (h *house) checkpoints() []files.Checkpoint {
	h.t.Helper()
	list, err := h.agent.Dispatch.Files.Checkpoints(h.t.Context(), session.Ref)
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

func (h *house) told(text string) bool {
	return slices.ContainsFunc(h.events, func(e host.Event) bool { return e.Kind == host.EventNotice && strings.Contains(e.Text, text) })
}

const (
	writePlan  = `write_file_with_hash {"path":"plan.md","text":"sell more\n"}`
	writeOther = `write_file_with_hash {"path":"other.md","text":"ink\n"}`
)

func TestATaskThatSucceedsKeepsWhatItWrote(t *testing.T) {
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(`total {"item":"pen"}`), calls(writePlan), calls(writeOther), says("written")}})
	h.withFilesSkill(map[string]string{"notes.md": "old"})
	h.mustTurn("1", "write the plan")
	h.filesAre("notes.md=old", "other.md=ink\n", "plan.md=sell more\n")
	list := h.checkpoints()
	if len(list) != 1 || list[0].Open || list[0].Label != "before 1" || list[0].Files != 1 {
		t.Errorf("the checkpoints are %+v, want one of the task, kept", list)
	}
}

func TestATaskWithoutFilesMakesNoCheckpoint(t *testing.T) {
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(`order {"item":"pen","count":2}`), says("done")}})
	h.withFilesSkill(map[string]string{"notes.md": "old"})
	h.mustTurn("1", "order")
	if list := h.checkpoints(); len(list) != 0 {
		t.Errorf("the checkpoints are %+v", list)
	}
}

func TestAnUnrecoverableProblemGivesTheFilesBack(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(writePlan), calls(`misbehave {"how":"panic"}`), calls(writeOther), says("sorry")}}
	h := newHouse(t, m)
	h.withFilesSkill(map[string]string{"notes.md": "old"})
	h.mustTurn("1", "write the plan")
	h.filesAre("notes.md=old", "other.md=ink\n")
	if last := m.asked[2].Messages[len(m.asked[2].Messages)-1].Text; !strings.Contains(last, "again as they were before this task") {
		t.Errorf("the model is told %q", last)
	}
	if !h.told("会话中的文件已恢复") {
		t.Error("the user is not told")
	}
	records, err := h.store.Records(t.Context(), "acme", state.RecordFilter{Session: session.Ref, Kinds: []host.RecordKind{host.RecordNotice}})
	if err != nil || len(records) != 1 || !strings.Contains(string(records[0].Detail), `"step":"rollback"`) {
		t.Errorf("on record is %v, %v", records, err)
	}
}

func TestTheBreakersSecondTripGivesTheFilesBack(t *testing.T) {
	again := calls(`total {"item":"ghost"}`)
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(writePlan), again, again, again, again, again, again, says("never said")}})
	h.withFilesSkill(map[string]string{"notes.md": "old"})
	if answer := h.mustTurn("1", "write the plan"); answer.Reason != Circled {
		t.Fatalf("the turn ended with %s", answer.Reason)
	}
	h.filesAre("notes.md=old")
}

// TestATaskThatIsResumedHasItsCheckpoint: the way back is found by another
// agent, whatever the first one knew.
func TestATaskThatIsResumedHasItsCheckpoint(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(writePlan), fails(abi.ModelUnavailable)}}
	h := newHouse(t, m)
	h.withFilesSkill(map[string]string{"notes.md": "old"})
	if _, err := h.turn("1", "write the plan"); err == nil {
		t.Fatal("the turn did not break off")
	}
	h.filesAre("notes.md=old", "plan.md=sell more\n")
	m.answers = []func() (model.Reply, error){nil, calls(`misbehave {"how":"panic"}`), says("sorry")}
	other := New(Config{Store: h.store, Releases: h.agent.Releases, Dispatch: h.agent.Dispatch, Model: m})
	if _, err := other.Turn(t.Context(), session, Input{ID: "1", Text: "write the plan"}, nil); err != nil {
		t.Fatal(err)
	}
	h.filesAre("notes.md=old")
}

// TestWithoutACheckpointNothingMayWrite: what cannot be kept could not be put back.
func TestWithoutACheckpointNothingMayWrite(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(writePlan), says("not possible")}}
	h := newHouse(t, m)
	h.withFilesSkill(map[string]string{"notes.md": "old"})
	h.agent.Dispatch.Files.Close()
	h.mustTurn("1", "write the plan")
	if last := m.asked[1].Messages[len(m.asked[1].Messages)-1]; last.OK || !strings.Contains(last.Text, "cannot be kept as they are") {
		t.Errorf("the model is told %+v", last)
	}
	records, err := h.store.Records(t.Context(), "acme", state.RecordFilter{Session: session.Ref})
	if err != nil || len(records) != 1 || records[0].Kind != host.RecordRefusal || !strings.Contains(string(records[0].Detail), `"step":"checkpoint"`) {
		t.Errorf("on record is %v, %v", records, err)
	}
}

func TestAPurgeLeavesNothingOfASessionButItsRecords(t *testing.T) {
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(writePlan), calls(`order {"item":"pen","count":2}`), says("done")}})
	h.withFilesSkill(map[string]string{"notes.md": "old"})
	blobs, err := blob.Open(t.Context(), t.TempDir(), blob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() })
	h.agent.Dispatch.Blobs = blobs
	id, err := blobs.Put(t.Context(), session.Ref, abi.BlobInfo{Type: "text/plain", Name: "x"}, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	h.mustTurn("1", "write the plan")
	fence, err := h.store.Lease(t.Context(), session.Ref, "a turn", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.agent.Purge(t.Context(), session.Ref); err == nil || host.ProblemOf(err).Code != abi.Busy {
		t.Fatalf("while a turn runs: %v", err)
	}
	h.filesAre("notes.md=old", "plan.md=sell more\n")
	if err := h.store.Release(t.Context(), session.Ref, fence); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it may be repeated
		if err := h.agent.Purge(t.Context(), session.Ref); err != nil {
			t.Fatal(err)
		}
	}
	h.filesAre()
	if len(h.checkpoints()) != 0 {
		t.Error("checkpoints are left")
	}
	if _, err := blobs.Read(t.Context(), session.Ref, id, 0, 1); err == nil {
		t.Error("a blob is left")
	}
	if values, err := h.store.ListState(t.Context(), session.Ref, "", "", 0); err != nil || len(values) != 0 {
		t.Errorf("state is left: %v, %v", values, err)
	}
	if records, err := h.store.Records(t.Context(), "acme", state.RecordFilter{Session: session.Ref}); err != nil || len(records) == 0 {
		t.Errorf("the audit log has %d records, %v", len(records), err)
	}
	if h.stored("total/pen") != "2" {
		t.Error("the tenant's kv is gone, too")
	}
}

// Nobody puts the files back under a turn that works on them.
func TestARollbackByHandWaitsForNoTurn(t *testing.T) {
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(writePlan), says("done")}})
	h.withFilesSkill(map[string]string{"notes.md": "old"})
	h.mustTurn("1", "write the plan")
	id := h.checkpoints()[0].ID
	fence, err := h.store.Lease(t.Context(), session.Ref, "a turn", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.agent.RollBack(t.Context(), session.Ref, id); err == nil || host.ProblemOf(err).Code != abi.Busy {
		t.Errorf("while a turn runs: %v", err)
	}
	if err := h.store.Release(t.Context(), session.Ref, fence); err != nil {
		t.Fatal(err)
	}
	if err := h.agent.RollBack(t.Context(), session.Ref, id); err != nil {
		t.Fatal(err)
	}
	h.filesAre("notes.md=old")
}
