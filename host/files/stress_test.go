//go:build stress && linux

package files_test

import (
	"fmt"
	"testing"
)

// More of what the tests do, with other seeds.
func TestStressTreesAndKills(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			for i := range uint64(20) {
				restoreTrees(t, 1000+seed*100+i)
			}
			killRollbacks(t, 100+seed, 100)
			killCheckpoints(t, 100+seed, 30)
		})
	}
}
