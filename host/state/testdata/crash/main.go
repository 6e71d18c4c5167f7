// The crash program runs durable calls on a store until it is killed or done,
// and prints "done CALL" for each one when the store has confirmed it.
//
//	crash STORE NAME CALLERS CALLS
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

func main() {
	if err := run(os.Args[1], os.Args[2], number(3), number(4)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func number(arg int) int {
	n, err := strconv.Atoi(os.Args[arg])
	if err != nil {
		panic(err)
	}
	return n
}

func run(path, name string, callers, calls int) error {
	store, err := state.Open(context.Background(), path, state.Options{})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	failed := make(chan error, callers)
	for c := range callers {
		wg.Go(func() {
			for i := range calls {
				call := host.CallID(fmt.Sprintf("%s-%d-%d", name, c, i))
				if err := durableCall(store, call); err != nil {
					failed <- fmt.Errorf("%s: %w", call, err)
					return
				}
				fmt.Printf("done %s\n", call) // one write: the parent never sees half a line
			}
		})
	}
	wg.Wait()
	close(failed)
	if err := <-failed; err != nil {
		return err
	}
	return store.Close()
}

// durableCall adds one to a counter that all callers share, leaves a key of
// its own, and changes its session's state.
func durableCall(store *state.Store, call host.CallID) error {
	ctx := context.Background()
	session := host.SessionRef{Tenant: "shop", User: "ann", Session: host.SessionID(call)}
	intent := host.Record{Call: call, Kind: host.RecordIntent, Detail: json.RawMessage(`{"args":{}}`)}
	claim, err := store.Claim(ctx, state.ClaimRequest{Session: session, Key: host.Key(call), Digest: "d", Call: call, Lease: time.Hour, Intent: intent})
	if err != nil || claim.State != state.ClaimNew {
		return fmt.Errorf("claim is %q: %w", claim.State, err)
	}
	view := store.View("shop", "n")
	for {
		if err := count(ctx, view, call); err != nil {
			return err
		}
		err := store.Settle(ctx, state.Settlement{
			Session: session, Call: call, Key: host.Key(call), Outcome: json.RawMessage(`"` + string(call) + `"`), Views: []*state.View{view},
			State:   []state.Change{{Key: "last", Data: json.RawMessage(`1`)}},
			Records: []host.Record{{Call: call, Kind: host.RecordOutcome}},
		})
		if err == nil || host.ProblemOf(err).Code != abi.StoreConflict {
			return err
		}
		view.Reset()
	}
}

func count(ctx context.Context, view *state.View, call host.CallID) error {
	value, _, err := view.Get(ctx, "counter")
	if err != nil {
		return err
	}
	n := 0
	if len(value) > 0 {
		if n, err = strconv.Atoi(string(value)); err != nil {
			return err
		}
	}
	if err := view.Put("counter", strconv.AppendInt(nil, int64(n+1), 10)); err != nil {
		return err
	}
	return view.Put("call/"+string(call), []byte("1"))
}
