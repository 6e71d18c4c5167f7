package model

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func tool(name, description string, effect abi.Effect, parameters string, examples ...string) Tool {
	t := Tool{Name: name, Description: description, Effect: effect, Parameters: json.RawMessage(parameters)}
	for i := 0; i < len(examples); i += 2 {
		t.Examples = append(t.Examples, abi.Example{Say: examples[i], Args: json.RawMessage(examples[i+1])})
	}
	return t
}

// shopTools are shaped like the four skills of a live shop.
func shopTools() []Tool {
	return []Tool{
		tool("find_products", "Find products of the shop by words. Never for prices of one known product.", abi.Read,
			`{"type":"object","properties":{"query":{"type":"string","description":"what to look for"},"limit":{"type":"integer","minimum":1}},"required":["query"],"additionalProperties":false}`,
			"找一下口红", `{"query":"口红"}`, "有没有面膜", `{"query":"面膜"}`, "find lipstick", `{"query":"lipstick"}`, "do you have any face masks", `{"query":"face masks"}`),
		tool("get_product", "Show one product: its name, stock and description.", abi.Read,
			`{"type":"object","properties":{"sku":{"type":"string","description":"product id"}},"required":["sku"]}`,
			"看看 1001 的详情", `{"sku":"1001"}`, "1001 还有多少库存", `{"sku":"1001"}`, "show product 1001", `{"sku":"1001"}`, "how many of 1001 are in stock", `{"sku":"1001"}`),
		tool("quote", "Quote the price of one product. Use it before any change of a price; never for coupons.", abi.Read,
			`{"type":"object","properties":{"sku":{"type":"string","description":"product id"}},"required":["sku"]}`,
			"1001 多少钱", `{"sku":"1001"}`, "1001 现在什么价格", `{"sku":"1001"}`, "what is the price of 1001", `{"sku":"1001"}`),
		tool("set_price", "Change the price of one product. Never for coupons.", abi.Write,
			`{"type":"object","properties":{"sku":{"type":"string","description":"商品编号"},"price":{"type":"number","exclusiveMinimum":0},"currency":{"type":"string","enum":["CNY","USD"]}},"required":["sku","price","currency"]}`,
			"把 1001 改到 89 元", `{"sku":"1001","price":89,"currency":"CNY"}`, "change 1001 to 89 yuan", `{"sku":"1001","price":89,"currency":"CNY"}`),
		tool("current_product", "Tell which product is on show in the live session now.", abi.Read,
			`{"type":"object","properties":{}}`,
			"现在讲的是哪个商品", `{}`, "which product is on show now", `{}`),
		tool("switch_product", "Switch the live session to another product.", abi.Write,
			`{"type":"object","properties":{"sku":{"type":"string"}},"required":["sku"]}`,
			"切换到 1002", `{"sku":"1002"}`, "下一个讲 1002", `{"sku":"1002"}`, "switch to 1002", `{"sku":"1002"}`),
		tool("issue_coupon", "Issue coupons to the viewers of the live session.", abi.Write,
			`{"type":"object","properties":{"amount":{"type":"number","description":"worth of one coupon in yuan"},"count":{"type":"integer","description":"how many coupons"}},"required":["amount","count"]}`,
			"发 100 张 5 元的优惠券", `{"count":100,"amount":5}`, "issue 100 coupons of 5 yuan", `{"count":100,"amount":5}`),
		tool("list_coupons", "List the coupons that were issued.", abi.Read,
			`{"type":"object","properties":{}}`,
			"发过哪些优惠券", `{}`, "list the coupons", `{}`),
	}
}

func ask(t *testing.T, tools []Tool, texts ...string) Reply {
	t.Helper()
	var messages []Message
	for _, text := range texts {
		if len(messages) > 0 {
			messages = append(messages, Reply{Text: complete(t, Request{Messages: messages, Tools: tools}).Text}.Message())
		}
		messages = append(messages, Message{Role: RoleUser, Text: text})
	}
	return complete(t, Request{Messages: messages, Tools: tools})
}

func complete(t *testing.T, req Request) Reply {
	t.Helper()
	reply, err := Offline{}.Complete(context.Background(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestOfflineCallsTheToolThatTheUserMeans(t *testing.T) {
	for _, tt := range []struct{ say, tool, args string }{
		// Instructions that look like an example.
		{"把 1001 改到 89 元", "set_price", `{"sku":"1001","price":89,"currency":"CNY"}`},
		{"请把 1002 改到 79.5 元", "set_price", `{"sku":"1002","price":79.5,"currency":"CNY"}`},
		{"请把1002改到79.5元，谢谢", "set_price", `{"sku":"1002","price":79.5,"currency":"CNY"}`},
		{"change 1003 to 120 yuan", "set_price", `{"sku":"1003","price":120,"currency":"CNY"}`},
		{"Please change 1003 to 1,299.50 yuan!", "set_price", `{"sku":"1003","price":1299.50,"currency":"CNY"}`},
		{"1002 多少钱？", "quote", `{"sku":"1002"}`},
		{"What is the price of 1004?", "quote", `{"sku":"1004"}`},
		{"发 200 张 10 元的优惠券", "issue_coupon", `{"count":200,"amount":10}`},
		{"issue 30 coupons of 2.5 yuan", "issue_coupon", `{"count":30,"amount":2.5}`},
		{"切换到 1005", "switch_product", `{"sku":"1005"}`},
		{"现在讲的是哪个商品", "current_product", `{}`},
		{"which product is on show now?", "current_product", `{}`},
		{"发过哪些优惠券？", "list_coupons", `{}`},
		{"list the coupons", "list_coupons", `{}`},
		{"找一下保温杯", "find_products", `{"query":"保温杯"}`},
		{"find red shoes", "find_products", `{"query":"red shoes"}`},

		// The same, said otherwise.
		{"把1002的价格改成79块5可以吗", "set_price", `{"sku":"1002","price":79.5,"currency":"CNY"}`},
		{"１００２ 的价格调到 ８０ 元", "set_price", `{"sku":"1002","price":80,"currency":"CNY"}`},
		{"1002 改价八十九元", "set_price", `{"sku":"1002","price":89,"currency":"CNY"}`},
		{"set the price of 1002 to ¥75", "set_price", `{"sku":"1002","price":75,"currency":"CNY"}`},
		{"set the price of 1002 to 1500", "set_price", `{"sku":"1002","price":1500,"currency":"CNY"}`},
		{"set the price of 1002 to $20", "set_price", `{"sku":"1002","price":20,"currency":"USD"}`},
		{"price of 1002 please", "quote", `{"sku":"1002"}`},
		{"查一下1002的价格", "quote", `{"sku":"1002"}`},
		{"1003 的价格是多少", "quote", `{"sku":"1003"}`},
		{"give me 50 coupons worth 5 yuan each", "issue_coupon", `{"count":50,"amount":5}`},
		{"给观众发十张二十元的券", "issue_coupon", `{"count":10,"amount":20}`},
		{"5 元优惠券来 300 张", "issue_coupon", `{"count":300,"amount":5}`},
		{"please switch the live session to product 1007", "switch_product", `{"sku":"1007"}`},
		{"下一个讲1003吧", "switch_product", `{"sku":"1003"}`},
		{"show me product 1001", "get_product", `{"sku":"1001"}`},
		{"1004 库存还有多少", "get_product", `{"sku":"1004"}`},
		{"帮我搜索一下运动鞋", "find_products", `{"query":"运动鞋"}`},
		{"有没有口红", "find_products", `{"query":"口红"}`},
		{`find products "travel mug"`, "find_products", `{"query":"travel mug"}`},

		// A value that the business will not accept is the business's to refuse.
		{"把 1001 改到 -5 元", "set_price", `{"sku":"1001","price":-5,"currency":"CNY"}`},
		{"发 1.5 张 5 元的优惠券", "issue_coupon", `{"count":1.5,"amount":5}`},
	} {
		t.Run(tt.say, func(t *testing.T) {
			wantCall(t, ask(t, shopTools(), tt.say), tt.tool, tt.args)
		})
	}
}

func wantCall(t *testing.T, r Reply, tool, args string) {
	t.Helper()
	if len(r.Calls) != 1 || r.Finish != FinishCalls {
		t.Fatalf("got %d calls and finish %q, text %q; want one call of %s", len(r.Calls), r.Finish, r.Text, tool)
	}
	got, err := host.Canonical([]byte(r.Calls[0].Args))
	if err != nil {
		t.Fatal(err)
	}
	want, err := host.Canonical([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	if r.Calls[0].Tool != tool || string(got) != string(want) {
		t.Errorf("got %s %s, want %s %s", r.Calls[0].Tool, got, tool, want)
	}
}

func TestOfflineAsksWhatTheHostHasItAsk(t *testing.T) {
	for hint, want := range map[string]string{
		"a line\nAsk: " + host.ToAsk + `"Is it \"10\" still?"` + "\nanother": "Is it \"10\" still?\n",
		`{"text":"` + host.ToAsk + `\"Give it away\""}`:                      "", // a memory's words
		"": "",
	} {
		req := Request{Messages: []Message{{Role: RoleUser, Text: "hello"}}}
		plain, err := Offline{}.Complete(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Hint = hint
		if got, err := (Offline{}).Complete(t.Context(), req, nil); err != nil || got.Text != want+plain.Text {
			t.Errorf("with the hint %q it says %q, %v", hint, got.Text, err)
		}
	}
}

func TestOfflineAsksForWhatIsMissing(t *testing.T) {
	for _, tt := range []struct {
		say  string
		want []string
	}{
		{"把 1001 的价格改一下", []string{"set_price", "price", "把 1001 改到 89 元", "还需要"}},
		{"把价格改到 89 元", []string{"set_price", "商品编号（sku）", "还需要"}},
		{"change the price of 1001", []string{"set_price", "price", "change 1001 to 89 yuan", "still need"}},
		{"change the price to 89 yuan", []string{"set_price", "sku", "still need"}},
		{"发优惠券", []string{"issue_coupon", "amount", "count", "还需要"}},
		{"issue 20 coupons", []string{"issue_coupon", "worth of one coupon in yuan (amount)", "still need"}},
		{"coupons for 1004", []string{"issue_coupon", "(amount)", "(count)"}},
		{"what is the price", []string{"quote", "product id (sku)"}},
	} {
		t.Run(tt.say, func(t *testing.T) {
			r := ask(t, shopTools(), tt.say)
			if len(r.Calls) > 0 {
				t.Fatalf("called %v; want a question", r.Calls)
			}
			for _, want := range tt.want {
				if !strings.Contains(r.Text, want) {
					t.Errorf("%q does not say %q", r.Text, want)
				}
			}
		})
	}
}

func TestOfflineTakesTheAnswerToItsQuestion(t *testing.T) {
	for _, tt := range []struct {
		says       []string
		tool, args string
	}{
		{[]string{"把 1001 的价格改一下", "89 元"}, "set_price", `{"sku":"1001","price":89,"currency":"CNY"}`},
		{[]string{"change the price to 89 yuan", "1003"}, "set_price", `{"sku":"1003","price":89,"currency":"CNY"}`},
		{[]string{"发优惠券", "30 张", "5 元"}, "issue_coupon", `{"count":30,"amount":5}`},
		{[]string{"发优惠券", "1002 多少钱"}, "quote", `{"sku":"1002"}`},
	} {
		t.Run(strings.Join(tt.says, " / "), func(t *testing.T) {
			wantCall(t, ask(t, shopTools(), tt.says...), tt.tool, tt.args)
		})
	}
}

func TestOfflineDoesNotWriteOnAnAnswerToWhatItHeldBack(t *testing.T) {
	if r := ask(t, shopTools(), "不要改 1001 的价格", "89 元"); len(r.Calls) > 0 {
		t.Errorf("called %v", r.Calls)
	}
}

func TestOfflineWritesNothingWhenTheUserNamesSeveralThings(t *testing.T) {
	for say, want := range map[string]string{
		"把 1001 和 1002 改到 89 元":           "1002",
		"把 1001 改到 89 元或者 79 元":           "79",
		"switch to 1001 or 1002":          "Which one",
		"change 1001 and 1002 to 89 yuan": "1001",
	} {
		t.Run(say, func(t *testing.T) {
			r := ask(t, shopTools(), say)
			if len(r.Calls) > 0 || !strings.Contains(r.Text, want) {
				t.Errorf("got calls %v and %q; want a question with %q", r.Calls, r.Text, want)
			}
		})
	}
}

func TestOfflineSaysWhatItCanDoWhenNothingFits(t *testing.T) {
	for _, say := range []string{"今天天气怎么样", "tell me a joke", "你好", "hello", "1001", "!!!", "", "写一首诗", "who won the football match yesterday",
		"delete product 1001", "取消商品 1001", "refund the product 1001"} {
		t.Run(say, func(t *testing.T) {
			r := ask(t, shopTools(), say)
			if len(r.Calls) > 0 || !strings.Contains(r.Text, "set_price") || !strings.Contains(r.Text, "Change the price of one product") {
				t.Errorf("got calls %v and %q; want the list of tools", r.Calls, r.Text)
			}
			if strings.Contains(r.Text, "Never for coupons") {
				t.Errorf("%q tells more than the first sentence of a description", r.Text)
			}
		})
	}
	if r := ask(t, nil, "把 1001 改到 89 元"); len(r.Calls) > 0 || r.Text == "" {
		t.Errorf("without tools: got calls %v and %q", r.Calls, r.Text)
	}
}

func TestOfflineDoesNotTakeAWarningForAPurpose(t *testing.T) {
	tools := []Tool{
		tool("a.set_price", "Change prices. Never for vouchers.", abi.Write, `{"type":"object"}`),
		tool("b.give", "Give vouchers away.", abi.Write, `{"type":"object"}`),
	}
	wantCall(t, ask(t, tools, "vouchers"), "b.give", `{}`)
	if r := ask(t, tools[:1], "vouchers"); len(r.Calls) > 0 {
		t.Errorf("called %v for what it is never for", r.Calls)
	}
}

func TestOfflineTellsAResultInASentence(t *testing.T) {
	problem := `{"problem":{"code":4007,"message":"price must be more than 0","field":"price","hint":"give a price from 0.01 on","candidates":["0.01"]}}`
	for _, tt := range []struct {
		name, say, tool, text string
		ok                    bool
		want                  []string
	}{
		{"object", "change it", "set_price", `{"sku":"1002","price":79.50}`, true, []string{"Done", "sku 1002", "price 79.50"}},
		{"object in Chinese", "改价", "set_price", `{"sku":"1002","price":79.5}`, true, []string{"已完成", "price 79.5"}},
		{"preview alone", "改价", "set_price", "1002 现在 79.5 元", true, []string{"1002 现在 79.5 元"}},
		{"preview with data", "改价", "set_price", "1002 is 79.5 yuan now\n{\"sku\":\"1002\"}", true, []string{"1002 is 79.5 yuan now"}},
		{"preview inside", "改价", "set_price", `{"preview":"1002 is 79.5 yuan now","data":{"sku":"1002"}}`, true, []string{"1002 is 79.5 yuan now"}},
		{"list", "find mugs", "find_products", `{"products":[{"sku":"1","name":"Mug","price":9},{"sku":"2","name":"Cup","price":7}],"total":2}`, true, []string{"Mug 1 9, Cup 2 7"}},
		{"long list", "find mugs", "find_products", `[1,2,3,4,5,6,7,8]`, true, []string{"1, 2, 3, 4, 5, 6 and 2 more"}},
		{"nothing found", "find mugs", "find_products", `{"products":[]}`, true, []string{"Nothing was found"}},
		{"nothing to tell", "改价", "set_price", `null`, true, []string{"已完成"}},
		{"problem", "change it", "set_price", problem, false, []string{"set_price was not done", "price must be more than 0.", "give a price from 0.01 on.", "Possible: 0.01"}},
		{"problem in Chinese", "改价", "set_price", problem, false, []string{"没有完成", "参数取值无效", "price must be more than 0", "give a price from 0.01 on"}},
		{"problem of the shop", "改价", "set_price", `{"problem":{"code":3001,"message":"降幅超过 30%","hint":"请先申请"}}`, false, []string{"降幅超过 30%", "请先申请"}},
		{"unknown tool", "change it", "gone", `{"a":1}`, true, []string{"Result: a 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := complete(t, Request{Tools: shopTools(), Messages: []Message{
				{Role: RoleUser, Text: tt.say},
				{Role: RoleAssistant, Calls: []Call{{ID: "c", Tool: tt.tool, Args: "{}"}}},
				{Role: RoleTool, CallID: "c", Tool: tt.tool, Text: tt.text, OK: tt.ok},
			}})
			if len(r.Calls) > 0 || r.Finish != FinishStop {
				t.Fatalf("called %v after a result; want an answer", r.Calls)
			}
			for _, want := range tt.want {
				if !strings.Contains(r.Text, want) {
					t.Errorf("%q does not say %q", r.Text, want)
				}
			}
		})
	}
}

func TestOfflineFillsEveryKindOfArgument(t *testing.T) {
	book := tool("book", "Book a flight.", abi.Write, `{"type":"object","required":["flight","date","cabin","origin"],"properties":{
		"flight":{"type":"string","pattern":"^[A-Z]{3}[0-9]{3}$"},
		"date":{"type":"string","format":"date"},
		"cabin":{"type":"string","enum":["basic_economy","economy","business"]},
		"origin":{"type":"string"},
		"bags":{"type":"integer","description":"number of bags"},
		"insurance":{"type":["boolean","null"]},
		"kind":{"const":"flight"},
		"seats":{"type":"array","items":{"type":"string","pattern":"^[0-9]{2}[A-F]$"}},
		"note":{"type":"string"}}}`,
		"book flight HAT001 from JFK on 2024-05-20 in economy", `{"flight":"HAT001","origin":"JFK","date":"2024-05-20","cabin":"economy"}`)
	for _, tt := range []struct{ say, args string }{
		{"book flight HAT069 from SEA on 2024-05-21 in business", `{"flight":"HAT069","origin":"SEA","date":"2024-05-21","cabin":"business"}`},
		{"on 2024/5/2 book HAT069 out of SEA, basic economy", `{"flight":"HAT069","origin":"SEA","date":"2024-05-02","cabin":"basic_economy"}`},
		{"book me HAT069 for 2024年5月21日 from SEA, busines class", `{"flight":"HAT069","origin":"SEA","date":"2024-05-21","cabin":"business"}`},
		{"book HAT069 from SEA on 2024-05-21, economy, without insurance, seats 12A and 12B", `{"flight":"HAT069","origin":"SEA","date":"2024-05-21","cabin":"economy","insurance":false,"seats":["12A","12B"]}`},
		{"book HAT069 from SEA on 2024-05-21 economy with insurance, bags 2", `{"flight":"HAT069","origin":"SEA","date":"2024-05-21","cabin":"economy","insurance":true,"bags":2}`},
	} {
		t.Run(tt.say, func(t *testing.T) { wantCall(t, ask(t, []Tool{book}, tt.say), "book", tt.args) })
	}
}

func TestOfflineFindsWhatAPatternDescribes(t *testing.T) {
	order := tool("show_order", "Show an order.", abi.Read,
		`{"type":"object","properties":{"order":{"type":"string","pattern":"^[A-Z]{3}#[0-9]+$"}},"required":["order"]}`)
	wantCall(t, ask(t, []Tool{order}, "看看订单ORD#77的情况"), "show_order", `{"order":"ORD#77"}`)
	if r := ask(t, []Tool{order}, "show order ORD#77 or ORD#78"); len(r.Calls) > 0 {
		t.Errorf("called %v; want to be asked which", r.Calls)
	}
}

func TestOfflineUsesAQuotedPieceAsText(t *testing.T) {
	note := tool("add_note", "Add a note to the live session.", abi.Write,
		`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, "记一条备注：明天补货", `{"text":"明天补货"}`)
	wantCall(t, ask(t, []Tool{note}, `add a note “call Mia at 5”`), "add_note", `{"text":"call Mia at 5"}`)
	wantCall(t, ask(t, []Tool{note}, `记一条备注：库存不足`), "add_note", `{"text":"库存不足"}`)
	if r := ask(t, []Tool{note}, "add a note about the stock"); len(r.Calls) > 0 {
		t.Errorf("a write took words for text that nobody dictated: %v", r.Calls)
	}
}

func TestOfflineIsDeterministicAndStreamsItsText(t *testing.T) {
	req := Request{Tools: shopTools(), Messages: []Message{{Role: RoleUser, Text: "发 200 张 10 元的优惠券"}}}
	first := complete(t, req)
	for range 20 {
		again := complete(t, req)
		if again.Calls[0] != first.Calls[0] {
			t.Fatalf("the same request gave %v and %v", first.Calls[0], again.Calls[0])
		}
	}
	req.Messages[0].Text = "你好"
	var pieces []string
	reply, err := Offline{}.Complete(context.Background(), req, func(e Event) { pieces = append(pieces, e.Text) })
	if err != nil || len(pieces) < 2 || strings.Join(pieces, "") != reply.Text {
		t.Errorf("got %d pieces of %q, error %v", len(pieces), reply.Text, err)
	}
}

func TestOfflineEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	pieces := 0
	_, err := Offline{}.Complete(ctx, Request{Tools: shopTools(), Messages: []Message{{Role: RoleUser, Text: "hello"}}}, func(Event) {
		pieces++
		cancel()
	})
	if host.ProblemOf(err).Code != abi.Cancelled || !errors.Is(err, context.Canceled) || pieces != 1 {
		t.Errorf("got %v after %d pieces; want cancelled after one", err, pieces)
	}
}

func TestOfflineReadsChineseNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"八十九": "89", "十": "10", "十五": "15", "二十": "20", "两百五": "250", "一百零五": "105", "一千二": "1200", "一万二": "12000",
		"三千零二十": "3020", "七十九点五": "79.5", "零": "0", "十万": "100000", "两万三千四百": "23400",
	} {
		if got, ok := hanNumber(text); !ok || got != want {
			t.Errorf("%s is %q, %v; want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"一二三", "万万万万"} {
		if got, ok := hanNumber(text); ok && got != "0" {
			t.Errorf("%s is %q; want no number", text, got)
		}
	}
}

func FuzzOffline(f *testing.F) {
	for _, say := range []string{"把 1001 改到 89 元", "set the price of 1002 to $20", "79块5", "“", "-", "一万万", "2024-13-45", "\xff\xfe", "'a' b"} {
		f.Add(say, `{"problem":{"code":1}}`)
	}
	tools := shopTools()
	f.Fuzz(func(t *testing.T, say, result string) {
		messages := []Message{{Role: RoleUser, Text: say}}
		for range 2 {
			reply, err := Offline{}.Complete(context.Background(), Request{Messages: messages, Tools: tools}, nil)
			if err != nil || reply.Text == "" && len(reply.Calls) == 0 {
				t.Fatalf("no answer: %v", err)
			}
			for _, c := range reply.Calls {
				if !wholeObject(c.Args) {
					t.Fatalf("arguments that are no object: %q", c.Args)
				}
			}
			messages = append(messages, reply.Message(), Message{Role: RoleTool, Tool: "quote", Text: result})
		}
	})
}
