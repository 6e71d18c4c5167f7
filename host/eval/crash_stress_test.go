//go:build stress && unix

package eval

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/state/statetest"
)

// seed is that of every run, unless SEED names another.
func seed(t *testing.T) uint64 {
	text := os.Getenv("SEED")
	if text == "" {
		return 7
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("SEED is not a number: %v", err)
	}
	return n
}

func TestStressKilledReplicasDoWhatWasRecordedOnce(t *testing.T) {
	server := statetest.Start(t)
	newCrash(t, newKit(t), disaster{seed: seed(t), replicas: 2, kills: 300, clients: 6, lease: shortLease}, server.Database(t), server).run()
}

func TestStressAKilledProcessOnAFileDoesWhatWasRecordedOnce(t *testing.T) {
	newCrash(t, newKit(t), disaster{seed: seed(t), replicas: 1, kills: 100, clients: 6, lease: shortLease}, filepath.Join(t.TempDir(), "store.db"), nil).run()
}

// 500 conversations at once on two replicas and one database, many of whose
// inputs both replicas get: none is in the way of another, and nothing but a
// turn that runs elsewhere keeps an input from its answer.
func TestStressFiveHundredConversationsAtOnceAreAsRecorded(t *testing.T) {
	server := statetest.Start(t)
	c := newCrash(t, newKit(t), disaster{seed: seed(t), replicas: 2, lasts: time.Minute, clients: 500}, server.Database(t), server)
	c.run()
	if n := c.codes[abi.StoreFailure]; n > 0 {
		t.Errorf("for %d deliveries the database was away", n)
	}
}
