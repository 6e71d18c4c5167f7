package state

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

const asked = `{"tool":"shop.pricing.set_price","args":{"price":89},"tier":"hard-gate"}`

func question(call host.CallID, digest string) Question {
	return Question{Session: session("shop"), Call: call, Digest: digest, Detail: []byte(asked),
		Records: []host.Record{{Call: call, Kind: "ask"}}}
}

func ask(t *testing.T, s *Store, call host.CallID, digest string) Approval {
	t.Helper()
	a, first, err := s.AskApproval(t.Context(), question(call, digest))
	must(t, err)
	if !first || a.Status != ApprovalOpen {
		t.Fatalf("asked before, or not open: %+v", a)
	}
	return a
}

func answerTo(a Approval, by host.UserID, approve bool) ApprovalAnswer {
	kind := host.RecordKind("no")
	if approve {
		kind = "yes"
	}
	return ApprovalAnswer{Tenant: a.Session.Tenant, ID: a.ID, Digest: a.Digest, Approve: approve, By: by, Words: "said " + string(by),
		Records: []host.Record{{Kind: kind}}}
}

func answer(t *testing.T, s *Store, a Approval, by host.UserID, approve bool) Approval {
	t.Helper()
	now, err := s.AnswerApproval(t.Context(), answerTo(a, by, approve))
	must(t, err)
	return now
}

func useOf(a Approval, call host.CallID) ApprovalUse {
	return ApprovalUse{Session: a.Session, ID: a.ID, Digest: a.Digest, Call: call, Records: []host.Record{{Call: call, Kind: "use"}}}
}

// wantUse fails unless a call is granted its use, or refused with that status.
func wantUse(t *testing.T, s *Store, a Approval, call host.CallID, granted bool, status ApprovalStatus) {
	t.Helper()
	now, got, err := s.UseApproval(t.Context(), useOf(a, call))
	must(t, err)
	if got != granted || now.Status != status {
		t.Fatalf("call %s: granted %v, status %s; want %v, %s", call, got, now.Status, granted, status)
	}
}

func listed(t *testing.T, s *Store, f ApprovalFilter) string {
	t.Helper()
	list, err := s.Approvals(t.Context(), "shop", f)
	must(t, err)
	var calls []string
	for _, a := range list {
		calls = append(calls, string(a.Call))
	}
	return strings.Join(calls, " ")
}

func TestAnApprovedQuestionRunsOneCallAndTheSameOneAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, dsn := openWithClock(t, d)
		a := ask(t, s, "call1", "digest1")
		wantUse(t, s, a, "call1", false, ApprovalOpen)
		clock.pass(24 * 365 * time.Hour) // an open question has no end
		now := answer(t, s, a, "boss", true)
		if now.Status != ApprovalApproved || now.AnsweredBy != "boss" || now.Words != "said boss" || !now.AnsweredAt.Equal(clock.now()) || string(now.Detail) != asked {
			t.Errorf("%+v", now)
		}
		other := openAt(t, dsn, Options{Now: clock.now}) // another replica, or the next start
		wantUse(t, other, a, "call1", true, ApprovalUsed)
		wantUse(t, s, a, "call1", true, ApprovalUsed)
		wantUse(t, s, a, "call2", false, ApprovalUsed)
		wantRecords(t, s, "shop", "ask call1", "yes call1", "use call1")
		records, err := s.Records(t.Context(), "shop", RecordFilter{Kinds: []host.RecordKind{"yes"}})
		if err != nil || len(records) != 1 || records[0].Session != session("shop") {
			t.Errorf("%+v, %v", records, err)
		}
	})
}

func TestOneOfManyCallsUsesAnApproval(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		a := ask(t, s, "call", "digest1")
		answer(t, s, a, "boss", true)
		var used atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				_, granted, err := s.UseApproval(context.Background(), useOf(a, host.CallID(fmt.Sprint("call", i))))
				if err != nil {
					t.Error(err)
				}
				if granted {
					used.Add(1)
				}
			})
		}
		wg.Wait()
		if used.Load() != 1 {
			t.Errorf("%d calls ran", used.Load())
		}
	})
}

func TestManyWhoAskTheSameGetOneQuestion(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		var fresh atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				_, first, err := s.AskApproval(context.Background(), question(host.CallID(fmt.Sprint("call", i)), "digest1"))
				if err != nil {
					t.Error(err)
				}
				if first {
					fresh.Add(1)
				}
			})
		}
		wg.Wait()
		list, err := s.Approvals(t.Context(), "shop", ApprovalFilter{})
		if err != nil || len(list) != 1 || fresh.Load() != 1 {
			t.Errorf("%d questions, %d new, %v", len(list), fresh.Load(), err)
		}
		records, err := s.Records(t.Context(), "shop", RecordFilter{})
		if err != nil || len(records) != 1 {
			t.Errorf("%d records, %v", len(records), err)
		}
	})
}

// Parallel calls of one step, and the same call with other arguments, are
// different questions.
func TestEachCallHasAQuestionOfItsOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		first, second := ask(t, s, "call1", "digest1"), ask(t, s, "call1", "digest2")
		answer(t, s, first, "boss", true)
		_, _, err := s.UseApproval(t.Context(), ApprovalUse{Session: first.Session, ID: first.ID, Digest: second.Digest, Call: "call1"})
		wantCode(t, err, abi.NotAllowed)
		wantUse(t, s, second, "call1", false, ApprovalOpen)
		wantUse(t, s, first, "call1", true, ApprovalUsed)
		again := ask(t, s, "call3", "digest1") // the same once more is a new question
		if found, ok, err := s.FindApproval(t.Context(), session("shop"), "digest1"); err != nil || !ok || found.ID != again.ID {
			t.Errorf("found %+v, %v, %v", found, ok, err)
		}
	})
}

func TestTheFirstAnswerDecidesAndTheSameAgainChangesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		yes, no := ask(t, s, "call1", "digest1"), ask(t, s, "call2", "digest2")
		for _, by := range []host.UserID{"boss", "boss", "deputy"} {
			if now := answer(t, s, yes, by, true); now.Status != ApprovalApproved || now.AnsweredBy != "boss" || now.Words != "said boss" {
				t.Errorf("%+v", now)
			}
			if now := answer(t, s, no, by, false); now.Status != ApprovalRejected || now.AnsweredBy != "boss" || now.Words != "said boss" {
				t.Errorf("%+v", now)
			}
		}
		wantUse(t, s, no, "call2", false, ApprovalRejected)
		wantUse(t, s, yes, "call1", true, ApprovalUsed)
		if now := answer(t, s, yes, "boss", true); now.Status != ApprovalUsed {
			t.Errorf("%+v", now)
		}
		_, err := s.AnswerApproval(t.Context(), answerTo(yes, "deputy", false))
		wantCode(t, err, abi.Conflict)
		wantRecords(t, s, "shop", "ask call1", "ask call2", "yes call1", "no call2", "use call1")
	})
}

func TestConflictingAnswersExecuteNeither(t *testing.T) {
	for _, order := range [][2]bool{{true, false}, {false, true}} {
		for _, second := range []host.UserID{"deputy", "boss"} {
			t.Run(fmt.Sprint(order, second), func(t *testing.T) {
				onBoth(t, func(t *testing.T, d database) {
					s := d.open(t)
					a := ask(t, s, "call1", "digest1")
					answer(t, s, a, "boss", order[0])
					if now := answer(t, s, a, second, order[1]); now.Status != ApprovalConflicted || now.AnsweredBy != "boss" || now.ContraryBy != second {
						t.Errorf("%+v", now)
					}
					if now := answer(t, s, a, "boss", true); now.Status != ApprovalConflicted {
						t.Errorf("a third answer made it %s", now.Status)
					}
					wantUse(t, s, a, "call1", false, ApprovalConflicted)
				})
			})
		}
	}
}

func TestAForgedAnswerIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		old := ask(t, s, "call1", "digest1")
		answer(t, s, old, "boss", true)
		a := ask(t, s, "call2", "digest2")
		for name, tt := range map[string]struct {
			change func(answer *ApprovalAnswer)
			code   abi.Code
		}{
			"of another question":    {func(x *ApprovalAnswer) { x.Digest = old.Digest }, abi.NotAllowed},
			"to an unknown question": {func(x *ApprovalAnswer) { x.ID = "ask_0" }, abi.NotFound},
			"of another tenant":      {func(x *ApprovalAnswer) { x.Tenant = "other" }, abi.NotFound},
			"without a digest":       {func(x *ApprovalAnswer) { x.Digest = "" }, abi.BadValue},
			"of nobody":              {func(x *ApprovalAnswer) { x.By = "" }, abi.BadValue},
			"with a foreign record":  {func(x *ApprovalAnswer) { x.Records = []host.Record{{Session: session("other"), Kind: "yes"}} }, abi.BadValue},
			"with endless words":     {func(x *ApprovalAnswer) { x.Words = strings.Repeat("w", MaxApprovalWords+1) }, abi.BadValue},
		} {
			t.Run(name, func(t *testing.T) {
				forged := answerTo(a, "boss", true)
				tt.change(&forged)
				_, err := s.AnswerApproval(t.Context(), forged)
				wantCode(t, err, tt.code)
			})
		}
		wantUse(t, s, a, "call2", false, ApprovalOpen)
		wantRecords(t, s, "shop", "ask call1", "yes call1", "ask call2")
	})
}

func TestACancelledQuestionNeverRuns(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		for _, approved := range []bool{false, true} {
			a := ask(t, s, "call1", "digest1")
			if approved {
				answer(t, s, a, "boss", true)
			}
			for range 2 {
				now, err := s.CancelApproval(t.Context(), "shop", a.ID, "ann", "never mind")
				if err != nil || now.Status != ApprovalCancelled || now.ContraryBy != "ann" || now.Words != "never mind" {
					t.Errorf("%+v, %v", now, err)
				}
			}
			_, err := s.AnswerApproval(t.Context(), answerTo(a, "boss", true))
			wantCode(t, err, abi.Conflict)
			wantUse(t, s, a, "call1", false, ApprovalCancelled)
		}
		used := ask(t, s, "call2", "digest2")
		answer(t, s, used, "boss", true)
		wantUse(t, s, used, "call2", true, ApprovalUsed)
		_, err := s.CancelApproval(t.Context(), "shop", used.ID, "ann", "")
		wantCode(t, err, abi.Conflict)
		_, err = s.CancelApproval(t.Context(), "other", used.ID, "ann", "")
		wantCode(t, err, abi.NotFound)
	})
}

func TestATurnThatLostItsLeaseNeitherAsksNorUses(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		old := lease(t, s, "replica-a")
		q := question("call1", "digest1")
		q.Fence = old
		a, _, err := s.AskApproval(t.Context(), q)
		must(t, err)
		answer(t, s, a, "boss", true)
		clock.pass(2 * time.Minute)
		fence := lease(t, s, "replica-b")
		late := useOf(a, "call1")
		late.Fence = old
		_, granted, err := s.UseApproval(t.Context(), late)
		if wantLost(t, err); granted {
			t.Error("the old fence was granted")
		}
		q.Digest = "digest2"
		_, _, err = s.AskApproval(t.Context(), q)
		wantLost(t, err)
		late.Fence = fence
		if _, granted, err := s.UseApproval(t.Context(), late); err != nil || !granted {
			t.Errorf("granted %v, %v", granted, err)
		}
		if got := listed(t, s, ApprovalFilter{}); got != "call1" {
			t.Errorf("listed %s", got)
		}
	})
}

func TestAnApprovalIsOfItsSessionAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		a := ask(t, s, "call1", "digest1")
		answer(t, s, a, "boss", true)
		for _, ref := range []host.SessionRef{{Tenant: "shop", User: "ann", Session: "s2"}, {Tenant: "shop", User: "bob", Session: "s1"}, session("other")} {
			use := useOf(a, "call1")
			use.Session = ref
			_, granted, err := s.UseApproval(t.Context(), use)
			if wantCode(t, err, abi.NotFound); granted {
				t.Errorf("%s was granted it", ref)
			}
			if _, found, err := s.FindApproval(t.Context(), ref, "digest1"); err != nil || found {
				t.Errorf("%s finds it, %v", ref, err)
			}
		}
	})
}

func TestApprovalsAreListedInTheOrderOfTheQuestions(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		var all []Approval
		for i := range 4 {
			q := question(host.CallID(fmt.Sprint("call", i)), fmt.Sprint("digest", i))
			q.Session.Session = host.SessionID(fmt.Sprint("s", i%2))
			a, _, err := s.AskApproval(t.Context(), q)
			must(t, err)
			all = append(all, a)
			clock.pass(time.Microsecond)
		}
		answer(t, s, all[2], "boss", true)
		s0 := host.SessionRef{Tenant: "shop", User: "ann", Session: "s0"}
		for _, tt := range []struct {
			filter ApprovalFilter
			want   string
		}{
			{ApprovalFilter{}, "call0 call1 call2 call3"},
			{ApprovalFilter{Limit: 2}, "call0 call1"},
			{ApprovalFilter{After: all[1].ID, Limit: 1}, "call2"},
			{ApprovalFilter{Session: s0}, "call0 call2"},
			{ApprovalFilter{Session: s0, Status: ApprovalOpen}, "call0"},
			{ApprovalFilter{Status: ApprovalOpen}, "call0 call1 call3"},
			{ApprovalFilter{Status: ApprovalApproved}, "call2"},
		} {
			if got := listed(t, s, tt.filter); got != tt.want {
				t.Errorf("%+v lists %s, want %s", tt.filter, got, tt.want)
			}
		}
		if a, found, err := s.Approval(t.Context(), "shop", all[0].ID); err != nil || !found || a.Call != "call0" || !a.AskedAt.Equal(time.Unix(3600, 0)) {
			t.Errorf("%+v, %v, %v", a, found, err)
		}
		if _, found, err := s.Approval(t.Context(), "other", all[0].ID); err != nil || found {
			t.Errorf("another tenant finds it: %v", err)
		}
	})
}

func TestASessionHasABoundOnOpenQuestions(t *testing.T) {
	s := openStore(t)
	for i := range MaxOpenApprovals {
		ask(t, s, "call", fmt.Sprint("digest", i))
	}
	_, _, err := s.AskApproval(t.Context(), question("call", "one more"))
	wantCode(t, err, abi.QuotaReached)
	if a, first, err := s.AskApproval(t.Context(), question("call", "digest7")); err != nil || first || a.Digest != "digest7" {
		t.Errorf("%+v, %v, %v", a, first, err)
	}
}

func TestQuestionsRefuseBadInput(t *testing.T) {
	s := openStore(t)
	for name, change := range map[string]func(q *Question){
		"no session":       func(q *Question) { q.Session = host.SessionRef{} },
		"no call":          func(q *Question) { q.Call = "" },
		"no digest":        func(q *Question) { q.Digest = "" },
		"a broken detail":  func(q *Question) { q.Detail = []byte("{") },
		"a huge detail":    func(q *Question) { q.Detail = []byte(`"` + strings.Repeat("x", MaxQuestionBytes) + `"`) },
		"a foreign record": func(q *Question) { q.Records[0].Session = session("other") },
	} {
		t.Run(name, func(t *testing.T) {
			q := question("call", "digest")
			change(&q)
			_, _, err := s.AskApproval(t.Context(), q)
			wantCode(t, err, abi.BadValue)
		})
	}
	_, err := s.Approvals(t.Context(), "shop", ApprovalFilter{Session: session("other")})
	wantCode(t, err, abi.BadValue)
	_, err = s.Approvals(t.Context(), "shop", ApprovalFilter{Session: host.SessionRef{Tenant: "shop", User: "ann"}})
	wantCode(t, err, abi.BadValue)
	_, err = s.Approvals(t.Context(), "", ApprovalFilter{})
	wantCode(t, err, abi.BadValue)
	_, _, err = s.UseApproval(t.Context(), ApprovalUse{Session: session("shop"), ID: "a", Call: "c"})
	wantCode(t, err, abi.BadValue)
	if got := listed(t, s, ApprovalFilter{}); got != "" {
		t.Errorf("left %s", got)
	}
}
