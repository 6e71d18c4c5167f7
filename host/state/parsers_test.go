//go:build !race

package state

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver"
	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// statements gives everything that the store says to a database of the MySQL
// family, one of each form.
func statements(t *testing.T) []string {
	t.Helper()
	d := mysqlDialect()
	all := append(mysqlSettings(), mysqlIdleSetting(), mysqlLaneSetting, "COMMIT", "ROLLBACK", d.tables, "SELECT "+mysqlClock, mysqlPacket,
		makeSchemaLock, beginSchemaLock, takeSchemaLock)
	own, err := ownSchema(migrationFiles)
	must(t, err)
	all = append(all, own.makeVersions(), own.addVersion(), own.lastVersion())
	q := reflect.ValueOf(newQueries(d))
	for i := range q.NumField() {
		all = append(all, textsOf(q.Field(i))...)
	}
	for _, step := range own.steps {
		all = append(all, statementsOf(d.words.Replace(step))...)
	}
	var whole []string
	for _, statement := range all {
		for _, form := range formsOf(statement) {
			if strings.TrimSpace(form) != "" {
				whole = append(whole, form)
			}
		}
	}
	return whole
}

// textsOf gives a statement, or those of a table.
func textsOf(v reflect.Value) (texts []string) {
	if v.Kind() != reflect.Array {
		return []string{v.String()}
	}
	for i := range v.Len() {
		texts = append(texts, textsOf(v.Index(i))...)
	}
	return texts
}

// formsOf fills in what varies.
func formsOf(statement string) []string {
	before, _, varies := strings.Cut(statement, "%s")
	switch {
	case !varies:
		return []string{statement}
	case strings.HasSuffix(before, "VALUES "):
		return []string{fmt.Sprintf(statement, "(?, ?)"), fmt.Sprintf(statement, "(?, ?), (?, ?)")}
	case strings.HasSuffix(before, "IN ("):
		return []string{fmt.Sprintf(statement, "?"), fmt.Sprintf(statement, "?, ?, ?")}
	}
	where, _, _ := RecordFilter{Session: host.SessionRef{User: "u", Session: "s"}, Call: "c", Kinds: []host.RecordKind{"a", "b"}}.where("t")
	return []string{fmt.Sprintf(statement, ""), fmt.Sprintf(statement, where+" AND seq <= ?")}
}

// issued has the store do everything once, and gives what the server then says
// that it was asked.
func issued(t *testing.T) []string {
	t.Helper()
	server, url := mariadb.Server(t), mariadb.Database(t)
	db, err := server.Open(url)
	must(t, err)
	defer db.Close()
	_, err = db.Exec("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON")
	must(t, err)
	exerciseAll(t, url)
	_, err = db.Exec("SET GLOBAL general_log = OFF")
	must(t, err)
	rows, err := db.Query("SELECT DISTINCT argument FROM mysql.general_log WHERE command_type IN ('Query', 'Prepare') AND argument NOT LIKE 'SET GLOBAL%'")
	must(t, err)
	defer rows.Close()
	var said []string
	for rows.Next() {
		var text string
		must(t, rows.Scan(&text))
		said = append(said, text)
	}
	must(t, rows.Err())
	return said
}

func exerciseAll(t *testing.T, url string) {
	t.Helper()
	s := openAt(t, url, Options{})
	ref := session("shop")
	fence, err := s.Lease(t.Context(), ref, "a", time.Minute)
	must(t, err)
	must(t, s.Renew(t.Context(), ref, fence, time.Minute))
	must(t, s.Release(t.Context(), ref, fence))
	claimNew(t, s, request(ref, "key1", "call1"))
	must(t, s.ReleaseClaim(t.Context(), ref, 0, "key1", "call1"))
	claimNew(t, s, request(ref, "key2", "call2"))
	view := s.View("shop", "n")
	contents(t, view)
	_, _, err = view.Get(t.Context(), "k")
	must(t, err)
	_, err = view.Scan(t.Context(), abi.ScanQuery{KeysOnly: true})
	must(t, err)
	must(t, view.Put("k", []byte("1")))
	must(t, view.Delete("none"))
	st := settlement(request(ref, "key2", "call2"), `1`)
	st.Views, st.State = []*View{view}, []Change{{Key: "k", Data: []byte("1")}}
	must(t, s.Settle(t.Context(), st))
	must(t, s.SaveState(t.Context(), ref, Change{Key: "k", Version: 1, Data: []byte("2")}, Change{Key: "l", Data: []byte("2")}))
	loadOne(t, s, ref, "k")
	_, err = s.ListState(t.Context(), ref, "", "", 0)
	must(t, err)
	_, err = s.Sessions(t.Context(), ref.Tenant, ref.User, "", 0)
	must(t, err)
	must(t, s.Fork(t.Context(), "shop", "child"))
	must(t, s.Import(t.Context(), "child", "n", manyEntries(3)))
	wantKeysOf(t, s, "child", "key/000000", "key/000001", "key/000002")
	_, err = s.Records(t.Context(), "shop", RecordFilter{Kinds: []host.RecordKind{host.RecordIntent}})
	must(t, err)
	a := ask(t, s, "call3", "digest3")
	answer(t, s, a, "boss", true)
	wantUse(t, s, a, "call3", true, ApprovalUsed)
	_, _, err = s.Approval(t.Context(), "shop", a.ID)
	must(t, err)
	_, _, err = s.FindApproval(t.Context(), ref, "digest3")
	must(t, err)
	for _, f := range []ApprovalFilter{{}, {Session: ref}, {Session: ref, Status: ApprovalOpen}, {Status: ApprovalOpen}} {
		listed(t, s, f)
	}
	given := addGrant(t, s, standing("", "tool"), time.Minute)
	wantGrants(t, s, "s1", "tool")
	_, err = s.StandingGrantsOf(t.Context(), "shop", "ann", "", 0)
	must(t, err)
	_, err = s.RevokeStandingGrant(t.Context(), "shop", "ann", given.ID)
	must(t, err)
	fill(t, s, host.SessionRef{Tenant: "shop", User: "ann", Session: "old"}, 2)
	_, _, err = s.LastDone(t.Context(), ref, setPrice, "")
	must(t, err)
	_, _, err = s.LastDone(t.Context(), ref, setPrice, "1001")
	must(t, err)
	_, err = s.CountDone(t.Context(), ref, setPrice, time.Hour)
	must(t, err)
	for _, purge := range []func(context.Context, time.Duration) (int, error){s.PurgeDone, s.PurgeApprovals, s.PurgeStandingGrants} {
		_, err := purge(t.Context(), 0)
		must(t, err)
	}
	_, err = s.PurgeClaims(t.Context(), MinClaimAge)
	must(t, err)
	_, err = s.PurgeSession(t.Context(), host.SessionRef{Tenant: "shop", User: "ann", Session: "old"}, 0)
	must(t, err)
	turn, err := s.TakeJob(t.Context(), JobRequest{Name: "j", Holder: "a", Every: time.Hour, Lease: time.Minute})
	must(t, err)
	must(t, s.RenewJob(t.Context(), "j", turn.Fence, time.Minute))
	must(t, s.FinishJob(t.Context(), "j", turn.Fence, JobEnd{}))
	_, err = s.Jobs(t.Context(), "", 0)
	must(t, err)
	_, err = s.StartLive(t.Context(), "shop", "l", []byte(`{}`))
	must(t, err)
	owed, _, err := s.EndLive(t.Context(), "shop", "l", time.Minute)
	must(t, err)
	_, _, err = s.TakeOwed(t.Context(), owed, 0)
	must(t, err)
	must(t, s.SettleOwed(t.Context(), owed, "away"))
	_, err = s.ReviveOwed(t.Context())
	must(t, err)
	must(t, s.SettleOwed(t.Context(), owed, ""))
	_, err = s.DueEnds(t.Context(), 0)
	must(t, err)
	_, _, err = s.OwedEnd(t.Context(), ref)
	must(t, err)
	_, _, err = s.Live(t.Context(), "shop", "l")
	must(t, err)
	_, err = s.Lives(t.Context(), "shop", "", 0)
	must(t, err)
	sealAll(t, s)
	must(t, s.sweepLanes(t.Context()))
	must(t, s.Ping(t.Context()))
	must(t, s.Close())
	openAt(t, url, Options{})
}

// TestOtherDatabasesParsersTakeEveryStatement holds the statements against the
// parsers of TiDB and Vitess: those that the store has, and those that a server
// was really asked, so that none is left out.
func TestOtherDatabasesParsersTakeEveryStatement(t *testing.T) {
	tidb := parser.New()
	vitess := sqlparser.NewTestParser()
	all := statements(t)
	said := issued(t)
	for _, statement := range slices.Concat(all, said) {
		node, err := tidb.ParseOneStmt(statement, "", "")
		if err != nil {
			t.Errorf("TiDB: %s\n%v", statement, err)
			continue
		}
		if refused := refusedByTiDB(node); refused != "" {
			t.Errorf("TiDB refuses %s: %s", refused, statement)
		}
		if _, err := vitess.ParseStrictDDL(statement); err != nil {
			t.Errorf("Vitess: %s\n%v", statement, err)
		}
	}
	if len(said) < 40 {
		t.Errorf("the server was asked only %d statements", len(said))
	}
}

// A refusal looks for what TiDB parses and then refuses or does not keep:
// shared locks, user locks, foreign keys, and other isolation than its own.
type refusal struct{ what string }

func refusedByTiDB(node ast.StmtNode) string {
	var r refusal
	node.Accept(&r)
	return r.what
}

func (r *refusal) Enter(n ast.Node) (ast.Node, bool) {
	switch n := n.(type) {
	case *ast.SelectStmt:
		if n.LockInfo != nil && n.LockInfo.LockType != ast.SelectLockForUpdate {
			r.what = "the lock " + n.LockInfo.LockType.String()
		}
	case *ast.FuncCallExpr:
		if strings.Contains(n.FnName.L, "lock") {
			r.what = n.FnName.L
		}
	case *ast.Constraint:
		if n.Tp == ast.ConstraintForeignKey || n.Tp == ast.ConstraintFulltext {
			r.what = "a foreign key or full text index"
		}
	case *ast.VariableAssignment:
		if text, ok := n.Value.(ast.ValueExpr); ok && n.Name == "tx_isolation" && !strings.EqualFold(fmt.Sprint(text.GetValue()), "READ-COMMITTED") {
			r.what = fmt.Sprint("isolation ", text.GetValue())
		}
	}
	return n, false
}

func (r *refusal) Leave(n ast.Node) (ast.Node, bool) { return n, true }

func TestRefusalsAreSeen(t *testing.T) {
	for _, statement := range []string{
		"SELECT a FROM b WHERE c = ? LOCK IN SHARE MODE", "SELECT a FROM b WHERE c = ? FOR SHARE", "SELECT a FROM b FOR UPDATE NOWAIT",
		"SELECT GET_LOCK('a', 1)", "CREATE TABLE a (b BIGINT, FOREIGN KEY (b) REFERENCES c (d))",
		"SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
	} {
		node, err := parser.New().ParseOneStmt(statement, "", "")
		must(t, err)
		if refusedByTiDB(node) == "" {
			t.Errorf("nothing is said against %s", statement)
		}
	}
}
