package keeper

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/memory"
)

func TestTheNewestOfSomeKindsComeFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c))
		keep := func(o Owner, layer memory.Layer, kind memory.Kind, text string) memory.ID {
			c.move(time.Minute)
			return k.testOnlyRemember(t, o, memory.Node{Text: text, Layer: layer, Kind: kind, Trust: .8, At: c.now()})[0]
		}
		keep(ann, memory.Declared, memory.Preference, "one")
		keep(ann, memory.Declared, memory.Feedback, "two")
		keep(ann, memory.Declared, memory.Constraint, "of another kind")
		keep(ann, memory.Behaviour, memory.Preference, "of another layer")
		keep(Owner{ann.Tenant, "bob"}, memory.Declared, memory.Preference, "of another user")
		gone := keep(ann, memory.Declared, memory.Preference, "wrong")
		keep(ann, memory.Declared, memory.Preference, "three")
		must(t, k.Falsify(t.Context(), ann, gone, ""))
		over := memory.Node{Text: "over", Layer: memory.Declared, Kind: memory.Preference, Trust: .8, At: c.now(), Valid: memory.Span{From: c.now().Add(-time.Hour), Until: c.now().Add(time.Minute)}}
		k.testOnlyRemember(t, ann, over)
		c.move(time.Hour)
		all, err := k.Newest(t.Context(), ann, memory.Declared, memory.Preference, memory.Feedback)
		must(t, err)
		var texts []string
		for _, n := range all {
			texts = append(texts, n.Text)
		}
		if got := strings.Join(texts, " "); got != "three two one" {
			t.Errorf("the newest are %q", got)
		}
	})
}

func TestTheNewestAreReadFromTheirIndexAlone(t *testing.T) {
	k := sqliteRig(t).open()
	var plan []string
	must(t, each(t.Context(), k.db.Reads, "EXPLAIN QUERY PLAN "+newestOfKind, []any{"shop", "ann", "preference", "active", 1, 1}, func(rows *sql.Rows) error {
		var id, parent, unused int
		var detail string
		err := rows.Scan(&id, &parent, &unused, &detail)
		plan = append(plan, detail)
		return err
	}))
	if len(plan) != 1 || !strings.Contains(plan[0], "COVERING INDEX memory_node_kind") || strings.Count(plan[0], "=?") != 5 {
		t.Errorf("it is done by %q", plan)
	}
}
