package qdrant_test

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/memorytest"
	"github.com/sluicehq/sluice/memory/qdrant"
)

// TestContractOnARealQdrant runs the suite on the server that SLUICE_TEST_QDRANT
// names, with the key in SLUICE_TEST_QDRANT_KEY if there is one. It makes collections named
// sluice_test_... and removes them.
func TestContractOnARealQdrant(t *testing.T) {
	address := os.Getenv("SLUICE_TEST_QDRANT")
	if address == "" {
		t.Skip("A REAL QDRANT WAS NOT TESTED: the other tests of this package play the server themselves. Set SLUICE_TEST_QDRANT=host:port (its gRPC port), and SLUICE_TEST_QDRANT_KEY if it asks for a key")
	}
	hostname, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	settings := ""
	if os.Getenv("SLUICE_TEST_QDRANT_KEY") != "" {
		settings = "?key_env=SLUICE_TEST_QDRANT_KEY"
	}
	memorytest.Run(t, func(t *testing.T) memory.Store {
		name := "sluice_test_" + strings.ToLower(rand.Text())
		store, err := qdrant.Open(t.Context(), qdrant.Options{URL: "qdrant://" + address + "/" + name + settings, Dimensions: memorytest.Dimensions})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			store.Close()
			removeReal(t, hostname, port, name)
		})
		return store
	})
}

// removeReal removes the collections that one index left. The test's own context
// is over by now.
func removeReal(t *testing.T, hostname, port, index string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := dialRaw(t, hostname, port, os.Getenv("SLUICE_TEST_QDRANT_KEY"))
	names, err := client.ListCollections(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, index+"_") {
			continue
		}
		if err := client.DeleteCollection(ctx, name); err != nil {
			t.Error(err)
		}
	}
}
