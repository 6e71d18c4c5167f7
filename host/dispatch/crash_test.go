//go:build unix

package dispatch

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
)

// Sizes of one world: a store, a ledger, and sessions that pay until all is
// paid, through as many deaths as that takes.
const (
	crashSessions = 3
	crashCalls    = 40 // of each session
)

// TestAKilledGateAccountsForEveryCall is a short run of the stress test.
func TestAKilledGateAccountsForEveryCall(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a process for every kill")
	}
	kills := 24
	if underRace {
		kills = 3
	}
	sum := newTally()
	newWorld(t, 7, sum).run(kills)
	t.Log(sum)
}

// A tally is what became of the calls of all worlds.
type tally struct {
	mu         sync.Mutex
	kills      map[string]int // by boundary; guarded by mu, as the rest is
	ends       map[host.Status]int
	reads      int
	lostReads  int // records of reads that waited when the process died
	doubles    int
	lost       int
	replays    int
	reruns     int // of idempotent writes
	orphans    int // blobs that nobody names
	mayOrphans int // that there may be
}

func newTally() *tally { return &tally{kills: map[string]int{}, ends: map[host.Status]int{}} }

func (s *tally) killed() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kills := range s.kills {
		n += kills
	}
	return n
}

func (s *tally) String() string {
	var b strings.Builder
	total := s.killed()
	for _, at := range append(selfBoundaries(), inLedger, fromLedger, anyTime) {
		fmt.Fprintf(&b, "\n%5d  %s", s.kills[at], at)
	}
	fmt.Fprintf(&b, "\n%5d kills; writes: %d done, %d not done, %d unknown, %d doubles, %d lost; %d run again under their key, %d deliveries replayed",
		total, s.ends[host.Done], s.ends[host.Failed], s.ends[host.Unknown], s.doubles, s.lost, s.reruns, s.replays)
	fmt.Fprintf(&b, "\n       %d reads told, the records of %d lost with the process; %d orphaned blobs of %d that there may be", s.reads, s.lostReads, s.orphans, s.mayOrphans)
	return b.String()
}

// A payment is one call and what was told of it.
type payment struct {
	call   delivery
	intent string
	post   bool
	room   bool
	once   bool
	read   bool
	told   []host.Outcome
	lives  []int // in which it was told
}

// A world is one store with its ledger.
type world struct {
	t        *testing.T
	random   *rand.Rand
	sum      *tally
	life     life
	path     string // of the file with the job
	sessions [][]*payment
	answered []int // of each session, all before are
	lifeOf   int

	mu      sync.Mutex
	effects map[string][]string // keys of the ledger's effects, by intent; guarded by mu
	posts   int                 // of this life; guarded by mu
	child   *os.Process         // guarded by mu
	at      string              // likewise: where the ledger kills it
	nth     int
}

func newWorld(t *testing.T, seed uint64, sum *tally) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 1)), sum: sum, path: filepath.Join(dir, "job.json"), effects: map[string][]string{}}
	server := httptest.NewServer(http.HandlerFunc(w.ledger))
	t.Cleanup(server.Close)
	wasm := sandboxtest.Build(t, "host/dispatch/testdata/ledger")
	m, err := json.Marshal(sandboxtest.Manifest(t, sandboxtest.Shared(t), wasm))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "ledger.wasm"), wasm, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.life = life{
		Store: filepath.Join(dir, "store.db"), Blobs: filepath.Join(dir, "blobs"), Files: filepath.Join(dir, "files"), Cache: sandboxtest.CacheDir(t),
		Module: filepath.Join(dir, "ledger.wasm"), Manifest: string(m), Ledger: server.Listener.Addr().String(),
	}
	for i := range crashSessions {
		w.sessions = append(w.sessions, w.payments(i))
	}
	w.answered = make([]int, crashSessions)
	return w
}

// payments are the calls of a session: of every kind, each with an intent of
// its own.
func (w *world) payments(i int) (all []*payment) {
	ref := host.SessionRef{Tenant: "acme", User: "mia", Session: host.SessionID(fmt.Sprint("s", i))}
	for n := range crashCalls {
		p := &payment{intent: fmt.Sprintf("%d-%d", i, n), post: w.random.IntN(2) == 0, room: w.random.IntN(3) == 0}
		p.call = delivery{ID: host.CallIDFor(ref, n+1, 0), Session: ref, Input: n + 1}
		bytes := []int{0, 0, 6000, 100_000}[w.random.IntN(4)]
		cents := 1 + w.random.IntN(1000)
		p.call.Args = fmt.Sprintf(`{"intent":%q,"cents":%d,"post":%v,"room":%v,"bytes":%d}`, p.intent, cents, p.post, p.room, bytes)
		switch w.random.IntN(5) {
		case 0:
			p.read, p.call.Tool = true, "look"
			p.call.Args = fmt.Sprintf(`{"intent":"%d-%d"}`, i, w.random.IntN(n+1))
		case 1, 2:
			p.call.Tool = "pay"
		default:
			p.once, p.call.Tool = true, "pay_once"
		}
		all = append(all, p)
	}
	return all
}

// ledger is the world outside. It keeps what has come, whoever lives on.
func (w *world) ledger(rw http.ResponseWriter, q *http.Request) {
	intent, err := io.ReadAll(q.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posts++
	dies := w.posts == w.nth
	if dies && w.at == inLedger {
		_ = w.child.Kill()
		return
	}
	if key := q.Header.Get("Idempotency-Key"); err == nil && key != "" {
		w.effects[string(intent)] = append(w.effects[string(intent)], key)
	} else {
		rw.WriteHeader(http.StatusBadRequest)
	}
	if dies && w.at == fromLedger {
		_ = w.child.Kill()
		return
	}
}

// run lets process after process pay until all is paid or so many were killed,
// then one in peace, which is also told everything again.
func (w *world) run(kills int) {
	boundaries := append(selfBoundaries(), inLedger, fromLedger, anyTime)
	for round := w.random.IntN(len(boundaries)); kills > 0 && w.left() > 0 && !w.t.Failed(); round++ {
		at := boundaries[round%len(boundaries)]
		if w.dies(at, 1+w.random.IntN(4)) {
			kills--
		}
	}
	if w.t.Failed() {
		return
	}
	if w.dies("", 0) || w.left() > 0 {
		w.t.Fatalf("%d calls have no answer", w.left())
	}
	w.answered = make([]int, crashSessions)
	w.dies("", 0)
	w.check()
}

func (w *world) left() (n int) {
	for i := range w.sessions {
		n += len(w.sessions[i]) - w.answered[i]
	}
	return n
}

// dies lives one life, and reports whether it was killed.
func (w *world) dies(at string, nth int) (killed bool) {
	w.t.Helper()
	first := w.prepare(at, nth)
	child := exec.Command(os.Args[0])
	child.Env, child.Stderr = append(os.Environ(), crashLife+"="+w.path), os.Stderr
	out, err := child.StdoutPipe()
	w.mu.Lock()
	if err == nil {
		err = child.Start()
	}
	w.child, w.at, w.nth, w.posts = child.Process, at, nth, 0
	w.mu.Unlock()
	if err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() { // to the end: what was said before the kill was told
		if lines.Text() == "ready" {
			if at == anyTime {
				time.AfterFunc(time.Duration(w.random.Int64N(int64(80*time.Millisecond))), func() { _ = child.Process.Kill() })
			}
			continue
		}
		w.hear(lines.Bytes(), first)
	}
	_ = child.Wait()
	status, _ := child.ProcessState.Sys().(syscall.WaitStatus)
	killed = status.Signaled() && status.Signal() == syscall.SIGKILL
	switch {
	case killed:
		w.sum.mu.Lock()
		w.sum.kills[at]++
		w.sum.mu.Unlock()
	case !child.ProcessState.Success():
		w.t.Fatalf("a life that was to end at %q ended with %v", at, child.ProcessState)
	}
	w.lifeOf++
	return killed
}

// prepare writes down what the next process has to do: all that has no answer,
// and now and then the last one that has.
func (w *world) prepare(at string, nth int) (first []int) {
	w.life.At, w.life.Nth, w.life.Sessions = at, nth, nil
	for i, payments := range w.sessions {
		from := w.answered[i]
		if from > 0 && w.random.IntN(4) == 0 {
			from--
		}
		calls := []delivery{}
		for _, p := range payments[from:] {
			calls = append(calls, p.call)
		}
		first, w.life.Sessions = append(first, from), append(w.life.Sessions, calls)
	}
	job, err := json.Marshal(w.life)
	if err == nil {
		err = os.WriteFile(w.path, job, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return first
}

func (w *world) hear(line []byte, first []int) {
	var said told
	if err := json.Unmarshal(line, &said); err != nil {
		w.t.Fatalf("a process says %q: %v", line, err)
	}
	n := first[said.Session] + said.Call
	p := w.sessions[said.Session][n]
	p.told, p.lives = append(p.told, said.Outcome), append(p.lives, w.lifeOf)
	w.answered[said.Session] = max(w.answered[said.Session], n+1)
}

// A trail is what one call has left on record.
type trail struct {
	intents, ends, done int
	begun               bool  // the last intent has no end
	again               bool  // one that has no end is followed by another
	first               int64 // seq
}

// check holds what is in the store and at the ledger against what was told.
func (w *world) check() {
	ctx := context.Background()
	store := openStore(w.t, w.life.Store, state.Options{})
	named, trails := map[string]bool{}, map[host.CallID]*trail{}
	w.records(store, named, trails)
	ledger := store.View("acme", "ledger")
	folder, err := files.Open(w.life.Files)
	if err != nil {
		w.t.Fatal(err)
	}
	w.sum.mu.Lock()
	defer w.sum.mu.Unlock()
	unsettled := 0
	for _, payments := range w.sessions {
		for _, p := range payments {
			tr := trails[p.call.ID]
			if tr == nil {
				tr = &trail{}
			}
			if p.read {
				w.sum.reads += len(p.told)
				continue
			}
			value, _, err := ledger.Get(ctx, "paid/"+p.intent)
			if err != nil {
				w.t.Fatal(err)
			}
			file, _ := folder.View(p.call.Session).Read(ctx, "receipts/"+p.intent)
			w.checkPayment(p, *tr, string(value), string(file))
			unsettled += tr.intents - tr.ends
		}
		w.checkReads(payments, trails)
	}
	w.checkBlobs(named, unsettled)
}

var blobIDs = regexp.MustCompile(`blob_[0-9a-f]{40}`)

// records reads the whole log: who is named in it, and what each call left.
func (w *world) records(store *state.Store, named map[string]bool, trails map[host.CallID]*trail) {
	for after := int64(0); ; {
		page, err := store.Records(context.Background(), "acme", state.RecordFilter{AfterSeq: after})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(page) == 0 {
			return
		}
		for _, r := range page {
			after = r.Seq
			for _, id := range blobIDs.FindAllString(string(r.Detail), -1) {
				named[id] = true
			}
			tr := trails[r.Call]
			if tr == nil {
				tr = &trail{first: r.Seq}
				trails[r.Call] = tr
			}
			var o host.Outcome
			switch {
			case r.Kind == host.RecordIntent:
				tr.intents++
				tr.again = tr.again || tr.begun
				tr.begun = true
			case r.Kind == host.RecordOutcome && json.Unmarshal(r.Detail, &o) == nil:
				tr.ends++
				tr.begun = false
				if o.OK() {
					tr.done++
				}
			}
		}
	}
}

// checkPayment holds one write against the ledger, the store and the files.
func (w *world) checkPayment(p *payment, tr trail, kept, file string) {
	last := p.told[len(p.told)-1]
	effects := w.effects[p.intent]
	keys := len(slices.Compact(slices.Sorted(slices.Values(effects))))
	w.sum.ends[last.Status]++
	w.sum.reruns += max(0, tr.intents-max(1, tr.ends))
	if last.Replayed {
		w.sum.replays++
	}
	double := kept != "" && kept != "1" || tr.done > 1 || keys > 1 || p.once && (len(effects) > 1 || tr.again)
	lost := false
	switch last.Status {
	case host.Done:
		lost = kept != "1" || tr.done != 1 || p.post && keys != 1 || p.room && file != p.intent
	case host.Unknown:
		lost = !p.once || !tr.begun || tr.done > 0 || kept != ""
	case host.Failed:
		lost = tr.ends == 0 || tr.done != 0 || keys != 0 || kept != "" || file != "" || !strings.Contains(last.Problem.Message, "at most 900")
	default:
		lost = true
	}
	for _, o := range p.told { // what failed may be tried again
		lost = lost || o.Status != last.Status && o.Status != host.Failed
	}
	if double {
		w.sum.doubles++
	}
	if lost {
		w.sum.lost++
	}
	if double || lost {
		w.t.Errorf("%s %s: double %v, lost %v: it ends as %s (%v); kept %q, file %q, ledger %q, on record %+v; told %+v",
			p.call.Tool, p.call.Args, double, lost, last.Status, last.Problem, kept, file, effects, tr, p.told)
	}
}

// checkReads: what was read before a write that the same process told of is on
// record, before that write.
func (w *world) checkReads(payments []*payment, trails map[host.CallID]*trail) {
	for i, p := range payments {
		if !p.read {
			continue
		}
		tr := trails[p.call.ID]
		if tr == nil {
			w.t.Errorf("the read %s is not on record at all, though it was told in peace", p.call.ID)
			continue
		}
		w.sum.lostReads += max(0, len(p.told)-tr.done)
		for _, write := range payments[i+1:] {
			seen := trails[write.call.ID]
			if !write.read && seen != nil && seen.first < tr.first && write.lives[0] == p.lives[0] {
				w.t.Errorf("the read %s, told in life %d, is on record after the write %s", p.call.ID, p.lives[0], write.call.ID)
			}
		}
	}
}

// orphansOfAttempt are the blobs that an attempt which was not settled may
// leave: its data, its host calls, and the one that the guest writes.
const orphansOfAttempt = 3

func (w *world) checkBlobs(named map[string]bool, unsettled int) {
	there := map[string]bool{}
	err := filepath.WalkDir(w.life.Blobs, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			there[strings.TrimSuffix(filepath.Base(path), ".attrs")] = true
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	orphans := 0
	for _, id := range slices.Sorted(maps.Keys(there)) {
		if !named[id] {
			orphans++
		}
	}
	for id := range named {
		if !there[id] {
			w.t.Errorf("blob %s is on record and is not there", id)
		}
	}
	w.sum.orphans += orphans
	w.sum.mayOrphans += unsettled * orphansOfAttempt
	if orphans > unsettled*orphansOfAttempt {
		w.t.Errorf("%d blobs are named by nobody; %d attempts were not settled", orphans, unsettled)
	}
}
