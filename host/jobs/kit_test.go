package jobs

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/state/statetest"
)

// mariadb is the server of the tests that need one.
var mariadb statetest.Shared

// heldStore names the store of a process that takes a job and is killed.
const heldStore = "SLUICE_TEST_HELD_STORE"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(heldStore); dsn != "" {
		os.Exit(holdUntilKilled(dsn))
	}
	os.Exit(mariadb.Main(m))
}

// onBoth runs a test on a new store on every database.
func onBoth(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "store.db")) })
	t.Run("mariadb", func(t *testing.T) { test(t, mariadb.Database(t)) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A fakeClock is the store's clock; it moves only when told.
type fakeClock struct {
	micros atomic.Int64
	hang   atomic.Pointer[hang] // nil while it tells the time
}

// A hang is a time in which the store does not answer: whoever asks its clock
// tells so, and waits for the end.
type hang struct{ asked, end chan struct{} }

// stop makes the store hang.
func (c *fakeClock) stop() *hang {
	h := &hang{make(chan struct{}, 100), make(chan struct{})}
	c.hang.Store(h)
	return h
}

func (c *fakeClock) now() time.Time {
	if h := c.hang.Load(); h != nil {
		h.asked <- struct{}{}
		<-h.end
	}
	return time.UnixMicro(time.Hour.Microseconds() + c.micros.Load())
}

func (c *fakeClock) pass(d time.Duration) { c.micros.Add(d.Microseconds()) }

// A journal is a log that tests read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) says(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Contains(j.text.String(), text)
}

// A replica is a runner with a store and a log of its own.
type replica struct {
	*Runner
	store *state.Store
	log   *journal
}

// replicaAt asks without rest; with a clock, the store goes by that.
func replicaAt(t *testing.T, dsn string, clock *fakeClock, jobs ...Job) replica {
	t.Helper()
	var opts state.Options
	if clock != nil {
		opts.Now = clock.now
	}
	s, err := state.Open(context.Background(), dsn, opts)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	log := &journal{}
	r, err := New(s, slog.New(slog.NewTextHandler(log, nil)), jobs...)
	must(t, err)
	r.pace.ask, r.pace.settle = time.Millisecond, time.Millisecond
	return replica{r, s, log}
}

// start runs the replica and gives what stops it and waits for its end.
func (r replica) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		r.Run(ctx)
		close(ended)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// only gives the single job of a replica as the store knows it.
func (r replica) only(t *testing.T) state.Job {
	t.Helper()
	jobs, err := r.Jobs(t.Context())
	must(t, err)
	if len(jobs) != 1 {
		t.Fatalf("jobs %+v", jobs)
	}
	return jobs[0]
}

func hourly(do func(ctx context.Context) error) Job {
	return Job{Name: "purge", Every: time.Hour, Do: do}
}

// untilStopped is a job that tells that it has begun, and ends with its context.
func untilStopped(begun chan<- struct{}) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
}
