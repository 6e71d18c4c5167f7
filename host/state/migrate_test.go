package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// raw gives connections to a database past the store.
func (d database) raw(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	open := func() (*sql.DB, error) {
		if d.name == "mariadb" {
			return mariadb.Server(t).Open(dsn)
		}
		if err := createSQLite(dsn); err != nil {
			return nil, err
		}
		return sqlitePool(dsn, 1)
	}
	db, err := open()
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// fixture makes a store as the release with that schema left it.
func (d database) fixture(t *testing.T, version int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("testdata/schema%d.%s.sql", version, d.name))
	must(t, err)
	dsn := d.fresh(t)
	_, err = d.raw(t, dsn).Exec(string(text))
	must(t, err)
	return dsn
}

// unmigrated gives a store's connections before its schema was looked at.
func (d database) unmigrated(t *testing.T, dsn string) (*Store, *sql.DB) {
	t.Helper()
	from, err := sourceOf(dsn, Options{})
	must(t, err)
	p, err := from.connect(t.Context())
	must(t, err)
	t.Cleanup(func() {
		for _, db := range []*sql.DB{p.reads, p.writes, p.schema} {
			db.Close()
		}
	})
	return &Store{dialect: from.dialect, writes: p.writes, reads: p.reads}, p.schema
}

// schemaOf gives the statements that make the tables.
func (d database) schemaOf(t *testing.T, db *sql.DB) string {
	t.Helper()
	var schema string
	if d.name == "sqlite" {
		must(t, db.QueryRow("SELECT GROUP_CONCAT(sql, ';\n') FROM (SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name)").Scan(&schema))
		return schema
	}
	var names []string
	rows, err := db.Query("SHOW TABLES")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		_, err := scanText(&names)(rows)
		must(t, err)
	}
	for _, name := range names {
		var made string
		must(t, db.QueryRow("SHOW CREATE TABLE "+name).Scan(&name, &made))
		made, _, _ = strings.Cut(made, " AUTO_INCREMENT=")
		made, _, _ = strings.Cut(made, " DEFAULT CHARSET=") // the server's, which bytes have no use for
		if name != "schema_lock" {
			schema += made + ";\n"
		}
	}
	return schema
}

// released are the schema versions of which there are stores.
var released = []int{1, 2}

// onReleased runs a test on a store of each released schema on every database.
func onReleased(t *testing.T, test func(t *testing.T, d database, version int)) {
	onBoth(t, func(t *testing.T, d database) {
		for _, version := range released {
			t.Run(fmt.Sprint("schema", version), func(t *testing.T) { test(t, d, version) })
		}
	})
}

func TestAStoreOfEveryReleasedSchemaKeepsEverything(t *testing.T) {
	onReleased(t, func(t *testing.T, d database, version int) {
		at := time.Date(2026, 3, 1, 8, 2, 0, 0, time.UTC)
		s := openAt(t, d.fixture(t, version), Options{Now: func() time.Time { return at }})
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
		fence := lease(t, s, "replica-a")
		must(t, s.SaveStateUnder(t.Context(), ref, fence, Change{Key: "live.current", Version: 3, Data: []byte("4")}))
		request := request(ref, "key2", "call2")
		request.Fence = fence
		wantClaim(t, s.Reclaim, request, ClaimNew, "call2")
		if version < 2 {
			return
		}
		if fence != 4 {
			t.Errorf("fence %d is not the one after the stored", fence)
		}
		live, found, err := s.Live(t.Context(), "shop", "live1")
		if err != nil || !found || string(live.Detail) != `{"room":7}` || !live.EndedAt.IsZero() {
			t.Errorf("live %+v, %v, %v", live, found, err)
		}
	})
}

// A released migration is never edited: what it makes is what the fixture has.
func TestReleasedMigrationsStillMakeTheirSchema(t *testing.T) {
	onReleased(t, func(t *testing.T, d database, version int) {
		dsn := d.fresh(t)
		s, pool := d.unmigrated(t, dsn)
		files := fstest.MapFS{}
		names, err := fs.Glob(migrationFiles, "migrations/*.sql")
		must(t, err)
		for _, name := range names[:version] {
			data, err := fs.ReadFile(migrationFiles, name)
			must(t, err)
			files[name] = &fstest.MapFile{Data: data}
		}
		must(t, s.migrate(t.Context(), pool, files))
		made, was := d.schemaOf(t, d.raw(t, dsn)), d.schemaOf(t, d.raw(t, d.fixture(t, version)))
		if made != was {
			t.Errorf("made:\n%s\nwas:\n%s", made, was)
		}
	})
}

func TestMigrationsGoForwardAndAreTakenUpWhereTheyBrokeOff(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		dsn := d.fixture(t, 1)
		s, pool := d.unmigrated(t, dsn)
		first, err := fs.ReadFile(migrationFiles, "migrations/0001_start.sql")
		must(t, err)
		files := fstest.MapFS{
			"migrations/0001_start.sql": {Data: first},
			"migrations/0002_more.sql":  {Data: []byte("-- more\nCREATE TABLE more (tenant_id {id} NOT NULL, PRIMARY KEY (tenant_id)) {clustered};\nALTER TABLE kv_tenant ADD COLUMN note {id};\n")},
			"migrations/0003_break.sql": {Data: []byte("CREATE TABLE third (id BIGINT);\nCREATE TABLE fourth (;\n")},
		}
		before := d.schemaOf(t, d.raw(t, dsn))
		if err := s.migrate(t.Context(), pool, files); err == nil || !strings.Contains(err.Error(), "schema version 3") {
			t.Errorf("a migration that cannot run gives %v", err)
		}
		if after := d.schemaOf(t, d.raw(t, dsn)); d.name == "sqlite" && after != before { // the other cannot take a table back
			t.Errorf("a failed migration left\n%s", after)
		}
		files["migrations/0003_break.sql"].Data = []byte("CREATE TABLE third (id BIGINT);\nCREATE TABLE fourth (id BIGINT);\n")
		must(t, s.migrate(t.Context(), pool, files))
		must(t, s.migrate(t.Context(), pool, files))
		var version, rows int
		must(t, d.raw(t, dsn).QueryRow("SELECT MAX(version), (SELECT COUNT(*) FROM kv_tenant WHERE note IS NULL) FROM schema_version").Scan(&version, &rows))
		if version != 3 || rows != 2 {
			t.Errorf("schema version %d with %d old rows", version, rows)
		}
	})
	if _, err := migrations(fstest.MapFS{"migrations/0002_gap.sql": {}}); err == nil || !strings.HasPrefix(err.Error(), "BUG:") {
		t.Errorf("a gap in the numbers gives %v", err)
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		dsn := d.fixture(t, 1)
		_, err := d.raw(t, dsn).Exec("INSERT INTO schema_version VALUES (99, 0)")
		must(t, err)
		for range 2 {
			_, err := Open(t.Context(), dsn, Options{})
			problem := wantCode(t, err, abi.StoreFailure)
			if !strings.Contains(problem.Message, "version 99") || !strings.Contains(problem.Hint, "newer") {
				t.Errorf("says %q, hint %q", problem.Message, problem.Hint)
			}
		}
	})
}

func TestADatabaseOfAnotherProgramIsRefusedAndKeepsItsTables(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		dsn := d.fresh(t)
		_, err := d.raw(t, dsn).Exec("CREATE TABLE invoices (id INTEGER)")
		must(t, err)
		before := d.schemaOf(t, d.raw(t, dsn))
		_, err = Open(t.Context(), dsn, Options{})
		problem := wantCode(t, err, abi.StoreFailure)
		if !strings.Contains(problem.Message, "invoices") || problem.Hint == "" {
			t.Errorf("says %q, hint %q", problem.Message, problem.Hint)
		}
		if after := d.schemaOf(t, d.raw(t, dsn)); after != before {
			t.Errorf("its schema is now\n%s", after)
		}
	})
}

// Every statement is one that the database can prepare, and those that search
// do it by an index.
func TestStatementsPrepareAndSearchByIndex(t *testing.T) {
	s := openStore(t)
	q := s.queries
	for _, query := range []string{
		q.stateVersion, fmt.Sprintf(q.loadState, marks(fewReads+1)), q.readState[fewReads][fewReads], q.listState, q.sessions, q.kvRow, q.kvStamp, q.kvRange, q.kvRangeKeys, q.kvRangeStamps, q.kvAny,
		q.approval, q.lockApproval, q.approvalOf, q.openApproval, q.openApprovals, q.changeApproval, fmt.Sprintf(q.approvals, ""),
		fmt.Sprintf(q.approvals, " AND user_id = ? AND session_id = ?"), fmt.Sprintf(q.approvals, " AND status = ?"),
		q.lastDone, q.lastDoneTo, q.doneSince, q.oldClaims, q.removeOldClaim, q.oldDone, q.removeOldDone, q.oldApprovals, q.removeOldApproval, q.oldGrants, q.removeOldGrant,
		q.stateOf, q.removeState, q.claimsOf, q.removeClaim, q.doneOf, q.removeDone, q.approvalsOf, q.removeApproval, q.grantsFor,
		q.countGrants, q.grantsIn, q.grantsOf, q.removeGrant, q.kvTenant, q.job, q.changeJob, q.jobs, q.claim, q.takeClaim, q.settleClaim, q.releaseClaim, q.removeKV, fmt.Sprintf(q.records, ""), fmt.Sprintf(q.records, " AND user_id = ? AND session_id = ?"), fmt.Sprintf(q.records, " AND call_id = ?"), fmt.Sprintf(q.records, " AND seq <= ?"),
		fmt.Sprintf(q.records, " AND kind = ? AND tool = ?"), fmt.Sprintf(q.newestRecords, " AND kind = ? AND tool = ? AND seq <= ?"), fmt.Sprintf(q.newestRecords, " AND kind IN (?, ?) AND seq <= ?"),
		q.logSize, q.changeLog, q.logs, q.lastLog, q.leaves, q.eraseLeaf, q.eraseRecord, q.tile, q.firstAfter, q.countAfter, q.nextTenant, q.tenantsSince, q.lastOfAll, q.countSlots, q.lease, q.changeLease, q.rested, q.changeRest,
		q.owed, q.owedDue, q.moveOwed, q.failOwed, q.removeOwed, q.owedDead, q.reviveOwed, q.owedOf, q.dropOwed,
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
		text := strings.ReplaceAll(strings.Join(plan, "; "), "SCAN behind", "") // of the rows that its own LIMIT has left
		if !strings.Contains(text, "SEARCH") || strings.Contains(text, "SCAN") || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s\n  %s", query, text)
		}
	}
}

// aRoom is a schema of two versions, the second of which changes a table.
func aRoom(more string) host.Schema {
	return host.Schema{Of: "the things", Versions: "room_schema", Words: strings.NewReplacer("{count}", "BIGINT"), Files: fstest.MapFS{
		"migrations/0001_start.sql": {Data: []byte("-- These are things;\n-- they have ids.\nCREATE TABLE room_thing (thing_id {id} NOT NULL, PRIMARY KEY (thing_id)) {clustered};\n")},
		"migrations/0002_more.sql":  {Data: []byte("ALTER TABLE room_thing ADD COLUMN made {count};\n" + more)},
	}}
}

func TestARoomsTablesGoForwardBesideTheStore(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		dsn := d.fresh(t)
		stores := []*Store{openAt(t, dsn, Options{}), openAt(t, dsn, Options{})}
		was := d.schemaOf(t, d.raw(t, dsn))
		broken := stores[0].Database().Migrate(t.Context(), aRoom("CREATE TABLE room_other (;\n"))
		wantCode(t, broken, abi.StoreFailure)
		if !strings.Contains(fmt.Sprint(broken, errors.Unwrap(broken)), "the things: schema version 2") {
			t.Errorf("a migration that cannot run gives %v", broken)
		}
		if now := d.schemaOf(t, d.raw(t, dsn)); d.name == "sqlite" && now != was { // the other cannot take a table back
			t.Errorf("a failed migration left\n%s", now)
		}
		var all sync.WaitGroup
		for i := range 6 { // at once, in two processes, and beside writers
			all.Go(func() {
				if err := stores[i%2].Database().Migrate(t.Context(), aRoom("CREATE TABLE room_other (other_id {id} NOT NULL, PRIMARY KEY (other_id)) {clustered};\n")); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				if err := stores[i%2].Record(t.Context(), host.Record{Session: session("shop"), Kind: host.RecordNotice}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var versions, made int
		must(t, d.raw(t, dsn).QueryRow("SELECT COUNT(*), (SELECT COUNT(*) FROM room_thing WHERE made IS NULL) + (SELECT COUNT(*) FROM room_other) FROM room_schema").Scan(&versions, &made))
		if versions != 2 || made != 0 {
			t.Errorf("%d versions", versions)
		}
		must(t, stores[1].Ping(t.Context())) // the room's tables are none of the store's business
		openAt(t, dsn, Options{})
	})
}

func TestARoomsTablesOfANewerSluiceAreRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		dsn := d.fresh(t)
		s := openAt(t, dsn, Options{})
		must(t, s.Database().Migrate(t.Context(), aRoom("")))
		_, err := d.raw(t, dsn).Exec("INSERT INTO room_schema VALUES (99, 0)")
		must(t, err)
		problem := wantCode(t, s.Database().Migrate(t.Context(), aRoom("")), abi.StoreFailure)
		if !strings.Contains(problem.Message, "the things: schema version 99") || !strings.Contains(problem.Hint, "newer") {
			t.Errorf("says %q, hint %q", problem.Message, problem.Hint)
		}
	})
}
