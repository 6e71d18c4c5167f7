package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// A house is a home whose store a test writes to beside the command.
type house struct {
	*testing.T
	home string
	env  func(string) string
}

func aHouse(t *testing.T) house {
	home := t.TempDir()
	return house{t, home, func(name string) string { return map[string]string{"SLUICE_HOME": home}[name] }}
}

// aTalkingHouse is one in which the agent can be spoken to.
func aTalkingHouse(t *testing.T) house {
	env := aShop(t)
	return house{t, env("SLUICE_HOME"), env}
}

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

// A fact that three calls told and a preference that was said twice go with the records
// of all of them.
func TestForgettingErasesTheRecordsOfEverySource(t *testing.T) {
	h := aHouse(t)
	fact := func(call host.CallID) memory.Node {
		return memory.Node{Text: "1001 title: Zinfandel", Entity: "1001", Layer: memory.Fact, Kind: memory.FactOf, Trust: 1, Source: memory.Source{Session: "s1", Call: call}}
	}
	h.keeps(fact("call_0"))
	h.keeps(fact("call_1"))
	h.keeps(fact("call_2"))
	h.keeps(declared("我喜欢绿茶，配点心", memory.Source{Session: "s2", Input: "1"}))
	if again := h.keeps(declared("我喜歡綠茶，配點心！", memory.Source{Session: "t1", Input: "3"})); len(h.memories()) != 2 {
		t.Fatalf("said again it is another memory: %v", again)
	}
	h.records(recordOf("s1", "call_0", `{"title":"Zinfandel"}`), recordOf("s1", "call_1", `{"title":"Zinfandel"}`), recordOf("s9", "call_2", `{"of":"another session"}`),
		recordOf("s1", "call_2", `{"title":"Zinfandel"}`), recordOf("s2", "", `{"input":1,"text":"绿茶"}`), recordOf("t1", "", `{"input":3,"text":"綠茶"}`), recordOf("t1", "", `{"input":4,"text":"水"}`))
	said := h.forget("--all")
	h.wantLeft(`{"of":"another session"}`, `{"input":4,"text":"水"}`)
	if !strings.Contains(said, "the payload of 5 audit records") {
		t.Errorf("it says %s", said)
	}
}

// memories gives mia's.
func (h house) memories() (all []memory.Node) {
	h.Helper()
	h.on(func(_ *state.Store, k *keeper.Keeper) {
		var err error
		all, err = k.List(h.Context(), mia(), keeper.Page{})
		h.must(err)
	})
	return all
}

// What is no text of a person, or only a part of one, is left: an erasure cannot be taken
// back.
func TestForgettingLeavesTheRecordsThatOnlyHaveTheSameLetters(t *testing.T) {
	h := aHouse(t)
	h.keeps(declared("status", memory.Source{}), declared("开场", memory.Source{}), declared("Zinfandel", memory.Source{}), declared("likes tea with lemon", memory.Source{}))
	h.records(recordOf("s1", "call_1", `{"status":"done","topic":"开场白"}`), recordOf("s1", "call_2", `{"say":"status"}`), recordOf("s1", "call_3", `{"likes tea with lemon":1}`),
		recordOf("s1", "call_4", `{"topic":"开场"}`), recordOf("s1", "call_5", `{"wine":" Zinfandel "}`), recordOf("s1", "call_6", `{"wine":"Zinfandel 2019"}`),
		recordOf("s1", "call_7", `{"json":"{\"say\":[\"mia likes tea with lemon, I think\"]}"}`))
	h.forget("--all")
	h.wantLeft(`{"status":"done","topic":"开场白"}`, `{"say":"status"}`, `{"likes tea with lemon":1}`, `{"wine":"Zinfandel 2019"}`)
}

// blob keeps data of a session and gives the id.
func (h house) blob(session host.SessionID, data string) (id string) {
	h.Helper()
	h.onBlobs(func(s *blob.Store) (err error) {
		id, err = s.Put(h.Context(), in(session), abi.BlobInfo{Type: "application/json"}, []byte(data))
		return err
	})
	return id
}

func (h house) onBlobs(do func(*blob.Store) error) {
	h.Helper()
	s, err := blob.Open(h.Context(), filepath.Join(h.home, "blobs"), blob.Options{})
	h.must(err)
	h.must(errors.Join(do(s), s.Close()))
}

// hasBlob reports whether a blob can be read.
func (h house) hasBlob(session host.SessionID, id string) (has bool) {
	h.onBlobs(func(s *blob.Store) error {
		_, err := s.Read(h.Context(), in(session), id, 0, 0)
		has = err == nil
		return nil
	})
	return has
}

// With a record both blobs go that it names, whether it is a source or carries the words;
// and a record is found whose words are in a blob alone.
func TestForgettingRemovesTheBlobsOfRecords(t *testing.T) {
	h := aHouse(t)
	ids := h.keeps(declared("takes Zinfandel with everything", memory.Source{Session: "s1", Call: "call_1"}))
	read, result := h.blob("s1", "what the source read"), h.blob("s1", "what the source gave")
	carries, other := h.blob("s2", `{"list":["mia takes Zinfandel with everything"]}`), h.blob("s2", `{"list":["mia takes Zinfandel"]}`)
	h.records(recordOf("s1", "call_1", `{"host_calls":{"count":1,"bytes":9,"blob":"`+read+`"},"blob":{"id":"`+result+`","size":20,"type":"application/json"}}`),
		recordOf("s2", "call_2", `{"blob":{"id":"`+carries+`","size":20,"type":"application/json"}}`),
		recordOf("s2", "call_3", `{"blob":{"id":"`+other+`"}}`))
	h.forget(ids...)
	h.wantLeft(`{"blob":{"id":"` + other + `"}}`)
	for id, session := range map[string]host.SessionID{read: "s1", result: "s1", carries: "s2"} {
		if h.hasBlob(session, id) {
			t.Errorf("blob %s of session %s is still there", id, session)
		}
	}
	if !h.hasBlob("s2", other) {
		t.Error("the blob of another record is gone")
	}
}

// says has mia say something in a session.
func (h house) says(session, words string) {
	h.Helper()
	var said strings.Builder
	p := &program{env: h.env, stdin: strings.NewReader(words + "\n"), stdout: &said, stderr: &said}
	if code := p.run(h.Context(), []string{"chat", "--session", session, "--user", "mia"}); code != exitOK {
		h.Fatalf("exit code %d: %s", code, said.String())
	}
}

// Every session is told, and goes with --sessions, that said the memory first or later,
// or whose conversation or records quote it.
func TestForgettingTellsOfEverySessionThatHasTheWords(t *testing.T) {
	const rule = "Never sell the Zinfandel below 80."
	h := aTalkingHouse(t)
	h.says("s1", rule)
	h.says("s2", "never sell the zinfandel below 80")
	h.says("s3", "Did I say: "+rule+" I think so.")
	h.says("s4", "hello")
	h.says("s5", "hello again")
	h.records(recordOf("s5", "call_1", `{"say":"`+rule+`"}`))
	ids := h.ids()
	if len(ids) != 1 {
		t.Fatalf("%d memories", len(ids))
	}
	if said := h.forget(ids...); !strings.Contains(said, "[s1 s2 s3 s5] is still there") {
		t.Errorf("it says %s", said)
	}
	h.keeps(declared(rule, memory.Source{Session: "s1", Input: "1"}))
	if said := h.forget("--all", "--sessions"); strings.Contains(said, "still there") {
		t.Errorf("it says %s", said)
	}
	if files := h.holds("Zinfandel"); len(files) != 0 {
		t.Errorf("the words are in %v", files)
	}
}

// Whoever says yes to --sessions is told of all sessions that go.
func TestTheYesToSessionsCoversAllThatGo(t *testing.T) {
	h := aHouse(t)
	ids := h.keeps(declared("mia takes Zinfandel at five", memory.Source{Session: "s1", Input: "1"}))
	for locale, want := range map[string]string{
		"en": "and the sessions that they came from, and those whose conversation or records have their words. This",
		"zh": "以及它们所在的会话、对话或记录中含有其内容的会话，无法恢复",
	} {
		var said strings.Builder
		p := &program{env: h.env, stdin: strings.NewReader("no\n"), stdout: &said, stderr: &said}
		if code := p.run(t.Context(), append([]string{"memory", "forget", "--user", "mia", "--locale", locale, "--sessions"}, ids...)); code == exitOK || !strings.Contains(said.String(), want) {
			t.Errorf("exit code %d: %s", code, said.String())
		}
	}
	if left := h.ids(); !slices.Equal(left, ids) {
		t.Errorf("without a yes memories %v are left", left)
	}
	var help strings.Builder
	p := &program{env: h.env, stdin: strings.NewReader(""), stdout: &help, stderr: &help}
	if p.run(t.Context(), []string{"memory", "forget", "--help"}); !strings.Contains(help.String(), "and those whose conversation or records have their words") {
		t.Errorf("the help says %s", help.String())
	}
}

func (h house) ids() (ids []string) {
	for _, n := range h.memories() {
		ids = append(ids, string(n.ID))
	}
	return ids
}

// A fuse lets so many transactions of one home's store through, and none after them: as
// if the process had ended there.
type fuse struct {
	home atomic.Pointer[string]
	left atomic.Int64
}

// theFuse is in every connection that is made after it was asked for first.
var theFuse = sync.OnceValue(func() *fuse {
	f := &fuse{}
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, dsn string) error {
		conn.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 {
			if home := f.home.Load(); home == nil || !strings.Contains(dsn, *home) || f.left.Add(-1) >= 0 {
				return 0
			}
			return 1
		})
		return nil
	})
	return f
})

// A request to forget that ends after any transaction is finished by the same command:
// nothing of the words is in any file then, and the sessions are gone.
func TestARequestToForgetThatBreaksOffIsFinishedByTheSame(t *testing.T) {
	made := aTalkingHouse(t)
	made.filled()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	f := theFuse()
	for n, whole := int64(0), false; !whole; n += 1 + chance.Int64N(crashStep) {
		h := made.copied()
		ids := h.rootIDs()
		whole = h.forgetUntil(f, n, ids)
		if !whole {
			h.waited()
			h.forgetUntil(f, chance.Int64N(n+1), ids) // and breaks off again, somewhere
		}
		h.waited()
		h.forget(append(ids, "--sessions")...)
		h.wantNothingOf("Zinfandel", fmt.Sprintf("after %d transactions", n))
	}
}

// A meddler answers yes, after something has happened meanwhile.
type meddler struct {
	meanwhile func()
	answer    io.Reader
}

func (m *meddler) Read(p []byte) (int, error) {
	if m.meanwhile != nil {
		m.meanwhile()
		m.meanwhile = nil
	}
	return m.answer.Read(p)
}

// A session that says more of the same while the user is asked goes, too, though that
// breaks off when the memories are gone.
func TestASessionThatSpokeMeanwhileIsRemovedByTheSameCommand(t *testing.T) {
	h := aTalkingHouse(t)
	h.says("s1", "hello")
	h.says("s2", "hello")
	about := func(text string, session host.SessionID) memory.Node {
		n := declared(text, memory.Source{Session: session, Input: "7"})
		n.Entity = "1001"
		return n
	}
	h.keeps(about("1001 goes well with fish", "s1"))
	h.alters("CREATE TRIGGER held BEFORE UPDATE ON agent_lease WHEN NEW.session_id = 's2' BEGIN SELECT RAISE(ABORT, 'held'); END")
	var said strings.Builder
	yes := &meddler{func() { h.keeps(about("1001 needs a cool cellar", "s2")) }, strings.NewReader("yes\n")}
	p := &program{env: h.env, stdin: yes, stdout: &said, stderr: &said}
	if code := p.run(t.Context(), []string{"memory", "forget", "--user", "mia", "--sessions", "--entity", "1001"}); code == exitOK || len(h.ids()) != 0 {
		t.Fatalf("exit code %d, memories %v: %s", code, h.ids(), said.String())
	}
	h.alters("DROP TRIGGER held")
	h.waited()
	h.forget("--sessions", "--entity", "1001")
	h.on(func(s *state.Store, k *keeper.Keeper) {
		for _, id := range []host.SessionID{"s1", "s2"} {
			if _, err := agent.Show(t.Context(), s, in(id)); err == nil || host.ProblemOf(err).Code != abi.NotFound {
				t.Errorf("session %s is there: %v", id, err)
			}
		}
		if left, err := k.Owed(t.Context(), mia()); err != nil || len(left) != 0 {
			t.Errorf("sessions %v are owed, %v", left, err)
		}
	})
}

// alters changes the store behind the program's back.
func (h house) alters(statement string) {
	h.Helper()
	db, err := sql.Open("sqlite", storeIn(h.home))
	h.must(err)
	_, err = db.ExecContext(h.Context(), statement)
	h.must(errors.Join(err, db.Close()))
}

// crashStep is how many transactions are let through more at most, from one break to the
// next: each costs two runs of the command.
const crashStep = 8

// filled has sessions, memories that come of each other, records and blobs, all with the
// same word; and the rules that say so.
func (h house) filled() {
	h.Helper()
	h.says("s1", "Never sell the Zinfandel below 80.")
	h.says("s2", "never sell the zinfandel below 80")
	h.says("s3", "Somebody said: Never sell the Zinfandel below 80. I think so.")
	h.on(func(_ *state.Store, k *keeper.Keeper) {
		root, err := k.List(h.Context(), mia(), keeper.Page{})
		h.must(err)
		next := declared("sells Zinfandel from 85 on", memory.Source{Session: "s4", Input: "2"})
		next.Pinned = true // tells it from the others
		id, err := k.Supersede(h.Context(), mia(), root[0].ID, next)
		h.must(err)
		made := memory.Node{Text: "Zinfandel is sold on fridays", Layer: memory.Behaviour, Kind: memory.Habit, Trust: 0.6, Source: memory.Source{Session: "s5", Derived: []memory.ID{id, "call_5/wine"}}}
		_, err = k.Remember(h.Context(), mia(), []memory.Node{made})
		h.must(err)
		for _, call := range []host.CallID{"call_7", "call_8"} {
			again := next
			again.Source = memory.Source{Session: "s7", Call: call}
			_, err = k.Remember(h.Context(), mia(), []memory.Node{again})
			h.must(err)
		}
		_, err = k.Show(h.Context(), memory.Trace{Tenant: mia().Tenant, User: mia().User, Domain: "wine", Question: "which Zinfandel", Sources: []memory.ID{id}, Session: "s1", Input: "1"})
		h.must(err)
	})
	result, read := h.blob("s7", `"Zinfandel and more"`), h.blob("s7", "Zinfandel, packed")
	h.says("s7", "hello")
	h.records(recordOf("s5", "call_5", `{"wine":"Zinfandel"}`), recordOf("s7", "call_7", `{"title":"Zinfandel","blob":{"id":"`+result+`"},"host_calls":{"blob":"`+read+`"}}`),
		recordOf("s7", "call_8", `{"title":"Zinfandel"}`), recordOf("s8", "call_9", `{"say":"sells Zinfandel from 85 on"}`))
	if len(h.holds("Zinfandel")) < 3 {
		h.Fatalf("the word is in %v: the test would see little", h.holds("Zinfandel"))
	}
}

// rootIDs gives the pinned one.
func (h house) rootIDs() (ids []string) {
	for _, n := range h.memories() {
		if n.Pinned {
			ids = append(ids, string(n.ID))
		}
	}
	return ids
}

// copied gives a copy of the house.
func (h house) copied() house {
	h.Helper()
	home := h.TempDir()
	h.must(os.CopyFS(home, os.DirFS(h.home)))
	return house{h.T, home, func(name string) string {
		if name == "SLUICE_HOME" {
			return home
		}
		return h.env(name)
	}}
}

// forgetUntil runs the command until so many transactions are through, and reports
// whether it came to its end.
func (h house) forgetUntil(f *fuse, transactions int64, ids []string) bool {
	h.Helper()
	f.left.Store(transactions)
	f.home.Store(&h.home)
	defer f.home.Store(nil)
	p := &program{env: h.env, stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	return p.run(h.Context(), append([]string{"memory", "forget", "--user", "mia", "--yes", "--sessions"}, ids...)) == exitOK
}

// waited has the leases of who was broken off be over, as they are some minutes later.
func (h house) waited() {
	h.Helper()
	h.alters("UPDATE agent_lease SET holder_id = '', expires_at = 0")
}

func (h house) wantNothingOf(text, when string) {
	h.Helper()
	if files := h.holds(text); len(files) != 0 {
		h.Errorf("%s the words are in %v", when, files)
	}
	h.on(func(s *state.Store, k *keeper.Keeper) {
		for _, id := range []host.SessionID{"s1", "s2", "s3", "s7"} {
			if _, err := agent.Show(h.Context(), s, in(id)); err == nil || host.ProblemOf(err).Code != abi.NotFound {
				h.Errorf("%s session %s is there: %v", when, id, err)
			}
		}
		if left, err := k.Owed(h.Context(), mia()); err != nil || len(left) != 0 {
			h.Errorf("%s sessions %v are owed, %v", when, left, err)
		}
	})
}

// A habit that is forgotten is not made again of the calls that made it, nor of those
// before them, which it does not name: it was made of the last lives alone.
func TestAForgottenHabitDoesNotComeBack(t *testing.T) {
	p, hall := aHall(t, "policy: 1\nmemory: [{seen: [{tool: shop.stage.open_live, topic: opening.minutes, number: minutes, entity: sku}]}]\n")
	h := house{t, p.home, func(name string) string { return map[string]string{"SLUICE_HOME": p.home}[name] }}
	begun := func(live, n int, sku string) {
		session, call := host.SessionID(fmt.Sprint("s", live)), host.CallID(fmt.Sprint("call_", sku, "_", live, "_", n))
		intent, outcome := recordOf(session, call, fmt.Sprintf(`{"args":{"minutes":%d,"sku":%q}}`, 4+n%2, sku)), recordOf(session, call, `{"status":"done"}`)
		intent.Kind, intent.Tool, intent.Release = host.RecordIntent, "open_live", fmt.Sprintf("shop.stage@1.%d.0", live)
		outcome.Tool, outcome.Release = intent.Tool, intent.Release
		h.must(hall.store.Record(t.Context(), intent, outcome))
	}
	const lives, callsOfOne = 12, 20 // more lives than a habit is made of, and more calls than it names
	for live := range lives {
		for n := range callsOfOne {
			begun(live, n, "1001")
		}
		begun(live, 0, "1002")
	}
	habits := func() (of []string) {
		h.must(hall.recall.Observe(t.Context(), mia().Tenant))
		for _, n := range h.memories() {
			of = append(of, n.Entity)
		}
		slices.Sort(of)
		return of
	}
	if of := habits(); !slices.Equal(of, []string{"1001", "1002"}) {
		t.Fatalf("habits about %v", of)
	}
	said := h.forget("--entity", "1001")
	if of := habits(); !slices.Equal(of, []string{"1002"}) || !strings.Contains(said, fmt.Sprintf("the payload of %d audit records", 2*lives*callsOfOne)) {
		t.Errorf("habits about %v; it said %s", of, said)
	}
}

// Where the files cannot be scrubbed the command says so, though all else is done, and
// the same command makes up for it.
func TestForgettingTellsThatTheFilesCouldNotBeScrubbed(t *testing.T) {
	h := aHouse(t)
	ids := h.keeps(declared("mia takes Zinfandel at five", memory.Source{Session: "s1", Call: "call_1"}))
	h.records(recordOf("s1", "call_1", `{"say":"Zinfandel"}`), recordOf("s1", "call_2", `{"say":"beer"}`))
	reader, err := sql.Open("sqlite", storeIn(h.home))
	h.must(err)
	reading, err := reader.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	h.must(err)
	h.must(reading.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM memory_node").Scan(new(int)))
	var said strings.Builder
	p := &program{env: h.env, stdin: strings.NewReader(""), stdout: &said, stderr: &said}
	if code := p.run(t.Context(), append([]string{"memory", "forget", "--user", "mia", "--yes"}, ids...)); code != exitFailed || !strings.Contains(said.String(), "a reader keeps the write-ahead log") {
		t.Errorf("exit code %d: %s", code, said.String())
	}
	h.must(errors.Join(reading.Rollback(), reader.Close()))
	h.wantLeft(`{"say":"beer"}`)
	if left := h.ids(); len(left) != 0 {
		t.Errorf("memories %v are left", left)
	}
	h.forget(ids...)
	if files := h.holds("Zinfandel"); len(files) != 0 {
		t.Errorf("the words are in %v", files)
	}
}
