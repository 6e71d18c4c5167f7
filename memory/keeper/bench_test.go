package keeper

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
)

// A benchmark's text is a sentence of words that are used as often as words are.
func sentence(random *rand.Rand) string {
	zipf := rand.NewZipf(random, 1.1, 4, 20_000)
	words := make([]string, 18)
	for i := range words {
		words[i] = fmt.Sprintf("word%d", zipf.Uint64())
	}
	return strings.Join(words, " ")
}

func turn(random *rand.Rand, i int) memory.Node {
	n := said(sentence(random))
	n.Source = memory.Source{Session: host.SessionID(fmt.Sprint("s", i/20)), Order: int64(i%20 + 1), Speaker: "ann"}
	return n
}

// benchRig is a database outside of memory file systems, as far as the test's folder is.
func benchRig(b *testing.B) rig {
	dsn := filepath.Join(b.TempDir(), "store.db")
	s, err := state.Open(b.Context(), dsn, state.Options{})
	must(b, err)
	b.Cleanup(func() { must(b, s.Close()) })
	return rig{t: b, dsn: dsn, db: s.Database()}
}

// BenchmarkRemember writes one memory after another, each durable (SQLite,
// synchronous=FULL), while the index follows. A user has some thousand memories
// before.
func BenchmarkRemember(b *testing.B) {
	k := benchRig(b).open()
	random := rand.New(rand.NewPCG(1, 2))
	fillTruth(b, k, 1, 5_000)
	var took []time.Duration
	i := 0
	for b.Loop() {
		n := turn(random, 5_000+i)
		i++
		begun := time.Now()
		_, err := k.Remember(b.Context(), Owner{"shop", "user0"}, []memory.Node{n})
		must(b, err)
		took = append(took, time.Since(begun))
	}
	report(b, took)
}

// BenchmarkDeclare settles one declaration after another with those of its matter, of a
// user of 10,000 memories.
func BenchmarkDeclare(b *testing.B) {
	k := benchRig(b).open(func(c *Config) { c.Poll = time.Hour })
	fillTruth(b, k, 1, 10_000)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		n := pricing(memory.Preference, memory.Between("price", float64(i), float64(i), "元"), time.Now())
		begun := time.Now()
		_, err := k.Declare(b.Context(), Owner{"shop", "user0"}, n, memory.LastWins)
		must(b, err)
		took = append(took, time.Since(begun))
	}
	report(b, took)
}

// BenchmarkBareCommit is the floor of the one before: a synced transaction with one
// small row.
func BenchmarkBareCommit(b *testing.B) {
	r := benchRig(b)
	k := r.open()
	var took []time.Duration
	for b.Loop() {
		begun := time.Now()
		must(b, k.db.Write(b.Context(), func(ctx context.Context, on host.Statements) error {
			_, err := on.ExecContext(ctx, "UPDATE memory_head SET scrubbed = scrubbed + 1 WHERE head_no = 1")
			return err
		}))
		took = append(took, time.Since(begun))
	}
	report(b, took)
}

// BenchmarkRecall recalls of one user among many, with the memories' texts.
func BenchmarkRecall(b *testing.B) {
	k := benchRig(b).open(func(c *Config) { c.Poll = time.Hour })
	random := rand.New(rand.NewPCG(1, 2))
	fillTruth(b, k, 1000, 100_000)
	must(b, k.Rebuild(b.Context(), nil))
	var took []time.Duration
	for b.Loop() {
		q := Query{Filter: of(Owner{"shop", host.UserID(fmt.Sprint("user", random.IntN(1000)))}), Text: sentence(random)[:40]}
		begun := time.Now()
		_, err := k.Recall(b.Context(), q)
		must(b, err)
		took = append(took, time.Since(begun))
	}
	report(b, took)
}

// BenchmarkRebuild fills the index from 100,000 memories of 1,000 users.
func BenchmarkRebuild(b *testing.B) {
	k := benchRig(b).open(func(c *Config) { c.Poll = time.Hour })
	fillTruth(b, k, 1000, 100_000)
	for b.Loop() {
		must(b, k.Rebuild(b.Context(), nil))
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "memories/s")
}

// fillTruth writes memories of some users past the search for doubles.
func fillTruth(b *testing.B, k *Keeper, users, memories int) {
	b.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	for at := 0; at < memories; at += 2_000 {
		must(b, k.change(b.Context(), func(ctx context.Context, t *tx) error {
			for i := at; i < min(at+2_000, memories); i++ {
				n := t.fresh(Owner{"shop", host.UserID(fmt.Sprint("user", i%users))}, turn(random, i/users))
				if err := t.addNew(ctx, stored{Node: n}, bandsOf(n)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

// BenchmarkConstraints gives the constraints of a user of 10,000 memories, as every
// input asks for them: by going through all of them, and by what is kept for it.
func BenchmarkConstraints(b *testing.B) {
	for _, on := range []struct {
		name string
		rig  func() rig
	}{{"sqlite", func() rig { return benchRig(b) }}, {"mariadb", func() rig { return newRig(b, mariadb.Database(b)) }}} {
		b.Run(on.name, func(b *testing.B) {
			k := on.rig().open(func(c *Config) { c.Poll = time.Hour })
			fillTruth(b, k, 1, 10_000)
			o := Owner{"shop", "user0"}
			for i := range 40 {
				n := said(fmt.Sprintf("never do number %d or %d", i*7, i*31))
				n.Kind = memory.Constraint
				k.testOnlyRemember(b, o, n)
			}
			for _, way := range []struct {
				name string
				do   func() (int, error)
			}{
				{"all", func() (n int, err error) {
					for after, more := memory.ID(""), true; more && err == nil; {
						var page []memory.Node
						page, err = k.List(b.Context(), o, Page{After: after, Kinds: []memory.Kind{memory.Constraint}, Statuses: []memory.Status{memory.Active}})
						if n, more = n+len(page), len(page) == MaxPage; len(page) > 0 {
							after = page[len(page)-1].ID
						}
					}
					return n, err
				}},
				{"kept", func() (int, error) {
					_, n, err := k.Constraints(b.Context(), o, 10)
					return n, err
				}},
			} {
				b.Run(way.name, func(b *testing.B) {
					var took []time.Duration
					for b.Loop() {
						begun := time.Now()
						n, err := way.do()
						must(b, err)
						took = append(took, time.Since(begun))
						if n != 40 {
							b.Fatalf("%d constraints", n)
						}
					}
					report(b, took)
				})
			}
		})
	}
}

// onEach runs a benchmark on every database that the host's store is for.
func onEach(b *testing.B, run func(b *testing.B, r rig)) {
	b.Run("sqlite", func(b *testing.B) { run(b, benchRig(b)) })
	b.Run("mariadb", func(b *testing.B) { run(b, newRig(b, mariadb.Database(b))) })
}

// fillFacts gives a user facts: what was declared is read for every forgetting.
func fillFacts(b *testing.B, k *Keeper, memories int) {
	b.Helper()
	fillTruth(b, k, 1, memories)
	must(b, k.change(b.Context(), func(ctx context.Context, t *tx) error {
		_, err := exec(ctx, t.on, "UPDATE memory_node SET layer = 2")
		return err
	}))
}

// BenchmarkForget forgets 1,000 memories of a user of 10,000, by what they are about.
func BenchmarkForget(b *testing.B) {
	const gone = 1_000
	onEach(b, func(b *testing.B, r rig) {
		r.db.Scrub = nil // writes the whole file anew, whatever is forgotten
		k := r.open(func(c *Config) { c.Store, c.Poll = nil, time.Hour })
		fillFacts(b, k, 10_000)
		random := rand.New(rand.NewPCG(5, 6))
		for b.Loop() {
			b.StopTimer()
			for range gone / 250 {
				var some []memory.Node
				for i := range 250 {
					n := turn(random, i)
					n.Entity, n.Layer, n.Kind = "1001", memory.Fact, memory.FactOf
					some = append(some, n)
				}
				k.testOnlyRemember(b, Owner{"shop", "user0"}, some...)
			}
			b.StartTimer()
			_, err := k.Forget(b.Context(), Owner{"shop", "user0"}, Wish{Entity: "1001"})
			must(b, err)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/gone/float64(b.N), "ms/memory")
	})
}

// BenchmarkForgetDocument forgets a document of one piece of a user of 10,000 memories.
func BenchmarkForgetDocument(b *testing.B) {
	onEach(b, func(b *testing.B, r rig) {
		r.db.Scrub = nil
		k := r.open(func(c *Config) { c.Store, c.Poll = nil, time.Hour })
		fillFacts(b, k, 10_000)
		o := Owner{"shop", "user0"}
		for b.Loop() {
			b.StopTimer()
			_, err := k.Learn(b.Context(), o, rules(), strings.NewReader(paragraph(1)), nil)
			must(b, err)
			b.StartTimer()
			_, err = k.Forget(b.Context(), o, Wish{Document: "rules.md"})
			must(b, err)
		}
	})
}

// BenchmarkListKind gives the first page of one kind of a user of 10,000 memories.
func BenchmarkListKind(b *testing.B) {
	onEach(b, func(b *testing.B, r rig) {
		k := r.open(func(c *Config) { c.Store, c.Poll = nil, time.Hour })
		fillTruth(b, k, 1, 10_000)
		for b.Loop() {
			page, err := k.List(b.Context(), Owner{"shop", "user0"}, Page{Kinds: []memory.Kind{memory.Preference}, Limit: 20})
			if must(b, err); len(page) != 20 {
				b.Fatalf("%d memories", len(page))
			}
		}
	})
}
