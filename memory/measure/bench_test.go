package measure

import (
	"testing"

	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/index"
)

// BenchmarkScale takes the table's figures once: -benchtime 1x.
func BenchmarkScale(b *testing.B) {
	for b.Loop() {
		scaled, err := Scale(b.Context(), func() memory.Store { return index.New() }, Usual(), 1)
		if err != nil {
			b.Fatal(err)
		}
		for _, row := range NewReport(nil, &scaled, nil).Rows {
			b.Logf("%s: %s", row.Measure, row.number(row.Value))
		}
	}
}

func BenchmarkOneUsersSearch(b *testing.B) { benchmarkSearch(b, false) }
func BenchmarkAllUsersSearch(b *testing.B) { benchmarkSearch(b, true) }

func benchmarkSearch(b *testing.B, all bool) {
	m, store := newMaker(Usual(), 1), index.New()
	if _, _, err := m.fill(b.Context(), store); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		user := m.user()
		if all {
			user = ""
		}
		if _, err := m.ask(b.Context(), store, user); err != nil {
			b.Fatal(err)
		}
	}
}
