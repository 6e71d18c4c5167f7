package state

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// runSQL makes or changes a file behind the store's back.
func runSQL(t *testing.T, path, text string) {
	t.Helper()
	if err := createSQLite(path); err != nil {
		t.Fatal(err)
	}
	db, err := sqlitePool(path, 1)
	must(t, err)
	defer db.Close()
	_, err = db.Exec(text)
	must(t, err)
}

// fixture makes a store as the first release left it.
func fixture(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/schema1.sql")
	must(t, err)
	path := filepath.Join(t.TempDir(), "store.db")
	runSQL(t, path, string(text))
	return path
}

func TestAStoreOfTheFirstSchemaKeepsEverything(t *testing.T) {
	at := time.Date(2026, 3, 1, 8, 2, 0, 0, time.UTC)
	s := openAt(t, fixture(t), Options{Now: func() time.Time { return at }})
	ref := session("shop")
	values, err := s.ListState(t.Context(), ref, "", "", 0)
	must(t, err)
	if len(values) != 1 || values[0].Version != 2 || string(values[0].Data) != `{"sku":"1002"}` || values[0].UpdatedAt.Format(time.RFC3339Nano) != "2026-03-01T08:00:00.123456Z" {
		t.Errorf("state %+v", values)
	}
	if got := contents(t, s.View("shop", "n")); !maps.Equal(got, map[string]string{"b": "", "c": "价"}) {
		t.Errorf("kv %v", got)
	}
	wantKeysOf(t, s, "shop", "-a", "c")
	wantCode(t, tryPut(t, s, "base", "a", "2"), abi.NotAllowed)
	if claim := wantClaim(t, s.Claim, request(ref, "key1", "call9"), ClaimDone, "call1"); string(claim.Outcome) != `{"price":89}` {
		t.Errorf("outcome %s", claim.Outcome)
	}
	wantClaim(t, s.Claim, request(ref, "key2", "call9"), ClaimUnknown, "call2")
	wantRecords(t, s, "shop", "intent call1", "outcome call1", "intent call2")
	must(t, s.SaveState(t.Context(), ref, Change{Key: "live.current", Version: 2, Data: []byte("3")}))
	must(t, s.Record(t.Context(), host.Record{Session: ref, Kind: host.RecordNotice}))
}

// A released migration is never edited: what it makes is what the fixture has.
func TestTheFirstMigrationStillMakesTheFirstSchema(t *testing.T) {
	made := filepath.Join(t.TempDir(), "store.db")
	s := &Store{dialect: sqliteDialect()}
	openWrites(t, s, made)
	first, err := fs.ReadFile(migrationFiles, "migrations/0001_start.sql")
	must(t, err)
	must(t, s.migrate(t.Context(), s.writes, fstest.MapFS{"migrations/0001_start.sql": {Data: first}}))
	want := &Store{}
	openWrites(t, want, fixture(t))
	if a, b := schemaOf(t, s.writes), schemaOf(t, want.writes); a != b {
		t.Errorf("made:\n%s\nwas:\n%s", a, b)
	}
}

func openWrites(t *testing.T, s *Store, path string) {
	t.Helper()
	must(t, createSQLite(path))
	p, err := openSQLite(t.Context(), path)
	must(t, err)
	s.writes, s.reads = p.writes, p.reads
	t.Cleanup(func() {
		s.reads.Close()
		s.writes.Close()
	})
}

func schemaOf(t *testing.T, db *sql.DB) string {
	t.Helper()
	var schema string
	must(t, db.QueryRow("SELECT GROUP_CONCAT(sql, ';\n') FROM (SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name)").Scan(&schema))
	return schema
}

func TestMigrationsGoForwardAllOrNothing(t *testing.T) {
	s := &Store{dialect: sqliteDialect()}
	openWrites(t, s, fixture(t))
	first, err := fs.ReadFile(migrationFiles, "migrations/0001_start.sql")
	must(t, err)
	files := fstest.MapFS{
		"migrations/0001_start.sql": {Data: first},
		"migrations/0002_lives.sql": {Data: []byte("-- lives\nCREATE TABLE agent_live (tenant_id {id} NOT NULL, PRIMARY KEY (tenant_id)) {clustered};\nALTER TABLE kv_tenant ADD COLUMN note {id};\n")},
		"migrations/0003_break.sql": {Data: []byte("CREATE TABLE more (id BIGINT);\nCREATE TABLE agent_live (id BIGINT);\n")},
	}
	before := schemaOf(t, s.writes)
	if err := s.migrate(t.Context(), s.writes, files); err == nil || !strings.Contains(err.Error(), "schema version 3") {
		t.Errorf("a migration that cannot run gives %v", err)
	}
	if after := schemaOf(t, s.writes); after != before {
		t.Errorf("a failed migration left\n%s", after)
	}
	delete(files, "migrations/0003_break.sql")
	must(t, s.migrate(t.Context(), s.writes, files))
	must(t, s.migrate(t.Context(), s.writes, files))
	var version, rows int
	must(t, s.writes.QueryRow("SELECT MAX(version), (SELECT COUNT(*) FROM kv_tenant WHERE note IS NULL) FROM schema_version").Scan(&version, &rows))
	if version != 2 || rows != 2 {
		t.Errorf("schema version %d with %d old rows", version, rows)
	}
	if _, err := migrations(fstest.MapFS{"migrations/0002_gap.sql": {}}); err == nil || !strings.HasPrefix(err.Error(), "BUG:") {
		t.Errorf("a gap in the numbers gives %v", err)
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	path := fixture(t)
	runSQL(t, path, "INSERT INTO schema_version VALUES (99, 0)")
	for range 2 {
		_, err := Open(t.Context(), path, Options{})
		problem := wantCode(t, err, abi.StoreFailure)
		if !strings.Contains(problem.Message, "version 99") || !strings.Contains(problem.Hint, "newer") {
			t.Errorf("says %q, hint %q", problem.Message, problem.Hint)
		}
	}
}

func TestADatabaseOfAnotherProgramIsRefusedAndKeepsItsTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	runSQL(t, path, "CREATE TABLE invoices (id INTEGER)")
	_, err := Open(t.Context(), path, Options{})
	problem := wantCode(t, err, abi.StoreFailure)
	if !strings.Contains(problem.Message, "invoices") || problem.Hint == "" {
		t.Errorf("says %q, hint %q", problem.Message, problem.Hint)
	}
	other := &Store{}
	openWrites(t, other, path)
	if schema := schemaOf(t, other.writes); schema != "CREATE TABLE invoices (id INTEGER)" {
		t.Errorf("its schema is now\n%s", schema)
	}
}

// Every statement is one that the database can prepare, and those that search
// do it by an index.
func TestStatementsPrepareAndSearchByIndex(t *testing.T) {
	s := openStore(t)
	q := s.queries
	for _, query := range []string{
		q.stateVersion, fmt.Sprintf(q.loadState, marks(3)), q.listState, q.sessions, q.kvRow, q.kvStamp, q.kvRange, q.kvRangeKeys, q.kvRangeStamps, q.kvAny,
		q.kvTenant, q.claim, q.takeClaim, q.settleClaim, q.releaseClaim, q.removeKV, fmt.Sprintf(q.records, ""), fmt.Sprintf(q.records, " AND user_id = ? AND session_id = ?"), fmt.Sprintf(q.records, " AND call_id = ?"),
	} {
		var plan []string
		args := make([]any, strings.Count(query, "?"))
		err := s.reader.each(context.Background(), "EXPLAIN QUERY PLAN "+query, args, func(rows *sql.Rows) (bool, error) {
			var id, parent, unused int
			var step string
			err := rows.Scan(&id, &parent, &unused, &step)
			plan = append(plan, step)
			return true, err
		})
		must(t, err)
		if text := strings.Join(plan, "; "); !strings.Contains(text, "SEARCH") || strings.Contains(text, "SCAN") || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s\n  %s", query, text)
		}
	}
}
