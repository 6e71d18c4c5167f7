package state

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestARoomKeepsTablesOfItsOwnBesideTheStore(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		db := s.Database()
		schema := func(on host.Statements) {
			_, err := on.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS room_thing (thing_no BIGINT NOT NULL PRIMARY KEY)")
			must(t, err)
		}
		if db.Dialect == host.MySQL {
			schema(db.Reads)
		} else {
			must(t, db.Write(t.Context(), func(_ context.Context, on host.Statements) error { schema(on); return nil }))
		}
		add := func(no int, then error) error {
			return db.Write(t.Context(), func(ctx context.Context, on host.Statements) error {
				_, err := on.ExecContext(ctx, "INSERT INTO room_thing (thing_no) VALUES (?)", no)
				return errors.Join(err, then)
			})
		}
		var wg sync.WaitGroup
		for i := range 20 { // in the line of the store's own writers
			wg.Go(func() {
				if err := add(i, nil); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if err := s.Record(context.Background(), host.Record{Session: session("shop"), Kind: host.RecordNotice}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := add(100, errors.New("not that")); err == nil {
			t.Error("a transaction that failed says nothing")
		}
		rows, err := db.Reads.QueryContext(t.Context(), "SELECT COUNT(*) FROM room_thing")
		must(t, err)
		defer rows.Close()
		var n int
		rows.Next()
		must(t, rows.Scan(&n))
		if n != 20 {
			t.Errorf("%d rows are kept", n)
		}
	})
}

func TestReadsCannotWriteOnSQLite(t *testing.T) {
	db := openStore(t).Database()
	if _, err := db.Reads.ExecContext(t.Context(), "DELETE FROM kv"); err == nil {
		t.Error("a reader wrote")
	}
}

func TestScrubTakesDeletedRowsOutOfEveryFileWhileOthersWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := openAt(t, path, Options{})
	other := openAt(t, path, Options{})
	secret := strings.Repeat("chrysanthemum ", 2000)
	must(t, s.SaveState(t.Context(), session("shop"), Change{Key: "secret", Data: []byte(`"` + secret + `"`)}))
	must(t, s.SaveState(t.Context(), session("shop"), Change{Key: "kept", Data: []byte(`"peony"`)}))
	_, err := s.PurgeSession(t.Context(), session("shop"), 0)
	must(t, err)
	if !inFiles(t, path, "chrysanthemum") {
		t.Fatal("a purged session is in no file before the scrub: the test sees nothing")
	}
	var wg sync.WaitGroup
	for _, store := range []*Store{s, other} {
		for range 20 {
			wg.Go(func() {
				if err := store.Record(context.Background(), host.Record{Session: session("shop"), Kind: host.RecordNotice}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	must(t, s.Database().Scrub(t.Context()))
	wg.Wait()
	if inFiles(t, path, "chrysanthemum") {
		t.Error("a purged session is in a file after the scrub")
	}
}

func TestAScrubDoesNotWaitForEverForAReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := openAt(t, path, Options{})
	other := openAt(t, path, Options{})
	must(t, s.SaveState(t.Context(), session("shop"), Change{Key: "secret", Data: []byte(`"chrysanthemum"`)}))
	_, err := s.PurgeSession(t.Context(), session("shop"), 0)
	must(t, err)
	reading, err := other.reads.BeginTx(t.Context(), nil)
	must(t, err)
	var n int
	must(t, reading.QueryRow("SELECT COUNT(*) FROM kv").Scan(&n))
	problem := wantCode(t, s.Database().Scrub(t.Context()), abi.StoreFailure)
	if !strings.Contains(problem.Message, "reader") || problem.Hint == "" {
		t.Errorf("says %q, hint %q", problem.Message, problem.Hint)
	}
	must(t, reading.Rollback())
	must(t, s.Database().Scrub(t.Context()))
	if inFiles(t, path, "chrysanthemum") {
		t.Error("a purged session is in a file after the scrub")
	}
}

func inFiles(t *testing.T, path, text string) bool {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	must(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(t, err)
		if bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}

func TestAClosedStoreScrubsNothing(t *testing.T) {
	s := openStore(t)
	db := s.Database()
	must(t, s.Close())
	wantCode(t, db.Scrub(t.Context()), abi.StoreFailure)
	wantCode(t, db.Write(t.Context(), func(context.Context, host.Statements) error { return nil }), abi.StoreFailure)
}

// TestEachLaneGoesOnAfterTheServerGaveItsConnectionUp has the server end the
// connections that say nothing for a second.
func TestEachLaneGoesOnAfterTheServerGaveItsConnectionUp(t *testing.T) {
	t.Parallel()
	s := mariadbDatabase().open(t)
	writes := 4 * mysqlLanes // so that each lane has some
	for range writes {
		must(t, s.Database().Write(t.Context(), func(ctx context.Context, on host.Statements) error {
			_, err := on.ExecContext(ctx, "SET SESSION wait_timeout = 1")
			return err
		}))
	}
	time.Sleep(2500 * time.Millisecond)
	for range writes {
		must(t, s.Record(t.Context(), host.Record{Session: session("shop"), Kind: host.RecordNotice}))
	}
}
