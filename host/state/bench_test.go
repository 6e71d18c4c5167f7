package state

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
)

// databases are those that the benchmarks run on.
func databases() []database { return []database{sqliteDatabase(), mariadbDatabase()} }

// BenchmarkBareCommit is the floor: one synced transaction with one row on
// the same driver and settings, without the store.
func BenchmarkBareCommit(b *testing.B) {
	for _, d := range databases() {
		b.Run(d.name, func(b *testing.B) {
			from, err := sourceOf(d.fresh(b), Options{})
			if err != nil {
				b.Fatal(err)
			}
			p, err := from.connect(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			defer p.writes.Close()
			defer p.reads.Close()
			defer p.schema.Close()
			if _, err := p.schema.Exec(from.dialect.words.Replace("CREATE TABLE t (id {serial}, value {bytes})")); err != nil {
				b.Fatal(err)
			}
			insert, err := p.schema.Prepare("INSERT INTO t (value) VALUES (?)")
			if err != nil {
				b.Fatal(err)
			}
			value := make([]byte, 200)
			latencies := latencies{}
			for b.Loop() {
				begun := time.Now()
				if _, err := insert.Exec(value); err != nil {
					b.Fatal(err)
				}
				latencies.add(begun)
			}
			latencies.report(b)
		})
	}
}

// BenchmarkCall is one durable write: Claim, a get and a put in a view, Settle
// with a row of the totals.
func BenchmarkCall(b *testing.B) {
	for _, d := range databases() {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", d.name, callers), func(b *testing.B) {
				s := d.open(b)
				for c := range callers { // every session and key is there before
					if err := durableCall(s, callerSession(c), callerKey(c)); err != nil {
						b.Fatal(err)
					}
				}
				b.ResetTimer()
				benchCalls(b, s, callers)
			})
		}
	}
}

func benchCalls(b *testing.B, s *Store, callers int) {
	var next atomic.Int64
	var wg sync.WaitGroup
	latencies := latencies{}
	for c := range callers {
		wg.Go(func() {
			for next.Add(1) <= int64(b.N) {
				begun := time.Now()
				if err := durableCall(s, callerSession(c), callerKey(c)); err != nil {
					b.Error(err)
					return
				}
				latencies.add(begun)
			}
		})
	}
	wg.Wait()
	latencies.report(b)
}

func callerSession(c int) host.SessionRef {
	return host.SessionRef{Tenant: "shop", User: "ann", Session: host.SessionID(fmt.Sprint("s", c))}
}

func callerKey(c int) string { return fmt.Sprint("product/", c) }

// BenchmarkLoadSession reads a session of 10,000 messages from its start to its
// end, as the agent does, beside two others.
func BenchmarkLoadSession(b *testing.B) {
	for _, d := range databases() {
		b.Run(d.name, func(b *testing.B) {
			s := d.open(b)
			const messages = 10_000
			for c := range 3 {
				saySession(b, s, callerSession(c), messages)
			}
			latencies := latencies{}
			for b.Loop() {
				begun := time.Now()
				if n := loadSession(b, s, callerSession(1)); n != messages {
					b.Fatalf("%d messages", n)
				}
				latencies.add(begun)
			}
			latencies.report(b)
		})
	}
}

func saySession(b *testing.B, s *Store, ref host.SessionRef, messages int) {
	b.Helper()
	for first := 0; first < messages; first += MaxKeys {
		var changes []Change
		for i := range MaxKeys {
			data := fmt.Appendf(nil, `{"role":"user","text":"%0200d"}`, first+i)
			changes = append(changes, Change{Key: fmt.Sprintf("message/%08d", first+i), Data: data})
		}
		if err := s.SaveState(b.Context(), ref, changes...); err != nil {
			b.Fatal(err)
		}
	}
}

func loadSession(b *testing.B, s *Store, ref host.SessionRef) (messages int) {
	b.Helper()
	for after := ""; ; {
		page, err := s.ListState(b.Context(), ref, "message/", after, 0)
		if err != nil {
			b.Fatal(err)
		}
		if len(page) == 0 {
			return messages
		}
		messages += len(page)
		after = page[len(page)-1].Key
	}
}

// latencies collects how long each operation took.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration // guarded by mu
}

func (l *latencies) add(begun time.Time) {
	took := time.Since(begun)
	l.mu.Lock()
	l.all = append(l.all, took)
	l.mu.Unlock()
}

// report gives the median and the throughput.
func (l *latencies) report(b *testing.B) {
	slices.Sort(l.all)
	if n := len(l.all); n > 0 {
		b.ReportMetric(float64(l.all[n/2].Microseconds()), "p50-us")
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "ops/s")
	}
}

func durableCall(s *Store, ref host.SessionRef, key string) error {
	ctx := context.Background()
	call, detail := host.CallID(host.NewID("call_")), json.RawMessage(`{"args":{"sku":"1001","price":89,"currency":"CNY"},"tier":"auto"}`)
	record := host.Record{Call: call, Kind: host.RecordIntent, Tool: "shop.pricing.set_price", Release: "shop.pricing@1.4.0", Key: host.Key(call), Detail: detail}
	claim, err := s.Claim(ctx, ClaimRequest{Session: ref, Key: host.Key(call), Digest: "d", Call: call, Lease: time.Minute, Intent: record})
	if err != nil || claim.State != ClaimNew {
		return fmt.Errorf("%v %w", claim, err)
	}
	view := s.View(ref.Tenant, "prices")
	if _, _, err := view.Get(ctx, key); err != nil {
		return err
	}
	if err := view.Put(key, detail); err != nil {
		return err
	}
	record.Kind = host.RecordOutcome
	return s.Settle(ctx, Settlement{Session: ref, Call: call, Key: host.Key(call), Outcome: detail, Views: []*View{view},
		Done: &Done{Tool: record.Tool, Targets: []string{key}, Args: detail}, Records: []host.Record{record}})
}
