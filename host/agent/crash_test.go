package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// A crashClock lets a store work for some transactions and never again: each
// transaction asks it for the time once, and from one on it gives a time that
// the database's triggers refuse.
type crashClock struct {
	left atomic.Int64 // transactions
	used atomic.Int64
}

var crashAlive = time.Unix(1_700_000_000, 0)

// crashDead is the time from which on nothing is kept.
const crashDead = 10_000_000_000

func (c *crashClock) now() time.Time {
	c.used.Add(1)
	if c.left.Add(-1) < 0 {
		return time.Unix(crashDead, 0)
	}
	return crashAlive
}

// crashTriggers refuse what is written after the crash. A process that was
// killed gives no lease back, either.
func crashTriggers(killed bool) (statements []string) {
	refuse := func(event, table, when string) {
		statements = append(statements, fmt.Sprintf("CREATE TRIGGER crash%d BEFORE %s ON %s WHEN %s BEGIN SELECT RAISE(ABORT, 'crashed'); END",
			len(statements), event, table, when))
	}
	for table, column := range map[string]string{"agent_session": "updated_at", "agent_claim": "updated_at", "agent_lease": "expires_at", "audit_record": "recorded_at"} {
		refuse("INSERT", table, fmt.Sprintf("NEW.%s >= %d000000", column, crashDead))
		refuse("UPDATE", table, fmt.Sprintf("NEW.%s >= %d000000", column, crashDead))
	}
	if killed {
		refuse("UPDATE", "agent_lease", "NEW.holder_id = ''")
	}
	return statements
}

// A crashSite is one session on a SQLite file, whose turn crashes on one
// replica and goes on on another.
type crashSite struct {
	t     *testing.T
	set   *release.Set
	path  string
	clock crashClock
	first *house
	model *script
}

func crashAnswers() *script {
	return answers(
		calls(`order {"item":"pen","count":2}`, `total {"item":"pen"}`, `total {"item":"ink"}`, `order {"item":"ink","count":1}`),
		calls(`order {"item":"cap","count":4}`, `order {"item":"pen","count":3}`),
		says("All is ordered."),
	)
}

func newCrashSite(t *testing.T, set *release.Set, transactions int) *crashSite {
	t.Helper()
	s := &crashSite{t: t, set: set, path: filepath.Join(t.TempDir(), "store.db"), model: crashAnswers()}
	s.clock.left.Store(int64(transactions))
	s.first = s.replica(s.clock.now)
	s.first.raw = openRaw(t, s.path)
	return s
}

func (s *crashSite) replica(now func() time.Time) *house {
	s.t.Helper()
	h := newReplica(s.t, s.path, "replica", s.set, state.Options{Now: now})
	h.agent.Model = s.model
	h.agent.Lease = state.MaxLeaseTime // no renewal is counted among the turn's transactions
	return h
}

// crash runs the turn into its end.
func (s *crashSite) crash(killed bool) {
	s.t.Helper()
	for _, trigger := range crashTriggers(killed) {
		damage(s.t, s.first, trigger)
	}
	if _, err := s.first.turn("1", "order everything"); err == nil {
		s.t.Fatal("the turn did not crash")
	}
	for i := range crashTriggers(killed) {
		damage(s.t, s.first, fmt.Sprint("DROP TRIGGER crash", i))
	}
}

// second gives a replica that comes when every lease of the first has run out.
func (s *crashSite) second() *house {
	return s.replica(func() time.Time { return crashAlive.Add(time.Hour) })
}

// answered counts the model's answers that are stored.
func (s *crashSite) answered() int {
	if _, err := Show(s.t.Context(), s.first.store, session.Ref); err != nil {
		return 0
	}
	return strings.Count(s.first.said(), "assistant:")
}

// settled gives how often each call's end is on record.
func (s *crashSite) settled() map[host.CallID]int {
	s.t.Helper()
	settled := map[host.CallID]int{}
	for after := int64(0); ; {
		page, err := s.first.store.Records(s.t.Context(), session.Ref.Tenant, state.RecordFilter{Kinds: []host.RecordKind{host.RecordOutcome}, AfterSeq: after})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(page) == 0 {
			return settled
		}
		for _, r := range page {
			after = r.Seq
			if strings.Contains(string(r.Detail), `"status":"done"`) {
				settled[r.Call]++
			}
		}
	}
}

// wholeTurn gives the conversation and the number of transactions of a turn
// that nothing happens to.
func wholeTurn(t *testing.T, set *release.Set) (said string, transactions int) {
	s := newCrashSite(t, set, 1000)
	s.first.mustTurn("1", "order everything")
	return s.first.said(), int(s.clock.used.Load())
}

// Whatever transaction is the last one that a turn's replica is able to make,
// the turn goes on elsewhere to the same end, asks the model nothing that was
// answered, and runs nothing that was settled.
func TestATurnThatCrashesAnywhereGoesOnToTheSameEnd(t *testing.T) {
	set := newSet(t, nil)
	want, transactions := wholeTurn(t, set)
	if transactions < 10 {
		t.Fatalf("the turn has %d transactions", transactions)
	}
	for _, killed := range []bool{false, true} {
		for n := 0; n < transactions; n += crashEvery {
			t.Run(fmt.Sprintf("killed=%v after %d of %d", killed, n, transactions), func(t *testing.T) {
				t.Parallel()
				s := newCrashSite(t, set, n)
				s.crash(killed)
				kept, before := s.answered(), len(s.model.asked)
				second := s.second()
				answer, err := second.agent.Resume(t.Context(), session, nil)
				if n == 0 {
					if host.ProblemOf(err).Code != abi.NotFound {
						t.Fatalf("a session of which nothing was kept is resumed: %v", err)
					}
					answer, err = second.turn("1", "order everything")
				}
				if err != nil || answer.Text != "All is ordered." {
					t.Fatalf("the answer is %+v, %v", answer, err)
				}
				second.wantSaid(want)
				if asked := len(s.model.asked) - before; asked != 3-kept {
					t.Errorf("with %d answers stored, %d more were asked for", kept, asked)
				}
				for item, want := range map[string]string{"pen": "5", "ink": "1", "cap": "4"} {
					if got := second.stored("total/" + item); got != want {
						t.Errorf("%s of %s were ordered, want %s", got, item, want)
					}
				}
				for call, times := range s.settled() {
					if times != 1 && !strings.Contains(string(call), "/") { // a fact for a call may be fetched again
						t.Errorf("call %s was settled %d times", call, times)
					}
				}
			})
		}
	}
}

// H38: where another input comes instead, every call has a result: what the
// records say of it, or that it was interrupted.
func TestH38ATurnThatCrashesAnywhereLeavesNoCallWithoutAResult(t *testing.T) {
	set := newSet(t, nil)
	_, transactions := wholeTurn(t, set)
	for n := 0; n < transactions; n += crashEvery {
		t.Run(fmt.Sprintf("after %d of %d", n, transactions), func(t *testing.T) {
			t.Parallel()
			s := newCrashSite(t, set, n)
			s.crash(true)
			settled := s.settled()
			second := s.second()
			var seen model.Request
			second.agent.Model = asked(func(_ context.Context, req model.Request) (model.Reply, error) {
				seen = req
				return says("As you like.")()
			})
			if _, err := second.turn("2", "never mind"); err != nil {
				t.Fatal(err)
			}
			for i, m := range seen.Messages {
				for index, c := range m.Calls {
					result := seen.Messages[i+1+index]
					if result.Role != model.RoleTool || result.CallID != c.ID {
						t.Fatalf("call %d of message %d has no result: %+v", index, i, result)
					}
					done := settled[host.CallIDFor(session.Ref, i, index)] > 0
					if done != result.OK || !done && !strings.Contains(result.Text, "interrupted") {
						t.Errorf("call %d of message %d is told as %+v; it was settled: %v", index, i, result, done)
					}
				}
			}
		})
	}
}
