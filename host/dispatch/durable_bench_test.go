//go:build unix

package dispatch_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/state/statetest"
	"github.com/sluicehq/sluice/registry"

	_ "modernc.org/sqlite" // the bare commit
)

// A timer collects how long each operation took, and what the process used
// meanwhile. The machine may be shared: its load is reported beside.
type timer struct {
	mu    sync.Mutex
	took  []time.Duration // guarded by mu
	used  time.Duration
	begun time.Time
}

func startTimer() *timer { return &timer{used: cpuTime(), begun: time.Now()} }

func (m *timer) add(took time.Duration) {
	m.mu.Lock()
	m.took = append(m.took, took)
	m.mu.Unlock()
}

func (m *timer) median() time.Duration { return m.percentile(50) }

func (m *timer) percentile(p int) time.Duration {
	slices.Sort(m.took)
	return m.took[len(m.took)*p/100]
}

func (m *timer) report(b *testing.B) {
	n, wall, used := len(m.took), time.Since(m.begun), cpuTime()-m.used
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(m.median().Nanoseconds())/1e3, "p50-us")
	b.ReportMetric(float64(m.percentile(10).Nanoseconds())/1e3, "p10-us") // near to what a quiet machine has in the middle
	b.ReportMetric(float64(n)/wall.Seconds(), "calls/s")
	b.ReportMetric(float64(used.Microseconds())/float64(n), "cpu-us/call")
	b.ReportMetric(wall.Seconds()/used.Seconds(), "wall/cpu")
	b.ReportMetric(load(), "load")
}

// cpuTime is what this process has used, of both kinds.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// load is the machine's of the last minute; 0 where it does not say.
func load() (average float64) {
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, _ = fmt.Sscan(string(text), &average)
	}
	return average
}

// A hallway is a gate over a real store, with the tools of one module.
type hallway struct {
	gate    *dispatch.Dispatcher
	catalog *release.Catalog
}

func newHallway(b *testing.B, dsn, module string) hallway {
	b.Helper()
	ctx := context.Background()
	store, err := state.Open(ctx, dsn, state.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	wasm := sandboxtest.Build(b, module)
	sb, err := sandbox.New(sandbox.Config{CacheDir: sandboxtest.CacheDir(b)}) // as in production: that of the tests compares all memory after each call
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { sb.Close(ctx) })
	set := release.NewSet(sb, nil)
	b.Cleanup(func() { set.Close(ctx) })
	skill := sandboxtest.Describe(b, sandboxtest.Shared(b), wasm)
	if _, err := set.Load(ctx, &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		b.Fatal(err)
	}
	h := hallway{gate: dispatch.New(dispatch.Config{BatchReads: true, Config: grant.Config{Store: store}})}
	b.Cleanup(func() {
		if err := h.gate.Flush(ctx); err != nil {
			b.Error(err)
		}
	})
	h.catalog, _ = set.Catalog(ctx, nil)
	return h
}

func (h hallway) do(b *testing.B, session, n int, tool, args string) (host.Outcome, time.Duration) {
	ref := host.SessionRef{Tenant: "acme", User: "mia", Session: host.SessionID(fmt.Sprint("s", session))}
	c := host.Call{ID: host.CallIDFor(ref, n, 0), Session: ref, Tool: tool, Args: args, Input: n}
	for i, earlier := range []string{"a", "b", "c", "d", "e"} {
		c.Recent = append(c.Recent, host.Past{Tool: tool, Args: `{"item":"` + earlier + `"}`, Status: host.Done, Result: earlier, Input: n, Round: i})
	}
	c.Round = 6
	begun := time.Now()
	o := h.gate.Do(context.Background(), h.catalog, c)
	took := time.Since(begun)
	if !o.OK() {
		b.Error(o.Problem)
	}
	return o, took
}

// BenchmarkOverheadOfARead is what the whole gate adds to a read: the time of Do
// without that inside the sandbox. Its records wait for their batch. The second
// one is of a skill that reads the session's state, and so asks the store.
func BenchmarkOverheadOfARead(b *testing.B) {
	for _, tt := range []struct{ name, module, tool, args string }{
		{"plain", "host/dispatch/testdata/flood", "list", `{"bytes":100,"kind":"list"}`},
		{"state", "host/dispatch/testdata/guest", "total", `{"item":"pen"}`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			h := newHallway(b, filepath.Join(b.TempDir(), "store.db"), tt.module)
			m := startTimer()
			for n := 1; b.Loop(); n++ {
				o, took := h.do(b, 1, n, tt.tool, tt.args)
				m.add(took - o.Usage.Elapsed)
			}
			m.report(b)
		})
	}
}

// BenchmarkDurableCalls is a write through the gate, its intent on the disk
// before it runs and its end after, of one session and of many at once. On
// SQLite the same run measures the bare cost of one synced transaction there.
func BenchmarkDurableCalls(b *testing.B) {
	for _, database := range []string{"sqlite", "mariadb"} {
		for _, sessions := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/sessions=%d", database, sessions), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "store.db")
				dsn, bare := path, func() {}
				if database == "mariadb" {
					dsn = statetest.Start(b).Database(b)
				} else if sessions == 1 {
					bare = bareCommit(b, path+"-bare")
				}
				h := newHallway(b, dsn, "host/dispatch/testdata/flood")
				for s := range sessions { // every session and key is there before
					h.do(b, s, 1, "count", fmt.Sprintf(`{"item":"i%d"}`, s))
				}
				b.ResetTimer()
				durableCalls(b, h, sessions, bare)
			})
		}
	}
}

func durableCalls(b *testing.B, h hallway, sessions int, bare func()) {
	m, floor := startTimer(), startTimer()
	var next atomic.Int64
	next.Store(1)
	var wait sync.WaitGroup
	for s := range sessions {
		wait.Go(func() {
			args := fmt.Sprintf(`{"item":"i%d"}`, s)
			for n := next.Add(1); n <= int64(b.N)+1; n = next.Add(1) {
				_, took := h.do(b, s, int(n), "count", args)
				m.add(took)
				begun := time.Now()
				bare()
				floor.add(time.Since(begun))
			}
		})
	}
	wait.Wait()
	m.report(b)
	if p50 := floor.median(); p50 > 10*time.Microsecond {
		b.ReportMetric(float64(p50.Nanoseconds())/1e3, "p50-us-bare")
		b.ReportMetric(float64(m.median())/float64(p50), "do/bare")
	}
}

// bareCommit gives one synced transaction of one row, on the driver and the
// settings of the store.
func bareCommit(b *testing.B, path string) func() {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, value BLOB)"); err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare("INSERT INTO t (value) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	value := []byte(strings.Repeat("x", 200))
	return func() {
		if _, err := insert.Exec(value); err != nil {
			b.Error(err)
		}
	}
}
