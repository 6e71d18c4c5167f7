package state

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
)

// BenchmarkBareCommit is the floor: one synced transaction with one row on
// the same driver and settings, without the store.
func BenchmarkBareCommit(b *testing.B) {
	path := filepath.Join(b.TempDir(), "bare.db")
	if err := createSQLite(path); err != nil {
		b.Fatal(err)
	}
	pools, err := openSQLite(context.Background(), path)
	if err != nil {
		b.Fatal(err)
	}
	writes := pools.writes
	defer writes.Close()
	defer pools.reads.Close()
	if _, err := writes.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, value BLOB)"); err != nil {
		b.Fatal(err)
	}
	insert, err := writes.Prepare("INSERT INTO t (value) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	value := make([]byte, 200)
	for b.Loop() {
		if _, err := insert.Exec(value); err != nil {
			b.Fatal(err)
		}
	}
	report(b)
}

// BenchmarkCall is one durable write: Claim, a get and a put in a view, Settle.
func BenchmarkCall(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := openStore(b)
			b.ResetTimer()
			var next atomic.Int64
			var wg sync.WaitGroup
			for c := range callers {
				wg.Go(func() {
					ref := host.SessionRef{Tenant: "shop", User: "ann", Session: host.SessionID(fmt.Sprint("s", c))}
					for next.Add(1) <= int64(b.N) {
						if err := durableCall(s, ref, fmt.Sprint("product/", c)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			report(b)
		})
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
	return s.Settle(ctx, Settlement{Session: ref, Call: call, Key: host.Key(call), Outcome: detail, Views: []*View{view}, Records: []host.Record{record}})
}

func report(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}
