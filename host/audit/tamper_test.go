package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/sluicehq/sluice/host/audit/verify"
)

// Ways to change what the store has, behind everybody's back, and what the
// verifier says then. The log has the records 1 to 8.
func TestTamperingWithTheStoreIsFound(t *testing.T) {
	for _, tt := range []struct {
		name       string
		statements []string
		what       string
		index, seq int64
	}{
		{"a detail is edited", []string{`UPDATE audit_record SET detail = '{"args":{"price":1}}' WHERE seq = 3`}, verify.Changed, 2, 3},
		{"one byte of a detail", []string{`UPDATE audit_record SET detail = REPLACE(detail, '"price":2', '"price":9') WHERE seq = 3`}, verify.Changed, 2, 3},
		{"a kind is edited", []string{`UPDATE audit_record SET kind = 'refusal' WHERE seq = 4`}, verify.Changed, 3, 4},
		{"a time is edited", []string{`UPDATE audit_record SET recorded_at = recorded_at + 1 WHERE seq = 4`}, verify.Changed, 3, 4},
		{"a user is edited", []string{`UPDATE audit_record SET user_id = 'bob' WHERE seq = 5`}, verify.Changed, 4, 5},
		{"a release is edited", []string{`UPDATE audit_record SET release_name = 'shop.pricing@1.3.0' WHERE seq = 5`}, verify.Changed, 4, 5},
		{"text moves from field to field", []string{`UPDATE audit_record SET session_id = 's', call_id = '1call_1' WHERE seq = 3`}, verify.Changed, 2, 3},
		{"two rows swap", []string{`UPDATE audit_record SET seq = 99 WHERE seq = 3`, `UPDATE audit_record SET seq = 3 WHERE seq = 5`, `UPDATE audit_record SET seq = 5 WHERE seq = 99`}, verify.Changed, 2, 3},
		{"two leaves swap", []string{`UPDATE audit_leaf SET leaf_no = 7 - leaf_no WHERE seq IN (3, 6)`}, verify.Reordered, 2, 3},
		{"two rows and their leaves swap", []string{
			`UPDATE audit_record SET seq = 99 WHERE seq = 3`, `UPDATE audit_record SET seq = 3 WHERE seq = 5`, `UPDATE audit_record SET seq = 5 WHERE seq = 99`,
			`UPDATE audit_leaf SET seq = 99 WHERE seq = 3`, `UPDATE audit_leaf SET seq = 3, leaf_no = 2 WHERE seq = 5`, `UPDATE audit_leaf SET seq = 5, leaf_no = 4 WHERE seq = 99`}, verify.Changed, 2, 3},
		{"a row is deleted", []string{`DELETE FROM audit_record WHERE seq = 3`}, verify.Removed, 2, 3},
		{"a row and its leaf are deleted", []string{`DELETE FROM audit_record WHERE seq = 3`, `DELETE FROM audit_leaf WHERE seq = 3`}, verify.Removed, 2, 0},
		{"the newest row is deleted", []string{`DELETE FROM audit_record WHERE seq = 8`}, verify.Removed, 7, 8},
		{"the newest row and its leaf", []string{`DELETE FROM audit_record WHERE seq = 8`, `DELETE FROM audit_leaf WHERE seq = 8`}, verify.Removed, 7, 0},
		{"all rows are deleted", []string{`DELETE FROM audit_record`, `DELETE FROM audit_leaf`}, verify.Removed, 0, 0},
		{"the newest is deleted and the size set back", []string{`DELETE FROM audit_record WHERE seq = 8`, `DELETE FROM audit_leaf WHERE seq = 8`, `UPDATE audit_log SET tree_size = 7, last_seq = 7`}, verify.Removed, 7, 0},
		{"a row is inserted in between", []string{`UPDATE audit_record SET seq = 100 WHERE seq = 3`, `INSERT INTO audit_record SELECT 3, recorded_at, tenant_id, user_id, session_id, call_id, kind, tool, release_name, claim_key, '{}' FROM audit_record WHERE seq = 100`}, verify.Changed, 2, 3},
		{"a row is inserted before all", []string{`INSERT INTO audit_record (seq, recorded_at, tenant_id, user_id, session_id, call_id, kind, tool, release_name, claim_key, detail) VALUES (-5, 1, 'shop', 'ann', 's1', 'c', 'notice', '', '', '', '{}')`, `UPDATE audit_record SET seq = 9 WHERE seq = 8`, `UPDATE audit_record SET seq = 8 WHERE seq = -5`}, verify.Changed, 7, 8},
		{"a row is inserted with a leaf", []string{`UPDATE audit_log SET last_seq = 50`, `INSERT INTO audit_record (seq, recorded_at, tenant_id, user_id, session_id, call_id, kind, tool, release_name, claim_key, detail) VALUES (50, 1, 'shop', 'ann', 's1', 'c', 'notice', '', '', '', '{}')`, `INSERT INTO audit_leaf (tenant_id, seq, log_no, leaf_no, erased, secret) VALUES ('shop', 50, 1, 8, 0, '12345678901234567890123456789012')`}, verify.Added, 8, 50},
		{"a row is inserted without one", []string{`UPDATE audit_log SET last_seq = 50`, `INSERT INTO audit_record (seq, recorded_at, tenant_id, user_id, session_id, call_id, kind, tool, release_name, claim_key, detail) VALUES (50, 1, 'shop', 'ann', 's1', 'c', 'notice', '', '', '', '{}')`}, verify.Added, -1, 50},
		{"a payload is wiped as if it were erased", []string{`UPDATE audit_record SET user_id = '', session_id = '', call_id = '', tool = '', claim_key = '', detail = '' WHERE seq = 3`, `UPDATE audit_leaf SET erased = 1, secret = '12345678901234567890123456789012' WHERE seq = 3`}, verify.Changed, 2, 3},
		{"a salt is changed", []string{`UPDATE audit_leaf SET secret = '12345678901234567890123456789012' WHERE seq = 2`}, verify.Changed, 1, 2},
		{"a hash of the tree is changed", []string{`UPDATE audit_tile SET hashes = '` + strings.Repeat("0123456789abcdef", 16) + `'`}, verify.Changed, 0, 1},
		{"the log is dropped", []string{`DELETE FROM audit_log`}, "", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r room) {
				r.keep(t, 1, 2, 3, 4)
				r.seal(t, "shop")
				r.wantWhole(t, 8)
				for _, statement := range tt.statements {
					r.sql(t, statement)
				}
				if tt.what == "" {
					if _, err := r.Publish(t.Context(), "shop", t.TempDir()); err == nil {
						t.Error("a log that is not there was published")
					}
					return
				}
				wantFinding(t, verified(t, r.publish(t), verify.Options{Keys: []string{r.key(t)}}), tt.what, tt.index, tt.seq)
			})
		})
	}
}

func wantFinding(t *testing.T, report verify.Report, what string, index, seq int64) {
	t.Helper()
	f := report.Finding
	if f == nil || f.What != what || f.Index != index || f.Seq != seq || f.Message == "" {
		t.Errorf("found %+v, want %s at entry %d, record %d", f, what, index, seq)
	}
}

// Somebody who has the whole store, and keys of his own, or the host's.
func TestALogThatWasMadeAgainIsFound(t *testing.T) {
	forged := func(t *testing.T, keys KeyFile, calls ...int) (room, string) {
		r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
		r.Keys = keys
		r.keep(t, calls...)
		r.seal(t, "shop")
		return r, r.publish(t)
	}
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	r.keep(t, 1, 2)
	r.seal(t, "shop")
	early := r.checkpointNow(t)
	stale := r.publish(t)
	r.keep(t, 3)
	r.seal(t, "shop")
	late := r.checkpointNow(t)
	key := r.key(t)

	t.Run("signed with another key", func(t *testing.T) {
		_, dir := forged(t, KeyFile(filepath.Join(t.TempDir(), "key")), 1, 2, 3)
		wantFinding(t, verified(t, dir, verify.Options{Keys: []string{key}}), verify.Signature, -1, 0)
	})
	t.Run("signed with another key under the name of the host's", func(t *testing.T) {
		_, dir := forged(t, KeyFile(filepath.Join(t.TempDir(), "key")), 1, 2, 3)
		must(t, os.WriteFile(filepath.Join(dir, "1", "key"), []byte(key), 0o600))
		wantFinding(t, verified(t, dir, verify.Options{Keys: []string{key}}), verify.Signature, -1, 0)
	})
	t.Run("signed with the host's own key: forked", func(t *testing.T) {
		_, dir := forged(t, r.Keys, 1, 2, 3)
		if report := verified(t, dir, verify.Options{Keys: []string{key}}); report.Finding != nil {
			t.Errorf("without a checkpoint of earlier nobody can see it: %v", report.Finding)
		}
		wantFinding(t, verified(t, dir, verify.Options{Keys: []string{key}, Checkpoints: [][]byte{early}}), verify.Forked, 3, 0)
		wantFinding(t, verified(t, dir, verify.Options{Keys: []string{key}, Checkpoints: [][]byte{late}}), verify.Forked, 5, 0)
	})
	t.Run("an old state is put back: truncated", func(t *testing.T) {
		wantFinding(t, verified(t, stale, verify.Options{Keys: []string{key}, Checkpoints: [][]byte{early, late}}), verify.Truncated, 4, 0)
		if report := verified(t, stale, verify.Options{Keys: []string{key}, Checkpoints: [][]byte{early}}); report.Finding != nil {
			t.Errorf("it was so once: %v", report.Finding)
		}
	})
	t.Run("an old checkpoint is put in the place of the newest", func(t *testing.T) {
		dir := r.publish(t)
		must(t, os.WriteFile(filepath.Join(dir, "1", "checkpoint"), early, 0o600))
		wantFinding(t, verified(t, dir, verify.Options{Keys: []string{key}}), verify.Added, 4, 5)
	})
	t.Run("a checkpoint that was kept is another log's", func(t *testing.T) {
		n := note.Note{Text: strings.Replace(string(late[:bytes.Index(late, []byte("\n\n"))+1]), "sluice.audit/shop/1", "sluice.audit/shop/2", 1)}
		k, err := r.Keys.Newest()
		must(t, err)
		other, err := note.Sign(&n, k.signer)
		must(t, err)
		wantFinding(t, verified(t, r.publish(t), verify.Options{Keys: []string{key}, Checkpoints: [][]byte{other}}), verify.Signature, -1, 0)
	})
	t.Run("whole", func(t *testing.T) {
		if report := verified(t, r.publish(t), verify.Options{Keys: []string{key}, Checkpoints: [][]byte{late, early}}); report.Finding != nil {
			t.Errorf("%v", report.Finding)
		}
	})
}

// What somebody does to a published folder.
func TestTamperingWithWhatIsPublishedIsFound(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	r.keep(t, 1, 2, 3)
	r.seal(t, "shop")
	for _, tt := range []struct {
		name   string
		change func(lines [][]byte) [][]byte
		what   string
		index  int64
	}{
		{"two lines swap", func(l [][]byte) [][]byte { l[2], l[3] = l[3], l[2]; return l }, verify.Reordered, 2},
		{"two lines swap, with their numbers", func(l [][]byte) [][]byte {
			a, b := bytes.Replace(l[3], []byte(`"index":3`), []byte(`"index":2`), 1), bytes.Replace(l[2], []byte(`"index":2`), []byte(`"index":3`), 1)
			l[2], l[3] = a, b
			return l
		}, verify.Reordered, 3}, // the second's record is older
		{"a line is taken out", func(l [][]byte) [][]byte { return append(l[:1], l[2:]...) }, verify.Removed, 1},
		{"the last line is taken out", func(l [][]byte) [][]byte { return l[:5] }, verify.Removed, 5},
		{"a line stands twice", func(l [][]byte) [][]byte { return append(l[:3], append([][]byte{l[2]}, l[3:]...)...) }, verify.Added, 2},
		{"a line is cut", func(l [][]byte) [][]byte { l[4] = l[4][:20]; return l }, verify.Malformed, 4},
		{"a line has what nobody knows", func(l [][]byte) [][]byte { l[4] = bytes.Replace(l[4], []byte(`{`), []byte(`{"more":1,`), 1); return l }, verify.Malformed, 4},
		{"a detail is changed", func(l [][]byte) [][]byte { l[4] = bytes.Replace(l[4], []byte(`1001`), []byte(`1002`), 1); return l }, verify.Changed, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := r.publish(t)
			path := filepath.Join(dir, "1", "entries.jsonl")
			data, err := os.ReadFile(path)
			must(t, err)
			lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
			lines[5] = append(lines[5], '\n')
			must(t, os.WriteFile(path, bytes.Join(tt.change(lines), nil), 0o600))
			report := verified(t, dir, verify.Options{Keys: []string{r.key(t)}})
			if f := report.Finding; f == nil || f.What != tt.what || f.Index != tt.index {
				t.Errorf("found %+v, want %s at %d", f, tt.what, tt.index)
			}
		})
	}
}
