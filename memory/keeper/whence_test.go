package keeper

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// An olderWriter writes memories as a Sluice did that knew neither of documents' columns
// nor of the table of sources.
type olderWriter struct{ host.Statements }

func (w olderWriter) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	switch query {
	case makeSource:
		return driver.RowsAffected(1), nil
	case makeNode:
		const at = 17 // of document_id
		query = strings.Replace(strings.Replace(query, "document_id, ", "", 1), "(?, ", "(", 1)
		args = append(args[:at:at], args[at+1:]...)
	}
	return w.Statements.ExecContext(ctx, query, args...)
}

// older gives a database as a Sluice of the fourth version has it.
func older(t testing.TB, db host.Database) host.Database {
	files := fstest.MapFS{}
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	must(t, err)
	for _, name := range names[:4] {
		text, err := migrationFiles.ReadFile(name)
		must(t, err)
		files[name] = &fstest.MapFile{Data: text}
	}
	migrate, write := db.Migrate, db.Write
	db.Migrate = func(ctx context.Context, s host.Schema) error {
		s.Files = files
		return migrate(ctx, s)
	}
	db.Write = func(ctx context.Context, run func(ctx context.Context, on host.Statements) error) error {
		return write(ctx, func(ctx context.Context, on host.Statements) error { return run(ctx, olderWriter{on}) })
	}
	return db
}

// What came of a document is found by it, whether it was written before there was a column
// for it, or by a replica that does not know of one yet.
func TestADocumentIsForgottenWholeWhateverSluiceWroteIt(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		const document = `C:\rules "of" <the> shop & more/规则` + "\u2028.md"
		number := 0
		write := func(k *Keeper) {
			for _, from := range []string{document, "", "other.md"} {
				number++
				k.testOnlyRemember(t, ann, memory.Node{Text: fmt.Sprintf("rule%d of many", number), Layer: memory.Fact, Kind: memory.FactOf, Source: memory.Source{Document: from}})
			}
		}
		before := rig{r.t, r.dsn, older(t, r.db)}.open(func(c *Config) { c.Store = nil })
		write(before)
		k := r.open(func(c *Config) { c.Store = nil })
		var unknown int
		_, err := row(t.Context(), r.db.Reads, "SELECT COUNT(*) FROM memory_node WHERE document_id IS NULL", nil, &unknown)
		if must(t, err); unknown != 0 {
			t.Errorf("of %d memories it is not known what they are of", unknown)
		}
		write(before)
		write(k)
		if page, err := k.List(t.Context(), ann, Page{Document: document}); err != nil || len(page) != 3 {
			t.Errorf("%d memories are of it, %v", len(page), err)
		}
		f, err := k.Forget(t.Context(), ann, Wish{Document: document})
		if must(t, err); len(f.Sources) != 3 {
			t.Errorf("%d memories were forgotten", len(f.Sources))
		}
		left := k.all(t, ann)
		for _, n := range left {
			if n.Source.Document == document {
				t.Errorf("%s is left", n.Text)
			}
		}
		if len(left) != 6 {
			t.Errorf("%d memories are left", len(left))
		}
	})
}

// Who forgets or imports a document does not wait for all other memories to be read.
func TestWhatIsOfADocumentIsReadAlone(t *testing.T) {
	said := &recorder{told: map[string]bool{}}
	r := sqliteRig(t)
	r.db = said.around(r.db)
	k := r.open(func(c *Config) { c.Store = nil })
	k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3))
	_, err := k.Forget(t.Context(), ann, Wish{Document: "rules.md"})
	must(t, err)
	if said.said(nodesAfter) {
		t.Error("all memories are gone through")
	}
	list, args := inList([]memory.ID{"x"})
	for query, args := range map[string][]any{placed + list: append(ownerArgs(ann), args...), idsFrom: {"shop", "ann", "x", "active", 2, "x", 1}} {
		if plan := strings.Join(planOf(t, k, query, args), "; "); !strings.Contains(plan, "COVERING INDEX") {
			t.Errorf("%s\nis done by %s", query, plan)
		}
	}
}

// planOf gives how SQLite does a statement.
func planOf(t *testing.T, k *Keeper, query string, args []any) (plan []string) {
	t.Helper()
	must(t, each(t.Context(), k.db.Reads, "EXPLAIN QUERY PLAN "+query, args, func(rows *sql.Rows) error {
		var id, parent, unused int
		var detail string
		err := rows.Scan(&id, &parent, &unused, &detail)
		plan = append(plan, detail)
		return err
	}))
	return plan
}

// counted counts statements.
type counted struct {
	host.Statements
	said *int
}

func (c counted) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	*c.said++
	return c.Statements.ExecContext(ctx, query, args...)
}

func (c counted) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	*c.said++
	return c.Statements.QueryContext(ctx, query, args...)
}
