//go:build stress && unix

package dispatch

import (
	"fmt"
	"testing"
)

// Sizes of the stress test: two or three minutes on two cores.
const (
	crashKills  = 500
	crashAtOnce = 2  // worlds
	crashWorld  = 30 // kills of one world
)

// TestStressEveryWriteIsAccountedForThroughKills kills processes at every
// boundary of Do, and goes on in others, until enough were killed. No write is
// done twice, none is lost, and each ends as done, not done or unknown.
func TestStressEveryWriteIsAccountedForThroughKills(t *testing.T) {
	sum := newTally()
	t.Run("worlds", func(t *testing.T) {
		for lane := range crashAtOnce {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				for seed := uint64(lane); sum.killed() < crashKills && !t.Failed(); seed += crashAtOnce {
					newWorld(t, seed, sum).run(crashWorld)
				}
			})
		}
	})
	t.Log(sum)
	for _, at := range append(selfBoundaries(), inLedger, fromLedger, anyTime) {
		if sum.kills[at] == 0 {
			t.Errorf("nobody was killed %s", at)
		}
	}
}
