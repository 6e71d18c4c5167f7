package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// A witness is a hook that is told of ends, in all replicas of a test.
type witness struct {
	mu    sync.Mutex
	told  []string // guarded by mu
	fails error    // guarded by mu: what the hook says
}

// watch gives a house the witness as its hook.
func (w *witness) watch(h *house) {
	h.hook(host.Hook{Name: "keeps", Observer: true,
		OnSessionEnd: func(_ context.Context, ref host.SessionRef) error { return w.note("end " + string(ref.Session)) },
		OnEvent:      func(_ context.Context, e host.BusinessEvent) error { return w.note(e.Kind + " " + string(e.Live)) },
		OnPurge:      func(_ context.Context, ref host.SessionRef) error { return w.note("purge " + string(ref.Session)) },
	})
}

func (w *witness) note(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, what)
	return w.fails
}

func (w *witness) fail(with error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails = with
}

func (w *witness) want(t *testing.T, want string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := strings.Join(w.told, ", "); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// tellOwed fails unless so many owed ends are told.
func (h *house) tellOwed(want int) {
	h.t.Helper()
	if told, err := h.agent.TellOwed(h.t.Context()); told != want || err != nil {
		h.t.Errorf("%d ends were told, %v; want %d", told, err, want)
	}
}

// owed gives the ends that are owed.
func (h *house) owed(want int) []state.Owed {
	h.t.Helper()
	list, err := h.store.OwedEnds(h.t.Context(), 0)
	if err != nil || len(list) != want {
		h.t.Errorf("%+v are owed, %v; want %d", list, err, want)
	}
	return list
}

// dies ends something on a house whose process dies when the hooks have just been
// called: nothing is heard of it any more.
func (h *house) dies(end func() error) {
	h.t.Helper()
	called, never := make(chan struct{}), make(chan struct{})
	dead := func() error { close(called); <-never; return errors.New("the process is gone") }
	h.hook(host.Hook{Name: "keeps", Observer: true, Time: time.Hour,
		OnSessionEnd: func(context.Context, host.SessionRef) error { return dead() },
		OnEvent:      func(context.Context, host.BusinessEvent) error { return dead() },
	})
	var running sync.WaitGroup
	running.Go(func() { _ = end() })
	<-called
	if err := h.store.Close(); err != nil {
		h.t.Error(err)
	}
	h.t.Cleanup(func() { close(never); running.Wait() })
}

// Whatever ends, and wherever the process dies once that is saved, hooks are told by
// another one.
func TestAnEndIsToldByAnotherHostWhenThatWhichSavedItDied(t *testing.T) {
	clock := newClock()
	for name, end := range map[string]struct {
		by   func(h *house) error
		told string
	}{
		"a session that is ended": {func(h *house) error { _, err := h.agent.EndSession(h.t.Context(), session.Ref); return err }, "end s1"},
		"one that is idle":        {func(h *house) error { _, err := h.agent.EndIdle(h.t.Context(), idleAfter); return err }, "end s1"},
		"one that is cleared":     {func(h *house) error { return h.agent.Clear(h.t.Context(), session.Ref) }, "end s1"},
		"a live":                  {func(h *house) error { _, err := h.agent.EndLive(h.t.Context(), "acme", "7"); return err }, "live.end 7"},
	} {
		t.Run(name, func(t *testing.T) {
			onReplicas(t, clock, func(t *testing.T, first, second *house) {
				var w witness
				w.watch(second)
				first.agent.Model = answers(says("hello"))
				first.mustTurn("1", "hi")
				if _, err := first.agent.StartLive(t.Context(), "acme", "7", nil); err != nil {
					t.Fatal(err)
				}
				clock.pass(2 * idleAfter)
				first.dies(func() error { return end.by(first) })
				second.tellOwed(0) // the other one may be at it still
				w.want(t, "")
				clock.pass(owedFirst)
				second.tellOwed(1)
				w.want(t, end.told)
				second.owed(0)
				clock.pass(time.Hour)
				second.tellOwed(0)
			})
		})
	}
}

func TestAHookThatFailsIsToldAgainAfterLongerAndLonger(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		var w witness
		w.watch(first)
		w.watch(second)
		w.fail(errors.New("the database is away"))
		first.agent.Model = answers(says("hello"))
		first.mustTurn("1", "hi")
		if ended, err := first.agent.EndSession(t.Context(), session.Ref); !ended || err != nil {
			t.Fatalf("%v, %v: the session has ended, whatever a hook says", ended, err)
		}
		clock.pass(owedFirst)
		if told, err := second.agent.TellOwed(t.Context()); told != 0 || err == nil || !strings.Contains(err.Error(), "away") {
			t.Errorf("%d told, %v", told, err)
		}
		if o := second.owed(1)[0]; o.Tries != 1 || !strings.Contains(o.Failure, "away") || !o.Next.Equal(clock.now().Add(2*owedFirst)) {
			t.Errorf("owed is %+v", o)
		}
		w.fail(nil)
		clock.pass(2*owedFirst - time.Second)
		first.tellOwed(0)
		w.want(t, "end s1, end s1")
		clock.pass(time.Second)
		first.tellOwed(1)
		w.want(t, "end s1, end s1, end s1")
		first.owed(0)
		if n := first.endsOnRecord(); n != 1 {
			t.Errorf("one end is %d times on record", n)
		}
	})
}

// Hosts that look at the same time tell an end once, and a host that tells one keeps no
// other from its own.
func TestOfTwoHostsOneTellsAnEnd(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		var w witness
		w.watch(first)
		w.watch(second)
		w.fail(errors.New("away"))
		first.agent.Model = answers(says("a"), says("b"), says("c"))
		for _, id := range []host.SessionID{"s1", "s2", "s3"} {
			first.sayIn(id, "")
			ref := session.Ref
			ref.Session = id
			if _, err := first.agent.EndSession(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
		}
		w.fail(nil)
		clock.pass(owedFirst)
		var told atomic.Int32
		var both sync.WaitGroup
		for _, h := range []*house{first, second} {
			both.Go(func() {
				n, err := h.agent.TellOwed(t.Context())
				if err != nil {
					t.Error(err)
				}
				told.Add(int32(n))
			})
		}
		both.Wait()
		clock.pass(time.Hour) // one that found a session in the other's hands has left it for later
		first.tellOwed(3 - int(told.Load()))
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.told) != 6 {
			t.Errorf("3 ends that failed once were told: %q", w.told)
		}
	})
}

// What is purged is not told any more, also by who had it on a list; and what only
// counts ends is told of it by the purge.
func TestAPurgeTakesAnOwedEndAlong(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		first.agent.Model = answers(says("hello"), says("again"))
		first.mustTurn("1", "hi")
		first.dies(func() error { _, err := first.agent.EndSession(t.Context(), session.Ref); return err })
		clock.pass(owedFirst)
		listed := second.owed(1)[0]
		var w, counts witness
		second.hook(
			host.Hook{Name: "keeps", OnSessionEnd: func(context.Context, host.SessionRef) error { return w.note("end") }, OnPurge: func(context.Context, host.SessionRef) error { return w.note("purge") }},
			host.Hook{Name: "counts", OnSessionEnd: func(context.Context, host.SessionRef) error { return counts.note("end") }},
		)
		if err := second.agent.Purge(t.Context(), session.Ref); err != nil {
			t.Fatal(err)
		}
		second.owed(0)
		if told, err := second.agent.tellAgain(t.Context(), listed); told || err != nil {
			t.Errorf("after the purge it is told: %v, %v", told, err)
		}
		clock.pass(time.Hour)
		second.tellOwed(0)
		w.want(t, "purge")
		counts.want(t, "end")
	})
}

// A purge and the telling of an end never go on at once.
func TestAPurgeWaitsForAnEndThatIsToldAgain(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		var w witness
		w.watch(first)
		w.watch(second)
		w.fail(errors.New("away"))
		first.agent.Model = answers(says("hello"))
		first.mustTurn("1", "hi")
		if _, err := first.agent.EndSession(t.Context(), session.Ref); err != nil {
			t.Fatal(err)
		}
		w.fail(nil)
		clock.pass(owedFirst)
		called, goOn := make(chan struct{}), make(chan struct{})
		second.hook(host.Hook{Name: "slow", Observer: true, OnSessionEnd: func(context.Context, host.SessionRef) error { close(called); <-goOn; return nil }})
		var telling sync.WaitGroup
		telling.Go(func() { second.tellOwed(1) })
		<-called
		wantBusy(t, first.agent.Purge(t.Context(), session.Ref), "")
		w.want(t, "end s1") // nobody was told to drop what is still being kept
		close(goOn)
		telling.Wait()
		if err := first.agent.Purge(t.Context(), session.Ref); err != nil {
			t.Fatal(err)
		}
		w.want(t, "end s1, purge s1")
	})
}

// A purge that was broken off has left the end owed, and on record that nothing of the
// session is to be kept.
func TestAPurgeThatFailsLeavesItsEndOwed(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		var w witness
		w.watch(first)
		w.fail(errors.New("the index is away"))
		first.agent.Model = answers(says("hello"))
		first.mustTurn("1", "hi")
		if err := first.agent.Purge(t.Context(), session.Ref); err == nil {
			t.Fatal("it is over")
		}
		first.owed(1)
		records, err := first.store.Records(t.Context(), "acme", state.RecordFilter{Session: session.Ref, Kinds: []host.RecordKind{host.RecordEvent}})
		if err != nil || len(records) != 2 || !strings.Contains(string(records[1].Detail), host.EventPurge) {
			t.Errorf("on record are %+v, %v", records, err)
		}
		w.fail(nil)
		if err := first.agent.Purge(t.Context(), session.Ref); err != nil {
			t.Fatal(err)
		}
		first.owed(0)
		w.want(t, "purge s1, purge s1")
	})
}

func TestAnEndIsNotToldWhileATurnOfItsSessionRuns(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		var w witness
		w.watch(second)
		first.agent.Model = answers(says("hello"))
		first.mustTurn("1", "hi")
		w.watch(first)
		w.fail(errors.New("away"))
		if _, err := first.agent.EndSession(t.Context(), session.Ref); err != nil {
			t.Fatal(err)
		}
		w.fail(nil)
		clock.pass(owedFirst)
		turn := first.hold("2", "still here")
		second.tellOwed(0)
		w.want(t, "end s1")
		if o := second.owed(1)[0]; o.Tries != 0 || !o.Next.After(clock.now()) {
			t.Errorf("a try is used up, or it stays on the list: %+v", o)
		}
		close(turn.release)
		if err := <-turn.ended; err != nil {
			t.Fatal(err)
		}
		clock.pass(owedFirst)
		second.tellOwed(1)
		w.want(t, "end s1, end s1")
		// It goes on while the end was told, and ends once more.
		if ended, err := second.agent.EndSession(t.Context(), session.Ref); !ended || err != nil {
			t.Errorf("%v, %v", ended, err)
		}
		second.owed(0)
	})
}

// What no try helps is told in the log, stays for people to see, and comes back when
// they say so.
func TestAnEndThatIsNeverTakenIsGivenUpInPublic(t *testing.T) {
	clock := newClock()
	h := newReplica(t, databases()["sqlite"](t), "first", newSet(t, nil), state.Options{Now: clock.now})
	var log bytes.Buffer
	h.agent.Dispatch.Log = slog.New(slog.NewTextHandler(&log, nil))
	var w witness
	w.watch(h)
	w.fail(errors.New("broken"))
	h.agent.Model = answers(says("hello"))
	h.mustTurn("1", "hi")
	if _, err := h.agent.EndSession(t.Context(), session.Ref); err != nil {
		t.Fatal(err)
	}
	begun := clock.now()
	for range owedTries {
		if strings.Contains(log.String(), "sluice jobs --again") {
			t.Fatalf("given up after %s", clock.now().Sub(begun))
		}
		clock.pass(h.owed(1)[0].Next.Sub(clock.now()))
		if told, err := h.agent.TellOwed(t.Context()); told != 0 || err == nil {
			t.Fatalf("%d told, %v", told, err)
		}
	}
	if took := clock.now().Sub(begun); took < 14*owedMost || took > 21*owedMost {
		t.Errorf("all tries took %s", took)
	}
	if !strings.Contains(log.String(), "sluice jobs --again") {
		t.Errorf("the log says\n%s", log.String())
	}
	if o := h.owed(1)[0]; !o.Next.IsZero() || o.Tries != owedTries || !strings.Contains(o.Failure, "broken") {
		t.Errorf("owed is %+v", o)
	}
	clock.pass(365 * 24 * time.Hour)
	h.tellOwed(0)
	if len(w.told) != 1+owedTries {
		t.Errorf("told %d times", len(w.told))
	}
	w.fail(nil)
	if _, err := h.store.ReviveOwed(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.tellOwed(1)
	h.owed(0)
}

// One end that fails keeps no other from being told, and a host whose hooks all fail
// does not try them all.
func TestEndsThatFailAreBounded(t *testing.T) {
	clock := newClock()
	h := newReplica(t, databases()["sqlite"](t), "first", newSet(t, nil), state.Options{Now: clock.now})
	var w witness
	w.watch(h)
	const many = owedPage + 20
	for i := range many {
		live := host.LiveID(fmt.Sprintf("l%03d", i))
		if _, err := h.store.StartLive(t.Context(), "acme", live, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.store.EndLive(t.Context(), "acme", live, owedFirst); err != nil {
			t.Fatal(err)
		}
		clock.pass(time.Microsecond)
	}
	clock.pass(owedFirst)
	w.fail(errors.New("away"))
	if told, err := h.agent.TellOwed(t.Context()); told != 0 || err == nil || len(w.told) != maxFails {
		t.Errorf("%d of %d were tried, %d told, %v", len(w.told), many, told, err)
	}
	w.fail(nil)
	h.tellOwed(many - maxFails)
	clock.pass(2 * owedFirst)
	h.tellOwed(maxFails)
	h.owed(0)
}

// A host without memory does not take from others what they have to keep.
func TestAHostThatHearsNoEndsLeavesThemToOthers(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		var w witness
		w.watch(first)
		w.fail(errors.New("away"))
		first.agent.Model = answers(says("hello"))
		first.mustTurn("1", "hi")
		if _, err := first.agent.EndSession(t.Context(), session.Ref); err != nil {
			t.Fatal(err)
		}
		w.fail(nil)
		clock.pass(owedFirst)
		second.hook(host.Hook{Name: "alerts", Observer: true, OnAlert: func(context.Context, host.Alert) error { return nil }})
		second.tellOwed(0)
		second.owed(1)
		first.tellOwed(1)
	})
}

// Nor does it when the end is its own: it is owed to a host with memory from the start.
func TestAHostThatHearsNoEndsLeavesItsOwnToOthers(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		var w witness
		w.watch(second)
		first.agent.Model = answers(says("hello"))
		first.mustTurn("1", "hi")
		if ended, err := first.agent.EndSession(t.Context(), session.Ref); !ended || err != nil {
			t.Fatalf("%v, %v", ended, err)
		}
		if _, err := first.agent.StartLive(t.Context(), "acme", "7", nil); err != nil {
			t.Fatal(err)
		}
		clock.pass(time.Second)
		if ended, err := first.agent.EndLive(t.Context(), "acme", "7"); !ended || err != nil {
			t.Fatalf("%v, %v", ended, err)
		}
		first.owed(2)
		clock.pass(owedFirst)
		second.tellOwed(2)
		w.want(t, "end s1, live.end 7")
		second.owed(0)
	})
}

// Where no host has memory, ends do not pile up.
func TestEndsThatNoHostHearsAreDroppedAfterAMonth(t *testing.T) {
	clock := newClock()
	h := newReplica(t, databases()["sqlite"](t), "first", newSet(t, nil), state.Options{Now: clock.now})
	h.agent.Model = answers(says("hello"), says("again"))
	h.sayIn("s1", "")
	ref := session.Ref
	if _, err := h.agent.EndSession(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	clock.pass(owedFirst + owedUnheard - time.Second)
	h.sayIn("s2", "")
	ref.Session = "s2"
	if _, err := h.agent.EndSession(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	h.tellOwed(0)
	h.owed(2)
	clock.pass(time.Second)
	h.tellOwed(0)
	if o := h.owed(1)[0]; o.Session.Session != "s2" || o.Tries != 0 {
		t.Errorf("owed is %+v", o)
	}
}

// A host that stops breaks the telling off, and leaves the end for another one.
func TestAHostThatStopsLeavesTheEndOwed(t *testing.T) {
	clock := newClock()
	h := newReplica(t, databases()["sqlite"](t), "first", newSet(t, nil), state.Options{Now: clock.now})
	h.agent.Model = answers(says("hello"))
	h.mustTurn("1", "hi")
	var w witness
	w.watch(h)
	w.fail(errors.New("away"))
	if _, err := h.agent.EndSession(t.Context(), session.Ref); err != nil {
		t.Fatal(err)
	}
	clock.pass(owedFirst)
	stopping, stop := context.WithCancel(t.Context())
	h.hook(host.Hook{Name: "slow", Observer: true, OnSessionEnd: func(ctx context.Context, _ host.SessionRef) error { stop(); <-ctx.Done(); return ctx.Err() }})
	if told, err := h.agent.TellOwed(stopping); told != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d told, %v", told, err)
	}
	if o := h.owed(1)[0]; o.Tries != 1 || o.Failure == "" {
		t.Errorf("owed is %+v", o)
	}
	h.agent.Model = answers(says("again"))
	if _, err := h.turn("2", "and"); err != nil && host.ProblemOf(err).Code == abi.Busy {
		t.Error("the lease was not given back")
	}
}
