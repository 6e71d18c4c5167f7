package qdrant_test

import (
	"context"
	"testing"
	"time"

	api "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/memorytest"
	"github.com/sluicehq/sluice/memory/qdrant"
)

// ready gives a server and an index on it with one entry, "a".
func ready(t *testing.T, options qdrant.Options) (*memorytest.Qdrant, *qdrant.Store) {
	t.Helper()
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	store := open(t, server, options)
	fill(t, store, "v1", entry("a"))
	return server, store
}

// onFirst interferes with the first n requests of a name, and lets others pass.
func onFirst(server *memorytest.Qdrant, n int, name string, with memorytest.Interference) {
	before := server.Calls(name)
	server.Interfere(func(ctx context.Context, r memorytest.Request) (any, error) {
		if r.Name == name && server.Calls(name) <= before+n {
			return with(ctx, r)
		}
		return r.Serve()
	})
}

func put(t *testing.T, store *qdrant.Store, id memory.ID) error {
	t.Helper()
	return store.Put(t.Context(), []memory.Entry{entry(id)})
}

func TestWhatPassesIsTriedAgain(t *testing.T) {
	for name, with := range map[string]memorytest.Interference{
		"away": func(context.Context, memorytest.Request) (any, error) {
			return nil, status.Error(codes.Unavailable, "restarting")
		},
		"busy": func(ctx context.Context, _ memorytest.Request) (any, error) {
			grpc.SetTrailer(ctx, metadata.Pairs("retry-after", "0"))
			return nil, status.Error(codes.ResourceExhausted, "Rate limiting exceeded")
		},
		"done, but the answer is lost": func(_ context.Context, r memorytest.Request) (any, error) {
			if _, err := r.Serve(); err != nil {
				return nil, err
			}
			return nil, status.Error(codes.Unavailable, "the connection was lost")
		},
		"taken, but not applied in time": func(context.Context, memorytest.Request) (any, error) {
			return &api.PointsOperationResponse{Result: &api.UpdateResult{Status: api.UpdateStatus_WaitTimeout}}, nil
		},
		"slow": func(ctx context.Context, _ memorytest.Request) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			var options qdrant.Options
			if name == "slow" { // five attempts take so long
				options.Timeout = 600 * time.Millisecond
			}
			server, store := ready(t, options)
			before := server.Calls("Points/Upsert")
			onFirst(server, 2, "Points/Upsert", with)
			if err := put(t, store, "b"); err != nil {
				t.Fatal(err)
			}
			wantFound(t, store, "a", "b")
			wantState(t, store, memory.StoreState{Version: "v1", Entries: 2})
			onFirst(server, 100, "Points/Upsert", with)
			if err := put(t, store, "c"); err == nil {
				t.Error("no error")
			}
			if n := server.Calls("Points/Upsert") - before; n != 6 {
				t.Errorf("it was tried %d times, want twice three", n)
			}
		})
	}
}

func TestAConnectionThatDropsIsMadeAgain(t *testing.T) {
	server, store := ready(t, qdrant.Options{})
	for _, name := range []string{"Points/Upsert", "Points/Query", "Collections/List"} {
		onFirst(server, 1, name, func(context.Context, memorytest.Request) (any, error) {
			server.DropConnections()
			return nil, status.Error(codes.Internal, "nobody hears this")
		})
		if err := put(t, store, "b"); err != nil {
			t.Fatal(err)
		}
		wantFound(t, store, "a", "b")
		wantState(t, store, memory.StoreState{Version: "v1", Entries: 2})
	}
}

func TestWhatDoesNotPassIsNotTriedAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		refusal error
		code    abi.Code
		says    string
	}{
		"gone":      {status.Error(codes.NotFound, "Not found: Collection doesn't exist!"), abi.StoreConflict, "it was removed, or made anew"},
		"refused":   {status.Error(codes.InvalidArgument, "Bad request"), abi.StoreFailure, "refuses what the memory index asks"},
		"locked":    {status.Error(codes.FailedPrecondition, "the collection is locked"), abi.StoreFailure, "somebody locked"},
		"no right":  {status.Error(codes.PermissionDenied, "Global manage access is required"), abi.StoreFailure, "API key"},
		"full disk": {status.Error(codes.Internal, "No space left on device"), abi.StoreFailure, "see its log"},
	} {
		t.Run(name, func(t *testing.T) {
			server, store := ready(t, qdrant.Options{})
			before := server.Calls("Points/Upsert")
			onFirst(server, 100, "Points/Upsert", func(context.Context, memorytest.Request) (any, error) { return nil, tt.refusal })
			mustFail(t, put(t, store, "b"), tt.code, tt.says)
			if n := server.Calls("Points/Upsert") - before; n != 1 {
				t.Errorf("it was tried %d times", n)
			}
		})
	}
}

func TestAServerThatAsksForALongPauseIsNotAskedAgain(t *testing.T) {
	server, store := ready(t, qdrant.Options{})
	onFirst(server, 100, "Points/Query", func(ctx context.Context, _ memorytest.Request) (any, error) {
		grpc.SetTrailer(ctx, metadata.Pairs("retry-after", "60"))
		return nil, status.Error(codes.ResourceExhausted, "Rate limiting exceeded")
	})
	_, err := store.Sparse(t.Context(), ofShop, oneTerm, 1)
	mustFail(t, err, abi.Unavailable, "too much to do")
	if ms := host.ProblemOf(err).RetryAfterMS; ms != 60_000 {
		t.Errorf("it is to be asked again after %d ms", ms)
	}
	if n := server.Calls("Points/Query"); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

func TestACallersDeadlineAndStopCountForMoreThanRetries(t *testing.T) {
	server, store := ready(t, qdrant.Options{})
	slow := func(ctx context.Context, _ memorytest.Request) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	onFirst(server, 100, "Points/Query", slow)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := store.Sparse(ctx, ofShop, oneTerm, 1)
	mustFail(t, err, abi.Deadline)

	ctx, stop := context.WithCancel(t.Context())
	onFirst(server, 100, "Points/Query", func(ctx context.Context, r memorytest.Request) (any, error) {
		stop()
		return slow(ctx, r)
	})
	_, err = store.Sparse(ctx, ofShop, oneTerm, 1)
	mustFail(t, err, abi.Cancelled)

	ctx, stop = context.WithCancel(t.Context())
	onFirst(server, 100, "Points/Query", func(context.Context, memorytest.Request) (any, error) {
		time.AfterFunc(10*time.Millisecond, stop) // in the pause before the next attempt
		return nil, status.Error(codes.Unavailable, "restarting")
	})
	_, err = store.Sparse(ctx, ofShop, oneTerm, 1)
	mustFail(t, err, abi.Cancelled)
}

// A server, a proxy or a bug of ours that ignores the filter does not get
// somebody else's memory to the caller.
func TestAMemoryOfSomebodyElseIsNotPassedOn(t *testing.T) {
	server, store := ready(t, qdrant.Options{})
	for field, filter := range map[string]memory.Filter{"tenant": ofShop, "user": {Tenant: "shop", User: "ann"}} {
		server.Interfere(func(_ context.Context, r memorytest.Request) (any, error) {
			reply, err := r.Serve()
			if found, ok := reply.(*api.QueryResponse); ok {
				found.GetResult()[0].Payload[field] = api.NewValueString("somebody else")
			}
			return reply, err
		})
		found, err := store.Sparse(t.Context(), filter, oneTerm, 10)
		mustFail(t, err, abi.StoreFailure, "a memory of somebody else")
		if len(found) != 0 {
			t.Errorf("found %+v", found)
		}
	}
}
