package keeper

import (
	"context"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/index"
)

// A held store calls a function before it puts entries in, and puts them in even if
// the caller has given up meanwhile: a network is like that.
type held struct {
	counting
	before func(ctx context.Context)
}

func (s *held) Put(ctx context.Context, entries []memory.Entry) error {
	if before := s.before; before != nil && len(entries) > 0 {
		s.before = nil
		before(ctx)
	}
	return s.Store.Put(context.WithoutCancel(ctx), entries)
}

// usurp gives a duty to somebody else.
func usurp(t testing.TB, r rig, name string) {
	t.Helper()
	must(t, r.db.Write(context.Background(), func(ctx context.Context, on host.Statements) error {
		if _, err := exec(ctx, on, "UPDATE memory_head SET scrub_to = scrub_to WHERE head_no = 1"); err != nil { // the lock of all changes, as a keeper has it
			return err
		}
		_, err := exec(ctx, on, holdDuty, "keeper_else", time.Now().Add(time.Hour).UnixMicro(), name)
		return err
	}))
}

// renewed waits until a duty is held up to a time, and reports whether it was.
func renewed(ctx context.Context, t testing.TB, r rig, name string, to time.Time) bool {
	t.Helper()
	for end := time.Now().Add(time.Minute); ctx.Err() == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var until int64
		_, err := row(t.Context(), r.db.Reads, "SELECT held_until FROM memory_duty WHERE duty = ?", []any{name}, &until)
		if must(t, err); until >= to.UnixMicro() {
			return true
		}
	}
	return false
}

// wait waits until a context ends, but not for ever.
func wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
	}
}

// By a clock that is set by hand, since the duty's own time passes only as fast as it is
// renewed.
func TestALongFillKeepsItsDuty(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		const duty = 3 * time.Second
		now := newClock()
		store := &held{counting: counting{Store: index.New()}}
		with := func(c *Config) {
			c.Store, c.Shared, c.dutyTime, c.Poll, c.Now = store, true, duty, 10*time.Millisecond, now.now
		}
		writer := r.open(func(c *Config) { c.Store = nil })
		writer.testOnlyRemember(t, ann, said("common one"))
		store.before = func(ctx context.Context) { // one Put takes longer than the duty is kept without a word
			for range 2 {
				if at := now.move(duty * 3 / 4); !renewed(ctx, t, r, dutyIndex, at.Add(duty)) {
					t.Error("the duty is not renewed")
				}
			}
			r.again().open(with)
		}
		r.open(with)
		if n := store.resets.Load(); n != 1 {
			t.Errorf("the index was emptied %d times: another one took over meanwhile", n)
		}
		if got := finds(t, store, ann, "common"); len(got) != 1 {
			t.Errorf("it finds %v", got)
		}
	})
}

func TestOpenGoesOnWhereAnotherReplicaTookTheIndexOver(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		writer := r.open(func(c *Config) { c.Store = nil })
		writer.testOnlyRemember(t, ann, said("common one"))
		store := &held{counting: counting{Store: index.New()}}
		store.before = func(ctx context.Context) {
			usurp(t, r, dutyIndex)
			wait(ctx) // the loss is seen while the Put goes on
		}
		k := r.open(func(c *Config) { c.Store, c.Shared, c.dutyTime = store, true, 200*time.Millisecond })
		wantCode(t, k.Rebuild(t.Context(), nil), abi.StoreConflict)
	})
}

// Who serves has the index in hand, and fills it when another one asks for that.
func TestARebuildIsDoneByTheReplicaThatFollows(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		store := &counting{Store: index.New()}
		with := func(c *Config) {
			c.Store, c.Shared, c.dutyTime, c.Poll = store, true, 15*time.Second, 10*time.Millisecond
		}
		serving, asking := r.open(with), r.again().open(with)
		serving.testOnlyRemember(t, ann, said("common one"), said("common two"))
		asking.testOnlySync(t)
		must(t, store.Store.Reset(t.Context(), serving.version())) // its contents are lost
		for rebuilds := range 3 {
			serving.testOnlyRemember(t, ann, said("common more "+string(rune('a'+rebuilds)))) // which the other one follows meanwhile
			before := store.resets.Load()
			must(t, asking.Rebuild(t.Context(), nil))
			if n := store.resets.Load() - before; n != 1 {
				t.Errorf("the index was filled anew %d times", n)
			}
			if got := finds(t, store, ann, "common"); len(got) < 3+rebuilds {
				t.Errorf("%d are found after rebuild %d", len(got), rebuilds+1)
			}
		}
	})
}

// Who is in the midst of following when a rebuild is asked for does not say that all is well.
func TestAFollowerDoesNotPassOverARebuildThatIsAskedFor(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		store := &held{counting: counting{Store: index.New()}}
		k := r.open(func(c *Config) { c.Store, c.Shared, c.Poll = store, true, time.Hour })
		k.follow.applying.Lock()
		k.testOnlyRemember(t, ann, said("common one"))
		before := store.resets.Load()
		store.before = func(context.Context) { must(t, k.askToFill(t.Context())) }
		err := k.applyShared(t.Context())
		k.follow.applying.Unlock()
		d, failed := k.readDuty(t.Context(), k.db.Reads, dutyIndex)
		if must(t, failed); err != nil || store.resets.Load() != before+1 || d.version != k.version() {
			t.Errorf("%v; emptied %d times; the duty is %+v", err, store.resets.Load()-before, d)
		}
	})
}

// A replica that lost its duty puts a memory in after the other one has taken it out.
func TestWhatALateReplicaPutsInOfAForgottenMemoryIsTakenOut(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		store := &held{counting: counting{Store: index.New()}}
		k := r.open(func(c *Config) { c.Store, c.Shared, c.dutyTime, c.Poll = store, true, 2*time.Second, time.Hour })
		k.follow.applying.Lock()
		id := k.testOnlyRemember(t, ann, said("common secret"))[0]
		writer := r.again().open(func(c *Config) { c.Store = nil })
		store.before = func(ctx context.Context) {
			usurp(t, r, dutyIndex)
			wait(ctx)
			_, err := writer.Forget(context.Background(), ann, Wish{IDs: []memory.ID{id}})
			must(t, err)
			must(t, store.Delete(context.Background(), ann.Tenant, []memory.ID{id})) // by who has the duty now
		}
		err := k.applyShared(t.Context())
		k.follow.applying.Unlock()
		if err != nil || store.before != nil {
			t.Errorf("%v; put in: %v", err, store.before == nil)
		}
		if got := finds(t, store, ann, "secret"); len(got) != 0 {
			t.Errorf("the index finds %v, which was forgotten", got)
		}
	})
}
