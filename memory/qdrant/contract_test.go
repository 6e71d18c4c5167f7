package qdrant_test

import (
	"testing"

	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/memorytest"
	"github.com/sluicehq/sluice/memory/qdrant"
)

// TestContractOverTheWire shows our use of Qdrant's API, and nothing of Qdrant.
func TestContractOverTheWire(t *testing.T) {
	memorytest.Run(t, func(t *testing.T) memory.Store {
		return open(t, memorytest.StartQdrant(t, memorytest.QdrantOptions{}), qdrant.Options{})
	})
}

// open opens the index on a test's server.
func open(t *testing.T, server *memorytest.Qdrant, options qdrant.Options) *qdrant.Store {
	t.Helper()
	options.URL = "qdrant://" + server.Address() + "/memory" + options.URL
	options.Dimensions = memorytest.Dimensions
	store, err := qdrant.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}
