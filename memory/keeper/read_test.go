package keeper

import (
	"context"
	"database/sql"
	"strings"
	"testing"
)

// A page of what is about one thing, or of one layer, begins where the one before ended.
func TestPagesAreReadOnInTheIndex(t *testing.T) {
	k := sqliteRig(t).open()
	for query, args := range map[string][]any{
		idsAbout:   {"shop", "ann", "x", "active", 2, "x", 1},
		idsOfLayer: {"shop", "ann", "active", 2, "x", 1},
	} {
		var plan []string
		must(t, each(context.Background(), k.db.Reads, "EXPLAIN QUERY PLAN "+query, args, func(rows *sql.Rows) error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			plan = append(plan, detail)
			return err
		}))
		if text := strings.Join(plan, "; "); len(plan) != 1 || !strings.Contains(text, "COVERING INDEX") || !strings.Contains(text, "memory_id>?") {
			t.Errorf("%s\nis done by %s", query, text)
		}
	}
}
