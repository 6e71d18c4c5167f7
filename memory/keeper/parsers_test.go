//go:build !race

package keeper

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb/pkg/parser"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver"
	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// TestEveryStatementIsOneOfTiDBAndVitess has a keeper do what it can do, and gives
// what it said to the parsers of the databases that no test runs on.
func TestEveryStatementIsOneOfTiDBAndVitess(t *testing.T) {
	said := &recorder{told: map[string]bool{}}
	r := newRig(t, mariadb.Database(t))
	r.db = said.around(r.db)
	exercise(t, r)
	migrated(t, said)
	if len(said.told) < 80 {
		t.Errorf("only %d statements were said: the test sees little", len(said.told))
	}
	vitess, err := sqlparser.New(sqlparser.Options{MySQLServerVersion: "8.0.30"})
	must(t, err)
	for _, statement := range slices.Sorted(maps.Keys(said.told)) {
		if _, _, err := parser.New().Parse(statement, "", ""); err != nil {
			t.Errorf("TiDB: %v\n%s", err, statement)
		}
		if _, err := vitess.ParseStrictDDL(statement); err != nil {
			t.Errorf("Vitess: %v\n%s", err, statement)
		}
	}
}

// migrated notes what the migrations say, which the database's owner runs: the words
// that every schema has are its.
func migrated(t *testing.T, by *recorder) {
	t.Helper()
	common := strings.NewReplacer("{id}", "VARBINARY(128)", "{key}", "VARBINARY(512)", "{bytes}", "LONGBLOB", "{clustered}", "ENGINE=InnoDB")
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	must(t, err)
	for _, name := range names {
		text, err := migrationFiles.ReadFile(name)
		must(t, err)
		for statement := range strings.SplitSeq(common.Replace(wordsOf(host.MySQL).Replace(string(text))), ";\n") {
			if strings.TrimSpace(statement) != "" {
				by.note(statement)
			}
		}
	}
}

func exercise(t *testing.T, r rig) {
	t.Helper()
	k := r.open(func(c *Config) { c.Embedder, c.Unjudged, c.Shared = &fakeEmbedder{}, true, true })
	eve := Owner{"shop", "eve"}
	contradict(t, k, eve)
	k.testOnlyAsk(t, eve)
	id := contradict(t, k, ann)
	derived := memory.Node{Text: "made of it", Layer: memory.Behaviour, Kind: memory.Habit, Entity: "e", Source: memory.Source{Session: "s", Input: "i", Derived: []memory.ID{id}}}
	k.testOnlyRemember(t, ann, derived, derived)
	waitForVectors(t, k, 5)
	recall(t, k, Query{Filter: of(ann), Text: "minutes"})
	must(t, k.keepCounts(t.Context()))
	k.testOnlyAdopt(t, ann, id)
	must(t, k.Pin(t.Context(), ann, id, true))
	decide(t, k, ann, "words", []memory.ID{id})
	_, err := k.ReplayTrust(t.Context(), ann)
	must(t, err)
	_, err = k.Trusts(t.Context(), ann)
	must(t, err)
	waiting, err := k.Waiting(t.Context(), ann)
	must(t, err)
	first, err := k.Asked(t.Context(), ann, waiting[0].ID, "s9", 1)
	if err != nil || !first {
		t.Fatal(first, err)
	}
	for _, old := range []time.Duration{time.Hour, 0} {
		_, err = k.TidyQuestions(t.Context(), eve, old)
		must(t, err)
		_, err = k.TidyGaps(t.Context(), eve, old)
		must(t, err)
	}
	for i := range 3 {
		_, err = k.Renew(t.Context(), ann, []memory.Node{priced("1001", 59, newClock().move(time.Duration(i)*time.Hour))})
		must(t, err)
	}
	_, err = k.Answer(t.Context(), ann, waiting[0].ID, memory.DefaultReconcile(), memory.Answer{Resolution: memory.Updated, Text: "open with 30 minutes"})
	must(t, err)
	_, err = k.Why(t.Context(), ann, id, memory.DefaultForget(), "en")
	must(t, err)
	_, err = k.Tidy(t.Context(), ann, memory.DefaultForget(), "en")
	must(t, err)
	_, err = k.Owners(t.Context(), Owner{})
	must(t, err)
	_, err = k.Newest(t.Context(), ann, memory.Declared, memory.Preference)
	must(t, err)
	var file strings.Builder
	_, err = k.Export(t.Context(), ann, &file, nil)
	must(t, err)
	_, err = k.Import(t.Context(), Owner{"shop", "bob"}, strings.NewReader(file.String()), memory.DefaultReconcile(), memory.LastWins)
	must(t, err)
	must(t, k.oneMoreTry(t.Context()))
	k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3))
	again := rules()
	again.Title = "another"
	k.testOnlyLearn(t, ann, again, paragraphs(1, 2, 4))
	pieces := k.testOnlyPieces(t, ann, again.ID)
	_, err = k.Around(t.Context(), ann, pieces, Room{1 << 20, 9})
	must(t, err)
	_, err = k.Forget(t.Context(), ann, Wish{IDs: pieces[:1]})
	must(t, err)
	_, err = k.Forget(t.Context(), ann, Wish{Document: again.ID})
	must(t, err)
	must(t, k.SyncVectors(t.Context(), nil))
	must(t, k.KeepVerdicts(t.Context(), []Verdict{verdictOn(&fakeEmbedder{}, true)}))
	_, _, err = k.verdict(t.Context())
	must(t, err)
	_, err = k.Verdicts(t.Context())
	must(t, err)
	_, err = k.State(t.Context())
	must(t, err)
	must(t, k.trim(t.Context(), 0))
	_, err = k.Forget(t.Context(), ann, Wish{Entity: "e"})
	must(t, err)
	_, err = k.Forget(t.Context(), ann, Wish{IDs: []memory.ID{id}})
	must(t, err)
	_, err = k.Forget(t.Context(), ann, Wish{All: true})
	must(t, err)
	_, err = k.Archive(t.Context(), Owner{"shop", "bob"}, k.testOnlyRemember(t, Owner{"shop", "bob"}, said("old")), "age")
	must(t, err)
	_, err = k.Purge(t.Context(), Owner{"shop", "bob"}, 0)
	must(t, err)
	_, err = k.Receipts(t.Context(), ann, "")
	must(t, err)
	must(t, k.Close())
}
