package audit

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/audit/verify"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/state/statetest"
)

// mariadb is the server of the tests that need one.
var mariadb statetest.Shared

// sealedStore names the store of a process that seals until it is killed.
const sealedStore = "SLUICE_TEST_SEALED_STORE"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(sealedStore); dsn != "" {
		os.Exit(sealUntilKilled(dsn))
	}
	os.Exit(mariadb.Main(m))
}

// A room is a store with a sequencer, and what is needed to work behind them.
type room struct {
	*Sequencer
	dsn  string
	home string
}

// onBoth runs a test on a new store on every database.
func onBoth(t *testing.T, test func(t *testing.T, r room)) {
	t.Run("sqlite", func(t *testing.T) { test(t, roomAt(t, filepath.Join(t.TempDir(), "store.db"))) })
	t.Run("mariadb", func(t *testing.T) { test(t, roomAt(t, mariadb.Database(t))) })
}

func roomAt(t testing.TB, dsn string) room {
	t.Helper()
	home := t.TempDir()
	return room{&Sequencer{Store: storeAt(t, dsn), Keys: KeyFile(filepath.Join(home, "audit", "key")), Log: slog.New(slog.DiscardHandler), Now: clock, MakesKey: true}, dsn, home}
}

func storeAt(t testing.TB, dsn string) *state.Store {
	t.Helper()
	s, err := state.Open(context.Background(), dsn, state.Options{})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func clock() time.Time { return time.Date(2026, 3, 1, 8, 0, 0, 123456789, time.UTC) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// raw opens the database behind the store.
func (r room) raw(t testing.TB) *sql.DB {
	t.Helper()
	var db *sql.DB
	var err error
	if filepath.IsAbs(r.dsn) {
		db, err = sql.Open("sqlite", r.dsn)
	} else {
		db, err = mariadb.Server(t).Open(r.dsn)
	}
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func (r room) sql(t *testing.T, statement string, args ...any) {
	t.Helper()
	_, err := r.raw(t).Exec(statement, args...)
	must(t, err)
}

var ann = host.SessionRef{Tenant: "shop", User: "ann", Session: "s1"}

// call gives the records of a call as the gate keeps them.
func call(ref host.SessionRef, n int) []host.Record {
	record := func(kind host.RecordKind, detail any) host.Record {
		text, _ := json.Marshal(detail)
		return host.Record{Session: ref, Call: host.CallID(fmt.Sprint("call_", n)), Kind: kind, Tool: "set_price", Release: "shop.pricing@1.4.0", Key: host.Key(fmt.Sprint("key_", n)), Detail: text}
	}
	return []host.Record{
		record(host.RecordIntent, map[string]any{"args": map[string]any{"sku": "1001", "price": n, "名": "青柠"}, "tier": "auto", "input": 1}),
		record(host.RecordOutcome, host.Outcome{Tool: "set_price", Status: host.Done, Data: []byte(`{"ok":true}`), Usage: host.Usage{Fuel: 1234, PeakMemory: 1 << 20}}),
	}
}

// keep keeps calls, two records each.
func (r room) keep(t testing.TB, calls ...int) {
	t.Helper()
	for _, n := range calls {
		must(t, r.Store.Record(context.Background(), call(ann, n)...))
	}
}

func (r room) seal(t testing.TB, tenant host.TenantID) int {
	t.Helper()
	n, err := r.Seal(context.Background(), tenant)
	must(t, err)
	return n
}

func (r room) publish(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "published")
	_, err := r.Publish(context.Background(), "shop", dir)
	must(t, err)
	return dir
}

func verified(t testing.TB, dir string, opts verify.Options) verify.Report {
	t.Helper()
	report, err := verify.Folder(os.DirFS(dir), opts)
	must(t, err)
	return report
}

// wantWhole publishes and verifies with the room's own key.
func (r room) wantWhole(t testing.TB, entries int64) verify.Report {
	t.Helper()
	report := verified(t, r.publish(t), verify.Options{Keys: []string{r.key(t)}})
	if report.Finding != nil || report.Entries != entries || !report.Trusted {
		t.Fatalf("want %d entries and nothing found, got %+v %v", entries, report, report.Finding)
	}
	return report
}

func (r room) key(t testing.TB) string {
	t.Helper()
	key, err := r.Keys.Newest()
	must(t, err)
	return key.Public()
}

func (r room) checkpointNow(t testing.TB) []byte {
	t.Helper()
	c, err := r.Checkpoint(context.Background(), "shop")
	must(t, err)
	return c
}
