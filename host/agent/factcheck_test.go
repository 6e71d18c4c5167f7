package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/factcheck"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// drafts is a model that gives prepared answers one after the other, also where
// one was not kept.
func drafts(list ...func() (model.Reply, error)) *script {
	s := &script{}
	next := func() (model.Reply, error) {
		reply, err := list[min(len(s.asked), len(list))-1]()
		return reply, err
	}
	for range 2 * len(list) {
		s.answers = append(s.answers, next)
	}
	return s
}

// claims gives what is on record of claims without ground.
func (h *house) claims() (list []factcheck.Finding) {
	h.t.Helper()
	records, err := h.store.Records(h.t.Context(), session.Ref.Tenant, state.RecordFilter{Session: session.Ref, Kinds: []host.RecordKind{host.RecordUnbacked}})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range records {
		var detail struct{ Findings []factcheck.Finding }
		if err := json.Unmarshal(r.Detail, &detail); err != nil {
			h.t.Fatal(err)
		}
		list = append(list, detail.Findings...)
	}
	return list
}

const (
	buyPens = `order {"item":"pen","count":2}`
	lie     = "已下单 7 支 pen，订单号 ORD-70071。"
)

func TestAnswerWithoutItsCallIsStopped(t *testing.T) {
	m := drafts(says(lie), says(lie))
	h := newHouse(t, m)
	answer := h.mustTurn("1", "买 7 支 pen")
	if answer.Reason != Unbacked || len(m.asked) != 2 {
		t.Fatalf("the turn ends with %+v after %d questions", answer, len(m.asked))
	}
	for _, want := range []string{"拦下", "已下单 7 支 pen", "ORD-70071", "没有执行任何更改", "请确认"} {
		if !strings.Contains(answer.Text, want) {
			t.Errorf("the user is left with %q, want %q in it", answer.Text, want)
		}
	}
	if h.shown() != answer.Text {
		t.Errorf("the user was shown %q", h.shown())
	}
	if got := h.claims(); len(got) != 4 || got[0].Kind != factcheck.Action {
		t.Errorf("on record is %+v", got)
	}
	if hint := m.asked[1].Hint; !strings.Contains(hint, "ORD-70071") || !strings.Contains(hint, "withheld from the user") {
		t.Errorf("the model is told %q", hint)
	}
	if again := h.mustTurn("1", "买 7 支 pen"); !again.Repeated || again.Text != answer.Text || again.Reason != Unbacked {
		t.Errorf("delivered again, the input gives %+v", again)
	}
}

// TestModelMayMendItsAnswerOnce: the objection quotes the lie, which proves it
// nothing.
func TestModelMayMendItsAnswerOnce(t *testing.T) {
	m := drafts(says(lie), says("我还没有下单，要不要现在买 7 支？"))
	h := newHouse(t, m)
	answer := h.mustTurn("1", "买 7 支 pen")
	if answer.Reason != Answered || h.shown() != "我还没有下单，要不要现在买 7 支？" || len(h.claims()) != 2 {
		t.Errorf("the turn ends with %+v, shown was %q, on record is %+v", answer, h.shown(), h.claims())
	}
	if answer.Steps != 2 || h.input("1").Used.Steps != 2 {
		t.Errorf("%d steps are counted, %d in the budget", answer.Steps, h.input("1").Used.Steps)
	}
}

func TestModelMayDoWhatItClaimed(t *testing.T) {
	m := drafts(says("已下单 2 支 pen。"), calls(buyPens), says("已下单 2 支 pen。"))
	h := newHouse(t, m)
	if answer := h.mustTurn("1", "买 2 支 pen"); answer.Reason != Answered || answer.Text != "已下单 2 支 pen。" || len(answer.Outcomes) != 1 {
		t.Errorf("the turn ends with %+v", answer)
	}
}

func TestUserLearnsWhatWasReallyDone(t *testing.T) {
	h := newHouse(t, drafts(calls(buyPens), says("已下单 9 支，共 450 元。"), says("已下单 9 支，共 450 元。")))
	answer := h.mustTurn("1", "买 2 支 pen")
	if answer.Reason != Unbacked || !strings.Contains(answer.Text, `实际已执行：order {"item":"pen","count":2}`) {
		t.Errorf("the turn ends with %+v", answer)
	}
}

// TestClaimsModes: what becomes of the same lie.
func TestClaimsModes(t *testing.T) {
	for _, tt := range []struct {
		claims  Claims
		reason  Reason
		records int
	}{{"", Unbacked, 2}, {ClaimsStop, Unbacked, 2}, {ClaimsReport, Answered, 1}, {ClaimsOff, Answered, 0}} {
		t.Run(string(tt.claims), func(t *testing.T) {
			h := newHouse(t, nil)
			cfg := h.agent.Config
			cfg.Claims, cfg.Model = tt.claims, drafts(says("It costs $77."), says("It costs $77."))
			h.agent = New(cfg)
			answer := h.mustTurn("1", "how much is it?")
			if answer.Reason != tt.reason || len(h.claims()) != tt.records {
				t.Errorf("the turn ends with %+v and %+v on record", answer, h.claims())
			}
		})
	}
	if ValidClaims("loud") == nil || ValidClaims("") != nil {
		t.Error("words for claims are not held against the list")
	}
}

// TestStoppedAnswerIsNoFactLater: neither the platform's words nor what it
// quotes bear out the same claim in the next turn; the user's yes does.
func TestStoppedAnswerIsNoFactLater(t *testing.T) {
	price := says("It costs $77.")
	h := newHouse(t, drafts(price, price, price, price, price))
	h.mustTurn("1", "how much is it?")
	if answer := h.mustTurn("2", "are you sure?"); answer.Reason != Unbacked {
		t.Errorf("the second turn ends with %+v", answer)
	}
	if answer := h.mustTurn("3", "yes, 77 dollars it is"); answer.Reason != Answered {
		t.Errorf("the third turn ends with %+v", answer)
	}
}

func TestPendingCallIsNotDone(t *testing.T) {
	h := newHouse(t, drafts(calls(buyPens), says("已下单 2 支 pen。"), says("已下单 2 支 pen。")))
	if err := h.agent.SetMode(t.Context(), session, host.ModeSuggest); err != nil {
		t.Fatal(err)
	}
	answer := h.mustTurn("1", "买 2 支 pen")
	if answer.Reason != Unbacked || len(answer.Pending) != 1 {
		t.Errorf("the turn ends with %+v", answer)
	}
}

func TestUserLearnsWhatMayHaveBeenDone(t *testing.T) {
	h := newHouse(t, drafts(calls(`order_once {"item":"pen","count":2}`), says(lie), says(lie)))
	broken := h.think("1", "买 2 支 pen")
	c := broken.open()[0]
	key, err := host.Intent{Session: session.Ref, Input: 1, Tool: c.call.Tool, Args: json.RawMessage(c.call.Args)}.Key()
	if err != nil {
		t.Fatal(err)
	}
	began := state.ClaimRequest{Session: session.Ref, Key: key, Call: broken.callID(c), Fence: broken.lease.fence, Lease: time.Hour,
		Digest: host.Digest([]byte(h.agent.Dispatch.Meaning(broken.catalog, c.call.Tool, c.call.Args))),
		Intent: host.Record{Call: broken.callID(c), Kind: host.RecordIntent, Tool: c.call.Tool}}
	if _, err := h.store.Claim(t.Context(), began); err != nil {
		t.Fatal(err)
	}
	broken.lease.leave(t.Context())
	answer := h.mustTurn("1", "买 2 支 pen")
	if answer.Reason != Unbacked || !strings.Contains(answer.Text, `尚不确定：order_once {"item":"pen","count":2}`) || strings.Contains(answer.Text, "没有执行任何更改") {
		t.Errorf("the turn ends with %+v", answer)
	}
}
