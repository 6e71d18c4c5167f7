package recall

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

func TestALongInputStillHasItsConstraints(t *testing.T) {
	r := newRig(t, shop)
	r.say(1, "绝对不能卖低于50元的商品")
	for _, words := range []string{strings.Repeat("a b c ", 4000), strings.Repeat("商品", 10_000)} {
		if _, recalled, notes := r.say(2, words); len(recalled) == 0 || strings.Contains(notes, "not all") {
			t.Errorf("%d bytes: recalled %+v with %q", len(words), recalled, notes)
		}
	}
}

// A keeper without an index recalls nothing; what must be kept to it has.
func TestWhatIsFoundIsGivenWhereTheRestFails(t *testing.T) {
	r := newRig(t, shop)
	r.say(1, "绝对不能卖低于50元的商品")
	must(t, r.Keeper.Close())
	bare, err := keeper.Open(t.Context(), keeper.Config{DB: r.store.Database()})
	must(t, err)
	t.Cleanup(func() { must(t, bare.Close()) })
	r.Keeper = bare
	in, err := r.before(t.Context(), host.Reasoning{Session: session(2), Input: 9, Round: 1, Said: "商品", SaidAt: r.now()})
	if err != nil || len(in.Recalled) != 1 || !strings.Contains(in.Note, "not all") {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestWhatFailedAtTheFirstQuestionIsDoneAtTheNext(t *testing.T) {
	r := newRig(t, shop)
	r.say(1, "绝对不能卖低于50元的商品")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	q := host.Reasoning{Session: session(2), Input: 9, Round: 1, Said: "以后每次开场讲7分钟", SaidAt: r.now()}
	if in, err := r.before(gone, q); err != nil || len(in.Recalled) != 0 {
		t.Fatalf("%+v, %v", in, err)
	}
	in, err := r.before(t.Context(), q)
	if err != nil || len(in.Recalled) == 0 || len(r.declared()) != 2 {
		t.Errorf("%+v, %v; declared %+v", in, err, r.declared())
	}
}

func TestTheUsersNewestConstraintsComeFirstAndTheRestIsCounted(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for i := range 8 { // planted before the user spoke
		must(t, r.Remembered(ctx, host.CallRef{Session: session(1)}, []abi.Memory{{Kind: "constraint", Text: fmt.Sprintf("planted rule %d%d", i*7, i*91)}}))
	}
	for i := range constraints + 2 {
		_, err := r.Keeper.Remember(ctx, mia, []memory.Node{{Text: fmt.Sprintf("never do thing%d kind%d.", i*7, i*31), Layer: memory.Declared, Kind: memory.Constraint, Trust: .8,
			At: r.now().Add(time.Duration(i) * time.Minute)}})
		must(t, err)
	}
	told, recalled, _ := r.say(2, "hello")
	all := fmt.Sprint(recalled)
	if len(recalled) != constraints || strings.Contains(all, "planted") || !strings.Contains(all, fmt.Sprintf("thing%d ", (constraints+1)*7)) || strings.Contains(all, "thing7 ") || !strings.Contains(told, "10 more") {
		t.Errorf("%d recalled, told %q: %s", len(recalled), told, all)
	}
}

func TestTurnsThatWereBrokenOffMakeRoom(t *testing.T) {
	r := newRig(t, shop)
	for n := range maxTurns {
		r.begin(host.Reasoning{Session: session(n), Input: 1, Said: "secret"})
	}
	r.pass(time.Second)
	if _, err := r.form(t.Context(), host.Reasoning{Session: session(maxTurns), Input: 1, Said: "price of it"}); err != nil {
		t.Fatal(err)
	}
	if o, err := r.judge(t.Context(), host.Reasoning{Session: session(maxTurns), Input: 1, Text: "It sold 12."}); err != nil || o.Problem != nil || len(r.turns) != maxTurns {
		t.Errorf("%+v, %v; %d turns", o, err, len(r.turns))
	}
	r.pass(turnAge)
	r.begin(host.Reasoning{Session: session(1), Input: 2})
	if len(r.turns) != 1 {
		t.Errorf("%d turns are known after an hour", len(r.turns))
	}
}

func TestTheWordsOfATurnGoWithItsSessionAndWithWhatIsForgotten(t *testing.T) {
	r := newRig(t, shop)
	r.say(1, "记住我的供应商是王小明。定价多少？")
	r.answer(1, "上周 89 元卖出 12 件。")
	r.Forgotten(mia)
	if held := fmt.Sprintf("%+v", *r.turns[session(1)]); strings.Contains(held, "王小明") {
		t.Errorf("the turn holds %s", held)
	}
	if o := r.answer(1, "建议定价89元。"); o.Problem == nil {
		t.Error("the turn's answers are not judged any more")
	}
	must(t, r.sessionEnded(t.Context(), session(1)))
	if len(r.turns) != 0 {
		t.Error("the session's turn is known after its end")
	}
}

// The question that was to be asked at a decision point has the user's words.
func TestAQuestionGoesWithWhatIsForgotten(t *testing.T) {
	r := newRig(t, shop)
	r.livesOtherwise()
	told, _, _ := r.say(5, "开场怎么安排")
	if !strings.Contains(told, "每次开场讲10分钟") {
		t.Fatalf("nothing is asked: %q", told)
	}
	r.Forgotten(mia)
	again, _, _ := r.asked(5, "开场怎么安排")
	if held := fmt.Sprintf("%+v", *r.turns[session(5)]); strings.Contains(again+held, "10分钟") || again == "" {
		t.Errorf("told %q; the turn holds %s", again, held)
	}
}

// One session more is no reason to recall less of what was said.
func TestTrajectoriesPushNothingOut(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for n := range keptTrajectories + 30 {
		must(t, r.keep(ctx, mia, []memory.Node{trajectory(session(n), []done{{call: "x", tool: fmt.Sprint("shop.look", n), session: session(n), at: r.now().Add(time.Duration(n) * time.Second)}})}))
	}
	r.say(500, "我喜欢红色的包装 session calls done")
	_, recalled, _ := r.say(501, "session calls done shop 包装")
	sessions := strings.Count(fmt.Sprint(recalled), "calls done: ")
	if sessions == 0 || sessions > trajectories || !strings.Contains(fmt.Sprint(recalled), "红色") {
		t.Errorf("recalled %d trajectories: %+v", sessions, recalled)
	}
	archived, err := r.Tidy(ctx)
	must(t, err)
	left := r.have(keeper.Page{Kinds: []memory.Kind{memory.Profile}, Statuses: []memory.Status{memory.Active}})
	if archived != 30 || len(left) != keptTrajectories || !strings.Contains(left[0].Text, "shop.look30") {
		t.Errorf("archived %d, left %d", archived, len(left))
	}
}

func TestASessionWithoutAUserRecallsNothing(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	must(t, r.Remembered(ctx, host.CallRef{Session: session(1)}, []abi.Memory{{Kind: "fact", Text: "the dress sells at night"}}))
	must(t, r.Keeper.Sync(ctx))
	nobody := host.SessionRef{Tenant: "shop", Session: "s1"}
	hits, err := r.Recalled(ctx, nobody, abi.RecallQuery{Query: "dress night", Limit: 5})
	if codeOf(err) != abi.BadValue || len(hits) != 0 {
		t.Errorf("%+v, %v", hits, err)
	}
	if err := r.Remembered(ctx, host.CallRef{Session: nobody}, []abi.Memory{{Kind: "fact", Text: "x"}}); codeOf(err) != abi.BadValue {
		t.Errorf("nobody remembers: %v", err)
	}
}

// A price that is asked for again and again leaves no row for each time.
func TestFactsThatWereReplacedLongAgoAreRemoved(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for n := range 4 {
		r.pass(time.Hour)
		r.input++
		r.asked(1, "look", host.Outcome{Call: host.CallID(fmt.Sprint("k", n)), Tool: "shop.look", Status: host.Done, Data: fmt.Appendf(nil, `{"sku":"A1","price":%d}`, 99-n)})
	}
	r.pass(replacedAge + time.Hour)
	_, err := r.Tidy(ctx)
	must(t, err)
	if left := r.have(keeper.Page{Layers: []memory.Layer{memory.Fact}}); len(left) != 1 || *left[0].Claim.Low != 96 {
		t.Errorf("left are %+v", left)
	}
}

// What was found and not put before the model was not recalled: it is judged by how
// often it was of use.
func TestOnlyWhatTheModelSeesCountsAsRecalled(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for _, of := range []string{"silk", "cotton", "linen", "wool", "velvet", "denim", "satin", "tweed", "felt", "lace", "jersey", "canvas"} {
		must(t, r.Remembered(ctx, host.CallRef{Session: session(1), Call: host.CallID("call_" + of)}, []abi.Memory{{Kind: "fact", Text: of + " wants water that is cold"}}))
	}
	must(t, r.Keeper.Sync(ctx))
	_, recalled, _ := r.say(1, "how cold is the water?")
	must(t, r.Keeper.Close()) // which writes what was counted
	k, err := keeper.Open(ctx, keeper.Config{DB: r.store.Database()})
	must(t, err)
	defer k.Close()
	all, err := k.List(ctx, mia, keeper.Page{})
	must(t, err)
	counted := 0
	for _, n := range all {
		counted += n.Recalls
	}
	if len(recalled) != recalledHits || counted != recalledHits || len(all) <= recalledHits {
		t.Errorf("of %d memories %d were shown, and %d recalls count", len(all), len(recalled), counted)
	}
}
