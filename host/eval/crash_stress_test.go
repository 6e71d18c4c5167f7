//go:build stress && unix

package eval

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/state/statetest"
)

func TestStressKilledReplicasDoWhatWasRecordedOnce(t *testing.T) {
	server := statetest.Start(t)
	newCrash(t, newKit(t), disaster{seed: 7, replicas: 2, kills: 300, clients: 6}, server.Database(t), server).run()
}

func TestStressAKilledProcessOnAFileDoesWhatWasRecordedOnce(t *testing.T) {
	newCrash(t, newKit(t), disaster{seed: 7, replicas: 1, kills: 100, clients: 6}, filepath.Join(t.TempDir(), "store.db"), nil).run()
}

// 500 conversations at once on two replicas and one database, many of whose
// inputs both replicas get: none is in the way of another, and nothing but a
// turn that runs elsewhere keeps an input from its answer.
func TestStressFiveHundredConversationsAtOnceAreAsRecorded(t *testing.T) {
	server := statetest.Start(t)
	c := newCrash(t, newKit(t), disaster{seed: 7, replicas: 2, lasts: time.Minute, clients: 500}, server.Database(t), server)
	c.run()
	for code, n := range c.codes {
		if code != abi.Busy {
			t.Errorf("%d deliveries ended with problem %d", n, code)
		}
	}
}
