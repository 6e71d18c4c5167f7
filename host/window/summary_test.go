package window

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/model"
)

func user(text string) model.Message { return model.Message{Role: model.RoleUser, Text: text} }
func says(text string) model.Message { return model.Message{Role: model.RoleAssistant, Text: text} }

func calls(id, tool, args string) model.Message {
	return model.Message{Role: model.RoleAssistant, Calls: []model.Call{{ID: id, Tool: tool, Args: args}}}
}

func result(id, tool, text string, ok bool) model.Message {
	return model.Message{Role: model.RoleTool, CallID: id, Tool: tool, Text: text, OK: ok}
}

func talkOf(messages ...model.Message) Conversation {
	return Conversation{Messages: messages, IsRead: func(tool string) bool { return !strings.HasPrefix(tool, "set_") }}
}

// shopTalk has an agreed change, one that failed for good, and one that failed
// and was done in the end; in two languages.
func shopTalk() Conversation {
	return talkOf(
		user("请把 1001 改到 89 元，直播结束以后再改回 99 元"), says("1001 现价 99 元，改到 89 元，确认吗？"), user("好的，改吧"),
		calls("a", "set_price", `{"sku":"1001","price":89}`), result("a", "set_price", `{"sku":"1001","price":89}`, true), says("已改到 89 元。"),
		user("What does product 1002 cost?"), calls("a", "quote", `{"sku":"1002"}`), result("a", "quote", `{"sku":"1002","price":39.9}`, true), says("It costs 39.90."),
		user("Issue 20 coupons of 5 yuan for it please."),
		calls("b", "set_coupon", `{"sku":"1002"}`), result("b", "set_coupon", `{"problem":{"code":3001,"message":"at least 10 yuan"}}`, false),
		says("Only coupons of 10 yuan or more are possible. Shall I issue those?"),
	)
}

func extractOf(c Conversation) Summary { return extract(repaired(c.entriesFrom(0)), c) }

func TestExtractKeepsTheFourKinds(t *testing.T) {
	s := extractOf(shopTalk())
	for _, tt := range []struct {
		kind  string
		lines []string
		has   []string
		lacks string
	}{
		{"requests", s.Requests, []string{"请把 1001 改到 89 元", "What does product 1002 cost?", "Issue 20 coupons of 5 yuan"}, "好的"},
		{"done", s.Done, []string{`set_price {"sku":"1001","price":89} → ok: `, `quote {"sku":"1002"} → ok: {"sku":"1002","price":39.9}`}, "set_coupon"},
		{"consensus", s.Consensus, []string{"改到 89 元，确认吗？"}, "coupons"},
		{"todos", s.Todos, []string{`set_coupon {"sku":"1002"} → failed: at least 10 yuan`, "Shall I issue those?"}, "set_price"},
	} {
		text := strings.Join(tt.lines, "\n")
		for _, part := range tt.has {
			if !strings.Contains(text, part) {
				t.Errorf("%s lack %q: %s", tt.kind, part, text)
			}
		}
		if strings.Contains(text, tt.lacks) {
			t.Errorf("%s have %q: %s", tt.kind, tt.lacks, text)
		}
	}
	if again := extractOf(shopTalk()); again.Text() != s.Text() {
		t.Error("the same talk gives another summary")
	}
}

func TestAWriteThatWasDoneInTheEndIsNoTodo(t *testing.T) {
	s := extractOf(talkOf(user("set the price of 1001 to 1"), calls("a", "set_price", `{"price":1}`), result("a", "set_price", `{"problem":{"message":"too low"}}`, false),
		calls("a", "set_price", `{"price":80}`), result("a", "set_price", `{}`, true), says("Done.")))
	if len(s.Todos) != 0 || len(s.Done) != 1 {
		t.Errorf("it is %+v", s)
	}
	s = extractOf(talkOf(user("set the price of 1001 and 1002 to 1"), calls("a", "set_price", `{"sku":"1001"}`), result("a", "set_price", `{"problem":{"message":"too low"}}`, false),
		calls("a", "set_price", `{"sku":"1002"}`), result("a", "set_price", `{}`, true), says("Done.")))
	if len(s.Todos) != 1 || !strings.Contains(s.Todos[0], "1001") {
		t.Errorf("another product's success settles it: %+v", s)
	}
}

func TestAYesWithAWishIsAWishToo(t *testing.T) {
	s := extractOf(talkOf(user("Cancel reservation ABC123 please"), says("Shall I cancel ABC123 for 50 dollars?"), user("Yes, and please book HAT136 for May 20 instead"), says("ok")))
	if len(s.Consensus) != 1 || len(s.Requests) != 2 || !strings.Contains(s.Requests[1], "HAT136") {
		t.Errorf("it is %+v", s)
	}
}

func TestSummariesChain(t *testing.T) {
	var older *Summary
	for i := range 60 {
		s := Summary{Requests: []string{fmt.Sprintf("request %d", i)}, Done: []string{fmt.Sprintf("done %d", i)}}.after(older).bounded(300)
		if n := Tokens(s.Text()); n > 300 {
			t.Fatalf("summary %d has %d tokens", i, n)
		}
		older = &s
	}
	if older.Requests[0] != "request 0" || older.Requests[len(older.Requests)-1] != "request 59" || older.Done[len(older.Done)-1] != "done 59" {
		t.Errorf("it is %+v", older)
	}
	if kept := len(older.Requests) + len(older.Done); kept+older.Left != 120 || len(older.Requests) > kindLines {
		t.Errorf("%d lines are kept and %d left out of 120", kept, older.Left)
	}
}

// longTalk is more than a window of 4,000 tokens holds, of repeated shop talks.
func longTalk() Conversation {
	c := shopTalk()
	for len(c.Messages) < 150 {
		c.Messages = append(c.Messages, shopTalk().Messages...)
	}
	c.Messages = append(c.Messages, user("and now?"))
	return c
}

func TestASmallModelIsAskedInAContextOfItsOwn(t *testing.T) {
	plan, err := Fit(longTalk(), Budget{Window: 4000})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Ask == nil || len(plan.Ask.Messages) != 1 || len(plan.Ask.Tools) != 0 {
		t.Fatalf("the request is %+v", plan.Ask)
	}
	if n := RequestTokens(*plan.Ask) + plan.Ask.MaxTokens/2; n > threshold(4000) {
		t.Errorf("the request for the summary has %d tokens", n)
	}
	text := plan.Ask.Messages[0].Text
	for _, part := range []string{"user: 请把 1001 改到 89 元", `#1 set_price {"sku":"1001","price":89} → ok`, "→ failed: at least 10 yuan", "lines left out"} {
		if !strings.Contains(text, part) {
			t.Errorf("the request lacks %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "and now?") {
		t.Error("the last round is in the request")
	}
	again, err := Fit(longTalk(), Budget{Window: 4000})
	if err != nil || string(encode(again.Ask)) != string(encode(plan.Ask)) {
		t.Error("the same conversation asks otherwise")
	}
}

func TestAGoodSummaryTakesThePlaceOfTheExtract(t *testing.T) {
	plan, err := Fit(longTalk(), Budget{Window: 4000})
	if err != nil {
		t.Fatal(err)
	}
	better, err := plan.Summarised("Here it is:\n```json\n" + `{"requests":["89 for 1001"],"done":[{"call":2,"what":"1002 costs 39.90"}],"consensus":["back to 99 afterwards"],"todos":["coupons"]}` + "\n```")
	if err != nil {
		t.Fatal(err)
	}
	seen := better.Messages[0].Text
	for _, part := range []string{summaryHead, "- 89 for 1001", "- quote: 1002 costs 39.90", "- back to 99 afterwards", "- coupons", "- set_price {\"sku\":\"1001\",\"price\":89} → ok: {\"sku\":\"1001\",\"price\":89} (11 times)"} {
		if !strings.Contains(seen, part) {
			t.Errorf("the window lacks %q:\n%s", part, seen)
		}
	}
	if better.Ask != nil || better.Cut.Summary == nil || plan.Cut.Summary.Text() == better.Cut.Summary.Text() {
		t.Errorf("the plan is %+v", better.Cut)
	}
	var again Cut
	for _, e := range better.Events {
		again = again.With(e)
	}
	if string(encode(again)) != string(encode(better.Cut)) {
		t.Error("the events do not make the cut")
	}
	next := longTalk()
	next.Cut = better.Cut
	next.Messages = append(next.Messages, longTalk().Messages...)
	chained, err := Fit(next, Budget{Window: 4000})
	if err != nil || !strings.Contains(chained.Ask.Messages[0].Text, "Earlier summary:\n{\"requests\":[\"89 for 1001\"]") || !strings.Contains(chained.Cut.Summary.Text(), "89 for 1001") {
		t.Errorf("the older summary is not in the newer one: %v", err)
	}
}

func TestABadSummaryLeavesThePlanAsItIs(t *testing.T) {
	plan, err := Fit(longTalk(), Budget{Window: 4000})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty":                 "",
		"no JSON":               "I cannot do that.",
		"cut off":               `{"requests":["a"`,
		"another form":          `{"summary":"all is well"}`,
		"a list":                `["a"]`,
		"numbers":               `{"requests":[1]}`,
		"no request":            `{"requests":[" "],"todos":["x"]}`,
		"two objects":           `{"requests":["a"]}{"requests":["b"]}`,
		"a call that failed":    `{"requests":["a"],"done":[{"call":3,"what":"issued coupons"}]}`,
		"a call that was never": `{"requests":["a"],"done":[{"call":999,"what":"refunded"}]}`,
		"far too long":          `{"requests":["` + strings.Repeat("a", summaryAnswerMost) + `"]}`,
		"not UTF-8":             "{\"requests\":[\"\xff\"]}",
	} {
		got, err := plan.Summarised(text)
		if err == nil {
			t.Errorf("%s is taken", name)
		}
		if string(encode(got.Cut)) != string(encode(plan.Cut)) || len(got.Messages) != len(plan.Messages) || len(got.Events) != len(plan.Events) {
			t.Errorf("%s changes the plan", name)
		}
	}
}

func FuzzParseSummary(f *testing.F) {
	for _, seed := range []string{`{"requests":["a"],"done":[{"call":1,"what":"b"}],"consensus":[],"todos":["c"]}`, "```json\n{\"requests\":[\"改价\"]}\n```", `{"done":[{"call":2}]}`, `{}`, `}{`, `{"requests":null}`, "\xff"} {
		f.Add(seed)
	}
	known := map[int]operation{1: {tool: "set_price", line: "set_price ok", ok: true, write: true}, 2: {tool: "quote"}}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSummary(text, known)
		if err != nil {
			return
		}
		if len(s.Requests) == 0 || len(s.Done) != 1 {
			t.Errorf("%q gives %+v", text, s)
		}
		b := s.bounded(200)
		if n := Tokens(b.Text()); n > 200 && !b.empty() {
			t.Errorf("%d tokens of %q", n, text)
		}
		var again Summary
		if err := json.Unmarshal(encode(b), &again); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
