package recall

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/index"
	"github.com/sluicehq/sluice/memory/keeper"
)

// decided has mia shown an answer to a decision about a price in session 1, and gives
// its trace as it is after what she then says there.
func (r *rig) decided(answer string, then func()) memory.Trace {
	r.t.Helper()
	r.say(1, "裙子定价多少？")
	if o := r.answer(1, answer); o.Problem != nil {
		r.t.Fatalf("%q is withheld: %v", answer, o.Problem)
	}
	r.answers(1, answer)
	then()
	traces := r.traces()
	return traces[len(traces)-1]
}

const proposes = "上周89元卖了12件。供参考，可以考虑定在89元。"

// What the user says right after a decision, and nothing else, goes on its trace.
func TestTheNextWordsTellWhatBecameOfADecision(t *testing.T) {
	says := func(n int, words ...string) func(*rig) {
		return func(r *rig) {
			for _, w := range words {
				r.say(n, w)
			}
		}
	}
	for name, tt := range map[string]struct {
		answer  string
		then    func(*rig)
		want    memory.Decision
		instead string
	}{
		"accepted":          {proposes, says(1, "好，就按你说的办"), memory.Accept, ""},
		"rejected":          {proposes, says(1, "不行，太低了"), memory.Reject, ""},
		"modified":          {proposes, says(1, "改成95元吧"), memory.Modify, "95元"},
		"not clear":         {proposes, says(1, "好的，谢谢"), "", ""},
		"a question":        {proposes, says(1, "为什么是89元？"), "", ""},
		"something else":    {proposes, says(1, "就按你说的办，再查下库存"), "", ""},
		"later":             {proposes, says(1, "库存还有多少？", "就按你说的办"), "", ""},
		"in another place":  {proposes, says(2, "就按你说的办"), "", ""},
		"to what it asks":   {proposes + "要我把库存也调了吗？", says(1, "不用了"), "", ""},
		"evidence accepted": {"上周89元卖了12件。", says(1, "采纳"), memory.Accept, ""},
		"evidence heard":    {"上周89元卖了12件。", says(1, "好的"), "", ""},
		"of unknown end":    {proposes + strings.Repeat("上周卖了12件。", maxOutputBytes/20), says(1, "就按你说的办"), "", ""},
		"no decisions now":  {proposes, func(r *rig) { r.settings.Points = nil; r.say(1, "就按你说的办") }, "", ""},
		"asked about twice": {proposes, func(r *rig) { r.say(1, "就按你说的办"); r.asked(1, "就按你说的办") }, memory.Accept, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shop)
			got := r.decided(tt.answer, func() { tt.then(r) })
			if got.Action != tt.want || got.Alternative != tt.instead || got.Heard != (tt.want != "") {
				t.Errorf("the trace is %+v", got)
			}
			if got.Heard && got.ActedInput != host.InputID(fmt.Sprint(r.input)) {
				t.Errorf("heard in input %q of %d", got.ActedInput, r.input)
			}
		})
	}
}

// What the user does counts for the memories that the answer pointed to, and an outcome
// moves trust by it.
func TestWhatTheUserSaidLetsAnOutcomeMoveTrust(t *testing.T) {
	r := newRig(t, shop)
	r.say(2, "永远不要低于50元卖")
	trace := r.decided(proposes, func() { r.say(1, "好，就89元") })
	if len(trace.Sources) != 1 {
		t.Fatalf("the trace is %+v", trace)
	}
	if n, err := r.Keeper.Get(t.Context(), mia, trace.Sources[0]); err != nil || n.Adopts != 1 {
		t.Errorf("adopted %d times, %v", n.Adopts, err)
	}
	_, err := r.Keeper.Attribute(t.Context(), mia, trace.ID, new(0.2), nil)
	must(t, err)
	if trust, err := r.Keeper.Trust(t.Context(), mia, "pricing"); err != nil || trust != memory.InitialTrust+memory.AdoptedGain {
		t.Errorf("trust %v, %v", trust, err)
	}
}

// Words that answer a question of memory's own are no reaction to the answer beside it.
func TestAnAnswerToAQuestionIsNoReaction(t *testing.T) {
	r := newRig(t, shop)
	r.livesOtherwise()
	r.say(5, "开场怎么安排")
	r.answer(5, "最近三场开场都是3分钟。供参考，可以考虑5分钟。")
	r.ends(5)
	r.say(5, "改成3分钟")
	again, err := r.another().before(t.Context(), r.about(5, "改成3分钟")) // after a crash
	must(t, err)
	if len(again.Recalled) == 0 {
		t.Errorf("recalled is %+v", again)
	}
	traces := r.traces()
	if len(traces) != 1 || traces[0].Action != "" || len(r.declared()) != 1 || *r.declared()[0].Claim.Low != 3 {
		t.Errorf("traces %+v, declared %+v", traces, r.declared())
	}
}

// A purge of the session takes the alternative's words; that there was one stays.
func TestAnAlternativeGoesWithItsSession(t *testing.T) {
	r := newRig(t, shop)
	r.decided(proposes, func() { r.say(1, "改成95元吧") })
	must(t, r.purged(t.Context(), session(1)))
	if got := r.traces()[0]; got.Action != memory.Modify || got.Alternative+string(got.ActedInput)+got.Output != "" {
		t.Errorf("the trace is %+v", got)
	}
	r.say(1, "改成99元吧")
	if got := r.traces()[0]; got.Alternative != "" {
		t.Errorf("heard after the purge: %+v", got)
	}
}

// trusting has the rig's keeper begin with a trust.
func (r *rig) trusting(initial float64) {
	r.t.Helper()
	must(r.t, r.Keeper.Close())
	var err error
	r.Keeper, err = keeper.Open(r.t.Context(), keeper.Config{DB: r.store.Database(), Store: index.New(), InitialTrust: &initial})
	must(r.t, err)
	r.t.Cleanup(func() { must(r.t, r.Keeper.Close()) })
}

// The model is told once in a turn what its recommendation lacks.
func TestARecommendationIsAskedForItsPartsOnce(t *testing.T) {
	const bare, whole = "建议定价89元。", "建议定价89元。反例：5月只卖了3件。备选：95元。置信度70%。"
	r := newRig(t, shop)
	r.trusting(0.8)
	for _, second := range []string{bare, whole} {
		r.say(1, "裙子定价多少？")
		first := r.answer(1, bare)
		if first.Problem == nil || !strings.Contains(first.Problem.Message, memory.PartCounter+", "+memory.PartAlternative+", "+memory.PartConfidence) ||
			!strings.Contains(first.Instead, "反例、备选方案、置信度") || strings.Contains(first.Instead, "89") {
			t.Fatalf("the model is told %+v", first)
		}
		then := r.answer(1, second)
		if then.Problem != nil || strings.Contains(then.Note, "lacks") != (second == bare) {
			t.Errorf("then %+v", then)
		}
		r.answers(1, second)
		if traces := r.traces(); traces[len(traces)-1].Output != second || traces[len(traces)-1].TrustAtMoment != 0.8 {
			t.Errorf("the trace is %+v", traces[len(traces)-1])
		}
	}
	r.say(1, "裙子定价多少？")
	r.answer(1, bare)
	must(t, r.turnEnded(t.Context(), host.TurnEnd{Session: session(1), Input: r.input, Reason: host.TurnAnswered}))
	if traces := r.traces(); len(traces) != 2 {
		t.Errorf("what was withheld left a trace: %+v", traces)
	}
	r.say(1, "裙子定价多少？")
	r.answer(1, whole)
	if o := r.answer(1, bare); o.Problem != nil { // another guard withheld the first one
		t.Errorf("the model is asked a third time: %+v", o)
	}
	r.say(1, "hello")
	if o := r.answer(1, bare); o.Problem != nil {
		t.Errorf("away from decisions: %+v", o)
	}
}

// The trust of a trace is that by which the form was chosen, whatever it has become.
func TestATraceHasTheTrustThatChoseItsForm(t *testing.T) {
	r := newRig(t, shop)
	earlier := r.decided(proposes, func() { r.say(1, "采纳") })
	trace := r.decided(proposes, func() {})
	if trace.TrustAtMoment != memory.InitialTrust {
		t.Errorf("the trust is %v", trace.TrustAtMoment)
	}
	r.say(1, "裙子定价多少？")
	r.answer(1, proposes)
	_, err := r.Keeper.Attribute(t.Context(), mia, earlier.ID, new(-0.2), nil)
	must(t, err)
	r.answers(1, proposes)
	if traces := r.traces(); traces[len(traces)-1].TrustAtMoment != memory.InitialTrust {
		t.Errorf("the trust is %v", traces[len(traces)-1].TrustAtMoment)
	}
}

// What cannot be kept is told, and heard again before the model is asked the next time.
func TestAReactionThatFailsIsHeardAgain(t *testing.T) {
	r := newRig(t, shop)
	r.pass(time.Second)
	got := r.decided(proposes, func() {
		r.input++
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		r.said = r.now()
		q := r.about(1, "就按你说的办")
		r.recollect(gone, q)
		r.recollect(t.Context(), q)
	})
	if got.Action != memory.Accept {
		t.Errorf("the trace is %+v", got)
	}
}

// The question of memory's own that stands beside an answer recommends nothing.
func TestAQuestionBesideAnAnswerIsNoRecommendation(t *testing.T) {
	r := newRig(t, shop)
	r.trusting(0.8)
	r.livesOtherwise()
	r.say(5, "How was the opening?")
	var wording string
	r.know(r.about(5, ""), func(at *turn) { wording = at.wording })
	if len(memory.MissingParts(wording)) == 0 {
		t.Fatalf("%q is not taken for a recommendation", wording)
	}
	if o := r.answer(5, "The last three openings took 3 minutes. "+wording); o.Problem != nil {
		t.Errorf("the model is told %v", o.Problem)
	}
}
