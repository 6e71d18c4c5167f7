package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// A house is a home whose store a test writes to beside the command.
type house struct {
	*testing.T
	home string
}

func aHouse(t *testing.T) house { return house{t, t.TempDir()} }

func (h house) env(name string) string { return map[string]string{"SLUICE_HOME": h.home}[name] }

func mia() keeper.Owner { return keeper.Owner{Tenant: "local", User: "mia"} }

func in(session host.SessionID) host.SessionRef {
	return host.SessionRef{Tenant: mia().Tenant, User: mia().User, Session: session}
}

func (h house) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// on opens the store and the memories in it.
func (h house) on(work func(*state.Store, *keeper.Keeper)) {
	h.Helper()
	store, err := state.Open(h.Context(), storeIn(h.home), state.Options{})
	h.must(err)
	k, err := keeper.Open(h.Context(), keeper.Config{DB: store.Database()})
	h.must(err)
	work(store, k)
	h.must(k.Close())
	h.must(store.Close())
}

// keeps remembers nodes of mia and gives their ids.
func (h house) keeps(nodes ...memory.Node) (ids []string) {
	h.Helper()
	h.on(func(_ *state.Store, k *keeper.Keeper) {
		all, err := k.Remember(h.Context(), mia(), nodes)
		h.must(err)
		for _, r := range all {
			ids = append(ids, string(r.ID))
		}
	})
	return ids
}

// records writes audit records.
func (h house) records(list ...host.Record) {
	h.Helper()
	h.on(func(s *state.Store, _ *keeper.Keeper) { h.must(s.Record(h.Context(), list...)) })
}

// A record of a session, with its detail.
func recordOf(session host.SessionID, call host.CallID, detail string) host.Record {
	return host.Record{Session: in(session), Call: call, Kind: host.RecordOutcome, Detail: json.RawMessage(detail)}
}

// left gives the details of mia's records that are not erased.
func (h house) left() (details []string) {
	h.Helper()
	h.on(func(s *state.Store, _ *keeper.Keeper) {
		records, err := s.Records(h.Context(), mia().Tenant, state.RecordFilter{Session: host.SessionRef{Tenant: mia().Tenant, User: mia().User}})
		h.must(err)
		for _, r := range records {
			details = append(details, string(r.Detail))
		}
	})
	return details
}

// forget runs the command, whose yes is given, and gives what it says.
func (h house) forget(args ...string) string {
	h.Helper()
	var said strings.Builder
	p := &program{env: h.env, stdin: strings.NewReader(""), stdout: &said, stderr: &said}
	if code := p.run(h.Context(), append([]string{"memory", "forget", "--user", "mia", "--yes"}, args...)); code != exitOK {
		h.Fatalf("exit code %d: %s", code, said.String())
	}
	return said.String()
}

func (h house) wantLeft(want ...string) {
	h.Helper()
	if got := h.left(); !slices.Equal(got, want) {
		h.Errorf("records that are left: %q, want %q", got, want)
	}
}

// holds gives the files of the home that have a text in them.
func (h house) holds(text string) (files []string) {
	h.Helper()
	h.must(filepath.WalkDir(h.home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// declared is what mia said.
func declared(text string, from memory.Source) memory.Node {
	return memory.Node{Text: text, Layer: memory.Declared, Kind: memory.Preference, Trust: 1, Source: from}
}

// Whatever names the memories, the records that carry their words are erased with them.
func TestForgettingErasesTheRecordsThatCarryTheWords(t *testing.T) {
	for _, wish := range [][]string{{"--all"}, {"--entity", "tea"}, nil} {
		t.Run(strings.Join(wish, " "), func(t *testing.T) {
			h := aHouse(t)
			n := declared("mia takes tea at five", memory.Source{})
			n.Entity = "tea"
			ids := h.keeps(n)
			h.records(recordOf("s1", "call_1", `{"say":"mia takes tea at five"}`), recordOf("s1", "call_2", `{"say":"mia takes the bus"}`))
			if wish == nil {
				wish = ids
			}
			if said := h.forget(wish...); !strings.Contains(said, "1 memories are gone, and the payload of 1 audit records") || !strings.Contains(said, "tea at five") {
				t.Errorf("it says %s", said)
			}
			h.wantLeft(`{"say":"mia takes the bus"}`)
			if files := h.holds("tea at five"); len(files) != 0 {
				t.Errorf("the words are in %v", files)
			}
		})
	}
}
