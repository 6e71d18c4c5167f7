package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
)

// benchRecords are as large as those of a real call.
func benchRecords(n, count int) []host.Record {
	var records []host.Record
	for i := range count / 2 {
		pair := call(ann, n+i)
		pair[0].Detail = json.RawMessage(`{"args":{"sku":"1001","price":89},"notes":["` + strings.Repeat("n", 400) + `"]}`)
		records = append(records, pair...)
	}
	return records
}

func benchOnBoth(b *testing.B, bench func(b *testing.B, r room)) {
	b.Run("sqlite", func(b *testing.B) { bench(b, roomAt(b, filepath.Join(b.TempDir(), "store.db"))) })
	b.Run("mariadb", func(b *testing.B) { bench(b, roomAt(b, mariadb.Database(b))) })
}

// BenchmarkSeal seals records that are there already, and tells the bytes that
// the log takes for each beside the record itself.
func BenchmarkSeal(b *testing.B) {
	benchOnBoth(b, func(b *testing.B, r room) {
		const records = 10_000
		var sealing time.Duration
		for i := 0; b.Loop(); i++ {
			for n := 0; n < records; n += 250 {
				must(b, r.Store.Record(context.Background(), benchRecords(i*records+n, 250)...))
			}
			begun := time.Now()
			if n := r.seal(b, "shop"); n != records {
				b.Fatal(n)
			}
			sealing += time.Since(begun)
		}
		b.ReportMetric(float64(b.N*records)/sealing.Seconds(), "sealed/s")
		b.ReportMetric(float64(r.bytes(b))/float64(b.N*records), "B/record")
	})
}

// bytes gives what the tables of the log take.
func (r room) bytes(b *testing.B) (bytes int64) {
	db := r.raw(b)
	query := "SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ('audit_leaf', 'audit_tile')"
	if filepath.IsAbs(r.dsn) {
		query = "SELECT SUM(pgsize) FROM dbstat WHERE name IN ('audit_leaf', 'audit_tile')"
	} else if _, err := db.Exec("ANALYZE TABLE audit_leaf, audit_tile"); err != nil {
		b.Fatal(err)
	}
	must(b, db.QueryRow(query).Scan(&bytes))
	return bytes
}

// BenchmarkLag keeps records at a steady pace while a sequencer runs, and tells
// how long after it was kept each was sealed.
func BenchmarkLag(b *testing.B) {
	for _, rate := range []int{200, 3000} {
		b.Run(fmt.Sprint(rate), func(b *testing.B) {
			benchOnBoth(b, func(b *testing.B, r room) {
				r.Now = nil
				ctx, stop := context.WithCancel(context.Background())
				var running sync.WaitGroup
				running.Go(func() { r.Run(ctx) })
				var ages []time.Duration
				for i := 0; b.Loop(); i++ {
					ages = append(ages, r.steady(b, i, rate)...)
				}
				stop()
				running.Wait()
				slices.Sort(ages)
				if len(ages) == 0 {
					b.Fatal("nothing was sealed")
				}
				b.ReportMetric(float64(ages[len(ages)/2].Milliseconds()), "p50-ms")
				b.ReportMetric(float64(ages[len(ages)*99/100].Milliseconds()), "p99-ms")
			})
		})
	}
}

// steady keeps records for some seconds, and gives the age of the oldest that is
// not sealed, looked at all the time: what a record that comes now waits at most.
func (r room) steady(b *testing.B, round, rate int) (ages []time.Duration) {
	const seconds, batch = 5, 50
	every := time.Second * batch / time.Duration(rate)
	begun := time.Now()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := range seconds * rate / batch {
			time.Sleep(time.Until(begun.Add(time.Duration(n) * every)))
			if err := r.Store.Record(context.Background(), benchRecords(round*1_000_000+n*batch, batch)...); err != nil {
				b.Error(err)
			}
		}
	}()
	for {
		lag, err := r.Lag(context.Background())
		must(b, err)
		ages = append(ages, lag.Age)
		select {
		case <-ended:
			return ages
		case <-time.After(20 * time.Millisecond):
		}
	}
}
