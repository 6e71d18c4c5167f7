package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/audit"
	"github.com/sluicehq/sluice/host/audit/verify"
	"github.com/sluicehq/sluice/host/state"
)

// A session goes with its records' payload, and the log still verifies.
func TestAPurgeWithItsRecordsLeavesNothingOfTheSessionButTheProof(t *testing.T) {
	h := newHouse(t, answers(calls(`order {"item":"pen","count":2}`), says("done")))
	h.mustTurn("1", "order 2 pens")
	dir := t.TempDir()
	log := &audit.Sequencer{Store: h.agent.Store, Keys: audit.KeyFile(filepath.Join(dir, "key")), MakesKey: true}
	n, err := h.agent.PurgeWithRecords(t.Context(), log, audit.EraseRequest{Of: session.Ref, By: "privacy", Why: "request 17"})
	if err != nil || n < 2 {
		t.Fatalf("%d records were erased, %v", n, err)
	}
	records, err := h.agent.Store.Records(t.Context(), session.Ref.Tenant, state.RecordFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Session.User != "" || r.Session.Session != "" || strings.Contains(string(r.Detail), "pen") {
			t.Errorf("a record still says %+v %s", r, r.Detail)
		}
	}
	if _, err := log.Publish(t.Context(), session.Ref.Tenant, filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	report, err := verify.Folder(os.DirFS(filepath.Join(dir, "log")), verify.Options{})
	if err != nil || report.Finding != nil || report.Logs[0].Erased != int64(n) {
		t.Errorf("%+v, %v", report, err)
	}
}

// What keeps something of a session is told of the purge, and the purge is not over
// before it could drop that.
func TestAPurgeEndsWhenAllThatKeepSomethingDroppedIt(t *testing.T) {
	h := newHouse(t, answers(says("hello")))
	var told []string
	away := errors.New("the index is away")
	h.hook(host.Hook{Name: "memory", Observer: true,
		OnSessionEnd: func(context.Context, host.SessionRef) error { told = append(told, "end"); return nil },
		OnPurge:      func(context.Context, host.SessionRef) error { told = append(told, "purge"); return away },
	})
	h.mustTurn("1", "hi")
	if err := h.agent.Purge(t.Context(), session.Ref); !errors.Is(err, away) {
		t.Fatalf("the purge gives %v", err)
	}
	if _, err := Show(t.Context(), h.store, session.Ref); err != nil {
		t.Errorf("the session cannot be purged again: %v", err)
	}
	away = nil
	if err := h.agent.Purge(t.Context(), session.Ref); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(told, " "); got != "purge purge" {
		t.Errorf("told %s", got)
	}
	records, err := h.agent.Store.Records(t.Context(), session.Ref.Tenant, state.RecordFilter{Kinds: []host.RecordKind{host.RecordEvent}})
	if err != nil || len(records) == 0 || !strings.Contains(string(records[len(records)-1].Detail), host.EventPurge) {
		t.Errorf("the log tells of no purge: %v, %v", records, err)
	}
}
