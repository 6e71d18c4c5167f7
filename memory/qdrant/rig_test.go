package qdrant_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	api "github.com/qdrant/go-client/qdrant"

	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/memorytest"
	"github.com/sluicehq/sluice/memory/tokens"
)

var ofShop = memory.Filter{Tenant: "shop"}

// oneTerm is the query for the term that each entry of these tests has.
var oneTerm = tokens.Vector{{ID: 1, Weight: 1}}

func entry(id memory.ID) memory.Entry {
	dense := make([]float32, memorytest.Dimensions)
	dense[0] = 1
	return memory.Entry{
		ID: id, Tenant: "shop", User: "ann", Session: "s1", Kind: memory.Preference, Layer: memory.Declared, Status: memory.Active,
		At: time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC), Sparse: oneTerm, Dense: dense,
	}
}

// fill makes an index anew and puts entries.
func fill(t *testing.T, store memory.Store, version string, entries ...memory.Entry) {
	t.Helper()
	if err := store.Reset(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
}

func wantFound(t *testing.T, store memory.Store, want ...memory.ID) {
	t.Helper()
	found, err := store.Sparse(t.Context(), ofShop, oneTerm, 100)
	if err != nil {
		t.Fatal(err)
	}
	ids := []memory.ID{}
	for _, f := range found {
		ids = append(ids, f.ID)
	}
	if !slices.Equal(ids, want) {
		t.Errorf("found %q, want %q", ids, want)
	}
}

func wantState(t *testing.T, store memory.Store, want memory.StoreState) {
	t.Helper()
	got, err := store.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("the state is %+v, want %+v", got, want)
	}
}

// dialRaw makes Qdrant's own client, without our code.
func dialRaw(t *testing.T, hostname, port, key string) *api.Client {
	t.Helper()
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	client, err := api.NewClient(&api.Config{Host: hostname, Port: n, APIKey: key, PoolSize: 1, SkipCompatibilityCheck: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}
