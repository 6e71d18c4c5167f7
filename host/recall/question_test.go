package recall

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/window"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/index"
	"github.com/sluicehq/sluice/memory/keeper"
)

// opposes has mia declare two things that contradict each other, and gives what the model
// is told at the second.
func (r *rig) opposes() (told string) {
	r.t.Helper()
	r.say(1, "价格绝对不能低于59元")
	r.pass(time.Hour)
	told, _, _ = r.say(1, "价格绝对不能超过50元")
	return told
}

func (r *rig) choice() memory.Question {
	r.t.Helper()
	all, err := r.Keeper.Questions(r.t.Context(), mia)
	must(r.t, err)
	if len(all) != 1 || !all[0].IsChoice() {
		r.t.Fatalf("the questions are %+v", all)
	}
	return all[0]
}

const asksChoice = "Ask the user this before anything else"

// Two constraints that contradict each other: the user is asked at once, in the turn in
// which they say so, also where the policy has no decision points, and the answer counts.
func TestAConflictIsAskedWhereItArises(t *testing.T) {
	r := newRig(t, Settings{})
	told := r.opposes()
	if !strings.Contains(told, asksChoice) || !strings.Contains(told, "①“价格绝对不能低于59元”") || !strings.Contains(told, "keep to both") {
		t.Fatalf("told %s", told)
	}
	if again, _, _ := r.asked(1, "价格绝对不能超过50元"); !strings.Contains(again, asksChoice) {
		t.Errorf("at the next question of the same turn: %s", again)
	}
	r.ends(1)
	if q := r.choice(); q.AskedIn != "s1" || q.AskedInput != 2 {
		t.Errorf("asked is %+v", q)
	}
	told, _, _ = r.say(1, "以第二条为准")
	if left := r.declared(); len(left) != 1 || left[0].Text != "价格绝对不能超过50元" || !strings.Contains(told, "counts, and memory") {
		t.Errorf("told %q; what counts is %+v", told, left)
	}
	lost := r.have(keeper.Page{Layers: []memory.Layer{memory.Declared}, Statuses: []memory.Status{memory.Superseded}})
	if len(lost) != 1 || lost[0].SupersededBy != r.declared()[0].ID {
		t.Errorf("the other one is %+v", lost)
	}
	if told, _, _ = r.say(1, "定价怎么安排"); strings.Contains(told, asksChoice) || strings.Contains(told, "contradict") {
		t.Errorf("after the answer: %s", told)
	}
}

// Whether a preference takes the place of an earlier one, or the user is asked, is the
// operator's to say.
func TestThePolicySaysHowPreferencesAreSettled(t *testing.T) {
	for conflicts, asked := range map[string]bool{"": false, ConflictsLast: false, ConflictsAsk: true} {
		t.Run(conflicts, func(t *testing.T) {
			r := newRig(t, Settings{}.And(Settings{Conflicts: conflicts}).And(Settings{}))
			r.say(1, "每次开场讲10分钟")
			r.pass(time.Hour)
			told, _, _ := r.say(1, "以后每次开场讲3分钟")
			if left := r.declared(); len(left) != map[bool]int{false: 1, true: 2}[asked] || strings.Contains(told, asksChoice) != asked {
				t.Errorf("told %q; what counts is %+v", told, left)
			}
		})
	}
}

// One that was not asked waits for words about its topic, or for a decision point; it is
// asked once; until it is answered the model is told to keep to both.
func TestAChoiceWaitsForItsMatter(t *testing.T) {
	r := newRig(t, shop)
	r.opposes() // the turn is broken off: nothing was asked
	r.pass(time.Hour)
	if told, _, _ := r.say(2, "你好"); strings.Contains(told, asksChoice) || !strings.Contains(told, "keep to both") {
		t.Errorf("beside the point: %s", told)
	}
	told, _, _ := r.say(2, "定价怎么安排？")
	if strings.Count(told, asksChoice) != 1 {
		t.Errorf("at its matter: %s", told)
	}
	r.ends(2)
	for _, words := range []string{"定价怎么安排？", "为什么"} {
		if told, _, _ = r.say(3, words); strings.Contains(told, asksChoice) {
			t.Errorf("once more: %s", told)
		}
	}
	for _, tt := range []struct {
		session int
		words   string
	}{{3, "第一条"}, {2, "今晚第一条"}, {2, "不要第一条"}} { // elsewhere, for now, a denial
		r.input = r.choice().AskedInput
		r.say(tt.session, tt.words)
		if len(r.declared()) != 2 {
			t.Fatalf("after %q in session %d: %+v", tt.words, tt.session, r.declared())
		}
	}
	r.input = r.choice().AskedInput + 2
	r.say(2, "第一条")
	if len(r.declared()) != 2 {
		t.Error("an answer that came too late counted")
	}
	r.input = r.choice().AskedInput
	r.say(2, "都保留")
	if q := r.choice(); !q.Settled() || len(r.declared()) != 2 {
		t.Errorf("the answer left %+v", q)
	}
	r.pass(time.Hour)
	if told, _, _ = r.say(4, "价格绝对不能超过50元"); strings.Contains(told, asksChoice) || strings.Contains(told, "contradict") {
		t.Errorf("said again after both were kept: %s", told)
	}
}

// A question of a decision point and a choice are never asked in one turn.
func TestOneQuestionIsAskedInATurn(t *testing.T) {
	r := newRig(t, shop)
	r.livesOtherwise()
	r.opposes() // that turn is broken off, and given up after an hour
	r.pass(time.Hour)
	told, _, _ := r.say(5, "开场怎么安排，定价怎么安排")
	if strings.Count(told, asksChoice) != 1 || !strings.Contains(told, "①") {
		t.Errorf("told %s", told)
	}
	r.ends(5)
	if told, _, _ = r.say(5, "开场怎么安排"); strings.Count(told, asksChoice) != 1 || strings.Contains(told, "①") {
		t.Errorf("then told %s", told)
	}
}

// What a model read of the user's words replaces nothing; a contradiction is asked about.
func TestTheModelsReadingReplacesNothing(t *testing.T) {
	r := newRig(t, Settings{})
	r.say(1, "每次开场讲10分钟")
	const words = "咱们开头就聊8分钟吧"
	r.Ask = func(context.Context, string, string, json.RawMessage) (string, host.Amount, error) {
		return fmt.Sprintf(`{"declarations":[{"evidence":%q,"kind":"preference","scene":"live","claim":{"topic":"opening.minutes","low":8,"high":8,"unit":"分钟"}}]}`, words), host.Amount{}, nil
	}
	r.pass(time.Hour)
	r.say(1, words)
	r.settle()
	var ten memory.Node
	for _, n := range r.declared() {
		if n.Text == "每次开场讲10分钟" {
			ten = n
		}
	}
	if ten.Status != memory.Active {
		t.Fatalf("mia declared %+v", r.declared())
	}
	told, _, _ := r.say(2, "开场怎么安排")
	if !strings.Contains(told, "8分钟") || r.choice().Memory != ten.ID {
		t.Errorf("told %s", told)
	}
}

// What the user is to be asked reaches the model whole, whatever is in it and stands beside it.
func TestAQuestionStandsWholeBeforeTheModel(t *testing.T) {
	for _, words := range []string{strings.Repeat("<&>[]`", 200), strings.Repeat("\"\\", 500), strings.Repeat("长", 1000), "short"} {
		line := toAsk(words)
		hint := window.Layers{Notes: []string{line}}.Request().Hint
		if !strings.Contains(hint, "- "+line+"\n") {
			t.Errorf("%q is cut: %s", words[:5], hint)
		}
		quoted := line[strings.Index(line, host.ToAsk)+len(host.ToAsk):]
		var text string
		if err := json.Unmarshal([]byte(quoted), &text); err != nil || !strings.HasPrefix(words, strings.TrimSuffix(text, "…")) {
			t.Errorf("%s: %v", quoted, err)
		}
	}
}

// However much is to be said beside it, the question stands first.
func TestTheQuestionStandsBeforeAllRemarks(t *testing.T) {
	r := newRig(t, shop)
	var many []string
	for i := range 3 * maxRemarks {
		many = append(many, fmt.Sprint("remark ", i))
	}
	r.input++
	q := r.about(3, "开场")
	r.begin(q)
	r.know(q, func(at *turn) { at.heard, at.hearing, at.choice = true, heard{remarks: many}, "which counts?" })
	lines := strings.Split(r.recollect(t.Context(), q).Text, "\n")
	if !strings.HasSuffix(lines[0], `"which counts?"`) || len(lines) != maxRemarks {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}

// A question that the model asked and the user passed over is not asked again; three lives
// later another one is. One that nobody answers for half a year waits for nobody.
func TestAQuestionThatWasPassedOverIsNotTheLast(t *testing.T) {
	r := newRig(t, shop)
	r.livesOtherwise()
	var asked []string
	for session := 10; session <= 20; session++ {
		if id := r.askedFor(t, session, "开场怎么安排"); id != "" {
			asked = append(asked, fmt.Sprint(session))
		}
		r.pass(24 * time.Hour)
		r.does(session, "shop.open", `{"minutes":3}`, host.Done)
		must(t, r.sessionEnded(t.Context(), host.SessionRef{Tenant: mia.Tenant, User: mia.User, Session: host.SessionID(fmt.Sprint("s", session))}))
	}
	if want := "10 13 16 19"; strings.Join(asked, " ") != want {
		t.Errorf("asked in the sessions %v, want %s", asked, want)
	}
	for i, days := range []int{170, 20} {
		r.sets(r.now().AddDate(0, 0, days))
		_, err := r.Tidy(t.Context())
		must(t, err)
		if waiting := must1(r.Keeper.Waiting(t.Context(), mia))(t); len(waiting) != 1-i {
			t.Errorf("later by %d days %d wait", days, len(waiting))
		}
	}
}

// A question is asked by one turn, on whichever replica, and by another one where that did
// not ask it.
func TestAQuestionIsAskedByOneReplica(t *testing.T) {
	r := newRig(t, shop)
	r.livesOtherwise()
	k, err := keeper.Open(t.Context(), keeper.Config{DB: r.store.Database(), Store: index.New(), Now: func() time.Time { return r.now() }, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { must(t, k.Close()) })
	other := *r
	set := r.Recall.Config
	set.Keeper = k
	other.Recall = New(set)
	t.Cleanup(other.Close)
	asks := func(r *rig, n int) bool {
		told, _, _ := r.say(n, "开场怎么安排")
		return strings.Contains(told, host.ToAsk)
	}
	if !asks(r, 5) || asks(&other, 6) {
		t.Fatal("not one of two turns asks")
	}
	if !asks(r, 5) {
		t.Error("the turn that is about to ask does not when it goes on")
	}
	r.answers(5, "好的")
	if !asks(&other, 7) {
		t.Error("no other turn asks what was not asked")
	}
	other.take(session(7)) // its process is gone
	if asks(r, 8) {
		t.Error("asked while a turn that nothing is heard of may still ask")
	}
	r.pass(2 * time.Hour)
	if !asks(r, 9) {
		t.Error("a turn that was broken off keeps its question for ever")
	}
	r.ends(9)
	if asks(&other, 10) {
		t.Error("asked a second time")
	}
}

// What goes on after an approval is about the user's earlier words: a choice about their
// topic is asked.
func TestAChoiceIsAskedAfterAnApproval(t *testing.T) {
	r := newRig(t, Settings{})
	r.opposes() // the turn is broken off: nothing was asked
	r.pass(time.Hour)
	r.input++
	if told := r.hooked(r.byHost(2, rejected, "价格怎么安排")); !strings.Contains(told, asksChoice) {
		t.Errorf("told %q", told)
	}
}
