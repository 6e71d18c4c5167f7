package qdrant_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	api "github.com/qdrant/go-client/qdrant"
	"google.golang.org/protobuf/proto"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/memorytest"
	"github.com/sluicehq/sluice/memory/qdrant"
	"github.com/sluicehq/sluice/memory/tokens"
)

// record keeps the requests that come in, but those that only read the shape.
func record(server *memorytest.Qdrant) func() []any {
	var mu sync.Mutex
	var messages []any
	server.Interfere(func(_ context.Context, r memorytest.Request) (any, error) {
		mu.Lock()
		messages = append(messages, r.Message)
		mu.Unlock()
		return r.Serve()
	})
	return func() []any {
		mu.Lock()
		defer mu.Unlock()
		return messages
	}
}

func TestWritesAreBoundedWaitedForAndOrdered(t *testing.T) {
	server, store := ready(t, qdrant.Options{})
	recorded := record(server)
	small := make([]memory.Entry, 1200)
	ids := make([]memory.ID, 2500)
	for i := range small {
		small[i] = entry(memory.ID(fmt.Sprint("small", i/2))) // each twice
	}
	for i := range ids {
		ids[i] = memory.ID(fmt.Sprint("gone", i))
	}
	large := make([]memory.Entry, 150) // of 60 KB each
	for i := range large {
		large[i] = entry(memory.ID(fmt.Sprint("large", i)))
		large[i].Sparse = make(tokens.Vector, 6000)
		for j := range large[i].Sparse {
			large[i].Sparse[j] = tokens.Term{ID: uint32(1<<31 + j), Weight: 1}
		}
	}
	for _, entries := range [][]memory.Entry{small, large} {
		if err := store.Put(t.Context(), entries); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Delete(t.Context(), "shop", ids); err != nil {
		t.Fatal(err)
	}
	points, gone := 0, 0
	sent := map[string]int{}
	for _, message := range recorded() {
		if size := proto.Size(message.(proto.Message)); size > 4<<20 {
			t.Errorf("a request has %d bytes", size)
		}
		var wait bool
		var ordering *api.WriteOrdering
		switch m := message.(type) {
		case *api.UpsertPoints:
			wait, ordering, points = m.GetWait(), m.GetOrdering(), points+len(m.GetPoints())
			if len(m.GetPoints()) > 256 {
				t.Errorf("a request has %d points", len(m.GetPoints()))
			}
			for _, p := range m.GetPoints() {
				sent[p.GetId().GetUuid()]++
			}
		case *api.DeletePoints:
			n := len(m.GetPoints().GetPoints().GetIds())
			wait, ordering, gone = m.GetWait(), m.GetOrdering(), gone+n
			if n > 1000 {
				t.Errorf("a request deletes %d points", n)
			}
		}
		if !wait || ordering.GetType() != api.WriteOrderingType_Strong {
			t.Errorf("a %T is not waited for, or not ordered", message)
		}
	}
	if points != len(sent) || points != len(small)/2+len(large) || gone != len(ids) {
		t.Errorf("%d points were sent and %d deleted", points, gone)
	}
}

// A search of one user compares every vector; one leg at a time, nothing fused.
func TestSearchesAskOneLegOfAMajority(t *testing.T) {
	server, store := ready(t, qdrant.Options{})
	recorded := record(server)
	for _, f := range []memory.Filter{ofShop, {Tenant: "shop", User: "ann"}} {
		if _, err := store.Sparse(t.Context(), f, oneTerm, 10); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Dense(t.Context(), f, entry("a").Dense, 10); err != nil {
			t.Fatal(err)
		}
	}
	if len(recorded()) != 4 {
		t.Fatalf("%d requests", len(recorded()))
	}
	for i, message := range recorded() {
		q := message.(*api.QueryPoints)
		if q.GetReadConsistency().GetType() != api.ReadConsistencyType_Majority {
			t.Errorf("query %d is not answered by a majority", i)
		}
		if want := []string{"bm25", "dense"}[i%2]; q.GetUsing() != want || len(q.GetPrefetch()) != 0 || q.GetQuery().GetNearest() == nil {
			t.Errorf("query %d: got %v", i, q)
		}
		if want := i == 3; q.GetParams().GetExact() != want {
			t.Errorf("query %d is exact: %t", i, !want)
		}
	}
}

// A search asks again only where the limit cuts through equal scores, and not
// without end.
func TestTiesAreAskedForAsFarAsTheyGo(t *testing.T) {
	server, store := ready(t, qdrant.Options{})
	var entries []memory.Entry
	for i := range 200 {
		entries = append(entries, entry(memory.ID(fmt.Sprintf("e%03d", i))))
	}
	if err := store.Put(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	recorded := record(server)
	found, err := store.Sparse(t.Context(), ofShop, oneTerm, 10)
	if err != nil || len(found) != 10 || found[0].ID != "a" || found[9].ID != "e008" {
		t.Fatalf("found %v, %v", found, err)
	}
	var asked []uint64
	for _, message := range recorded() {
		asked = append(asked, message.(*api.QueryPoints).GetLimit())
	}
	if fmt.Sprint(asked) != "[11 44 176 704]" {
		t.Errorf("asked for %v", asked)
	}
}

func TestTextsThatAreNotUTF8OrTooLongAreRefusedBeforeTheyAreSent(t *testing.T) {
	server, store := ready(t, qdrant.Options{})
	recorded := record(server)
	bad, long := string([]byte{0xff}), string(make([]byte, 300))
	for _, text := range []string{bad, long} {
		for _, e := range []memory.Entry{{ID: memory.ID(text), Tenant: "shop", User: "ann"}, {ID: "x", Tenant: "shop", User: "ann", Entity: text}, {ID: "x", Tenant: "shop", User: "ann", Platform: text}} {
			mustFail(t, store.Put(t.Context(), []memory.Entry{e}), abi.BadValue)
		}
		for _, f := range []memory.Filter{{Tenant: "shop", Entity: text}, {Tenant: "shop", Kinds: []memory.Kind{memory.Kind(text)}}} {
			_, err := store.Sparse(t.Context(), f, oneTerm, 1)
			mustFail(t, err, abi.BadValue)
		}
	}
	for name, v := range map[string]tokens.Vector{"out of order": {{ID: 2, Weight: 1}, {ID: 1, Weight: 1}}, "twice": {{ID: 1, Weight: 1}, {ID: 1, Weight: 1}}, "zero": {{ID: 1}}, "too many": make(tokens.Vector, 1<<16)} {
		_, err := store.Sparse(t.Context(), ofShop, v, 1)
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	_, err := store.Sparse(t.Context(), memory.Filter{Tenant: "shop", Kinds: make([]memory.Kind, 65)}, oneTerm, 1)
	mustFail(t, err, abi.BadValue, "more than 64")
	if n := len(recorded()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
