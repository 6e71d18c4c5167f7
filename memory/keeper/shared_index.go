package keeper

import (
	"context"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// How often the holder of a shared index looks whether that is there and whole.
const (
	lookEvery   = 30 * time.Second // a look counts the memories, there and in the truth
	doubtEvery  = time.Second      // where a search or a write found it gone
	longestRest = time.Hour        // after fillings that were lost one after the other: whoever removes them goes on
)

// fillingMark stands before what tells one filling of a version from the next, in the
// duty's row and in what the Store is told: a Reset that comes late makes none that
// anybody works with.
const fillingMark = " #"

func (k *Keeper) newFilling() string { return k.version() + fillingMark + host.NewID("") }

// versionOf gives the version that a filling is of.
func versionOf(filling string) string {
	if i := strings.LastIndex(filling, fillingMark); i >= 0 {
		return filling[:i]
	}
	return filling
}

// indexOf gives the index that has a filling. Of a Store that is this process's there is one.
func (k *Keeper) indexOf(filling string) memory.Store {
	if s, ok := k.store.(memory.SharedStore); ok && k.shared {
		return s.Filling(filling)
	}
	return k.store
}

// searched gives the filling that a recall searches. Of a shared index it is the one
// that is complete, and of this keeper's version: to its terms and vectors those of
// another one are noise.
func (k *Keeper) searched(ctx context.Context) (filling string, err error) {
	if !k.shared {
		return k.version(), nil
	}
	at, err := k.indexed(ctx)
	switch {
	case err != nil:
		return "", err
	case at.version == "":
		return "", abi.NewProblem(abi.Unavailable, "the index of memories is being filled").
			WithHint("what is remembered is kept; try again in some seconds")
	case k.isOther(at):
		return "", k.otherVersion(at)
	}
	return at.filling, nil
}

// isOther tells whether a shared index is complete, and of another version.
func (k *Keeper) isOther(d duty) bool { return d.version != "" && d.version != k.version() }

func (k *Keeper) otherVersion(d duty) error {
	return abi.NewProblem(abi.Unavailable, "the index of memories is of version %q, and this host searches %q", d.version, k.version()).
		WithHint("what is remembered is kept; it is found here once all hosts are of one release and name the same --embedder")
}

func indexGone() error {
	return abi.NewProblem(abi.Unavailable, "the index of memories is not whole on its server").
		WithHint("what is remembered is kept, and the index is filled anew by itself; try again in a minute")
}

// doubt has the holder of a shared index look at it soon, if that is this keeper.
func (k *Keeper) doubt() {
	k.doubted.Store(true)
	signal(k.wake)
}

// isGone tells whether an error says that a shared index is not there, and doubts it then.
func (k *Keeper) isGone(err error) bool {
	gone := err != nil && k.shared && host.ProblemOf(err).Code == abi.StoreConflict
	if gone {
		k.doubt()
	}
	return gone
}

// A watch is how the holder of a shared index looks at it.
type watch struct {
	looked time.Time     // last, or filled it
	rest   time.Duration // until the next look, after a filling was lost; 0 while all is well
}

func (w *watch) isDue(doubted bool) bool {
	pause := lookEvery
	switch {
	case w.rest > 0:
		pause = w.rest
	case doubted:
		pause = doubtEvery
	}
	return w.looked.IsZero() || time.Since(w.looked) >= pause
}

// isLost looks at a shared index when that is due, and tells whether it is not whole.
func (k *Keeper) isLost(ctx context.Context, d duty) (bool, error) {
	w := &k.follow.watch
	if !w.isDue(k.doubted.Load()) {
		return false, nil
	}
	w.looked = time.Now()
	whole, err := k.isWhole(ctx, d)
	if err != nil {
		return false, err
	}
	k.doubted.Store(false)
	if whole {
		w.rest = 0
	} else {
		w.rest = min(max(2*w.rest, lookEvery), longestRest)
	}
	return !whole, nil
}

const countMemories = "SELECT COUNT(*) FROM memory_node"

// isWhole compares a shared index with the truth. What came or went since the line that
// the index is at has a line with a number of its own, so that they differ by no more.
func (k *Keeper) isWhole(ctx context.Context, d duty) (bool, error) {
	index, err := k.indexOf(d.filling).State(ctx)
	if err != nil {
		return false, err
	}
	var memories int64
	if _, err := row(ctx, k.db.Reads, countMemories, nil, &memories); err != nil {
		return false, err
	}
	h, err := readHead(ctx, k.db.Reads, "")
	if err != nil {
		return false, err
	}
	differ := max(index.Entries-memories, memories-index.Entries)
	if index.Version == d.filling && differ <= h.last-d.done {
		return true, nil
	}
	k.log.Error("memories: the shared index is not whole and is filled anew; see that nobody else removes or writes its collections",
		"filling", d.filling, "found", index.Version, "entries", index.Entries, "memories", memories)
	return false, nil
}

// Ready tells why Recall does not find what is remembered: nil where it does. It fails
// with Unavailable where a shared index is being filled, is of another version, or is
// not whole, and else with why the index could not follow when it last tried. What
// is remembered meanwhile is kept all the same. A shared index is asked for its state.
func (k *Keeper) Ready(ctx context.Context) error {
	const op = "keeper.Ready"
	if k.store == nil {
		return fail(op, noStore())
	}
	filling, err := k.searched(ctx)
	if err == nil && k.shared {
		var index memory.StoreState
		if index, err = k.indexOf(filling).State(ctx); err == nil && index.Version != filling {
			k.doubt()
			err = indexGone()
		}
	}
	if err == nil {
		err = k.lastFailure()
	}
	return fail(op, err)
}
