package qdrant_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	api "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/memorytest"
	"github.com/sluicehq/sluice/memory/qdrant"
)

func TestAnIndexThatWasNeverResetIsNotWrittenOrSearched(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	store := open(t, server, qdrant.Options{})
	mustFail(t, store.Put(t.Context(), []memory.Entry{entry("a")}), abi.StoreConflict, "it was not filled", "rebuild the index")
	_, err := store.Sparse(t.Context(), ofShop, oneTerm, 1)
	mustFail(t, err, abi.StoreConflict, "it was not filled")
	_, err = store.Filling("v1").Sparse(t.Context(), ofShop, oneTerm, 1)
	mustFail(t, err, abi.StoreConflict, "it was removed")
	if names := server.Collections(); len(names) != 0 {
		t.Errorf("it made %q", names)
	}
}

// Two hosts of different versions: the older one must not write its terms among
// those of the newer one, nor search them.
func TestAHostOfAnotherVersionDoesNotMixWithTheNewIndex(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	old, young := open(t, server, qdrant.Options{}), open(t, server, qdrant.Options{})
	fill(t, old, "v1", entry("a"))
	wantState(t, young.Filling("v1"), memory.StoreState{Version: "v1", Entries: 1})
	fill(t, young, "v2", entry("b"))

	queries := server.Calls("Points/Query")
	mustFail(t, old.Put(t.Context(), []memory.Entry{entry("c")}), abi.StoreConflict, "it was removed, or made anew")
	_, err := old.Sparse(t.Context(), ofShop, oneTerm, 1)
	mustFail(t, err, abi.StoreConflict, "it was removed, or made anew")
	mustFail(t, old.Delete(t.Context(), "shop", []memory.ID{"b"}), abi.StoreConflict)
	wantState(t, old, memory.StoreState{})
	if n := server.Calls("Points/Query") - queries; n != 1 {
		t.Errorf("what is gone for good was asked for %d times", n)
	}
	wantFound(t, young, "b")
	if names := server.Collections(); len(names) != 1 {
		t.Errorf("what is left is %q", names)
	}
	wantState(t, old.Filling("v2"), memory.StoreState{Version: "v2", Entries: 1})
	wantFound(t, old.Filling("v2"), "b")
}

func TestAHostThatKnowsTheNameOfAFillingWorksWithIt(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	one := open(t, server, qdrant.Options{})
	other := open(t, server, qdrant.Options{}).Filling("v1") // before it is there
	fill(t, one, "v1", entry("a"))
	wantState(t, other, memory.StoreState{Version: "v1", Entries: 1})
	fill(t, one, "v1", entry("b"))
	wantFound(t, other, "b")
	if err := other.Put(t.Context(), []memory.Entry{entry("c")}); err != nil {
		t.Fatal(err)
	}
	wantFound(t, one, "b", "c")
}

func TestAResetThatWasBrokenOffLeavesNoIndex(t *testing.T) {
	for _, at := range []string{"Collections/Delete", "Collections/Create", "Points/CreateFieldIndex"} {
		t.Run(at, func(t *testing.T) {
			server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
			store := open(t, server, qdrant.Options{})
			fill(t, store, "v1", entry("a"))
			before := server.Calls(at)
			server.Interfere(func(_ context.Context, r memorytest.Request) (any, error) {
				if r.Name == at && (at != "Points/CreateFieldIndex" || server.Calls(at) > before+3) {
					return nil, status.Error(codes.Internal, "No space left on device")
				}
				return r.Serve()
			})
			mustFail(t, store.Reset(t.Context(), "v2"), abi.StoreFailure, "failed", "see its log")
			mustFail(t, store.Put(t.Context(), []memory.Entry{entry("b")}), abi.StoreConflict, "its reset was broken off")
			server.Interfere(nil)
			if at == "Collections/Delete" {
				wantState(t, store.Filling("v1"), memory.StoreState{Version: "v1", Entries: 1}) // nothing was done
			} else {
				wantState(t, store.Filling("v1"), memory.StoreState{})
			}
			wantState(t, store.Filling("v2"), memory.StoreState{})
			fill(t, store, "v2", entry("c"))
			wantFound(t, store, "c")
			if names := server.Collections(); len(names) != 1 {
				t.Errorf("what is left is %q", names)
			}
		})
	}
}

func TestAnIndexOfAnotherShapeHasNoVersion(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		make       func(c *api.CreateCollection)
	}{
		{"dimensions", "not cosines of 8 numbers", func(c *api.CreateCollection) {
			c.GetVectorsConfig().GetParamsMap().GetMap()["dense"].Size = 4
		}},
		{"no dense vectors", "not cosines of 8 numbers", func(c *api.CreateCollection) { c.VectorsConfig = nil }},
		{"no IDF", "not weighted by IDF", func(c *api.CreateCollection) {
			c.GetSparseVectorsConfig().GetMap()["bm25"].Modifier = nil
		}},
		{"no sparse vectors", "not weighted by IDF", func(c *api.CreateCollection) { c.SparseVectorsConfig = nil }},
		{"a layout of another release", "made by another release", func(c *api.CreateCollection) {
			c.Metadata["sluice_version"] = api.NewValueString("v0")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
			server.Interfere(func(_ context.Context, r memorytest.Request) (any, error) {
				if c, ok := r.Message.(*api.CreateCollection); ok {
					tt.make(c)
				}
				return r.Serve()
			})
			store := open(t, server, qdrant.Options{})
			mustFail(t, store.Reset(t.Context(), "v1"), abi.StoreConflict, tt.says, "rebuild the index")
			server.Interfere(nil)
			wantState(t, store.Filling("v1"), memory.StoreState{})
			mustFail(t, store.Put(t.Context(), []memory.Entry{entry("a")}), abi.StoreConflict, "its reset was broken off")
			fill(t, store, "v1", entry("a"))
			wantState(t, store, memory.StoreState{Version: "v1", Entries: 1})
		})
	}
}

func TestAnIndexWithAnotherEmbedderHasNoVersion(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	fill(t, open(t, server, qdrant.Options{}), "v1", entry("a"))
	for _, dimensions := range []int{0, 16} {
		store, err := qdrant.Open(t.Context(), qdrant.Options{URL: "qdrant://" + server.Address() + "/memory", Dimensions: dimensions})
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, store.Filling("v1"), memory.StoreState{})
		store.Close()
	}
}

// Each field that filters use has an index of the kind that they need.
func TestAnIndexWithoutOneOfItsPayloadIndexesHasNoVersion(t *testing.T) {
	for _, field := range []string{"tenant", "user", "session", "live", "entity", "platform", "kind", "layer", "status", "at"} {
		server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
		server.Interfere(func(_ context.Context, r memorytest.Request) (any, error) {
			if index, ok := r.Message.(*api.CreateFieldIndexCollection); ok && index.GetFieldName() == field {
				return &api.PointsOperationResponse{}, nil
			}
			return r.Serve()
		})
		store := open(t, server, qdrant.Options{})
		mustFail(t, store.Reset(t.Context(), "v1"), abi.StoreConflict, field)
		wantState(t, store.Filling("v1"), memory.StoreState{})
	}
}

func TestOnlyTheTenantHasAGraphAndItsEntriesTogether(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	var together, graphs []string
	server.Interfere(func(_ context.Context, r memorytest.Request) (any, error) {
		if index, ok := r.Message.(*api.CreateFieldIndexCollection); ok {
			words, numbers := index.GetFieldIndexParams().GetKeywordIndexParams(), index.GetFieldIndexParams().GetIntegerIndexParams()
			if words.GetIsTenant() {
				together = append(together, index.GetFieldName())
			}
			if words != nil && words.EnableHnsw == nil || words.GetEnableHnsw() || numbers != nil && numbers.EnableHnsw == nil || numbers.GetEnableHnsw() {
				graphs = append(graphs, index.GetFieldName())
			}
		}
		return r.Serve()
	})
	fill(t, open(t, server, qdrant.Options{}), "v1")
	if want := []string{"tenant"}; !slices.Equal(together, want) || !slices.Equal(graphs, want) {
		t.Errorf("together lie those of one %q, and %q have graphs", together, graphs)
	}
}

// Two resets for different versions at one time may both succeed. Neither filling
// is then taken for the whole index: what is in the other one nobody keeps up.
func TestTwoFillingsSideBySideAreNone(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	one, other := open(t, server, qdrant.Options{}), open(t, server, qdrant.Options{})
	var inner error
	server.Interfere(func(ctx context.Context, r memorytest.Request) (any, error) {
		if r.Name == "Collections/Create" {
			server.Interfere(nil)
			inner = other.Reset(ctx, "v2")
		}
		return r.Serve()
	})
	if err := errors.Join(one.Reset(t.Context(), "v1"), inner); err != nil {
		t.Fatal(err)
	}
	wantState(t, one, memory.StoreState{})
	wantState(t, other, memory.StoreState{})
	fill(t, other, "v2", entry("b"))
	wantState(t, other, memory.StoreState{Version: "v2", Entries: 1})
	wantState(t, one, memory.StoreState{})
}

// The answer to the making of a collection may be lost, and the second attempt
// then finds it there.
func TestAResetWhoseAnswerWasLostGoesOn(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	server.Interfere(func(_ context.Context, r memorytest.Request) (any, error) {
		reply, err := r.Serve()
		if r.Name == "Collections/Create" && err == nil {
			return nil, status.Error(codes.Unavailable, "the connection was lost")
		}
		return reply, err
	})
	store := open(t, server, qdrant.Options{})
	fill(t, store, "v1", entry("a"))
	wantState(t, store, memory.StoreState{Version: "v1", Entries: 1})
}

func TestCollectionsOfOthersStayAsTheyAre(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	client := rawClient(t, server)
	others := []string{"memory", "memory_0123456789abcdef", "memory_0123456789abcdef_x", "memory_x_0123456789abcdef", "products"}
	for _, name := range others {
		c := &api.CreateCollection{CollectionName: name, ShardNumber: api.PtrOf(uint32(1))}
		if name == "memory_x_0123456789abcdef" { // of an index that is named memory_x
			c.Metadata = map[string]*api.Value{"sluice_index": api.NewValueString("memory_x")}
		}
		if err := client.CreateCollection(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	store := open(t, server, qdrant.Options{})
	fill(t, store, "v1", entry("a"))
	fill(t, store, "v2", entry("a"))
	left := slices.DeleteFunc(server.Collections(), func(name string) bool { return slices.Contains(others, name) })
	if len(left) != 1 || !strings.HasPrefix(left[0], "memory_") || len(server.Collections()) != len(others)+1 {
		t.Errorf("what is left is %q", server.Collections())
	}
}

func TestACollectionLiesOnAsManyServersAsAreAskedFor(t *testing.T) {
	for replicas, settings := range map[uint32]string{1: "", 2: "?replicas=2", 3: "?replicas=3"} {
		server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
		fill(t, open(t, server, qdrant.Options{URL: settings}), "v1")
		info, err := rawClient(t, server).GetCollectionInfo(t.Context(), server.Collections()[0])
		if err != nil {
			t.Fatal(err)
		}
		params := info.GetConfig().GetParams()
		if params.GetReplicationFactor() != replicas || 2*params.GetWriteConsistencyFactor() <= replicas || params.GetShardNumber() != 1 {
			t.Errorf("replicas %d: got %v", replicas, params)
		}
	}
}
