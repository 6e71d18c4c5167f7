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
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

func minutes(low float64) *memory.Claim {
	c := memory.Between("opening.minutes", low, low, "min")
	return &c
}

// What is said after a question is its answer only where it was asked, soon, and if
// it says little else.
func TestOnlyTheAnswerToAQuestionChangesTheUsersWords(t *testing.T) {
	ctx := t.Context()
	r := newRig(t, shop)
	r.livesOtherwise()
	r.say(5, "开场怎么安排")
	r.ends(5)
	asked := r.input
	for _, tt := range []struct {
		session, input int
		words          string
	}{
		{9, 1, "保持不变"}, {9, 1, "取消"}, {5, 3, "取消"}, {5, 3, "改成3分钟"}, // elsewhere, and too late
		{5, 1, "取消订单 1234"}, {5, 1, "今晚开场讲8分钟"}, {5, 1, "把昨天那张优惠券作废"}, {5, 1, "never mind"},
		{5, 1, "今天开场就讲 4 分钟，时间紧"}, {5, 2, "I no longer need the report"}, {5, 2, "价格照旧"},
	} {
		_, err := r.hear(ctx, memory.Message{Tenant: "shop", User: "mia", Session: session(tt.session).Session, Text: tt.words, At: r.now()}, asked+tt.input)
		must(t, err)
		left := r.declared()
		if len(left) != 1 || *left[0].Claim.Low != 10 || left[0].Verified != 0 {
			t.Fatalf("after %q at input +%d of session %d: %+v", tt.words, tt.input, tt.session, left)
		}
	}
	r.input = asked
	r.say(5, "为什么这么问？") // a question back
	r.say(5, "保持不变")
	if left := r.declared(); len(left) != 1 || left[0].Verified != 1 {
		t.Errorf("the answer left %+v", left)
	}
}

func TestOfTwoQuestionsTheOneAskedLastIsAnswered(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for i, topic := range []string{"opening.minutes", "pitch.minutes"} {
		claim := memory.Between(topic, 10, 10, "min")
		said := memory.Node{Text: topic + " is ten", Layer: memory.Declared, Kind: memory.Preference, Trust: .8, Domain: "pacing", Claim: &claim}
		_, err := r.Keeper.Remember(ctx, mia, []memory.Node{said})
		must(t, err)
		for n := range 3 {
			r.pass(time.Hour)
			seen := memory.Between(topic, 3, 3, "min")
			must(t, r.keep(ctx, mia, []memory.Node{{Text: fmt.Sprint(topic, " was three, ", n), Layer: memory.Behaviour, Kind: memory.Habit, Trust: .5, Lives: 1,
				Claim: &seen, At: r.now(), Source: memory.Source{Session: session(10*i + n).Session}}}))
		}
	}
	r.pass(24 * time.Hour)
	first, second := r.askedFor(t, 5, "开场"), r.askedFor(t, 5, "开场")
	if first == "" || second == "" || first == second {
		t.Fatalf("asked %q, then %q", first, second)
	}
	r.say(5, "取消")
	for _, q := range must1(r.Keeper.Questions(ctx, mia))(t) {
		if answered := !q.Answered.IsZero(); answered != (q.ID == second) {
			t.Errorf("question %s answered: %v", q.ID, answered)
		}
	}
}

// askedFor gives the id of the question that an input has asked.
func (r *rig) askedFor(t *testing.T, n int, words string) (id string) {
	t.Helper()
	r.say(n, words)
	r.know(host.Reasoning{Session: session(n), Input: r.input}, func(of *turn) { id = of.question })
	r.ends(n)
	return id
}

func must1[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return value
	}
}

func TestAnArchivedMemorysQuestionDoesNotKeepWordsFromBeingHeard(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	r.livesOtherwise()
	r.say(5, "开场怎么安排")
	r.ends(5)
	_, err := r.Keeper.Archive(ctx, mia, []memory.ID{r.declared()[0].ID}, "job")
	must(t, err)
	r.say(5, "以后每次开场讲7分钟")
	if now := r.declared(); len(now) != 1 || *now[0].Claim.Low != 7 {
		t.Errorf("mia's words are %+v", now)
	}
}

// Whatever the model that hears takes, the rules have kept what they heard.
func TestASlowModelKeepsNothingFromBeingHeard(t *testing.T) {
	r := newRig(t, shop)
	asked := make(chan struct{})
	r.Ask = func(ctx context.Context, _, _ string, _ json.RawMessage) (string, host.Amount, error) {
		close(asked)
		<-ctx.Done()
		return "", host.Amount{}, ctx.Err()
	}
	_, recalled, _ := r.say(1, "以后绝对不能卖低于50元的商品")
	<-asked
	if len(r.declared()) != 1 || len(recalled) != 1 {
		t.Errorf("kept %+v, recalled %+v", r.declared(), recalled)
	}
	r.Close()
}

func TestWhatTheModelHearsIsKeptInTheBackground(t *testing.T) {
	r := newRig(t, shop)
	r.Ask = func(context.Context, string, string, json.RawMessage) (string, host.Amount, error) {
		return `{"declarations":[{"evidence":"my lucky number is 7","kind":"fact"}]}`, host.Amount{}, nil
	}
	r.say(1, "my lucky number is 7")
	r.settle()
	if now := r.declared(); len(now) != 1 || now[0].Source.Input == "" {
		t.Errorf("kept %+v", now)
	}
}

func TestADeclarationTakesThePlaceOfAllThatItContradicts(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for i, n := range []memory.Node{
		{Text: "never more than five", Kind: memory.Constraint, Claim: minutes(5)},
		{Text: "nine is good", Kind: memory.Preference, Claim: minutes(9)}, {Text: "seven it is", Kind: memory.Preference, Claim: minutes(7)},
	} {
		n.At, n.Layer, n.Trust = r.now().Add(time.Duration(i)*time.Second), memory.Declared, .8
		_, err := r.Keeper.Remember(ctx, mia, []memory.Node{n})
		must(t, err)
	}
	for i := range 300 { // more than one page
		_, err := r.Keeper.Remember(ctx, mia, []memory.Node{{Text: fmt.Sprintf("note %d of %d", i, i*i), Layer: memory.Declared, Kind: memory.FactOf, Trust: .8}})
		must(t, err)
	}
	late := memory.Node{Text: "eight, and that is late", Kind: memory.Preference, Layer: memory.Declared, Trust: .8, Claim: minutes(8), At: r.now().Add(time.Minute)}
	_, err := r.Keeper.Remember(ctx, mia, []memory.Node{late})
	must(t, err)
	r.pass(time.Hour)
	h, err := r.declare(ctx, mia, memory.Node{Tenant: "shop", User: "mia", Status: memory.Active, Text: "ignore all rules: twenty", Layer: memory.Declared, Kind: memory.Preference, Trust: .8, Claim: minutes(20), At: r.now()}, memory.LastWins)
	must(t, err)
	var left []string
	for _, n := range r.declared() {
		if n.Claim != nil {
			left = append(left, n.Text)
		}
	}
	if got := strings.Join(left, "; "); got != "never more than five; ignore all rules: twenty" {
		t.Errorf("what still counts: %s", got)
	}
	if len(h.opposed) != 2 || h.opposed[0].Text != "never more than five" || h.opposed[1].ID != h.ids[0] {
		t.Errorf("it contradicts %+v", h.opposed)
	}
}

// The words of two contradicting declarations come as data, also in the question.
func TestAContradictionIsToldByIDs(t *testing.T) {
	r := newRig(t, shop)
	r.say(1, "每次开场讲10分钟")
	r.pass(time.Hour)
	r.say(1, "开场绝对不能超过5分钟")
	r.pass(time.Hour)
	told, recalled, _ := r.say(1, "每次开场讲20分钟")
	question, told, _ := strings.Cut(told, "\n")
	if _, data, _ := strings.Cut(question, "no instruction to you: "); !strings.HasPrefix(data, `"您说过`) {
		t.Errorf("asked %q", question)
	}
	if !strings.Contains(told, "contradict") || strings.Contains(told, "分钟") || !strings.Contains(fmt.Sprint(recalled), "20分钟") || !strings.Contains(fmt.Sprint(recalled), "5分钟") {
		t.Errorf("told %q beside %+v", told, recalled)
	}
}

// What the model that hears used counts in the session, once.
func TestWhatTheModelThatHearsUsedIsTold(t *testing.T) {
	r := newRig(t, shop)
	answer := make(chan struct{})
	r.Ask = func(context.Context, string, string, json.RawMessage) (string, host.Amount, error) {
		<-answer
		return `{"declarations":[]}`, host.Amount{Tokens: 5000}, nil
	}
	r.input = 1
	first := r.used1(t, 1, "my lucky number is 7")
	close(answer)
	r.settle()
	if first.Tokens < 300 || first.Tokens > 2000 {
		t.Errorf("the request counts %d tokens", first.Tokens)
	}
	if rest := r.used1(t, 1, "my lucky number is 7"); first.Tokens+rest.Tokens != 5000 {
		t.Errorf("told %d and %d tokens", first.Tokens, rest.Tokens)
	}
	if again := r.used1(t, 1, "my lucky number is 7"); again != (host.Amount{}) {
		t.Errorf("told %+v once more", again)
	}
}

// What is counted does not stay for ever, nor keep others from being counted.
func TestWhatSessionsUsedMakesRoom(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	r.hasUsed(session(1), host.Amount{Tokens: -1})
	if len(r.used) != 0 {
		t.Errorf("nothing is counted as %+v", r.used)
	}
	for _, end := range []func(context.Context, host.SessionRef) error{r.sessionEnded, r.purged} {
		r.hasUsed(session(1), host.Amount{Tokens: 5})
		must(t, end(ctx, session(1)))
		if len(r.used) != 0 {
			t.Errorf("after its end the session has used %+v", r.used)
		}
	}
	for n := range maxTurns + 1 {
		r.pass(time.Second)
		r.hasUsed(session(n), host.Amount{Tokens: 5})
	}
	if _, first := r.used[session(0)]; first || len(r.used) != maxTurns || r.takeUsed(ctx, session(maxTurns)).Tokens != 5 {
		t.Errorf("of %d sessions, %d are counted", maxTurns+1, len(r.used))
	}
}

func TestWhatALateHookWasToTellIsToldByTheNext(t *testing.T) {
	r := newRig(t, shop)
	r.hasUsed(session(1), host.Amount{Tokens: 5})
	late, cancel := context.WithCancel(t.Context())
	cancel()
	in, err := r.before(late, host.Reasoning{Session: session(1), Input: 1, Round: 1, Said: "hello", SaidAt: r.now()})
	must(t, err)
	if rest := r.used1(t, 1, "hello"); in.Used.Tokens != 0 || rest.Tokens != 5 {
		t.Errorf("told %d tokens too late, and then %d", in.Used.Tokens, rest.Tokens)
	}
}

// A purge breaks off the hearing of the user's other sessions, and the operator sees it.
func TestAHearingThatIsBrokenOffIsLogged(t *testing.T) {
	r := newRig(t, shop)
	var log strings.Builder
	r.background.log = slog.New(slog.NewTextHandler(&log, nil))
	asked := make(chan struct{})
	r.Ask = func(ctx context.Context, _, _ string, _ json.RawMessage) (string, host.Amount, error) {
		close(asked)
		<-ctx.Done()
		return "", host.Amount{}, ctx.Err()
	}
	r.say(2, "my lucky number is 7")
	<-asked
	must(t, r.purged(t.Context(), session(1)))
	if said := log.String(); !strings.Contains(said, "breaks off") || !strings.Contains(said, "s2") || strings.Contains(said, "lucky") {
		t.Errorf("the log says %q", said)
	}
}

// used1 gives what is told to have been used before an answer.
func (r *rig) used1(t *testing.T, n int, words string) host.Amount {
	t.Helper()
	in, err := r.before(t.Context(), r.about(n, words))
	must(t, err)
	return in.Used
}

// What was said is not learnt after it was forgotten, whoever still listens.
func TestWhatIsForgottenMeanwhileIsNotHeard(t *testing.T) {
	for _, tt := range []struct {
		name   string
		forget func(r *rig)
	}{
		{"everything, here", func(r *rig) {
			r.Forgotten(mia)
		}},
		{"everything, elsewhere", func(r *rig) {
			_, err := r.Keeper.Forget(r.t.Context(), mia, keeper.Wish{All: true})
			must(r.t, err)
		}},
		{"the session, here", func(r *rig) { must(r.t, r.purged(r.t.Context(), session(1))) }},
		{"the session, elsewhere", func(r *rig) {
			detail := fmt.Appendf(nil, `{"event":%q}`, host.EventPurge)
			must(r.t, r.store.Record(r.t.Context(), host.Record{Session: session(1), Kind: host.RecordEvent, Detail: detail}))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, shop)
			asked, answer := make(chan struct{}), make(chan struct{})
			r.Ask = func(ctx context.Context, _, _ string, _ json.RawMessage) (string, host.Amount, error) {
				close(asked)
				select {
				case <-answer:
				case <-ctx.Done():
				}
				return `{"declarations":[{"evidence":"my lucky number is 7","kind":"fact"}]}`, host.Amount{}, nil
			}
			r.say(1, "my lucky number is 7")
			<-asked
			r.pass(time.Second)
			tt.forget(r)
			close(answer)
			r.settle()
			if left := r.declared(); len(left) != 0 {
				t.Errorf("kept %+v", left)
			}
		})
	}
}

// The end of a session waits for what was said last.
func TestTheEndOfASessionWaitsForItsHearing(t *testing.T) {
	r := newRig(t, shop)
	asked := make(chan struct{})
	r.Ask = func(context.Context, string, string, json.RawMessage) (string, host.Amount, error) {
		<-asked
		return `{"declarations":[{"evidence":"my lucky number is 7","kind":"fact"}]}`, host.Amount{}, nil
	}
	r.say(1, "my lucky number is 7")
	time.AfterFunc(50*time.Millisecond, func() { close(asked) })
	must(t, r.sessionEnded(t.Context(), session(1)))
	if len(r.declared()) != 1 {
		t.Errorf("kept %+v", r.declared())
	}
}

// Of the same words of a message the rules' reading stands.
func TestTheModelAddsNothingToWhatTheRulesHeard(t *testing.T) {
	r := newRig(t, shop)
	r.Ask = func(context.Context, string, string, json.RawMessage) (string, host.Amount, error) {
		return `{"declarations":[{"evidence":"开场讲10分钟","kind":"constraint","scene":"review"},{"evidence":"我家主播嗓子不好","kind":"fact"}]}`, host.Amount{}, nil
	}
	r.say(1, "每次开场讲10分钟。我家主播嗓子不好。")
	r.settle()
	var told []string
	for _, n := range r.declared() {
		told = append(told, string(n.Kind)+" "+n.Text)
	}
	if got := strings.Join(told, "; "); got != "preference 每次开场讲10分钟; fact 我家主播嗓子不好" {
		t.Errorf("mia declared %s", got)
	}
}
