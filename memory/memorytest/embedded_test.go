package memorytest_test

import (
	"testing"

	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/index"
	"github.com/sluicehq/sluice/memory/memorytest"
)

func TestTheEmbeddedIndexKeepsTheContract(t *testing.T) {
	memorytest.Run(t, func(t *testing.T) memory.Store {
		x := index.New()
		t.Cleanup(func() { x.Close() })
		return x
	})
}
