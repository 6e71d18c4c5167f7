//go:build stress

package state

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state/statetest"
)

func TestStressAServerThatIsKilledLosesAndRepeatsNothing(t *testing.T) { killServer(t, 60) }

// Two processes on one server, each killed again and again, and the server,
// too: every call is whole, and every confirmed one is there.
func TestStressProcessesAndTheirServerAreKilled(t *testing.T) {
	program, server := buildCrash(t), statetest.Start(t)
	dsn := server.Database(t)
	const rounds = 15
	confirmed := map[string]bool{}
	var mu sync.Mutex // guards confirmed
	for round := range rounds {
		rng := rand.New(rand.NewPCG(uint64(round), 11))
		var wg sync.WaitGroup
		for p := range 2 {
			killAfter := 20 + rng.IntN(150)
			wg.Go(func() {
				for _, call := range runCrash(t, program, dsn, fmt.Sprint("r", round, "p", strconv.Itoa(p)), 100_000, killAfter) {
					mu.Lock()
					confirmed[call] = true
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
		server.Kill()
		server.Restart(t)
		wg.Wait()
		s, err := Open(t.Context(), dsn, Options{})
		must(t, err)
		checkWhole(t, s, confirmed)
		must(t, s.Close())
		if t.Failed() {
			t.Fatalf("after round %d", round)
		}
	}
}

// 500 sessions at once, whose turns two replicas fight over: each turn takes the
// lease, counts in the session's state and in kv, and gives the lease back or
// lets it run out. No count is lost, and no two turns have the same fence.
func TestStressSessionsOnTwoReplicasLoseNoUpdate(t *testing.T) {
	dsn := mariadb.Database(t)
	replicas := []*Store{openAt(t, dsn, Options{}), openAt(t, dsn, Options{})}
	const sessions, lasts = 500, 60 * time.Second
	end := time.Now().Add(lasts)
	var wg sync.WaitGroup
	var turns, busy atomic.Int64
	for i := range sessions {
		ref := host.SessionRef{Tenant: "shop", User: "ann", Session: host.SessionID(fmt.Sprint("s", i))}
		var counted atomic.Int64
		var fences sync.Map
		var both sync.WaitGroup
		for r, s := range replicas {
			both.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(i), uint64(r)))
				for time.Now().Before(end) && !t.Failed() {
					fence, err := countTurn(s, ref, fmt.Sprint("replica-", r), rng.IntN(10) == 0)
					switch {
					case err == nil:
						counted.Add(1)
						turns.Add(1)
						if _, twice := fences.LoadOrStore(fence, r); twice {
							t.Errorf("%s: two turns have fence %d", ref, fence)
						}
					case host.ProblemOf(err).Code == abi.Busy:
						busy.Add(1)
						time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
					default:
						t.Errorf("%s: %v", ref, err)
					}
				}
			})
		}
		wg.Go(func() {
			both.Wait()
			if v, _ := loadOne(t, replicas[0], ref, "turns"); v.Version != counted.Load() {
				t.Errorf("%s has %d turns, and %d were counted", ref, v.Version, counted.Load())
			}
		})
	}
	wg.Wait()
	t.Logf("%d turns in %s, %d times busy", turns.Load(), lasts, busy.Load())
}

// countTurn is one turn. One that forgets keeps its lease, which then runs out.
func countTurn(s *Store, ref host.SessionRef, holder string, forgets bool) (Fence, error) {
	ctx := context.Background()
	fence, err := s.Lease(ctx, ref, holder, 5*time.Second)
	if err != nil {
		return 0, err
	}
	values, err := s.LoadState(ctx, ref, "turns")
	if err != nil {
		return 0, err
	}
	version := values["turns"].Version
	view := s.View(ref.Tenant, "turns")
	err = errors.Join(view.Put(string(ref.Session), strconv.AppendInt(nil, version+1, 10)),
		s.Settle(ctx, Settlement{Session: ref, Fence: fence, Call: "call", Views: []*View{view},
			State:   []Change{{Key: "turns", Version: version, Data: strconv.AppendInt(nil, version+1, 10)}},
			Records: []host.Record{{Call: "call", Kind: host.RecordOutcome}}}))
	if err != nil || forgets {
		return fence, err
	}
	if err = s.Release(ctx, ref, fence); errors.Is(err, ErrLeaseLost) {
		err = nil // it ran out after the turn was kept
	}
	return fence, err
}
