package window

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
)

func TestThreshold(t *testing.T) {
	for _, tt := range []struct{ window, threshold, verbatim int }{
		{200_000, 167_000, 90_000}, {128_000, 95_000, 57_600}, {1_000_000, 967_000, 450_000},
		{8_000, 5_000, 3_600}, {80_000, 50_000, 36_000}, {0, 95_000, 57_600},
	} {
		b := Budget{Window: tt.window}
		if got := b.Threshold(); got != tt.threshold {
			t.Errorf("the threshold of %d is %d, want %d", tt.window, got, tt.threshold)
		}
		if got := b.Verbatim(); got != tt.verbatim {
			t.Errorf("verbatim of %d is %d, want %d", tt.window, got, tt.verbatim)
		}
	}
}

// A talk generates a conversation from a seed.
type talk struct {
	*rand.Rand
	messages []model.Message
	ids      int
}

func (g *talk) words(most int) string {
	words := strings.Fields(`price 1001 change 改到 89 元 请把 优惠券 flight HAT136 from JFK to SEA on 2024-05-20 please confirm 好的 reservation refund because
		the stock of it is 120 and customers ask 库存 直播间 马上 上架 {"a":1} \n`)
	var b strings.Builder
	for range 1 + g.IntN(most) {
		b.WriteString(words[g.IntN(len(words))] + " ")
	}
	return b.String()
}

func (g *talk) result(most int) string {
	if g.IntN(3) == 0 {
		return g.words(most)
	}
	rows := make([]map[string]any, 1+g.IntN(1+most/8))
	for i := range rows {
		rows[i] = map[string]any{"sku": g.IntN(9999), "title": g.words(5), "price": g.Float64()}
	}
	data, err := json.Marshal(rows)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// turn adds one round; broken ones lack results, or have results of nothing.
func (g *talk) turn(size int, broken bool) {
	g.messages = append(g.messages, model.Message{Role: model.RoleUser, Text: g.words(size)})
	for range g.IntN(6) {
		m := model.Message{Role: model.RoleAssistant, Reasoning: g.words(10)}
		for range 1 + g.IntN(3) {
			g.ids++
			tool := []string{"quote", "set_price", "find_products"}[g.IntN(3)]
			// Models use the ids of calls again in later answers.
			m.Calls = append(m.Calls, model.Call{ID: fmt.Sprintf("call_%d", g.ids%7), Tool: tool, Args: fmt.Sprintf(`{"sku":"%d","note":%q}`, g.ids, g.words(1+size/4))})
		}
		g.messages = append(g.messages, m)
		for _, c := range m.Calls {
			if broken && g.IntN(4) == 0 {
				continue
			}
			r := model.Message{Role: model.RoleTool, CallID: c.ID, Tool: c.Tool, OK: g.IntN(4) > 0, Text: g.result(size)}
			if r.OK && g.IntN(5) == 0 {
				r.Blob = fmt.Sprintf("b%08d", g.ids)
			}
			g.messages = append(g.messages, r)
			if broken && g.IntN(6) == 0 {
				g.messages = append(g.messages, r)
			}
		}
	}
	if g.IntN(8) > 0 {
		g.messages = append(g.messages, model.Message{Role: model.RoleAssistant, Text: g.words(size)})
	}
}

// endOpen leaves the conversation where the model is asked next: inside the
// turn, if it can, or after a new message of the user.
func (g *talk) endOpen() {
	last := len(g.messages) - 1
	if g.messages[last].Role == model.RoleAssistant && g.messages[last-1].Role == model.RoleTool && g.IntN(3) > 0 {
		g.messages = g.messages[:last]
	}
	if g.messages[len(g.messages)-1].Role == model.RoleAssistant {
		g.messages = append(g.messages, model.Message{Role: model.RoleUser, Text: g.words(20)})
	}
}

func isRead(tool string) bool { return tool != "set_price" }

// wellFormed reports what no vendor would take.
func wellFormed(messages []model.Message) error {
	if len(messages) == 0 || messages[0].Role != model.RoleUser {
		return fmt.Errorf("it does not begin with a user's message")
	}
	for i := 0; i < len(messages); {
		m := messages[i]
		i++
		if m.Role == model.RoleTool {
			return fmt.Errorf("message %d is a result of no call", i-1)
		}
		for _, c := range m.Calls {
			if i == len(messages) || messages[i].Role != model.RoleTool || messages[i].CallID != c.ID || messages[i].Tool != c.Tool {
				return fmt.Errorf("call %s of %s has no result at message %d", c.ID, c.Tool, i)
			}
			if !json.Valid([]byte(c.Args)) {
				return fmt.Errorf("the arguments of call %s are no JSON: %s", c.ID, c.Args)
			}
			i++
		}
	}
	return nil
}

// sameOrder reports a message of the view that is not one of the stored ones,
// in their order; texts may be shorter.
func sameOrder(view []model.Message, stored []model.Message) error {
	at := 0
	for i, m := range view {
		if i == 0 && strings.HasPrefix(m.Text, summaryHead) || strings.Contains(m.Text, "it was interrupted") {
			continue
		}
		found := false
		for ; at < len(stored) && !found; at++ {
			s := stored[at]
			found = s.Role == m.Role && s.CallID == m.CallID && len(s.Calls) == len(m.Calls) && beginsAlike(s, m)
		}
		if !found {
			return fmt.Errorf("message %d, %s, is not in its place", i, m)
		}
	}
	return nil
}

func beginsAlike(stored, seen model.Message) bool {
	if stored.Role != model.RoleUser {
		return true
	}
	return strings.HasPrefix(stored.Text, seen.Text[:min(len(seen.Text), 20)])
}

func TestFitKeepsWhatItMust(t *testing.T) {
	const seeds = 150
	levels := map[Level]int{}
	failed, summarised := 0, 0
	for seed := range uint64(seeds) {
		g := &talk{Rand: rand.New(rand.NewPCG(seed, 1))}
		budget := Budget{Window: []int{4000, 8000, 16_000, 32_000}[g.IntN(4)], Meter: Meter{Ratio: []float64{0, 0.8, 1.3}[g.IntN(3)]}}
		budget.Fixed = g.IntN(budget.Window / 4)
		size := 5 + g.IntN(250)
		var cut Cut
		var events []Compaction
		for range 3 + g.IntN(12) {
			g.turn(size, seed%2 == 1)
			if g.IntN(3) > 0 { // a fit inside the turn, or at its beginning
				continue
			}
			g.endOpen()
			c := Conversation{Messages: g.messages, Cut: cut, IsRead: isRead}
			plan, err := Fit(c, budget)
			if err != nil {
				failed++
				checkTooLong(t, seed, c, budget, err)
				break
			}
			checkPlan(t, seed, c, budget, plan)
			if plan.Ask != nil && seed%3 == 0 {
				if plan, err = plan.Summarised(`{"requests":["everything in short"],"done":[],"consensus":["prices in yuan"],"todos":[]}`); err != nil {
					t.Fatalf("seed %d: a good summary is refused: %v", seed, err)
				}
				summarised++
				checkPlan(t, seed, c, budget, plan)
			}
			for _, e := range plan.Events {
				levels[e.Level]++
			}
			cut, events = plan.Cut, append(events, plan.Events...)
			checkReplay(t, seed, cut, events)
		}
	}
	t.Logf("compactions by level %v, %d conversations were too long, %d summaries by a model", levels, failed, summarised)
	for level := LevelLines; level <= LevelShort; level++ {
		if levels[level] < 10 {
			t.Errorf("level %d was used %d times: the conversations do not show it", level, levels[level])
		}
	}
	if failed == 0 || failed > seeds/2 || summarised < 10 {
		t.Errorf("%d of %d conversations were too long, %d were summarised", failed, seeds, summarised)
	}
}

func checkPlan(t *testing.T, seed uint64, c Conversation, b Budget, plan Plan) {
	t.Helper()
	if err := wellFormed(plan.Messages); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if err := sameOrder(plan.Messages, c.Messages); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if got := b.Meter.Tokens(b.Fixed + conversationTokens(plan.Messages)); got != plan.Tokens || got > b.Threshold() {
		t.Fatalf("seed %d: %d tokens, the plan says %d, the threshold is %d", seed, got, plan.Tokens, b.Threshold())
	}
	checkRounds(t, seed, c, plan)
	fitted := c
	fitted.Cut = plan.Cut
	again, err := Fit(fitted, b)
	if err != nil || len(again.Events) != 0 || again.Ask != nil || !reflect.DeepEqual(again.Messages, plan.Messages) || !reflect.DeepEqual(again.Cut, plan.Cut) {
		t.Fatalf("seed %d: to fit what was fitted changes it: %v, %v", seed, err, again.Events)
	}
}

// TestARecordingIsFoundAgainInACompactedConversation: what the model sees
// after compaction still leads to the answer that followed in the recording.
func TestARecordingIsFoundAgainInACompactedConversation(t *testing.T) {
	requests, compacted, tooLong := 0, 0, 0
	for _, run := range recordedRuns(t) {
		messages, replay := messagesOf(run), model.NewReplay(run.Messages)
		var cut Cut
		for i, m := range messages {
			if m.Role != model.RoleAssistant {
				continue
			}
			plan, err := Fit(Conversation{Messages: messages[:i], Cut: cut}, Budget{Window: 10_000})
			if err != nil {
				tooLong++ // three rounds of this run are more than so small a window holds
				break
			}
			cut = plan.Cut
			if requests++; cut.Summed > 0 {
				compacted++
			}
			reply, err := replay.Complete(context.Background(), Layers{Talk: plan.Messages, State: "x: 1"}.Request(), nil)
			if err != nil || reply.Text != m.Text || len(reply.Calls) != len(m.Calls) {
				t.Errorf("run %d.%d, message %d: %v", run.TaskID, run.Trial, i, err)
			}
		}
	}
	t.Logf("%d requests, %d of them with a summary; %d runs are too long", requests, compacted, tooLong)
	if compacted < 10 || tooLong > 5 {
		t.Error("the recordings do not show it")
	}
}

func TestFitRefusesABudgetThatCannotBe(t *testing.T) {
	for _, b := range []Budget{{Window: 1}, {Window: MaxWindow + 1}, {Window: 8000, Summariser: -1}} {
		if _, err := Fit(shopTalk(), b); err == nil || host.ProblemOf(err).Code != abi.BadValue {
			t.Errorf("%+v is taken: %v", b, err)
		}
	}
}

// TestAConversationNeedNotBeLoadedFromItsBeginning: messages before the
// summary's end are not looked at.
func TestAConversationNeedNotBeLoadedFromItsBeginning(t *testing.T) {
	whole := longTalk()
	plan, err := Fit(whole, Budget{Window: 4000})
	if err != nil {
		t.Fatal(err)
	}
	part := Conversation{First: plan.Cut.Summed, Messages: whole.Messages[plan.Cut.Summed:], Cut: plan.Cut, IsRead: whole.IsRead}
	if !reflect.DeepEqual(part.View(), plan.Messages) {
		t.Error("the model sees something else")
	}
	again, err := Fit(part, Budget{Window: 4000})
	if err != nil || !reflect.DeepEqual(again.Messages, plan.Messages) || len(again.Events) != 0 {
		t.Errorf("it is fitted otherwise: %v", err)
	}
}

// checkTooLong: a conversation is too long only if its last rounds are, the
// current one as short as it can be.
func checkTooLong(t *testing.T, seed uint64, c Conversation, b Budget, err error) {
	t.Helper()
	if host.ProblemOf(err).Code != abi.OverBudget || host.ProblemOf(err).Hint == "" {
		t.Fatalf("seed %d: %v", seed, err)
	}
	least := c.Cut.With(Compaction{Level: LevelShort, From: c.turnStart(1), To: c.end(), Room: 250})
	least.Summed, least.Summary = c.turnStart(roundsKept), nil
	if got := b.Meter.Tokens(b.Fixed + conversationTokens(c.view(least)) + b.withDefaults().summaryRoom() + messageTokens); got <= b.Threshold() {
		t.Fatalf("seed %d: it is said to be too long, and %d tokens of %d are left: %v", seed, got, b.Threshold(), err)
	}
}

// checkRounds: the last three rounds stay as they are, but for long messages
// of a turn that was shortened while it was the current one.
func checkRounds(t *testing.T, seed uint64, c Conversation, plan Plan) {
	t.Helper()
	whole := repaired(c.entriesFrom(c.turnStart(roundsKept)))
	if len(whole) > len(plan.Messages) {
		t.Fatalf("seed %d: the last rounds have %d messages, the view %d", seed, len(whole), len(plan.Messages))
	}
	tail := plan.Messages[len(plan.Messages)-len(whole):]
	for i, e := range whole {
		if room := plan.Cut.room(e.at); room == 0 && !reflect.DeepEqual(e.message, tail[i]) {
			t.Fatalf("seed %d: message %d of the last rounds is changed:\n%v\n%v", seed, e.at, e.message, tail[i])
		}
	}
}

// checkReplay: the stored events make the stored cut, over JSON.
func checkReplay(t *testing.T, seed uint64, cut Cut, events []Compaction) {
	t.Helper()
	data, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	var stored []Compaction
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	var again Cut
	for _, e := range stored {
		again = again.With(e)
	}
	if !reflect.DeepEqual(encode(again), encode(cut)) {
		t.Fatalf("seed %d: the events make %s, the plan has %s", seed, encode(again), encode(cut))
	}
}
