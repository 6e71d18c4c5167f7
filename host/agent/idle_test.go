package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// idleAfter is how long the sessions of these tests may say nothing.
const idleAfter = 30 * time.Minute

// countEnds gives a house a hook that counts the ends of sessions.
func (h *house) countEnds(ends *atomic.Int32) {
	h.hook(host.Hook{Name: "ends", Observer: true, OnSessionEnd: func(context.Context, host.SessionRef) error {
		ends.Add(1)
		return nil
	}})
}

func (h *house) endIdle() int {
	h.t.Helper()
	n, err := h.agent.EndIdle(h.t.Context(), idleAfter)
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// endsOnRecord counts what the log has of a session's ends.
func (h *house) endsOnRecord() (n int) {
	h.t.Helper()
	records, err := h.store.Records(h.t.Context(), session.Ref.Tenant, state.RecordFilter{Session: session.Ref, Kinds: []host.RecordKind{host.RecordEvent}})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range records {
		var detail struct{ Event string }
		if err := json.Unmarshal(r.Detail, &detail); err != nil {
			h.t.Fatal(err)
		}
		if detail.Event == sessionEnded {
			n++
		}
	}
	return n
}

func (h *house) wantRests(want int) {
	h.t.Helper()
	rests, _, err := h.store.Rests(h.t.Context(), 0, 0)
	if err != nil || len(rests) != want {
		h.t.Errorf("%d sessions are to be looked at, %v; want %d", len(rests), err, want)
	}
}

func TestAnIdleSessionEndsOnceAndGoesOnWithItsNextInput(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		var ends atomic.Int32
		for _, h := range []*house{first, second} {
			h.countEnds(&ends)
			h.agent.Model = answers(says("one"), says("two"), says("three"))
		}
		first.mustTurn("1", "hello")
		clock.pass(idleAfter)
		if n := first.endIdle(); n != 0 {
			t.Errorf("%d sessions ended that are not idle for longer", n)
		}
		clock.pass(time.Microsecond)
		var ended atomic.Int32
		var both sync.WaitGroup
		for _, h := range []*house{first, second} {
			both.Go(func() {
				n, err := h.agent.EndIdle(t.Context(), idleAfter)
				if err != nil {
					t.Error(err)
				}
				ended.Add(int32(n))
			})
		}
		both.Wait()
		if ended.Load() != 1 || ends.Load() != 1 || first.endsOnRecord() != 1 {
			t.Errorf("it ended %d times, was told %d times, and is on record %d times", ended.Load(), ends.Load(), first.endsOnRecord())
		}
		clock.pass(2 * idleAfter)
		second.endIdle()
		if again, err := second.agent.EndSession(t.Context(), session.Ref); again || err != nil || ends.Load() != 1 {
			t.Errorf("it ended again: %v, %v", again, err)
		}
		clock.pass(time.Hour)
		second.wantRests(0) // nobody looks at it until it is used
		second.mustTurn("2", "again")
		second.wantSaid("user:hello assistant:one user:again assistant:two")
		clock.pass(2 * idleAfter)
		if n := first.endIdle(); n != 1 || ends.Load() != 2 {
			t.Errorf("after another input %d ended, and %d ends were told", n, ends.Load())
		}
	})
}

func TestASessionInATurnOrJustUsedIsNotIdle(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		var ends atomic.Int32
		second.countEnds(&ends)
		turn := first.hold("1", "hello")
		fence := leased(t, first)
		clock.pass(2 * idleAfter)
		// The turn's lease is renewed, however long it runs.
		if err := first.store.Renew(t.Context(), session.Ref, fence, DefaultLease); err != nil {
			t.Fatal(err)
		}
		if n := second.endIdle(); n != 0 || ends.Load() != 0 {
			t.Errorf("%d ended in their turn", n)
		}
		close(turn.release)
		if err := <-turn.ended; err != nil {
			t.Fatal(err)
		}
		if n := second.endIdle(); n != 0 {
			t.Errorf("%d ended with their turn's answer", n)
		}
		clock.pass(idleAfter + time.Second)
		if n := second.endIdle(); n != 1 || ends.Load() != 1 {
			t.Errorf("%d ended after the turn, %d told", n, ends.Load())
		}
	})
}

// leased gives the fence of the lease that a turn has.
func leased(t *testing.T, h *house) host.Fence {
	t.Helper()
	_, err := h.store.Lease(t.Context(), session.Ref, "asks", time.Minute)
	var held *state.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("nobody has the session: %v", err)
	}
	return held.Fence
}

// What was seen of a session before its lease was taken may not be so any more.
func TestASessionThatWasUsedSinceItWasListedDoesNotEnd(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		first.agent.Model = answers(says("one"), says("two"), says("three"))
		first.mustTurn("1", "hello")
		clock.pass(2 * idleAfter)
		rests, before, err := second.store.Rests(t.Context(), idleAfter, 0)
		if err != nil || len(rests) != 1 {
			t.Fatalf("%+v, %v", rests, err)
		}
		first.mustTurn("2", "still here")
		if ended, err := second.agent.endLeased(t.Context(), session.Ref, stillness{before, idleAfter}); ended || err != nil {
			t.Errorf("it ended: %v, %v", ended, err)
		}
		if ended, err := second.agent.endRest(t.Context(), rests[0], stillness{before, idleAfter}); ended || err != nil {
			t.Errorf("it ended: %v, %v", ended, err)
		}
		first.mustTurn("3", "and on") // nobody has it
		clock.pass(2 * idleAfter)
		if n := second.endIdle(); n != 1 {
			t.Errorf("%d ended; a look at a session that was used takes it off the list", n)
		}
	})
}

func TestASessionThatWaitsForAPersonStays(t *testing.T) {
	set := manySet(t)
	for name, fresh := range databases() {
		t.Run(name, func(t *testing.T) {
			clock, ends := newClock(), atomic.Int32{}
			h := newReplica(t, fresh(t), "first", set, state.Options{Now: clock.now})
			h.countEnds(&ends)
			h.agent.Model = ordering(t, orderPens)
			asked := h.mustTurn("1", "order 20 pens").Pending
			for range 3 {
				clock.pass(2 * idleAfter)
				if n := h.endIdle(); n != 0 || ends.Load() != 0 {
					t.Fatalf("%d ended while a person is asked", n)
				}
			}
			h.decide(asked[0], true, "")
			if answer := h.goOn(asked[0]); !strings.HasPrefix(answer.Text, "It is done") {
				t.Errorf("the answer is %q", answer.Text)
			}
			clock.pass(2 * idleAfter)
			if n := h.endIdle(); n != 1 || ends.Load() != 1 {
				t.Errorf("%d ended when the person had answered", n)
			}
		})
	}
}

// A question that nobody answers keeps its session for a day, and no longer; it stays
// open, and its answer goes on with the session.
func TestASessionThatNobodyAnswersEndsMuchLater(t *testing.T) {
	set := manySet(t)
	for name, fresh := range databases() {
		t.Run(name, func(t *testing.T) {
			clock, ends := newClock(), atomic.Int32{}
			h := newReplica(t, fresh(t), "first", set, state.Options{Now: clock.now})
			h.countEnds(&ends)
			h.agent.Model = ordering(t, orderPens)
			asked := h.mustTurn("1", "order 20 pens").Pending
			clock.pass(2 * idleAfter)
			h.endIdle() // puts it at the end of the list, which is not what its time counts from
			clock.pass((waitingTimes - 2) * idleAfter)
			if n := h.endIdle(); n != 0 || ends.Load() != 0 {
				t.Fatalf("%d ended while a person may still answer", n)
			}
			clock.pass(idleAfter + time.Second)
			if n := h.endIdle(); n != 1 || ends.Load() != 1 {
				t.Fatalf("%d ended after so long", n)
			}
			clock.pass(100 * idleAfter)
			if n := h.endIdle(); n != 0 || ends.Load() != 1 {
				t.Errorf("%d ended once more", n)
			}
			h.decide(asked[0], true, "")
			if answer := h.goOn(asked[0]); !strings.HasPrefix(answer.Text, "It is done") {
				t.Errorf("the answer is %q", answer.Text)
			}
			clock.pass(2 * idleAfter)
			if n := h.endIdle(); n != 1 || ends.Load() != 2 {
				t.Errorf("%d ended when the person had answered", n)
			}
		})
	}
}

// Of sessions without end, each run looks at some, and the next one at the next;
// one that is damaged is told of, and keeps no other from its end.
func TestManyIdleSessionsEndPageByPage(t *testing.T) {
	clock := newClock()
	h := newReplica(t, databases()["sqlite"](t), "first", newSet(t, nil), state.Options{Now: clock.now})
	const many = idlePage + 20
	list := make([]func() (model.Reply, error), many)
	for i := range list {
		list[i] = says("ok")
	}
	h.agent.Model = answers(list...)
	for n := range many {
		h.sayIn(host.SessionID(fmt.Sprintf("s%03d", n)), "")
	}
	damaged := session.Ref
	damaged.Session = "s007"
	values, err := h.store.LoadState(t.Context(), damaged, keySession)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.store.SaveState(t.Context(), damaged, state.Change{Key: keySession, Version: values[keySession].Version, Data: []byte(`"no session"`)}); err != nil {
		t.Fatal(err)
	}
	clock.pass(2 * idleAfter)
	var told int
	stopping, stop := context.WithCancel(t.Context())
	h.hook(host.Hook{Name: "stops", Observer: true, OnSessionEnd: func(context.Context, host.SessionRef) error {
		told++
		stop() // the host, in the middle of the run
		return nil
	}})
	if n, err := h.agent.EndIdle(stopping, idleAfter); n != 1 || told != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d ended, %d were told of, when the host stopped: %v", n, told, err)
	}
	n, err := h.agent.EndIdle(t.Context(), idleAfter)
	if n != many-2 || err == nil || !strings.Contains(err.Error(), "s007") {
		t.Errorf("%d of %d ended, %v", n, many, err)
	}
	if n, err := h.agent.EndIdle(t.Context(), idleAfter); n != 0 || err != nil {
		t.Errorf("at once again %d ended, %v", n, err)
	}
}
