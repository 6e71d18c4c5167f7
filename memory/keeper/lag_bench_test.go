package keeper

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// BenchmarkLag has one replica learn something and another one recall it, each with an
// index of its own on one database: the time from the end of Remember, which is durable
// then, until the other one's Recall gives it. Beside it the first one writes as fast as
// the load says. Run it with -benchtime=250x: a turn takes as long as a follower rests.
func BenchmarkLag(b *testing.B) {
	for _, database := range []struct {
		name  string
		fresh func(b *testing.B) rig
	}{
		{"sqlite", benchRig},
		{"mariadb", func(b *testing.B) rig { return newRig(b, mariadb.Database(b)) }},
	} {
		for _, load := range []int{0, 200} {
			b.Run(fmt.Sprintf("%s/%d-writes-a-second", database.name, load), func(b *testing.B) {
				r := database.fresh(b)
				one, other := r.open(), r.again().open()
				write := startLoad(b, one, load)
				took := lags(b, one, other)
				write()
				reportLags(b, took)
			})
		}
	}
}

// lags measures one learning after another, each at another moment of the follower's rest.
func lags(b *testing.B, one, other *Keeper) (took []time.Duration) {
	random := rand.New(rand.NewPCG(5, 6))
	for i := 0; b.Loop(); i++ {
		time.Sleep(time.Duration(random.Int64N(int64(DefaultPoll))))
		word := fmt.Sprintf("learnt%dword%d", i, random.IntN(1_000_000))
		_, err := one.Remember(b.Context(), ann, []memory.Node{said(sentence(random) + " " + word)})
		must(b, err)
		begun := time.Now()
		for {
			hits, err := other.Recall(b.Context(), Query{Filter: of(ann), Text: word, Limit: 1, Quiet: true})
			must(b, err)
			if len(hits) > 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		took = append(took, time.Since(begun))
	}
	return took
}

// startLoad writes memories of other users, so many a second as far as the database
// keeps up. The function that it gives ends that, and reports how many there were.
func startLoad(b *testing.B, k *Keeper, perSecond int) (stop func()) {
	if perSecond == 0 {
		return func() {}
	}
	const hands = 24 // at once: each waits for its commit
	ctx, cancel := context.WithCancel(b.Context())
	begun, written := time.Now(), make([]int, hands)
	var writing sync.WaitGroup
	for hand := range hands {
		writing.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(hand)))
			pace := time.NewTicker(hands * time.Second / time.Duration(perSecond))
			defer pace.Stop()
			for ctx.Err() == nil {
				o := Owner{"shop", host.UserID(fmt.Sprint("user", random.IntN(1000)))}
				if _, err := k.Remember(ctx, o, []memory.Node{turn(random, written[hand])}); err == nil {
					written[hand]++
				} else if ctx.Err() == nil {
					b.Error(err)
					return
				}
				select {
				case <-pace.C:
				case <-ctx.Done():
				}
			}
		})
	}
	return func() {
		took := time.Since(begun)
		cancel()
		writing.Wait()
		all := 0
		for _, n := range written {
			all += n
		}
		b.ReportMetric(float64(all)/took.Seconds(), "writes/s")
	}
}

func reportLags(b *testing.B, took []time.Duration) {
	report(b, took) // sorts them
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}
