package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// manySet gives the test guest, whose order tool asks a person about more than
// five of a thing.
func manySet(t *testing.T) *release.Set {
	return newSet(t, func(m *abi.Manifest) {
		for i := range m.Tools {
			if m.Tools[i].Name == "order" {
				m.Tools[i].Rules = []abi.Rule{{When: "args.count > 5", Tier: abi.HardGate, Say: "{{args.count}} are many."}}
			}
		}
	})
}

const (
	orderPens = `order {"count":20,"item":"pen"}`
	orderInks = `order {"count":30,"item":"ink"}`
	orderCap  = `order {"count":1,"item":"cap"}`
)

// A goesOn is a model of prepared answers by the last message, for conversations
// in which the host writes, too.
type goesOn struct {
	t     *testing.T
	first []string // the calls of its first answer
	asked []model.Request
}

func (m *goesOn) Complete(_ context.Context, req model.Request, _ func(model.Event)) (model.Reply, error) {
	m.asked = append(m.asked, req)
	last := req.Messages[len(req.Messages)-1]
	switch {
	case last.Role == model.RoleUser && !last.ByHost:
		return calls(m.first...)()
	case last.Code == abi.PendingApproval:
		return says("It waits for you.")()
	case last.OK:
		return says("It is done: " + last.Text)()
	}
	return says("It was not done.")()
}

func ordering(t *testing.T, list ...string) *goesOn { return &goesOn{t: t, first: list} }

func manyHouse(t *testing.T, m model.Provider) *house {
	h := newReplica(t, filepath.Join(t.TempDir(), "store.db"), "first", manySet(t), state.Options{})
	h.agent.Model = m
	return h
}

func (h *house) decide(ref ApprovalRef, approve bool, words string) state.Approval {
	h.t.Helper()
	a, err := Decide(h.t.Context(), h.store, session.Ref.Tenant, ref.ID, Decision{Approve: approve, By: "boss", Words: words, Digest: ref.Digest})
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

func (h *house) goOn(ref ApprovalRef) Answer {
	h.t.Helper()
	answer, err := h.agent.Continue(h.t.Context(), session, ref.ID, func(e host.Event) { h.events = append(h.events, e) })
	if err != nil {
		h.t.Fatal(err)
	}
	return answer
}

func (h *house) wantTotals(want map[string]string) {
	h.t.Helper()
	for item, n := range want {
		if got := h.stored("total/" + item); got != n {
			h.t.Errorf("%q of %s were ordered, want %q", got, item, n)
		}
	}
}

// H14, H15, H16, H17: each call of an answer that needs a yes has a question of
// its own, all of them are told, and a harmless sibling runs. One is approved,
// the other rejected, in either order.
func TestH14H15H16H17ParallelCallsAreGatedOneByOne(t *testing.T) {
	for _, noFirst := range []bool{false, true} {
		t.Run(fmt.Sprint("no first: ", noFirst), func(t *testing.T) {
			m := ordering(t, orderPens, orderCap, orderInks)
			h := manyHouse(t, m)
			answer := h.mustTurn("1", "order everything")
			if len(answer.Pending) != 2 || answer.Pending[0].ID == answer.Pending[1].ID || answer.Pending[0].Tool != "test.guest.order" ||
				string(answer.Pending[1].Args) != `{"count":30,"item":"ink"}` || answer.Pending[1].Says[0] != "30 are many." {
				t.Fatalf("pending are %+v", answer.Pending)
			}
			h.wantTotals(map[string]string{"pen": "", "ink": "", "cap": "1"})
			pens, inks := answer.Pending[0], answer.Pending[1]
			yes := func() {
				h.decide(pens, true, "")
				if answer := h.goOn(pens); !strings.Contains(answer.Text, "It is done") || len(answer.Outcomes) != 1 || answer.Outcomes[0].Approval != pens.ID {
					t.Errorf("after the yes: %+v", answer)
				}
			}
			no := func() {
				h.decide(inks, false, "too much ink")
				if answer := h.goOn(inks); answer.Text != "It was not done." || len(answer.Outcomes) != 0 {
					t.Errorf("after the no: %+v", answer)
				}
				if seen := m.asked[len(m.asked)-1].Messages; !strings.Contains(seen[len(seen)-1].Text, "too much ink") {
					t.Errorf("the model was told %q", seen[len(seen)-1].Text)
				}
			}
			if noFirst {
				no()
				yes()
			} else {
				yes()
				no()
			}
			h.wantTotals(map[string]string{"pen": "20", "ink": "", "cap": "1"})
		})
	}
}

// H23, and an answer that another replica gives and goes on with; on SQLite and
// MariaDB.
func TestH23AnAnswerFromAnotherReplicaGoesOnAfterARestart(t *testing.T) {
	set := manySet(t)
	for name, fresh := range databases() {
		t.Run(name, func(t *testing.T) {
			dsn := fresh(t)
			first := newReplica(t, dsn, "first", set, state.Options{})
			first.agent.Model = ordering(t, orderPens)
			pens := first.mustTurn("1", "order pens").Pending[0]
			if err := first.store.Close(); err != nil {
				t.Fatal(err)
			}
			second := newReplica(t, dsn, "second", set, state.Options{})
			second.agent.Model = ordering(t)
			open, err := OpenApprovals(t.Context(), second.store, session.Ref)
			if err != nil || len(open) != 1 || open[0].ID != pens.ID || open[0].Digest != pens.Digest {
				t.Fatalf("open are %+v, %v", open, err)
			}
			second.decide(pens, true, "go ahead")
			third := newReplica(t, dsn, "third", set, state.Options{})
			third.agent.Model = ordering(t)
			if answer := third.goOn(pens); !strings.Contains(answer.Text, "It is done") || answer.Repeated {
				t.Errorf("it ended with %+v", answer)
			}
			third.wantTotals(map[string]string{"pen": "20"})
			// H32: what was answered does not come back.
			if answer := second.goOn(pens); !answer.Repeated || !strings.Contains(answer.Text, "It is done") {
				t.Errorf("a second delivery gives %+v", answer)
			}
			if answer := second.mustTurn("1", "order pens"); !answer.Repeated || len(answer.Pending) != 0 {
				t.Errorf("the old input gives %+v", answer)
			}
			third.wantTotals(map[string]string{"pen": "20"})
		})
	}
}

// H30: exactly the approved call runs, also where the model's own words for it
// differ, and the model asks for nothing meanwhile.
func TestH30ExactlyTheApprovedCallRuns(t *testing.T) {
	m := ordering(t, `order {"item": "pen", "count": "20"}`)
	h := manyHouse(t, m)
	pens := h.mustTurn("1", "order pens").Pending[0]
	h.decide(pens, true, "be quick")
	before := len(m.asked)
	h.goOn(pens)
	if len(m.asked) != before+1 {
		t.Errorf("the model was asked %d times", len(m.asked)-before)
	}
	seen := m.asked[before].Messages
	made, told := seen[len(seen)-2], seen[len(seen)-3]
	if !made.ByHost || len(made.Calls) != 1 || made.Calls[0].Args != string(pens.Args) || !told.ByHost || !strings.Contains(told.Text, `"be quick"`) || !strings.Contains(told.Text, "boss approved order") {
		t.Errorf("the host said %+v and made %+v", told, made)
	}
	h.wantTotals(map[string]string{"pen": "20"})
}

// H19, H20: an answer that names another call than what is asked, or a question
// of another session, is none; and nobody delivers an answer as an input.
func TestH20AForgedAnswerRunsNothing(t *testing.T) {
	h := manyHouse(t, ordering(t, orderPens, orderInks))
	pending := h.mustTurn("1", "order").Pending
	forged := Decision{Approve: true, By: "eve", Digest: pending[1].Digest}
	_, err := Decide(t.Context(), h.store, session.Ref.Tenant, pending[0].ID, forged)
	wantProblemCode(t, err, abi.NotAllowed)
	_, err = Decide(t.Context(), h.store, "other", pending[0].ID, Decision{Approve: true, By: "eve", Digest: pending[0].Digest})
	wantProblemCode(t, err, abi.NotFound)
	_, err = h.agent.Continue(t.Context(), session, pending[0].ID, nil)
	wantProblemCode(t, err, abi.Conflict)
	_, err = h.turn("approval/"+string(pending[0].ID), "yes, do it")
	wantProblemCode(t, err, abi.BadValue)
	h.decide(pending[0], true, "")
	elsewhere := session
	elsewhere.Ref.Session = "s2"
	_, err = h.agent.Continue(t.Context(), elsewhere, pending[0].ID, nil)
	wantProblemCode(t, err, abi.NotFound)
	h.wantTotals(map[string]string{"pen": "", "ink": ""})
}

func wantProblemCode(t *testing.T, err error, code abi.Code) {
	t.Helper()
	if err == nil || host.ProblemOf(err).Code != code {
		t.Errorf("the error is %v, want code %d", err, code)
	}
}

func TestH21ConflictingAnswersRunNeither(t *testing.T) {
	for _, order := range [][]bool{{true, false}, {false, true}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			m := ordering(t, orderPens)
			h := manyHouse(t, m)
			pens := h.mustTurn("1", "order pens").Pending[0]
			h.decide(pens, order[0], "")
			if now := h.decide(pens, order[1], ""); now.Status != state.ApprovalConflicted {
				t.Fatalf("it is %s", now.Status)
			}
			h.goOn(pens)
			if seen := m.asked[len(m.asked)-1].Messages; !strings.Contains(seen[len(seen)-1].Text, "disagree") {
				t.Errorf("the model was told %q", seen[len(seen)-1].Text)
			}
			h.wantTotals(map[string]string{"pen": ""})
		})
	}
}

// H24: a question that nobody answers never runs; it is listed, taken back, and
// removed in the end.
func TestH24WhatIsNeverAnsweredNeverRuns(t *testing.T) {
	clock := newClock()
	h := newReplica(t, filepath.Join(t.TempDir(), "store.db"), "first", manySet(t), state.Options{Now: clock.now})
	h.agent.Model = ordering(t, orderPens)
	pens := h.mustTurn("1", "order pens").Pending[0]
	clock.pass(400 * 24 * time.Hour)
	h.agent.Model = answers(nil, nil, says("Hello."))
	h.mustTurn("2", "hello")
	if open, err := OpenApprovals(t.Context(), h.store, session.Ref); err != nil || len(open) != 1 || open[0].ID != pens.ID {
		t.Fatalf("open are %+v, %v", open, err)
	}
	if n, err := h.store.PurgeApprovals(t.Context(), 0); err != nil || n != 0 {
		t.Errorf("%d open questions were removed, %v", n, err)
	}
	if a, err := TakeBack(t.Context(), h.store, session.Ref.Tenant, pens.ID, "boss", "nobody wants it"); err != nil || a.Status != state.ApprovalCancelled {
		t.Fatalf("%+v, %v", a, err)
	}
	_, err := Decide(t.Context(), h.store, session.Ref.Tenant, pens.ID, Decision{Approve: true, By: "boss", Digest: pens.Digest})
	wantProblemCode(t, err, abi.Conflict)
	clock.pass(time.Hour)
	if n, err := h.store.PurgeApprovals(t.Context(), time.Minute); err != nil || n != 1 {
		t.Errorf("%d questions were removed, %v", n, err)
	}
	h.wantTotals(map[string]string{"pen": ""})
	records, err := h.store.Records(t.Context(), session.Ref.Tenant, state.RecordFilter{Kinds: []host.RecordKind{host.RecordQuestion, host.RecordAnswer}})
	if err != nil || len(records) != 2 || records[1].Session != session.Ref {
		t.Errorf("on record are %+v, %v", records, err)
	}
}

// The model that asks once more, when its user does, gets the approval; going on
// with the answer afterwards runs nothing twice.
func TestAnApprovalThatAnotherCallHasUsedIsNotGoneOnWith(t *testing.T) {
	h := manyHouse(t, ordering(t, orderPens))
	pens := h.mustTurn("1", "order pens").Pending[0]
	h.decide(pens, true, "")
	if answer := h.mustTurn("2", "order the pens now"); len(answer.Pending) != 0 {
		t.Fatalf("pending are %+v", answer.Pending)
	}
	_, err := h.agent.Continue(t.Context(), session, pens.ID, nil)
	wantProblemCode(t, err, abi.Conflict)
	h.wantTotals(map[string]string{"pen": "20"})
}

// A turn that was broken off is finished first: going on must not take its
// user's words away.
func TestATurnThatWasBrokenOffIsFinishedBeforeAnAnswerIsGoneOnWith(t *testing.T) {
	h := manyHouse(t, ordering(t, orderPens))
	pens := h.mustTurn("1", "order pens").Pending[0]
	h.decide(pens, true, "")
	h.agent.Model = asked(func(context.Context, model.Request) (model.Reply, error) { return fails(abi.ModelUnavailable)() })
	if _, err := h.turn("2", "and caps"); err == nil {
		t.Fatal("the model did not fail")
	}
	h.agent.Model = ordering(t, orderCap)
	h.goOn(pens)
	h.wantTotals(map[string]string{"pen": "20", "cap": "1"})
	if answer := h.mustTurn("2", "and caps"); answer.Reason != Answered {
		t.Errorf("the other input ended with %+v", answer)
	}
}

// approvedSite is a session whose call was approved and nothing gone on with.
func approvedSite(t *testing.T, set *release.Set, transactions int) (*crashSite, host.ApprovalID) {
	s := &crashSite{t: t, set: set, path: filepath.Join(t.TempDir(), "store.db"), model: answers(calls(orderPens), says("It waits."), nil, says("All is ordered."))}
	s.clock.left.Store(1 << 30)
	s.first = s.replica(s.clock.now)
	s.first.raw = openRaw(t, s.path)
	pens := s.first.mustTurn("1", "order pens").Pending[0]
	s.first.decide(pens, true, "")
	s.clock.left.Store(int64(transactions))
	s.clock.used.Store(0)
	return s, pens.ID
}

// Whatever transaction after the approval is the last one that a replica is able
// to make, another one goes on to the same end, and the call runs once.
func TestACrashAfterAnApprovalGoesOnExactlyOnce(t *testing.T) {
	set := manySet(t)
	whole, id := approvedSite(t, set, 1000)
	if _, err := whole.first.agent.Continue(t.Context(), session, id, nil); err != nil {
		t.Fatal(err)
	}
	said, transactions := whole.first.said(), int(whole.clock.used.Load())
	if transactions < 5 {
		t.Fatalf("going on has %d transactions", transactions)
	}
	for _, killed := range []bool{false, true} {
		for n := 0; n < transactions; n += crashEvery {
			t.Run(fmt.Sprintf("killed=%v after %d of %d", killed, n, transactions), func(t *testing.T) {
				t.Parallel()
				s, id := approvedSite(t, set, n)
				triggers := crashTriggers(killed)
				triggers = append(triggers, fmt.Sprintf("CREATE TRIGGER crash%d BEFORE UPDATE ON agent_approval WHEN NEW.closed_at >= %d000000 BEGIN SELECT RAISE(ABORT, 'crashed'); END", len(triggers), crashDead))
				for _, trigger := range triggers {
					damage(t, s.first, trigger)
				}
				if _, err := s.first.agent.Continue(t.Context(), session, id, nil); err == nil {
					t.Fatal("it did not crash")
				}
				for i := range triggers {
					damage(t, s.first, fmt.Sprint("DROP TRIGGER crash", i))
				}
				second := s.second()
				answer, err := second.agent.Continue(t.Context(), session, id, nil)
				if err != nil || answer.Text != "All is ordered." {
					t.Fatalf("it went on to %+v, %v", answer, err)
				}
				if got := second.said(); strings.ReplaceAll(got, string(id), "ID") != strings.ReplaceAll(said, string(whole.lastID(t)), "ID") {
					t.Errorf("the conversation is\n%s\nwant\n%s", got, said)
				}
				second.wantTotals(map[string]string{"pen": "20"})
				for call, times := range s.settled() {
					if times != 1 && !strings.Contains(string(call), "/") {
						t.Errorf("call %s was settled %d times", call, times)
					}
				}
			})
		}
	}
}

// lastID is the id of the site's only question.
func (s *crashSite) lastID(t *testing.T) host.ApprovalID {
	t.Helper()
	list, err := s.first.store.Approvals(context.Background(), session.Ref.Tenant, state.ApprovalFilter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list[0].ID
}

// A write that the model repeats when it goes on after an answer is counted
// since the user's own words, so that the gate sees that it was done before.
func TestAWriteIsCountedSinceTheUsersOwnWords(t *testing.T) {
	h := manyHouse(t, ordering(t, orderPens, orderCap))
	pens := h.mustTurn("1", "order pens and a cap").Pending[0]
	h.decide(pens, true, "")
	again := true
	h.agent.Model = asked(func(context.Context, model.Request) (model.Reply, error) {
		if again {
			again = false
			return calls(orderCap)()
		}
		return says("All is ordered.")()
	})
	if repeated := h.goOn(pens).Outcomes[1]; repeated.Status != host.Pending || repeated.Tier != abi.HardGate {
		t.Errorf("the repetition ends as %+v", repeated)
	}
	h.wantTotals(map[string]string{"pen": "20", "cap": "1"})
}

// Of many replicas that go on with one answer at once, one runs the call, and
// all give its end.
func TestManyWhoGoOnWithOneAnswerRunItOnce(t *testing.T) {
	set := manySet(t)
	dsn := filepath.Join(t.TempDir(), "store.db")
	first := newReplica(t, dsn, "first", set, state.Options{})
	first.agent.Model = ordering(t, orderPens)
	pens := first.mustTurn("1", "order pens").Pending[0]
	first.decide(pens, true, "")
	var wait sync.WaitGroup
	var fresh atomic.Int64
	for range 4 {
		h := newReplica(t, dsn, "other", set, state.Options{})
		h.agent.Model, h.agent.Wait = ordering(t), time.Minute
		wait.Go(func() {
			answer, err := h.agent.Continue(context.Background(), session, pens.ID, nil)
			if err != nil || !strings.Contains(answer.Text, "It is done") {
				t.Errorf("it ended with %+v, %v", answer, err)
			}
			if !answer.Repeated {
				fresh.Add(1)
			}
		})
	}
	wait.Wait()
	if first.wantTotals(map[string]string{"pen": "20"}); fresh.Load() != 1 {
		t.Errorf("%d of them ran it", fresh.Load())
	}
}

func TestResumeGoesOnWithAnAnswerThatWasBrokenOff(t *testing.T) {
	h := manyHouse(t, ordering(t, orderPens))
	pens := h.mustTurn("1", "order pens").Pending[0]
	h.decide(pens, true, "")
	h.agent.Model = asked(func(context.Context, model.Request) (model.Reply, error) { return fails(abi.ModelUnavailable)() })
	if _, err := h.agent.Continue(t.Context(), session, pens.ID, nil); err == nil {
		t.Fatal("the model did not fail")
	}
	h.agent.Model = ordering(t)
	if answer, err := h.agent.Resume(t.Context(), session, nil); err != nil || !strings.Contains(answer.Text, "It is done") {
		t.Errorf("it ended with %+v, %v", answer, err)
	}
	if answer := h.goOn(pens); !answer.Repeated {
		t.Errorf("it ran again: %+v", answer)
	}
	h.wantTotals(map[string]string{"pen": "20"})
}

func TestAnAnswerTellsItsQuestionsAsJSON(t *testing.T) {
	h := manyHouse(t, ordering(t, orderPens))
	text, err := json.Marshal(h.mustTurn("1", "order pens"))
	if err != nil || !strings.Contains(string(text), `"pending":[{"id":"ask_`) || !strings.Contains(string(text), `"args":{"count":20,"item":"pen"},"says":["20 are many."],"digest":"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// Whoever answers sees that there is something which cannot be seen; what runs is
// what was asked for.
func TestAQuestionShowsWhatCannotBeSeenInItsArguments(t *testing.T) {
	h := manyHouse(t, ordering(t, "order {\"item\": \"p\u202een\u200b\", \"count\": 20}"))
	pens := h.mustTurn("1", "order pens").Pending[0]
	const want = "{\"count\":20,\"item\":\"p\ufffden\ufffd\"}"
	q, _, err := h.store.Approval(t.Context(), session.Ref.Tenant, pens.ID)
	if err != nil {
		t.Fatal(err)
	}
	view, err := ViewApproval(q)
	if err != nil || string(pens.Args) != want || string(view.Args) != string(pens.Args) {
		t.Errorf("it shows %s and %s, %v", pens.Args, view.Args, err)
	}
	q.Detail = json.RawMessage(strings.Replace(string(q.Detail), "20 are many.", `20\nare \u2066many.`, 1))
	if view, err = ViewApproval(q); err != nil || view.Says[0] != "20\nare \ufffdmany." {
		t.Errorf("it says %q, %v", view.Says, err)
	}
	h.decide(pens, true, "")
	h.goOn(pens)
	h.wantTotals(map[string]string{"p\u202een\u200b": "20"})
}

// An insists is a model that tries a little less after a no.
type insists struct{ *goesOn }

func (m insists) Complete(ctx context.Context, req model.Request, on func(model.Event)) (model.Reply, error) {
	if last := req.Messages[len(req.Messages)-1]; last.ByHost && strings.Contains(last.Text, "rejected") {
		return calls(`order {"count":2,"item":"pen"}`, `order {"count":2,"item":"ink"}`)()
	}
	return m.goesOn.Complete(ctx, req, on)
}

func TestAfterANoALittleLessIsAskedForInTheSameRequest(t *testing.T) {
	h := manyHouse(t, insists{ordering(t, orderPens)})
	pens := h.mustTurn("1", "order pens").Pending[0]
	h.decide(pens, false, "")
	answer := h.goOn(pens)
	if len(answer.Pending) != 1 || string(answer.Pending[0].Args) != `{"count":2,"item":"pen"}` {
		t.Errorf("it waits for %+v", answer.Pending)
	}
	h.wantTotals(map[string]string{"pen": "", "ink": "2"})
}
