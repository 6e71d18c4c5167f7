package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

func TestOneReplicaRunsASessionAndTheOtherIsToldWhoDoes(t *testing.T) {
	onReplicas(t, newClock(), func(t *testing.T, first, second *house) {
		turn := first.hold("1", "hello")
		second.agent.Model = answers(says("unused"), says("two"))
		_, err := second.turn("2", "hi")
		problem := wantBusy(t, err, "first, turn_")
		if problem.RetryAfterMS < 1 || problem.RetryAfterMS > DefaultLease.Milliseconds()+1 {
			t.Errorf("it says to come back after %d ms", problem.RetryAfterMS)
		}
		close(turn.release)
		if err := <-turn.ended; err != nil {
			t.Fatal(err)
		}
		second.mustTurn("2", "hi") // the lease was given back with the last save
		second.wantSaid("user:hello assistant:held user:hi assistant:two")
	})
}

// H41: a stale append was merged silently, and the history was corrupt.
func TestH41AStaleAppendIsRefused(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		first.agent.Model = answers(says("one, too late"))
		stale := first.begin("1", "hello")
		clock.pass(time.Hour) // it stalls
		second.agent.Model = answers(says("one"))
		second.mustTurn("1", "hello")
		want := second.said()
		_, err := stale.run(t.Context())
		wantLost(t, err)
		second.wantSaid(want)
	})
}

// H42: a second writer who had every right killed the first one's turn.
func TestH42ASecondWriterWaitsAndKillsNothing(t *testing.T) {
	onReplicas(t, newClock(), func(t *testing.T, first, second *house) {
		turn := first.hold("1", "hello")
		second.agent.Wait = time.Minute
		second.agent.Model = answers(says("unused"), says("two"))
		waits := make(chan error)
		go func() {
			_, err := second.turn("2", "hi")
			waits <- err
		}()
		close(turn.release)
		if err := errors.Join(<-turn.ended, <-waits); err != nil {
			t.Fatal(err)
		}
		second.wantSaid("user:hello assistant:held user:hi assistant:two")
	})
}

// H43: two workers forked one thread.
func TestH43TwoWorkersCannotForkASession(t *testing.T) {
	onReplicas(t, nil, func(t *testing.T, first, second *house) {
		const inputs = 6
		var wait sync.WaitGroup
		for i, h := range []*house{first, second} {
			h.agent.Wait = time.Minute
			h.agent.Model = asked(func(context.Context, model.Request) (model.Reply, error) { return says("ok")() })
			wait.Go(func() {
				for n := range inputs {
					in := Input{ID: host.InputID(fmt.Sprint(i, n)), Text: "hello"}
					if _, err := h.agent.Turn(t.Context(), session, in, nil); err != nil {
						t.Errorf("replica %d: %v", i, err)
					}
				}
			})
		}
		wait.Wait()
		first.wantSaid(strings.TrimSpace(strings.Repeat("user:hello assistant:ok ", 2*inputs)))
	})
}

// H44: one workflow ran twice at the same time.
func TestH44ADeliveryTwiceAtOnceRunsOnce(t *testing.T) {
	onReplicas(t, nil, func(t *testing.T, first, second *house) {
		m := answers(calls(`order {"item":"pen","count":2}`), says("done"))
		var wait sync.WaitGroup
		for _, a := range []*Agent{first.agent, second.agent} {
			a.Wait, a.Model = time.Minute, m
		}
		for _, a := range []*Agent{first.agent, first.agent, second.agent, second.agent} {
			wait.Go(func() {
				if answer, err := a.Turn(t.Context(), session, Input{ID: "1", Text: "order 2 pens"}, nil); err != nil || answer.Text != "done" {
					t.Errorf("the answer is %+v, %v", answer, err)
				}
			})
		}
		wait.Wait()
		if len(m.asked) != 2 || first.stored("total/pen") != "2" {
			t.Errorf("%d questions, %s pens", len(m.asked), first.stored("total/pen"))
		}
	})
}

// A process that was killed gives nothing back: its session rests until the
// lease has run out.
func TestAKilledReplicasSessionIsTakenOverWhenItsLeaseHasRunOut(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		first.agent.Model = answers(calls(`order {"item":"pen","count":2}`))
		first.think("1", "order 2 pens")
		m := answers(calls(`unused {}`), says("done"))
		second.agent.Model = m
		clock.pass(DefaultLease - time.Microsecond)
		_, err := second.turn("1", "order 2 pens")
		if problem := wantBusy(t, err, "first"); problem.RetryAfterMS != 1 {
			t.Errorf("it says to come back after %d ms", problem.RetryAfterMS)
		}
		clock.pass(time.Microsecond)
		if answer := second.mustTurn("1", "order 2 pens"); answer.Text != "done" || len(m.asked) != 1 || second.stored("total/pen") != "2" {
			t.Errorf("answer is %+v after %d questions, stored %s", answer, len(m.asked), second.stored("total/pen"))
		}
	})
}

// A replica that stalls in the middle of a turn, and comes back when another
// has the session, writes no message, no claim and no settlement any more.
func TestAReplicaThatComesBackAfterATakeoverWritesNothing(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		second.agent.Model = answers(calls(`unused {}`), says("never mind"))
		takeOver := func() { // in place of a wait between two attempts of the call
			clock.pass(DefaultLease)
			if _, err := second.agent.Turn(t.Context(), session, Input{ID: "2", Text: "stop"}, nil); err != nil {
				t.Error(err)
			}
		}
		var once sync.Once
		first.agent.Dispatch.Sleep = func(ctx context.Context, _ time.Duration) error { once.Do(takeOver); return ctx.Err() }
		first.agent.Model = answers(calls(`misbehave {"how":"flaky"}`, `order {"item":"pen","count":2}`), says("unused"))
		answer, err := first.turn("1", "go")
		wantLost(t, err)
		if len(answer.Outcomes) != 0 || first.stored("dirt") != "" || first.stored("total/pen") != "" {
			t.Errorf("it kept %+v, %q and %q", answer.Outcomes, first.stored("dirt"), first.stored("total/pen"))
		}
		records, err := first.store.Records(t.Context(), session.Ref.Tenant, state.RecordFilter{Session: session.Ref, Kinds: []host.RecordKind{host.RecordIntent}, Limit: 100})
		if err != nil || len(records) != 1 || records[0].Tool != "misbehave" {
			t.Errorf("%d intents are on record, %v: %+v", len(records), err, records)
		}
		said := first.said()
		if !strings.HasPrefix(said, "user:go assistant:misbehaveorder tool:") || !strings.HasSuffix(said, "user:stop assistant:never mind") || strings.Count(said, "tool:") != 2 {
			t.Errorf("the conversation is %s", said)
		}
		if !strings.Contains(said, "began and was interrupted") || !strings.Contains(said, "before it began") {
			t.Errorf("the calls ended as %s", said)
		}
	})
}

// Where its renewal finds out first, a model that thinks for long is stopped.
func TestALostLeaseEndsTheTurnsContext(t *testing.T) {
	clock := newClock()
	onReplicas(t, clock, func(t *testing.T, first, second *house) {
		first.agent.Lease = 3 * time.Second
		turn := first.hold("1", "hello")
		second.agent.Model = answers(says("one"))
		for taken := false; !taken; {
			clock.pass(time.Hour)
			_, err := second.turn("1", "hello")
			if taken = err == nil; !taken {
				wantBusy(t, err, "first") // which renewed it since, as it may while nobody has taken it
			}
		}
		wantBusy(t, <-turn.ended, "")
		second.wantSaid("user:hello assistant:one")
	})
}

// What the processes' own clocks show plays no part.
func TestReplicasWhoseClocksDifferAgree(t *testing.T) {
	onReplicas(t, nil, func(t *testing.T, first, second *house) {
		first.agent.Now = func() time.Time { return time.Now().Add(-24 * time.Hour) }
		second.agent.Now = func() time.Time { return time.Now().Add(24 * time.Hour) }
		for i, pair := range [][2]*house{{first, second}, {second, first}} {
			turn := pair[0].hold(fmt.Sprint(i), "hello")
			pair[1].agent.Model = answers()
			_, err := pair[1].turn("other", "hi")
			wantBusy(t, err, pair[0].agent.Name)
			close(turn.release)
			if err := <-turn.ended; err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestALeaseIsRenewedAsLongAsItsTurnRuns(t *testing.T) {
	onReplicas(t, nil, func(t *testing.T, first, second *house) {
		t.Parallel()
		first.agent.Lease = 6 * time.Second // one renewal may be 4 s late
		turn := first.hold("1", "hello")
		seen := map[time.Time]bool{} // the ends that the lease has had
		for len(seen) <= renewals {  // the last of them came when the first had passed
			_, err := second.store.Lease(t.Context(), session.Ref, "second", time.Second)
			var held *state.HeldError
			if !errors.As(err, &held) {
				t.Fatalf("after %d renewals the lease is free: %v", len(seen), err)
			}
			seen[held.Until] = true
			time.Sleep(10 * time.Millisecond)
		}
		close(turn.release)
		if err := <-turn.ended; err != nil {
			t.Fatal(err)
		}
	})
}

// damage runs a statement on the SQLite file of a store, past the store.
func damage(t *testing.T, h *house, statement string) {
	t.Helper()
	if _, err := h.raw.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

const (
	leasesFail = "CREATE TRIGGER damaged BEFORE UPDATE ON agent_lease BEGIN SELECT RAISE(ABORT, 'damaged'); END"
	leasesMend = "DROP TRIGGER damaged"
)

// Nobody has cancelled a turn whose lease is over, whatever it was at and however
// that says that its context has ended.
func TestALostLeaseIsTheReasonWhateverTheTurnSays(t *testing.T) {
	h := newHouse(t, nil)
	turn := h.agent.newTurn(session, nil, func(error) {})
	if err := turn.reason(context.Canceled); err != context.Canceled {
		t.Errorf("with its lease the reason is %v", err)
	}
	turn.lease.expire()
	wantBusy(t, turn.reason(context.Canceled), "could not be renewed")
}

func TestATurnStopsByItselfWhenItsLeaseCannotBeRenewed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.agent.Lease = 2 * time.Second // the turn that goes on has it, too
	turn := h.hold("1", "hello")
	damage(t, h, leasesFail)
	problem := wantBusy(t, <-turn.ended, "could not be renewed for 2s")
	if !strings.Contains(problem.Hint, "again") {
		t.Errorf("the hint is %q", problem.Hint)
	}
	h.wantSaid("user:hello")
	damage(t, h, leasesMend)
	h.agent.Model = answers(says("hello"))
	h.mustTurn("1", "hello") // waits until the lease has run out
	h.wantSaid("user:hello assistant:hello")
}

func TestALeaseOutlivesAStoreThatIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.agent.Lease = 9 * time.Second // the store is away for a little more than a third of it
	lost := make(chan error, 1)
	l := h.agent.newLease(session.Ref, func(err error) { lost <- err })
	if err := l.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	damage(t, h, leasesFail)
	end := until(t, h)
	waitUntil(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.trouble != nil })
	damage(t, h, leasesMend)
	waitUntil(t, func() bool { return until(t, h).After(end) })
	select {
	case err := <-lost:
		t.Errorf("it was lost: %v", err)
	default:
	}
	l.leave(t.Context())
}

// until gives the end of the session's lease.
func until(t *testing.T, h *house) time.Time {
	t.Helper()
	_, err := h.store.Lease(t.Context(), session.Ref, "another", time.Second)
	var held *state.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("nobody has the lease: %v", err)
	}
	return held.Until
}

func waitUntil(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came to be")
		}
	}
}

// Stopping a turn gives its session back at once, with whatever it has stored.
func TestAStoppedTurnGoesOnElsewhereAtOnce(t *testing.T) {
	onReplicas(t, newClock(), func(t *testing.T, first, second *house) {
		ctx, stop := context.WithCancel(t.Context())
		first.agent.Model = asked(func(ctx context.Context, _ model.Request) (model.Reply, error) {
			stop()
			return model.Reply{}, host.Fail("model", nil, ctx.Err())
		})
		if _, err := first.agent.Turn(ctx, session, Input{ID: "1", Text: "hello"}, nil); err == nil || host.ProblemOf(err).Code != abi.Cancelled {
			t.Fatalf("got %v, want cancelled", err)
		}
		second.agent.Model = answers(says("one"))
		second.mustTurn("1", "hello")
		second.wantSaid("user:hello assistant:one")
	})
}

// A failed turn gives it back, too.
func TestATurnThatFailsGivesItsLeaseBack(t *testing.T) {
	onReplicas(t, newClock(), func(t *testing.T, first, second *house) {
		first.agent.Model = answers(fails(abi.ModelUnavailable))
		if _, err := first.turn("1", "hello"); err == nil {
			t.Fatal("the model answered")
		}
		second.agent.Model = answers(says("one"))
		second.mustTurn("1", "hello")
	})
}

// The store kept the lease, and its answer was lost on the way.
func TestALeaseWhoseGivingWasNotSeenIsFoundAgain(t *testing.T) {
	onReplicas(t, newClock(), func(t *testing.T, first, _ *house) {
		l := first.agent.newLease(session.Ref, func(error) {})
		fence, err := first.store.SaveLeasing(t.Context(), session.Ref, l.holder, l.Lease)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.take(t.Context()); err != nil || l.fence != fence {
			t.Fatalf("fence %d, %v; want %d", l.fence, err, fence)
		}
		l.leave(t.Context())
		if err := first.store.Renew(t.Context(), session.Ref, fence, time.Second); !errors.Is(err, state.ErrLeaseLost) {
			t.Errorf("it was not given back: %v", err)
		}
	})
}

func TestASecondTurnInTheSameProcessWaitsOrIsBusy(t *testing.T) {
	h := newHouse(t, nil)
	h.agent.Wait = -1
	turn := h.hold("1", "slow")
	_, err := h.agent.Turn(t.Context(), session, Input{ID: "2", Text: "quick"}, nil)
	if problem := wantBusy(t, err, "in this process since 2"); problem.RetryAfterMS != busyRetry.Milliseconds() {
		t.Errorf("it says to come back after %d ms", problem.RetryAfterMS)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	h.agent.Wait = time.Minute
	if _, err := h.agent.Turn(ctx, session, Input{ID: "2", Text: "quick"}, nil); err == nil || host.ProblemOf(err).Code != abi.Cancelled {
		t.Errorf("a caller who has gone gets %v", err)
	}
	again := make(chan Answer)
	go func() {
		answer, err := h.agent.Turn(t.Context(), session, Input{ID: "1", Text: "slow"}, nil)
		if err != nil {
			t.Error(err)
		}
		again <- answer
	}()
	close(turn.release)
	if err := <-turn.ended; err != nil {
		t.Fatal(err)
	}
	if answer := <-again; !answer.Repeated || answer.Text != "held" {
		t.Errorf("the same delivery gets %+v", answer)
	}
}

// What no version in the first save protects is read under the lease: else a
// call could be settled, or a step be answered, behind the reader's back.
func TestWhatNoVersionProtectsIsReadUnderTheLease(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []func() (model.Reply, error)
		in      Input
		want    error
	}{
		{"a turn that goes on", answers(calls(`total {"item":"pen"}`)).answers, Input{ID: "1", Text: "hello"}, errLeaseFirst},
		{"calls without results", answers(calls(`total {"item":"pen"}`)).answers, Input{ID: "2", Text: "hi"}, errLeaseFirst},
		{"only what was said", nil, Input{ID: "2", Text: "hi"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t, &script{answers: tt.answers})
			if tt.answers != nil {
				h.dieAfterThinking("1", "hello")
			} else if _, err := h.turn("1", "hello"); err == nil {
				t.Fatal("the model answered")
			}
			turn := h.agent.newTurn(session, nil, func(error) {})
			defer turn.lease.leave(t.Context())
			if err := turn.tryBegin(t.Context(), tt.in); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if (turn.lease.fence != 0) != (tt.want == nil) {
				t.Errorf("fence %d", turn.lease.fence)
			}
		})
	}
}
