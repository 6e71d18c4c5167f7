package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/audit/verify"
	"github.com/sluicehq/sluice/host/state"
)

// Words of a model or of somebody else's file stay words on a terminal.
func TestWhatARecordSaysCannotMoveTheCursor(t *testing.T) {
	const evil = `\u001b[2J\r\u202e\u009b1A`
	r := host.Record{
		Kind: "x\x1b[1A", Tool: "t\x1b[1A", Release: "r\r", Call: "c\x1b", Session: host.SessionRef{User: "u\x07", Session: "s\n"},
		Detail: []byte(`{"status":"` + evil + `","args":{"a":"b` + evil + `"},"problem":{"code":1,"message":"` + evil + `","hint":"` + evil + `"},"words":"` + evil + `\nnext","preview":"` + evil + `","by":"` + evil + `","notes":["` + evil + `"]}`),
	}
	for _, locale := range []string{"en", "zh-CN"} {
		s := speakIn(locale)
		finding := &verify.Finding{What: verify.Signature, Message: "the checkpoint is that of \x1b[2J\nwhole"}
		for name, text := range map[string]string{
			"a line of the list": s.recordInShort(r), "the head": s.callHead(r), "the timeline": s.recordAtLength(r, time.Second),
			"a finding": s.fault(finding), "a report": s.report(verify.Report{Logs: []verify.Log{{Checkpoint: verify.Checkpoint{Origin: "o\x1b[2J"}, Key: "k\x1b"}}, Finding: finding}),
		} {
			if strings.ContainsAny(text, "\x1b\r\a\u202e\u009b") || strings.Contains(text, "\nwhole") || strings.Contains(text, "\nnext") {
				t.Errorf("%s says %q", name, text)
			}
		}
	}
}

func TestAnOutputFileIsWholeOrAsItWas(t *testing.T) {
	a := &auditor{program: &program{}}
	path := filepath.Join(t.TempDir(), "out.jsonl")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := a.writeTo(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, broken)
	})
	data, read := os.ReadFile(path)
	if !errors.Is(err, broken) || read != nil || string(data) != "before" {
		t.Errorf("%v, and the file has %q, %v", err, data, read)
	}
	if err := a.writeTo(path, func(w io.Writer) error { _, err := io.WriteString(w, "after"); return err }); err != nil {
		t.Fatal(err)
	}
	data, read = os.ReadFile(path)
	info, stat := os.Stat(path)
	if read != nil || stat != nil || !bytes.Equal(data, []byte("after")) || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %q and %v; %v %v", data, info, read, stat)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("beside it there is %v, %v", left, err)
	}
}

// The newest records are read from the end of the log, which must not show.
func TestTheNewestRecordsAreTheEndOfTheList(t *testing.T) {
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var all []host.Record
	for n := range 3*firstSpan + 500 {
		tenant := host.TenantID([]string{"shop", "other"}[n/1000%2])
		all = append(all, host.Record{Session: host.SessionRef{Tenant: tenant, User: "u", Session: "s"}, Kind: host.RecordNotice, Call: host.CallID(fmt.Sprint("call_", n%3)), Tool: fmt.Sprint("t", n%7)})
	}
	for page := range slices.Chunk(all, state.MaxRecords) {
		if err := store.Record(t.Context(), page...); err != nil {
			t.Fatal(err)
		}
	}
	listed := func(s selection) (seqs []int64) {
		if err := s.each(t.Context(), store, "shop", func(r host.Record) error { seqs = append(seqs, r.Seq); return nil }); err != nil {
			t.Fatal(err)
		}
		return seqs
	}
	for _, s := range []selection{{}, {tool: "t3"}, {RecordFilter: state.RecordFilter{Call: "call_1"}}, {RecordFilter: state.RecordFilter{AfterSeq: 2500}}, {since: time.Hour}, {kinds: []string{"notice"}}, {kinds: []string{"intent"}}} {
		every := listed(s)
		for _, s.limit = range []int{1, 10, 400, 2600, len(all)} {
			if got, want := listed(s), every[max(0, len(every)-s.limit):]; !slices.Equal(got, want) {
				t.Errorf("%+v: %d records, want %d", s, len(got), len(want))
			}
		}
	}
}
