package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/audit/verify"
	"github.com/sluicehq/sluice/host/state"
)

func TestARotationLeavesASeamThatVerifyFollows(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		if _, err := r.Rotate(t.Context(), "shop"); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.BadValue {
			t.Errorf("nothing was rotated, and %v", err)
		}
		r.keep(t, 1)
		r.seal(t, "shop")
		first, kept := r.key(t), r.checkpointNow(t)
		r.keep(t, 2)
		_, err := r.Keys.Add()
		must(t, err)
		log, err := r.Rotate(t.Context(), "shop")
		must(t, err)
		if log.No != 2 || log.Size != 1 || log.Key != r.key(t) || log.Key == first {
			t.Errorf("%+v", log)
		}
		r.keep(t, 3)
		r.seal(t, "shop")
		_, err = r.Rotate(t.Context(), "shop") // with the same key
		must(t, err)
		r.keep(t, 4)
		r.seal(t, "shop")
		for _, key := range []string{first, r.key(t)} {
			report := verified(t, r.publish(t), verify.Options{Keys: []string{key}, Checkpoints: [][]byte{kept, r.checkpointNow(t)}})
			if report.Finding != nil || !report.Trusted || len(report.Logs) != 3 || report.Entries != 8+4 {
				t.Errorf("with the key %s: %+v %v", key, report, report.Finding)
			}
		}
		if n := r.erase(t, ann); n != 8 {
			t.Errorf("%d records were erased over three logs", n)
		}
		report := verified(t, r.publish(t), verify.Options{Keys: []string{first}})
		if report.Finding != nil || report.Logs[0].Erased != 4 || report.Logs[2].Erased != 2 {
			t.Errorf("%+v %v", report, report.Finding)
		}
		for seq := int64(1); seq < 9; seq += 4 {
			proofs, err := r.Prove(t.Context(), "shop", "", seq)
			must(t, err)
			checked(t, proofs[0])
		}
	})
}

func TestABrokenSeamIsFound(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	r.keep(t, 1)
	r.seal(t, "shop")
	_, err := r.Rotate(t.Context(), "shop")
	must(t, err)
	_, err = r.Keys.Add()
	must(t, err)
	_, err = r.Rotate(t.Context(), "shop")
	must(t, err)
	// Another history of the same tenant, with the same keys: three logs too.
	other := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	other.Keys = r.Keys
	other.keep(t, 1, 2)
	other.seal(t, "shop")
	for range 2 {
		_, err = other.Rotate(t.Context(), "shop")
		must(t, err)
	}
	for _, tt := range []struct {
		name   string
		change func(dir, other string) error
		what   string
		log    int64
	}{
		{"the newest log is gone", func(dir, _ string) error { return os.RemoveAll(filepath.Join(dir, "3")) }, verify.Truncated, 2},
		{"all but the first are gone", func(dir, _ string) error {
			return rejoin(os.RemoveAll(filepath.Join(dir, "3")), os.RemoveAll(filepath.Join(dir, "2")))
		}, verify.Truncated, 1},
		{"the first is another's", func(dir, other string) error { return swap(dir, other, "1") }, verify.Seam, 2},
		{"the second is another's", func(dir, other string) error { return swap(dir, other, "2") }, verify.Seam, 2},
		{"two logs change places", func(dir, _ string) error {
			return rejoin(os.Rename(filepath.Join(dir, "2"), filepath.Join(dir, "x")), os.Rename(filepath.Join(dir, "3"), filepath.Join(dir, "2")), os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, "3")))
		}, verify.Signature, 2},
		{"the seam's words are changed", func(dir, _ string) error {
			path := filepath.Join(dir, "2", "entries.jsonl")
			data, err := os.ReadFile(path)
			return rejoin(err, os.WriteFile(path, bytes.Replace(data, []byte("sluice.audit/shop/1"), []byte("sluice.audit/shop/0"), 1), 0o600))
		}, verify.Changed, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, others := r.publish(t), other.publish(t)
			must(t, tt.change(dir, others))
			f := verified(t, dir, verify.Options{Keys: []string{r.key(t)}}).Finding
			if tt.log < 3 && strings.HasPrefix(tt.name, "all but") {
				f = verified(t, dir, verify.Options{}).Finding
			}
			if f == nil || f.What != tt.what && f.What != verify.Signature || f.What == tt.what && f.Log != tt.log {
				t.Errorf("found %+v, want %s in log %d", f, tt.what, tt.log)
			}
		})
	}
}

func rejoin(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func swap(dir, other, log string) error {
	return rejoin(os.RemoveAll(filepath.Join(dir, log)), os.Rename(filepath.Join(other, log), filepath.Join(dir, log)))
}

func TestRotationsAtOnceFollowOnEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 1)
		r.seal(t, "shop")
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() {
				r.keep(t, n+2)
				if _, err := r.Rotate(t.Context(), "shop"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		r.seal(t, "shop")
		if report := r.wantWhole(t, 2+8+8); len(report.Logs) != 5 {
			t.Errorf("%d logs", len(report.Logs))
		}
	})
}

func TestAProofHasAllRecordsOfACallOrNone(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	var records []host.Record
	for range state.MaxRecords {
		records = append(records, call(ann, 1)[0])
	}
	must(t, r.Store.Record(t.Context(), records[:5]...))
	r.seal(t, "shop")
	r.testOnlyPage = 2
	proofs, err := r.Prove(t.Context(), "shop", "call_1", 0)
	must(t, err)
	if shown := checked(t, proofs[0], r.key(t)); len(shown.Records) != 5 {
		t.Errorf("the proof has the records %v of 5", shown.Records)
	}
	r.testOnlyPage = 0
	for n := 5; n <= maxProved; n += len(records) {
		must(t, r.Store.Record(t.Context(), records...))
	}
	r.seal(t, "shop")
	if _, err := r.Prove(t.Context(), "shop", "call_1", 0); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.BadValue {
		t.Errorf("of more than a proof takes: %v", err)
	}
	for _, seq := range []int64{0, -1} {
		if _, err := r.Prove(t.Context(), "shop", "", seq); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.BadValue {
			t.Errorf("record %d: %v", seq, err)
		}
	}
}

// Records that are sealed while others are looked up stand in a tile that has grown.
func TestATileThatHasGrownIsReadAgain(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	r.keep(t, 1)
	r.seal(t, "shop")
	leaves := leafReader{q: r.Sequencer, tenant: "shop", tiles: map[int64]*tiles{}}
	for n := range int64(2) {
		hash, err := leaves.hash(t.Context(), 1, 2*n)
		if must(t, err); hash == (tlog.Hash{}) {
			t.Errorf("entry %d has no hash", 2*n)
		}
		r.keep(t, 2)
		r.seal(t, "shop")
	}
}

func TestAProofShowsRecordsAndGrowthByItself(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		for n := range 150 {
			r.keep(t, n)
		}
		r.seal(t, "shop")
		early := r.checkpointNow(t)
		for n := range 200 {
			r.keep(t, 1000+n)
		}
		r.seal(t, "shop")
		proofs, err := r.Prove(t.Context(), "shop", "call_149", 0)
		must(t, err)
		shown := checked(t, proofs[0], r.key(t))
		if fmt.Sprint(shown.Records) != "[299 300]" || !shown.Trusted || shown.Log.Size != 700 {
			t.Errorf("%+v", shown)
		}
		growth, err := r.ProveSince(t.Context(), "shop", early)
		must(t, err)
		if shown := checked(t, growth, r.key(t)); shown.Earlier == nil || shown.Earlier.Size != 300 || shown.Log.Size != 700 {
			t.Errorf("%+v", shown)
		}
		for name, bad := range map[string]func(p *Proof){
			"the record is changed":            func(p *Proof) { p.Records[0].Entry.Detail = "{}" },
			"the index is another":             func(p *Proof) { p.Records[0].Entry.Index++ },
			"the path is another":              func(p *Proof) { p.Records[0].Path[3][0]++ },
			"the path is shorter":              func(p *Proof) { p.Records[0].Path = p.Records[0].Path[1:] },
			"the checkpoint is another":        func(p *Proof) { p.Checkpoint = string(early) },
			"the checkpoint is changed":        func(p *Proof) { p.Checkpoint = strings.Replace(p.Checkpoint, "\n700\n", "\n701\n", 1) },
			"it is about nothing":              func(p *Proof) { p.Records = nil },
			"its key is not trusted":           func(p *Proof) { p.Key = "x+" + p.Key },
			"the growth is from another":       func(p *Proof) { *p = growth; p.Consistency = p.Consistency[1:] },
			"the earlier checkpoint is forged": func(p *Proof) { *p = growth; p.Earlier = strings.Replace(p.Earlier, "\n300\n", "\n301\n", 1) },
		} {
			data, err := json.Marshal(proofs[0])
			must(t, err)
			var p Proof
			must(t, json.Unmarshal(data, &p))
			bad(&p)
			data, err = json.Marshal(p)
			must(t, err)
			if _, err := verify.Proof(data, []string{r.key(t)}); err == nil {
				t.Errorf("%s, and it is taken", name)
			}
		}
		if _, err := r.Prove(t.Context(), "shop", "call_nobody", 0); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.BadValue {
			t.Errorf("a call that is not there: %v", err)
		}
		if _, err := r.ProveSince(t.Context(), "shop", []byte("no checkpoint")); err == nil {
			t.Error("no checkpoint was taken for one")
		}
	})
}
