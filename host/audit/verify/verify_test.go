package verify

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// What can be trusted is what can be read: the verifier imports the standard
// library and the two packages that hash and sign, and nothing else.
func TestTheVerifierImportsNothingOfTheHost(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			ours := slices.Contains([]string{"golang.org/x/mod/sumdb/note", "golang.org/x/mod/sumdb/tlog"}, name)
			if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") && !ours {
				t.Errorf("%s imports %s", file, name)
			}
		}
	}
}

// The tree that is added up is the one that the library proves things of.
func TestTheRootIsThatOfTheLibrary(t *testing.T) {
	stored := map[int64]tlog.Hash{}
	read := tlog.HashReaderFunc(func(indexes []int64) (hashes []tlog.Hash, err error) {
		for _, i := range indexes {
			hashes = append(hashes, stored[i])
		}
		return hashes, nil
	})
	var tr tree
	for n := range int64(300) {
		leaf := tlog.RecordHash(fmt.Append(nil, n))
		hashes, err := tlog.StoredHashesForRecordHash(n, leaf, read)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range hashes {
			stored[tlog.StoredHashIndex(0, n)+int64(i)] = h
		}
		tr.add(leaf)
		want, err := tlog.TreeHash(n+1, read)
		if err != nil || tr.root() != want || tr.size != n+1 {
			t.Fatalf("at %d entries: %v, %v, want %v", n+1, err, tr.root(), want)
		}
	}
}

// One entry by hand, so that the form cannot change by accident: this is what
// others build on.
func TestTheFormOfAnEntryIsWhatIsPublished(t *testing.T) {
	salt := strings.Repeat("s", 32)
	private := sha256.Sum256([]byte(salt + "sluice-audit-private/1\n" + `3:ann2:s16:call_19:set_price5:key_17:{"a":1}`))
	open := "sluice-audit-record/1\n" + "4:shop2:4216:17723520000000006:intent18:shop.pricing@1.4.032:" + string(private[:])
	want := tlog.Hash(sha256.Sum256([]byte("\x00" + open)))
	line := fmt.Sprintf(`{"index":0,"leaf":%q,"seq":42,"time":1772352000000000,"kind":"intent","release":"shop.pricing@1.4.0","salt":%q,"user":"ann","session":"s1","call":"call_1","tool":"set_price","key":"key_1","detail":"{\"a\":1}"}`,
		want, base64.StdEncoding.EncodeToString([]byte(salt)))
	e, err := parseEntry([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if got := e.hash("shop"); got != want || *e.Leaf != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWhatIsNoEntryIsRefused(t *testing.T) {
	leaf := tlog.Hash{}.String()
	salt := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for _, line := range []string{
		``, `[]`, `1`, `{}`, `{"index":0}`, `{"leaf":"` + leaf + `"}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":1}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":0,"salt":"` + salt + `"}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":1,"salt":"AAAA"}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":1,"erased":"AAAA"}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":1,"erased":""}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":1,"erased":"` + salt + `","user":"x"}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":1,"salt":"` + salt + `","detail":"1","detail_base64":"AAAA"}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":1,"salt":"` + salt + `"}{}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":1,"salt":"` + salt + `","more":1}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":1,"salt":"` + salt + `","detail":"forged","detail":"sealed"}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":1,"salt":"` + salt + `","detail":"forged","Detail":"sealed"}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":1,"salt":"` + salt + `","Detail":"sealed"}`,
		`{"leaf":"` + leaf + `","kind":"a","seq":1,"salt":"` + salt + `","detail":"` + "\xff" + `"}`,
	} {
		if e, err := parseEntry([]byte(line)); err == nil {
			t.Errorf("%s is taken for %+v", line, e)
		}
	}
}

// A seam's hash is that of its text: whatever stands beside it would be taken for
// sealed, and is not.
func TestASeamHasNothingBesideIt(t *testing.T) {
	seam := `{"index":0,"leaf":"` + tlog.Hash{}.String() + `","seam":"sluice-audit-seam/1\n4:next1:a1:b"`
	if _, err := parseEntry([]byte(seam + `}`)); err != nil {
		t.Fatal(err)
	}
	for _, forged := range []string{
		`"seq":1`, `"time":1`, `"kind":"outcome"`, `"release":"x"`, `"salt":"AAAA"`, `"user":"x"`, `"session":"x"`, `"call":"x"`,
		`"tool":"x"`, `"key":"x"`, `"detail":"x"`, `"detail_base64":"AAAA"`, `"erased":"AAAA"`,
	} {
		if e, err := parseEntry([]byte(seam + `,` + forged + `}`)); err == nil {
			t.Errorf("with %s it is taken for %+v", forged, e)
		}
	}
}

// A proof with one record, by hand: the tree has one entry, so that the way to
// the root is empty.
func proofOf(t *testing.T, entry string, root tlog.Hash) (proof []byte, key string) {
	t.Helper()
	private, key, err := note.GenerateKey(rand.Reader, "test")
	check(t, err)
	signer, err := note.NewSigner(private)
	check(t, err)
	signed, err := note.Sign(&note.Note{Text: fmt.Sprintf("sluice.audit/shop/1\n1\n%s\ntime %s\n", root, time.Unix(0, 0).UTC().Format(time.RFC3339Nano))}, signer)
	check(t, err)
	return fmt.Appendf(nil, `{"key":%q,"checkpoint":%q,"records":[{"entry":%s,"path":[]}]}`, key, signed, entry), key
}

func TestAProofIsOfSealedRecordsAlone(t *testing.T) {
	seam := "sluice-audit-seam/1\n4:next1:a1:b"
	root := tlog.RecordHash([]byte(seam))
	for name, entry := range map[string]string{
		"a seam":                    fmt.Sprintf(`{"index":0,"leaf":%q,"seam":%q}`, root, seam),
		"a seam with a record":      fmt.Sprintf(`{"index":0,"leaf":%q,"seam":%q,"seq":7,"kind":"outcome","detail":"forged"}`, root, seam),
		"a record that is gone":     `{"index":0,"missing":true,"seq":7}`,
		"one that was never sealed": `{"index":0,"unsealed":true,"seq":7}`,
		"no seam":                   fmt.Sprintf(`{"index":0,"leaf":%q,"seam":"x"}`, tlog.RecordHash([]byte("x"))),
	} {
		data, key := proofOf(t, entry, root)
		report, err := Proof(data, []string{key})
		if err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}

func TestAProofThatReadersTakeDifferentlyIsRefused(t *testing.T) {
	e := entry{Seq: 7, Kind: "outcome", Salt: make([]byte, saltBytes), Detail: "sealed"}
	line := fmt.Sprintf(`{"index":0,"leaf":%q,"seq":7,"kind":"outcome","salt":%q,"detail":"sealed"}`, e.hash("shop"), base64.StdEncoding.EncodeToString(e.Salt))
	good, key := proofOf(t, line, e.hash("shop"))
	if report, err := Proof(good, []string{key}); err != nil || fmt.Sprint(report.Records) != "[7]" {
		t.Fatal(report, err)
	}
	for name, change := range map[string][2]string{
		"a field twice":                 {`"detail":"sealed"`, `"detail":"forged","detail":"sealed"`},
		"a field in other letters":      {`"detail":"sealed"`, `"detail":"forged","Detail":"sealed"`},
		"an entry twice":                {`{"entry":`, `{"entry":{"index":0,"seq":9},"Entry":`},
		"the records in other letters":  {`"records":`, `"records":[],"Records":`},
		"the checkpoint in two letters": {`"checkpoint":`, `"checkpoint":"","Checkpoint":`},
	} {
		data := strings.Replace(string(good), change[0], change[1], 1)
		if report, err := Proof([]byte(data), []string{key}); err == nil {
			t.Errorf("%s: %+v", name, report)
		}
	}
}

func TestWhatIsNoCheckpointIsRefused(t *testing.T) {
	root := tlog.Hash{}.String()
	good := "sluice.audit/shop/1\n5\n" + root + "\ntime 2026-03-01T08:00:00.5Z\n"
	if c, err := parseCheckpointText(good); err != nil || c.Size != 5 {
		t.Fatal(c, err)
	}
	for _, text := range []string{
		"", "\n\n\n\n", good + "more\n", good[:len(good)-1], strings.Replace(good, "\n5\n", "\n05\n", 1), strings.Replace(good, "\n5\n", "\n-5\n", 1), strings.Replace(good, "\n5\n", "\n0\n", 1),
		strings.Replace(good, "time ", "", 1), strings.Replace(good, "2026", "x", 1), strings.Replace(good, root, root[1:], 1),
		strings.Replace(good, "shop/1", "shop", 1), strings.Replace(good, "shop/1", "/1", 1), strings.Replace(good, "shop/1", "shop/01", 1), strings.Replace(good, "sluice.audit", "other", 1),
	} {
		if c, err := parseCheckpointText(text); err == nil {
			t.Errorf("%q is taken for %+v", text, c)
		}
	}
}

// made publishes a log of n records, as another program than ours would.
func made(t testing.TB, dir string, n int) (key string) {
	t.Helper()
	private, key, err := note.GenerateKey(rand.Reader, "test")
	check(t, err)
	signer, err := note.NewSigner(private)
	check(t, err)
	check(t, os.MkdirAll(filepath.Join(dir, "1"), 0o700))
	f, err := os.Create(filepath.Join(dir, "1", "entries.jsonl"))
	check(t, err)
	out := bufio.NewWriter(f)
	var tr tree
	detail := `{"args":{"sku":"1001","price":89},"tier":"auto","input":1,"ordinal":0,"targets":["1001"],"notes":["` + strings.Repeat("n", 400) + `"]}`
	for i := range n {
		e := entry{Index: int64(i), Seq: int64(i + 1), Time: int64(i), Kind: "intent", Release: "shop.pricing@1.4.0", Salt: make([]byte, 32), User: "ann", Session: "s1", Call: fmt.Sprint("call_", i), Tool: "set_price", Detail: detail}
		rand.Read(e.Salt)
		hash := e.hash("shop")
		tr.add(hash)
		fmt.Fprintf(out, `{"index":%d,"leaf":%q,"seq":%d,"time":%d,"kind":%q,"release":%q,"salt":%q,"user":%q,"session":%q,"call":%q,"tool":%q,"detail":%q}`+"\n",
			e.Index, hash, e.Seq, e.Time, e.Kind, e.Release, base64.StdEncoding.EncodeToString(e.Salt), e.User, e.Session, e.Call, e.Tool, detail)
	}
	check(t, out.Flush())
	check(t, f.Close())
	signed, err := note.Sign(&note.Note{Text: fmt.Sprintf("sluice.audit/shop/1\n%d\n%s\ntime %s\n", n, tr.root(), time.Unix(0, 0).UTC().Format(time.RFC3339Nano))}, signer)
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "1", "checkpoint"), signed, 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "1", "key"), []byte(key), 0o600))
	return key
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkFolder verifies 100,000 records.
func BenchmarkFolder(b *testing.B) {
	dir := b.TempDir()
	const records = 100_000
	key := made(b, dir, records)
	for b.Loop() {
		report, err := Folder(os.DirFS(dir), Options{Keys: []string{key}})
		if err != nil || report.Finding != nil || report.Entries != records {
			b.Fatal(err, report.Finding, report.Entries)
		}
	}
	b.ReportMetric(records*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// FuzzLines gives the verifier a log whose entries are anything: it ends with a
// report or an error, and finds nothing whole but what was made whole.
func FuzzLines(f *testing.F) {
	dir := f.TempDir()
	key := made(f, dir, 3)
	files := fstest.MapFS{}
	for _, name := range []string{"checkpoint", "key", "entries.jsonl"} {
		data, err := os.ReadFile(filepath.Join(dir, "1", name))
		check(f, err)
		files["1/"+name] = &fstest.MapFile{Data: data}
	}
	whole := files["1/entries.jsonl"].Data
	f.Add(whole)
	f.Add([]byte(`{"index":0,"leaf":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","seam":"sluice-audit-seam/1\n4:next1:a1:b"}`))
	f.Add([]byte(`{"index":0,"missing":true,"seq":4}`))
	f.Fuzz(func(t *testing.T, lines []byte) {
		changed := fstest.MapFS{"1/checkpoint": files["1/checkpoint"], "1/key": files["1/key"], "1/entries.jsonl": {Data: lines}}
		report, err := Folder(changed, Options{Keys: []string{key}})
		if err == nil && report.Finding == nil && report.Entries != 3 {
			t.Errorf("%q is found whole: %+v", lines, report)
		}
	})
}

// FuzzProof gives the verifier anything for a proof, a seam and a checkpoint.
func FuzzProof(f *testing.F) {
	f.Add([]byte(`{"key":"test+00000000+AA==","checkpoint":"a\n\n— b c\n","records":[{"entry":{},"path":[]}]}`))
	f.Add([]byte("sluice-audit-seam/1\n8:previous1:a1:b"))
	f.Add([]byte("sluice.audit/shop/1\n5\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\ntime 2026-03-01T08:00:00Z\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if report, err := Proof(data, nil); err == nil {
			t.Errorf("%q proves %+v", data, report)
		}
		if kind, log, value, err := parseSeam(string(data)); err == nil && "sluice-audit-seam/1\n"+netstrings(kind, log, value) != string(data) {
			t.Errorf("%q reads as %q %q %q", data, kind, log, value)
		}
		if c, err := parseCheckpointText(string(data)); err == nil && (c.Size < 1 || c.Origin == "") {
			t.Errorf("%q reads as %+v", data, c)
		}
	})
}
