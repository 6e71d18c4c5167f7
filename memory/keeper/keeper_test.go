package keeper

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/state/statetest"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/index"
)

// mariadb is the server of the tests that need one.
var mariadb statetest.Shared

func TestMain(m *testing.M) { os.Exit(mariadb.Main(m)) }

// A rig is one database of a test.
type rig struct {
	t   testing.TB
	dsn string
	db  host.Database
}

// onBoth runs a test on every database that the host's store is for.
func onBoth(t *testing.T, test func(t *testing.T, r rig)) {
	t.Run("sqlite", func(t *testing.T) { test(t, sqliteRig(t)) })
	t.Run("mariadb", func(t *testing.T) { test(t, newRig(t, mariadb.Database(t))) })
}

func sqliteRig(t testing.TB) rig { return newRig(t, filepath.Join(t.TempDir(), "store.db")) }

func newRig(t testing.TB, dsn string) rig {
	t.Helper()
	s, err := state.Open(context.Background(), dsn, state.Options{})
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return rig{t: t, dsn: dsn, db: s.Database()}
}

// again gives the same database as another process has it.
func (r rig) again() rig { return newRig(r.t, r.dsn) }

// open opens a keeper with an embedded index of its own, unless the configuration
// says otherwise.
func (r rig) open(alter ...func(*Config)) *Keeper {
	r.t.Helper()
	k, err := r.tryOpen(alter...)
	must(r.t, err)
	return k
}

func (r rig) tryOpen(alter ...func(*Config)) (*Keeper, error) {
	c := Config{DB: r.db, Store: index.New(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), tending: time.Hour}
	for _, a := range alter {
		a(&c)
	}
	k, err := Open(context.Background(), c)
	if err == nil {
		r.t.Cleanup(func() {
			if err := k.Close(); err != nil {
				r.t.Error(err)
			}
		})
	}
	return k, err
}

// A clock is set by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	return c.at
}

func withClock(c *clock) func(*Config) { return func(cfg *Config) { cfg.Now = c.now } }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantCode fails unless err leaves the package as it should.
func wantCode(t testing.TB, err error, code abi.Code) *abi.Problem {
	t.Helper()
	var failed *host.Error
	if !errors.As(err, &failed) || failed.Problem.Code != code || !strings.HasPrefix(failed.Op, "keeper.") {
		t.Fatalf("got %v, want a problem %d", err, code)
	}
	return failed.Problem
}

var ann = Owner{"shop", "ann"}

// said is what a user declared.
func said(text string) memory.Node {
	return memory.Node{Text: text, Layer: memory.Declared, Kind: memory.Preference, Trust: 0.6}
}

// remember keeps memories and gives their ids.
func (k *Keeper) testOnlyRemember(t testing.TB, o Owner, nodes ...memory.Node) []memory.ID {
	t.Helper()
	all, err := k.Remember(t.Context(), o, nodes)
	must(t, err)
	ids := make([]memory.ID, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	return ids
}

func (k *Keeper) testOnlyGet(t testing.TB, o Owner, id memory.ID) memory.Node {
	t.Helper()
	n, err := k.Get(t.Context(), o, id)
	must(t, err)
	return n
}

// sync waits until the index is there, at most as long as a replica may take.
func (k *Keeper) testOnlySync(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must(t, k.Sync(ctx))
}
