package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/audit/verify"
	"github.com/sluicehq/sluice/host/state"
)

var bob = host.SessionRef{Tenant: "shop", User: "bob", Session: "s2"}

func (r room) erase(t *testing.T, of host.SessionRef) int {
	t.Helper()
	n, err := r.Erase(t.Context(), EraseRequest{Of: of, By: "privacy@shop", Why: "request 17"})
	must(t, err)
	return n
}

// TestAnErasureOfSomeRecordsLeavesTheOthers also where none of the first pages is meant.
func TestAnErasureOfSomeRecordsLeavesTheOthers(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		const others = erasePage/2 + 1 // calls, of two records each: more than a page
		for n := range others {
			r.keep(t, n)
		}
		r.keep(t, others)
		meant := host.CallID(fmt.Sprint("call_", others))
		which := func(rec host.Record) bool { return rec.Call == meant }
		for _, want := range []int{2, 0} { // the second time there is nothing left
			n, err := r.Erase(t.Context(), EraseRequest{Of: ann, By: "privacy@shop", Which: which})
			if err != nil || n != want {
				t.Fatalf("%d records were erased, %v; want %d", n, err, want)
			}
		}
		if report := verified(t, r.publish(t), verify.Options{Keys: []string{r.key(t)}}); report.Finding != nil || report.Logs[0].Erased != 2 {
			t.Errorf("%+v %v", report, report.Finding)
		}
		text := r.everything(t)
		if strings.Contains(text, `"`+string(meant)+`"`) || !strings.Contains(text, `"call_0"`) || !strings.Contains(text, fmt.Sprintf(`"call_%d"`, others-1)) {
			t.Error("another record was erased, or the one that was meant was not")
		}
	})
}

func TestAnErasureRemovesThePayloadAndKeepsEveryProof(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 1)
		must(t, r.Store.Record(t.Context(), call(bob, 2)...))
		r.seal(t, "shop")
		before := r.checkpointNow(t)
		r.keep(t, 3) // not sealed yet
		if n := r.erase(t, ann); n != 4 {
			t.Errorf("%d records were erased, want 4", n)
		}
		report := verified(t, r.publish(t), verify.Options{Keys: []string{r.key(t)}, Checkpoints: [][]byte{before}})
		if report.Finding != nil || report.Entries != 7 || report.Logs[0].Erased != 4 {
			t.Fatalf("%+v %v", report, report.Finding)
		}
		records, err := r.Store.Records(t.Context(), "shop", state.RecordFilter{})
		must(t, err)
		for _, rec := range records {
			switch said := string(rec.Detail); {
			case rec.Kind == host.RecordErasure:
				if !strings.Contains(said, `"by":"privacy@shop","why":"request 17"`) || !strings.Contains(said, `"entries":[{"log":1,"first":0,"last":1},{"log":1,"first":4,"last":5}]`) {
					t.Errorf("the erasure says %s", said)
				}
			case rec.Session.User == "bob":
				if rec.Call != "call_2" || !strings.Contains(said, "{") {
					t.Errorf("another's record is %+v", rec)
				}
			case rec.Session != host.SessionRef{Tenant: "shop"} || rec.Call != "" || rec.Tool != "" || rec.Key != "" || strings.Contains(said, "1001"):
				t.Errorf("it still has its payload: %+v %s", rec, said)
			case !strings.Contains(said, `"by":"privacy@shop"`) || !strings.Contains(said, `"at":"2026-03-01T08:00:00`):
				t.Errorf("it does not say when and by whom it was erased: %s", said)
			case rec.Kind != host.RecordIntent && rec.Kind != host.RecordOutcome || rec.Release != "shop.pricing@1.4.0":
				t.Errorf("what is not personal is gone: %+v", rec)
			}
		}
		if text := r.everything(t); strings.Contains(text, "call_1") || strings.Contains(text, `"ann"`) {
			t.Error("what is published still has the payload")
		}
		for _, seq := range []int64{1, 5} {
			proofs, err := r.Prove(t.Context(), "shop", "", seq)
			must(t, err)
			if shown := checked(t, proofs[0], r.key(t)); len(shown.Records) != 1 || shown.Records[0] != seq {
				t.Errorf("record %d: %+v", seq, shown)
			}
		}
		if n := r.erase(t, ann); n != 0 {
			t.Errorf("%d records were erased again", n)
		}
		r.keep(t, 4)
		r.seal(t, "shop")
		r.wantWhole(t, 9)
	})
}

func (r room) everything(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.publish(t), "1", "entries.jsonl"))
	must(t, err)
	return string(data)
}

func checked(t *testing.T, p Proof, keys ...string) verify.ProofReport {
	t.Helper()
	data, err := json.Marshal(p)
	must(t, err)
	shown, err := verify.Proof(data, keys)
	must(t, err)
	return shown
}

func TestAnErasureGoesOverAllOfAUsersSessionsAndManyRecords(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		const calls = erasePage/2 + 20
		for n := range calls {
			must(t, r.Store.Record(t.Context(), call(host.SessionRef{Tenant: "shop", User: "ann", Session: host.SessionID(fmt.Sprint("s", n%3))}, n)...))
		}
		must(t, r.Store.Record(t.Context(), call(bob, 9999)...))
		if n := r.erase(t, host.SessionRef{Tenant: "shop", User: "ann", Session: "s1"}); n != 2*calls/3/2*2 && n != (calls/3+1)*2 {
			t.Errorf("%d records of one session were erased", n)
		}
		r.erase(t, host.SessionRef{Tenant: "shop", User: "ann"})
		report := verified(t, r.publish(t), verify.Options{Keys: []string{r.key(t)}})
		if report.Finding != nil || report.Logs[0].Erased != 2*calls {
			t.Errorf("%+v %v", report, report.Finding)
		}
	})
}

func TestAnErasureNeedsToSayWhoseAndByWhom(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	r.keep(t, 1)
	for name, req := range map[string]EraseRequest{
		"no user": {Of: host.SessionRef{Tenant: "shop", Session: "s1"}, By: "x"}, "nobody": {Of: ann}, "too much": {Of: ann, By: strings.Repeat("x", maxWords+1)},
	} {
		if n, err := r.Erase(t.Context(), req); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.BadValue || n != 0 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

// A record that was changed cannot be hidden by erasing it.
func TestAChangedRecordIsNotErased(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 1)
		r.seal(t, "shop")
		r.sql(t, `UPDATE audit_record SET detail = '{}' WHERE seq = 2`)
		if n, err := r.Erase(t.Context(), EraseRequest{Of: ann, By: "x"}); err == nil || n != 0 {
			t.Errorf("%d were erased, %v", n, err)
		}
		wantFinding(t, verified(t, r.publish(t), verify.Options{}), verify.Changed, 1, 2)
	})
}

// An erasure without its record is a loss.
func TestAPayloadThatIsGoneWithoutARecordIsFound(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 1, 2)
		r.seal(t, "shop")
		records, err := r.Store.Records(t.Context(), "shop", state.RecordFilter{AfterSeq: 2, Limit: 1})
		must(t, err)
		leaves, err := r.Store.AuditLeaves(t.Context(), "shop", 2, 1)
		must(t, err)
		// Whoever has the salt can make the digest that is left of an erased record.
		r.sql(t, `UPDATE audit_record SET user_id = '', session_id = '', call_id = '', tool = '', claim_key = '', detail = '' WHERE seq = 3`)
		r.sql(t, `UPDATE audit_leaf SET erased = 1, secret = ? WHERE seq = 3`, privateDigest(leaves[0].Secret, records[0]))
		report := verified(t, r.publish(t), verify.Options{Keys: []string{r.key(t)}})
		wantFinding(t, report, verify.Removed, 2, 3)
		if !report.Finding.Pending {
			t.Error("the finding does not say that the erasure's record may be to come")
		}
	})
}

// A record that somebody put among the sealed ones has no leaf, and never gets one.
func TestAnErasurePassesByWhatWasNeverSealed(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 1, 2)
		r.seal(t, "shop")
		r.sql(t, "DELETE FROM audit_leaf WHERE seq = 1")
		n, err := r.Erase(t.Context(), EraseRequest{Of: ann, By: "x"})
		if problem := host.ProblemOf(err); n != 3 || problem == nil || problem.Code != abi.StoreFailure || !strings.Contains(fmt.Sprint(err), "record 1 was never sealed") {
			t.Errorf("%d were erased, %v", n, err)
		}
	})
}

// The page of leaves that a publication has read is older than an erasure that
// comes before its next records.
func TestWhatIsErasedDuringAPublicationIsPublishedAsErased(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 1, 2)
		r.seal(t, "shop")
		logs, err := r.allLogs(t.Context(), "shop")
		must(t, err)
		q := *r.Sequencer
		q.testOnlyPage = 2
		dir := t.TempDir()
		p := &publisher{q: &q, ctx: t.Context(), tenant: "shop", dir: dir, logs: logs}
		must(t, p.open())
		after, err := p.page(0, 4)
		must(t, err)
		r.erase(t, ann)
		_, err = p.page(after, 4)
		must(t, err)
		must(t, p.close())
		// Only the erasure's own record is not there yet.
		if f := verified(t, dir, verify.Options{}).Finding; f == nil || f.What != verify.Removed || !f.Pending {
			t.Errorf("found %+v", f)
		}
	})
}

func TestErasedRecordsOfAStoreThatFailsInBetweenAreAllOrNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 1, 2)
		r.seal(t, "shop")
		err := r.Store.EraseRecords(context.Background(), state.Erasure{
			Record: host.Record{Session: host.SessionRef{Tenant: "shop"}, Kind: host.RecordErasure}, Note: []byte(`{}`),
			Rows: map[int64][]byte{1: make([]byte, 32), 2: make([]byte, 32), 77: make([]byte, 32)},
		})
		if problem := host.ProblemOf(err); problem == nil || problem.Code != abi.StoreConflict {
			t.Errorf("got %v", err)
		}
		r.wantWhole(t, 4)
	})
}
