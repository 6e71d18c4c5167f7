//go:build stress

package state

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

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
