package recall

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/index"
	"github.com/sluicehq/sluice/memory/keeper"
)

// A rig is memory over a store of its own, for one user.
type rig struct {
	*Recall
	t     testing.TB
	store *state.Store
	input int
	said  time.Time   // when the last input came
	done  int         // calls
	live  host.LiveID // that its sessions belong to
	told  string      // to the model, last

	settings Settings

	clock *clock
}

// A clock is set by hand, beside what reads it in the background.
type clock struct {
	sync.Mutex
	at time.Time // guarded by the mutex; see now
}

// now is the rig's clock, which the keeper reads in the background, too.
func (r *rig) now() time.Time {
	r.clock.Lock()
	defer r.clock.Unlock()
	return r.clock.at
}

func (r *rig) pass(d time.Duration) { r.sets(r.now().Add(d)) }

func (r *rig) sets(at time.Time) {
	r.clock.Lock()
	defer r.clock.Unlock()
	r.clock.at = at
}

// mia is whose the sessions are.
var mia = keeper.Owner{Tenant: "shop", User: "mia"}

func newRig(t testing.TB, settings Settings) *rig {
	t.Helper()
	ctx := t.Context()
	r := &rig{t: t, clock: &clock{}}
	r.sets(time.Now().UTC())
	r.said = r.now()
	store, err := state.Open(ctx, filepath.Join(t.TempDir(), "store.db"), state.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	k, err := keeper.Open(ctx, keeper.Config{DB: store.Database(), Store: index.New(), Now: r.now, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { must(t, k.Close()) })
	if problem := settings.Check(); problem != nil {
		t.Fatal(problem)
	}
	r.store = store
	r.settings = settings
	r.Recall = New(Config{Keeper: k, Store: store, Settings: func(host.TenantID) Settings { return r.settings }, Now: r.now, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { r.Close() })
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func session(n int) host.SessionRef {
	return host.SessionRef{Tenant: "shop", User: "mia", Session: host.SessionID(fmt.Sprint("s", n))}
}

// say asks the hooks before the model is asked about new words of the user's.
func (r *rig) say(n int, words string) (told string, recalled []abi.Memory, notes string) {
	r.t.Helper()
	r.input++
	r.said = r.now()
	return r.asked(n, words)
}

func (r *rig) asked(n int, words string, outcomes ...host.Outcome) (told string, recalled []abi.Memory, notes string) {
	r.t.Helper()
	for _, hook := range r.Hooks() {
		if hook.PreReasoning == nil {
			continue
		}
		in, err := hook.PreReasoning(r.t.Context(), r.about(n, words, outcomes...))
		must(r.t, err)
		told, recalled, notes = told+in.Text, append(recalled, in.Recalled...), notes+in.Note
	}
	must(r.t, r.Keeper.Sync(r.t.Context()))
	r.told = told
	return told, recalled, notes
}

// about is the question about words of the user's as the agent asks it.
func (r *rig) about(n int, words string, outcomes ...host.Outcome) host.Reasoning {
	return host.Reasoning{Session: session(n), Live: r.live, Input: r.input, Round: 1, Text: words, Said: words, SaidAt: r.said, Spoken: r.input, Outcomes: outcomes}
}

// answer gives what the guard thinks of the model's answer.
func (r *rig) answer(n int, words string) host.Opinion {
	r.t.Helper()
	opinion, err := r.judge(r.t.Context(), host.Reasoning{Session: session(n), Input: r.input, Round: 1, Text: words})
	must(r.t, err)
	return opinion
}

// ends has the turn of the last input end with its answer on the user's screen, which
// asks what the model was told to ask.
func (r *rig) ends(n int) {
	r.t.Helper()
	r.answers(n, r.told)
}

// answers has it end with an answer of some words.
func (r *rig) answers(n int, words string) {
	r.t.Helper()
	must(r.t, r.turnEnded(r.t.Context(), host.TurnEnd{Session: session(n), Input: r.input, Reason: host.TurnAnswered, Text: words}))
}

// have gives the memories of mia's that a page asks for.
func (r *rig) have(p keeper.Page) []memory.Node {
	r.t.Helper()
	var all []memory.Node
	for more := true; more; {
		page, err := r.Keeper.List(r.t.Context(), mia, p)
		must(r.t, err)
		if all, more = append(all, page...), len(page) == keeper.MaxPage; more {
			p.After = page[len(page)-1].ID
		}
	}
	return all
}

// declared gives what mia declared and what still counts of it.
func (r *rig) declared() []memory.Node {
	r.t.Helper()
	return r.have(keeper.Page{Layers: []memory.Layer{memory.Declared}, Statuses: []memory.Status{memory.Active}})
}

func (r *rig) habits() []memory.Node {
	r.t.Helper()
	return r.have(keeper.Page{Kinds: []memory.Kind{memory.Habit}, Statuses: []memory.Status{memory.Active}})
}

func (r *rig) traces() []memory.Trace {
	r.t.Helper()
	traces, err := r.Keeper.Traces(r.t.Context(), mia, "")
	must(r.t, err)
	return traces
}

// settle waits for what goes on in the background.
func (r *rig) settle() { r.background.wait.Wait() }

// livesOtherwise has mia declare ten minutes, and live three of them in three sessions.
func (r *rig) livesOtherwise() {
	r.t.Helper()
	r.say(1, "每次开场讲10分钟")
	for n := 2; n <= 4; n++ {
		r.pass(24 * time.Hour)
		r.does(n, "shop.open", `{"minutes":3}`, host.Done)
		must(r.t, r.sessionEnded(r.t.Context(), session(n)))
	}
}

// does puts a call that ended on record.
func (r *rig) does(n int, tool, args string, status host.Status) {
	r.t.Helper()
	r.doesIn("", n, tool, args, status)
}

// doesIn does so in a session of a live.
func (r *rig) doesIn(live string, n int, tool, args string, status host.Status) {
	r.t.Helper()
	r.done++
	call := host.CallID(fmt.Sprint("c", r.done))
	must(r.t, r.store.Record(r.t.Context(),
		host.Record{Session: session(n), Call: call, Kind: host.RecordIntent, Tool: tool, Detail: json.RawMessage(`{"args":` + args + `,"live":"` + live + `"}`)},
		host.Record{Session: session(n), Call: call, Kind: host.RecordOutcome, Tool: tool, Detail: json.RawMessage(`{"status":"` + string(status) + `"}`)}))
}

var shop = Settings{
	Points: []Point{{Name: "opening", Domain: "pacing", Topic: "opening.minutes", Words: []string{"开场", "opening"}}, {Name: "price", Domain: "pricing", Words: []string{"定价", "Price of"}}},
	Facts:  []string{"shop.look"},
	Seen:   []Observation{{Tool: "shop.open", Topic: "opening.minutes", Number: "minutes", Unit: "min", Domain: "pacing", Scene: "live"}},
}

// TestThreeContradictionsMakeOneQuestion is the way of a preference: said, lived
// otherwise in three sessions, asked about once, answered.
func TestThreeContradictionsMakeOneQuestion(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	r.say(1, "每次开场讲10分钟")
	said, err := r.Keeper.List(ctx, keeper.Owner{Tenant: "shop", User: "mia"}, keeper.Page{Layers: []memory.Layer{memory.Declared}})
	must(t, err)
	if len(said) != 1 || said[0].Claim == nil || *said[0].Claim.Low != 10 {
		t.Fatalf("heard %+v", said)
	}
	for n := 2; n <= 4; n++ {
		if told, _, _ := r.say(n, "开场讲什么好"); strings.Contains(told, "10") {
			t.Fatalf("session %d was asked already: %s", n, told)
		}
		r.pass(24 * time.Hour)
		r.does(n, "shop.open", `{"minutes":3}`, host.Done)
		must(t, r.sessionEnded(ctx, session(n)))
	}
	after, err := r.Keeper.Get(ctx, keeper.Owner{Tenant: "shop", User: "mia"}, said[0].ID)
	must(t, err)
	if after.Text != said[0].Text || *after.Claim.Low != 10 || after.Status != memory.Active {
		t.Errorf("behaviour changed the user's words to %+v", after)
	}
	if told, _, _ := r.say(5, "今天的库存还有多少"); strings.Contains(told, "Ask the user") {
		t.Errorf("asked away from its decision point: %s", told)
	}
	told, _, _ := r.say(5, "开场怎么安排")
	if !strings.Contains(told, "Ask the user this") || !strings.Contains(told, "10") {
		t.Fatalf("no question at the decision point: %s", told)
	}
	r.ends(5)
	if again, _, _ := r.say(5, "开场怎么安排"); strings.Contains(again, "Ask the user") {
		t.Errorf("asked a second time: %s", again)
	}
	r.say(5, "改成3分钟")
	questions, err := r.Keeper.Questions(ctx, keeper.Owner{Tenant: "shop", User: "mia"})
	must(t, err)
	if len(questions) != 1 || questions[0].Answered.IsZero() || len(questions[0].Evidence) == 0 {
		t.Fatalf("questions %+v", questions)
	}
	now, err := r.Keeper.List(ctx, keeper.Owner{Tenant: "shop", User: "mia"}, keeper.Page{Layers: []memory.Layer{memory.Declared}, Statuses: []memory.Status{memory.Active}})
	must(t, err)
	if len(now) != 1 || *now[0].Claim.Low != 3 {
		t.Errorf("after the answer the user's words are %+v", now)
	}
}

func TestTheFormOfAnAnswerFollowsTrust(t *testing.T) {
	const advice = "I recommend a price of 89. However, in May it sold 3. Alternatively 79. Confidence 70%."
	for _, tt := range []struct {
		trust  float64
		answer string
		passes bool
	}{
		{0.39, advice, false},
		{0.39, "Last week it sold 12 at 89 and 30 at 79.", true},
		{0.4, advice, false},
		{0.69, "For reference, 89 sold well in May.", true},
		{0.7, advice, true},
	} {
		t.Run(fmt.Sprint(tt.trust, tt.answer), func(t *testing.T) {
			r := newRig(t, shop)
			must(t, r.Keeper.Close())
			var err error
			r.Keeper, err = keeper.Open(t.Context(), keeper.Config{DB: r.store.Database(), Store: index.New(), InitialTrust: &tt.trust})
			must(t, err)
			t.Cleanup(func() { must(t, r.Keeper.Close()) })
			told, _, _ := r.say(1, "what should the PRICE OF the dress be?")
			if told != memory.FormOf(tt.trust).Instruction("") {
				t.Errorf("the model is told %q", told)
			}
			opinion := r.answer(1, tt.answer)
			if len(r.traces()) > 0 {
				t.Error("there is a trace of what nobody saw yet")
			}
			r.ends(1)
			if passes := opinion.Problem == nil; passes != tt.passes {
				t.Fatalf("%q at %.2f: %+v", tt.answer, tt.trust, opinion)
			}
			traces, err := r.Keeper.Traces(t.Context(), keeper.Owner{Tenant: "shop", User: "mia"}, "")
			must(t, err)
			if shown := len(traces) == 1 && traces[0].Output == tt.answer && traces[0].TrustAtMoment == tt.trust; shown != tt.passes {
				t.Errorf("traces %+v", traces)
			}
		})
	}
}

func TestAwayFromDecisionsNothingIsWithheld(t *testing.T) {
	r := newRig(t, shop)
	r.say(1, "hello")
	if o := r.answer(1, "I recommend a walk."); o.Problem != nil {
		t.Errorf("withheld: %v", o.Problem)
	}
	if _, err := r.judge(t.Context(), host.Reasoning{Session: session(9), Input: 1, Text: "You should buy it."}); err == nil {
		t.Error("an answer in a turn that memory does not know passes")
	}
}

func TestRecalledWordsAreQuotedAndTheRecordHasIDs(t *testing.T) {
	r := newRig(t, shop)
	r.say(1, "我喜欢红色的包装。永远不要低于50元卖")
	_, recalled, notes := r.say(2, "包装用什么颜色")
	all := fmt.Sprint(recalled)
	if !strings.Contains(all, "红色") || !strings.Contains(all, "50") || strings.Contains(notes, "红") || !strings.Contains(notes, "recalled 2: ") {
		t.Errorf("recalled %s with the note %q", all, notes)
	}
	if !strings.Contains(recalled[0].Text, `"layer":"L1 declared"`) {
		t.Errorf("quoted as %s", recalled[0].Text)
	}
	_, other, _ := r.asked(3, "包装用什么颜色")
	if len(other) != 2 {
		t.Errorf("a session of the same user recalls %d", len(other))
	}
}

// A constraint stands before the model whatever is spoken of.
func TestAConstraintIsAlwaysThere(t *testing.T) {
	r := newRig(t, shop)
	r.say(1, "永远不要低于50元卖")
	if _, recalled, _ := r.say(2, "weather?"); len(recalled) != 1 {
		t.Errorf("recalled %+v", recalled)
	}
}

func TestResultsOfNamedToolsBecomeFactsOnce(t *testing.T) {
	r := newRig(t, shop)
	outcomes := []host.Outcome{
		{Call: "c1", Tool: "shop.look", Status: host.Done, Data: json.RawMessage(`{"sku":"1001","price":89}`)},
		{Call: "c2", Tool: "shop.other", Status: host.Done, Data: json.RawMessage(`{"sku":"1002","price":7}`)},
		{Call: "c3", Tool: "shop.look", Status: host.Failed, Data: json.RawMessage(`{"sku":"1003","price":7}`)},
	}
	r.say(1, "look")
	r.asked(1, "look", outcomes...)
	r.asked(1, "look", outcomes...)
	facts, err := r.Keeper.List(t.Context(), keeper.Owner{Tenant: "shop", User: "mia"}, keeper.Page{Layers: []memory.Layer{memory.Fact}})
	must(t, err)
	if len(facts) != 1 || facts[0].Source.Call != "c1" || facts[0].Entity != "1001" {
		t.Errorf("facts %+v", facts)
	}
}

func TestTheLogMakesHabitsOfWhatWasDone(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for n := 1; n <= 3; n++ {
		r.does(n, "shop.open", fmt.Sprintf(`{"minutes":%d}`, 10+n), host.Done)
		r.does(n, "shop.open", `{"minutes":99}`, host.Failed)
		r.does(n, "shop.close", `{"minutes":77}`, host.Done)
	}
	r.pass(time.Hour)
	for range 2 {
		must(t, r.happened(ctx, host.BusinessEvent{Session: host.SessionRef{Tenant: "shop"}, Kind: "live.end"}))
		r.settle()
	}
	habits, err := r.Keeper.List(ctx, keeper.Owner{Tenant: "shop", User: "mia"}, keeper.Page{Layers: []memory.Layer{memory.Behaviour}})
	must(t, err)
	if len(habits) != 1 || *habits[0].Claim.Low != 11 || *habits[0].Claim.High != 13 {
		t.Errorf("habits %+v", habits)
	}
}

func TestTidyArchivesWhatIsWorthLittleAndLeavesConstraints(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	o := keeper.Owner{Tenant: "shop", User: "mia"}
	old := r.now().AddDate(-3, 0, 0)
	_, err := r.Keeper.Remember(ctx, o, []memory.Node{
		{Text: "price 5", Layer: memory.Fact, Kind: memory.FactOf, Freshness: memory.Fast, At: old, Trust: 0.9},
		{Text: "never below 50", Layer: memory.Declared, Kind: memory.Constraint, At: old, Trust: 0.9},
	})
	must(t, err)
	n, err := r.Tidy(ctx)
	must(t, err)
	left, err := r.Keeper.List(ctx, o, keeper.Page{Statuses: []memory.Status{memory.Active}})
	must(t, err)
	if n != 1 || len(left) != 1 || left[0].Kind != memory.Constraint {
		t.Errorf("archived %d, left %+v", n, left)
	}
}

func TestASkillRemembersForItsUserAlone(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for range 2 {
		must(t, r.Remembered(ctx, host.CallRef{Session: session(1), Live: "l1", Call: "c1"}, []abi.Memory{{Kind: "fact", Text: "the dress sells at night", Entity: "1001"}}))
	}
	if kept := r.have(keeper.Page{}); len(kept) != 1 || kept[0].Source.Call != "c1" || kept[0].Source.Live != "l1" || kept[0].Verified != 0 {
		t.Errorf("kept %+v", kept)
	}
	must(t, r.Keeper.Sync(ctx))
	hits, err := r.Recalled(ctx, session(2), abi.RecallQuery{Query: "dress night", Kinds: []string{"fact"}, Limit: 5})
	must(t, err)
	if len(hits) != 1 || hits[0].Entity != "1001" || hits[0].Score <= 0 {
		t.Errorf("hits %+v", hits)
	}
	other, err := r.Recalled(ctx, host.SessionRef{Tenant: "shop", User: "bob", Session: "s1"}, abi.RecallQuery{Query: "dress night", Limit: 5})
	if err != nil || len(other) != 0 {
		t.Errorf("another user recalls %+v, %v", other, err)
	}
}

// What memory cannot read it says, and the form of an answer is then the strictest.
func TestWithoutTrustAnswersAreEvidence(t *testing.T) {
	r := newRig(t, shop)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.input++
	in, err := r.form(ctx, r.about(1, "price of it"))
	must(t, err)
	if in.Text != memory.EvidenceOnly.Instruction("") {
		t.Errorf("told %q", in.Text)
	}
}

func TestSettingsThatCannotBeMeantAreRefused(t *testing.T) {
	for _, s := range []Settings{
		{Points: []Point{{Name: "p", Domain: "d"}}},
		{Points: []Point{{Name: "p", Domain: "d", Words: []string{" "}}}},
		{Facts: []string{"look"}},
		{Seen: []Observation{{Tool: "shop.open", Topic: "t"}}},
		{Seen: []Observation{{Tool: "shop.open", Topic: "t", Number: "a", Word: "b"}}},
		{Facts: make([]string, 65)},
		{Forget: &Forgetting{HalfLifeDays: map[memory.Freshness]float64{"never": 3}}},
		{Forget: &Forgetting{MaxAgeDays: map[memory.Freshness]float64{memory.Slow: 0}}},
		{Forget: &Forgetting{DisuseDays: number(math.NaN())}},
		{Forget: &Forgetting{SceneDays: number(-1)}},
		{Forget: &Forgetting{Below: number(1.5)}},
		{Conflicts: "first"},
		{Lifts: []Lift{{Domain: "pricing"}}},
		{Lifts: []Lift{{Measure: "gmv", Per: "gmv"}}},
		{Lifts: make([]Lift, 33)},
	} {
		if s.Check() == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// What is adopted counts for the memories that it pointed to, once.
func TestAnAdoptedAnswerCountsForItsSources(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	o := keeper.Owner{Tenant: "shop", User: "mia"}
	r.say(1, "永远不要低于50元卖")
	r.say(2, "定价多少")
	r.answer(2, "上周89元卖了12件。")
	r.ends(2)
	traces, err := r.Keeper.Traces(ctx, o, "")
	must(t, err)
	if len(traces) != 1 || len(traces[0].Sources) != 1 {
		t.Fatalf("traces %+v", traces)
	}
	for range 2 {
		_, err := r.Keeper.Act(ctx, o, traces[0].ID, memory.Accept, "")
		must(t, err)
	}
	n, err := r.Keeper.Get(ctx, o, traces[0].Sources[0])
	must(t, err)
	if n.Adopts != 1 {
		t.Errorf("adopted %d times", n.Adopts)
	}
	lift := 0.3
	after, err := r.Keeper.Attribute(ctx, o, traces[0].ID, &lift, nil)
	must(t, err)
	trust, err := r.Keeper.Trust(ctx, o, "pricing")
	must(t, err)
	if after.TrustDelta != memory.AdoptedGain || trust != memory.InitialTrust+memory.AdoptedGain {
		t.Errorf("delta %v, trust %v", after.TrustDelta, trust)
	}
}

// TestToolsAreNamedAsAPolicyNamesThem: records and outcomes have a tool's own name and
// its release.
func TestToolsAreNamedAsAPolicyNamesThem(t *testing.T) {
	for _, tt := range []struct{ release, tool, want string }{
		{"shop.coupons@1.0.0", "issue_coupon", "shop.coupons.issue_coupon"},
		{"", "shop.open", "shop.open"},
	} {
		if got := fullName(tt.release, tt.tool); got != tt.want {
			t.Errorf("%s of %s is %s", tt.tool, tt.release, got)
		}
	}
	d, ok := intended(host.Record{Tool: "issue_coupon", Release: "shop.coupons@1.0.0", Detail: json.RawMessage(`{"args":{"amount":20}}`)})
	if e, seen := (Observation{Tool: "shop.coupons.issue_coupon", Topic: "coupon", Number: "amount"}).event(d); !ok || !seen || *e.Value != 20 {
		t.Errorf("%+v makes %+v", d, e)
	}
}

// What a recalled memory says is evidence, whatever it says, where it is quoted.
func TestAnAnswerMayQuoteWhatWasRecalled(t *testing.T) {
	r := newRig(t, shop)
	r.say(1, "永远不要建议降价到50元以下")
	for n, said := range []string{"库存多少", "定价多少"} {
		r.say(2+n, said)
	}
	if o := r.answer(3, `记录："永远不要建议降价到50元以下"。上周89元卖了12件。`); o.Problem != nil {
		t.Errorf("a quotation is withheld: %v", o.Problem)
	}
	if o := r.answer(3, `记录："现在建议降价到40元"。`); o.Problem == nil {
		t.Error("what nobody said is let pass as a quotation")
	}
}
