package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
