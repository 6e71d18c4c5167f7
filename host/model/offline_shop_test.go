package model

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

// liveShop is a second shop with fewer and harder examples: English
// descriptions, examples that are refused, optional arguments.
func liveShop() []Tool {
	sku := `"sku":{"type":"string","description":"the product's number, such as 1001","minLength":1,"maxLength":64}`
	object := func(required, properties string) string {
		return `{"type":"object","additionalProperties":false,"required":[` + required + `],"properties":{` + properties + `}}`
	}
	tools := []Tool{
		tool("find_products", "Find products by words of their title or by their number; without words, list them.", abi.Read,
			object("", `"query":{"type":"string","description":"words of the title, or a product number; leave it out to list all"}`),
			"有什么保温杯？", `{"query":"保温杯"}`, "Find me a mug", `{"query":"mug"}`, "今天有哪些商品？", `{}`),
		tool("get_product", "Show one product by its number: title, price, floor price and stock.", abi.Read, object(`"sku"`, sku),
			"1001 多少钱，还有货吗？", `{"sku":"1001"}`, "How much is product 1002?", `{"sku":"1002"}`),
		tool("quote", "Quote the price of one product, with the lowest price that it may have.", abi.Read, object(`"sku"`, sku),
			"1001 现在卖多少钱？", `{"sku":"1001"}`, "What is the price of 1002?", `{"sku":"1002"}`),
		tool("set_price", "Change the price of one product.", abi.Write,
			object(`"sku","price"`, sku+`,"price":{"type":"number","description":"the new price, at most two decimals","minimum":0.01},
				"currency":{"type":"string","description":"currency of the price; the product's own if left out","enum":["CNY","USD","EUR","HKD"]}`),
			"把 1001 改到 89 元", `{"sku":"1001","price":89,"currency":"CNY"}`, "Set the price of 1002 to 35.50", `{"sku":"1002","price":35.5}`),
		tool("current_product", "Show the product that is on stage now.", abi.Read, object("", ""), "现在台上是哪个商品？", `{}`, "What is on stage?", `{}`),
		tool("switch_product", "Put another product on stage. Products without stock are refused.", abi.Write, object(`"sku"`, sku),
			"切到 1001", `{"sku":"1001"}`, "Switch to product 1001", `{"sku":"1001"}`),
		tool("issue_coupon", "Issue a number of coupons of one amount, for the whole shop or for one product.", abi.Write,
			object(`"amount","count"`, `"sku":{"type":"string","description":"the number of the product that it is for; leave it out for the whole shop"},
				"amount":{"type":"number","description":"what one coupon is worth, at most two decimals"},"count":{"type":"integer","description":"how many coupons"}`),
			"给 1001 发 100 张 10 元优惠券", `{"sku":"1001","amount":10,"count":100}`, "Issue 20 coupons of 5.50 for the whole shop", `{"amount":5.5,"count":20}`),
		tool("list_coupons", "List the coupons that were issued.", abi.Read, object("", ""), "发过哪些优惠券？", `{}`, "Which coupons are there?", `{}`),
	}
	refused := func(i int, say, args string, code abi.Code) {
		tools[i].Examples = append(tools[i].Examples, abi.Example{Say: say, Args: json.RawMessage(args), Problem: code})
	}
	refused(3, "1001 改成 9.9 元", `{"sku":"1001","price":9.9,"currency":"CNY"}`, abi.OutOfBounds)
	refused(3, "Sell 1001 for 20 dollars", `{"sku":"1001","price":80,"currency":"USD"}`, abi.BadValue)
	refused(5, "上 1003", `{"sku":"1003"}`, abi.SkillRefused)
	refused(5, "Next one: 9999", `{"sku":"9999"}`, abi.NotFound)
	refused(6, "发 300 张 150 元的券", `{"amount":150,"count":300}`, abi.OutOfBounds)
	return tools
}

func TestOfflineServesALiveShop(t *testing.T) {
	for _, tt := range []struct{ say, tool, args string }{
		{"1001 现在多少钱", "quote", `{"sku":"1001"}`},
		{"把 1001 改到 89 元", "set_price", `{"sku":"1001","price":89,"currency":"CNY"}`},
		{"把 1001 改到 75 元", "set_price", `{"sku":"1001","price":75,"currency":"CNY"}`},
		{"把 1002 改到 9 元", "set_price", `{"sku":"1002","price":9,"currency":"CNY"}`},
		{"把 1002 改成 79.5 元", "set_price", `{"sku":"1002","price":79.5,"currency":"CNY"}`},
		{"1001 改价到 88", "set_price", `{"sku":"1001","price":88}`},
		{"set the price of 1003 to 40", "set_price", `{"sku":"1003","price":40}`},
		{"sell 1003 for 25 dollars", "set_price", `{"sku":"1003","price":25,"currency":"USD"}`},
		{"change 1001 to -5 yuan", "set_price", `{"sku":"1001","price":-5,"currency":"CNY"}`},
		{"what is the price of 1004?", "quote", `{"sku":"1004"}`},
		{"有什么饼干", "find_products", `{"query":"饼干"}`},
		{"find me a cold brew coffee", "find_products", `{"query":"cold brew coffee"}`},
		{"今天有哪些商品", "find_products", `{}`},
		{"show me product 1003", "get_product", `{"sku":"1003"}`},
		{"1002 还有货吗", "get_product", `{"sku":"1002"}`},
		{"what is on stage", "current_product", `{}`},
		{"现在台上是什么", "current_product", `{}`},
		{"切到 1002", "switch_product", `{"sku":"1002"}`},
		{"上 1002", "switch_product", `{"sku":"1002"}`},
		{"next one: 1005", "switch_product", `{"sku":"1005"}`},
		{"put 1002 on stage", "switch_product", `{"sku":"1002"}`},
		{"给 1002 发 50 张 5 元优惠券", "issue_coupon", `{"sku":"1002","amount":5,"count":50}`},
		{"发 300 张 20 元的券", "issue_coupon", `{"amount":20,"count":300}`},
		{"issue 10 coupons of 3 for the whole shop", "issue_coupon", `{"amount":3,"count":10}`},
		{"issue 1000 coupons of 3 yuan", "issue_coupon", `{"amount":3,"count":1000}`},
		{"发过哪些优惠券", "list_coupons", `{}`},
		{"which coupons are there", "list_coupons", `{}`},
	} {
		t.Run(tt.say, func(t *testing.T) { wantCall(t, ask(t, liveShop(), tt.say), tt.tool, tt.args) })
	}
}

func TestOfflineNeverWritesWhatTheUserDidNotSay(t *testing.T) {
	tools := liveShop()
	// The price of this example is not in its words, and is nobody's wish.
	tools[3].Examples = append(tools[3].Examples, abi.Example{Say: "Sell 1001 at half price", Args: json.RawMessage(`{"sku":"1001","price":49.5,"currency":"CNY"}`)})
	for _, say := range []string{
		"sell 1002 at half price",
		"把 1002 的价格改一下",
		"change the price",
		"change the price to 80 yuan",
		"不要把 1001 改到 89 元",
		"先别改 1001 的价格到 89 元",
		"don't change the price of 1001 to 89 yuan",
		"do not switch to product 1002",
		"never switch to product 1002",
		"如果卖得好，把 1001 改到 89 元",
		"if it sells well, set the price of 1001 to 89",
		"把 1001 和 1002 改到 89 元",
		"把所有商品改到 1 元",
		"issue coupons",
		"发 100 张券",
		"切到下一个",
		"delete product 1001",
		"删除 1001",
		"取消 1001 的优惠券",
		"1001",
		"89 元",
		"把 1001 降 10 元",
		"1001 便宜 10 元",
		"1001 打 8 折",
		"lower the price of 1001 by 10 yuan",
		"change 1001 to 10 yuan less",
		"set the price of 1001 to 80%",
		"set the price of 1001 to 40k",
		"set the price of 1001 to 2 thousand",
		"把 1001 改到 1 万元",
		"明天把 1001 改到 89 元",
		"为什么把 1001 改到 89 元",
		"why did you change the price of 1001 to 89 yuan?",
	} {
		t.Run(say, func(t *testing.T) {
			r := ask(t, tools, say)
			for _, c := range r.Calls {
				if toolNamed(tools, c.Tool).Effect == abi.Write {
					t.Errorf("called %s %s", c.Tool, c.Args)
				}
			}
			if len(r.Calls) == 0 && strings.TrimSpace(r.Text) == "" {
				t.Error("no answer")
			}
		})
	}
}

func TestOfflineDoesNotCopyAValueFromAnExample(t *testing.T) {
	tools := liveShop()[3:4]
	tools[0].Examples = []abi.Example{{Say: "Sell 1001 at half price", Args: json.RawMessage(`{"sku":"1001","price":49.5,"currency":"CNY"}`)}}
	r := ask(t, tools, "sell 1002 at half price")
	if len(r.Calls) > 0 || !strings.Contains(r.Text, "the new price, at most two decimals (price)") {
		t.Errorf("got calls %v and %q; want the price asked for", r.Calls, r.Text)
	}
}

func TestOfflineDoesNotAnswerWithSomethingElse(t *testing.T) {
	tools := liveShop()
	tools = append(tools[:6], tools[7]) // nothing issues coupons
	if r := ask(t, tools, "哪些优惠券给了 1004"); len(r.Calls) > 0 {
		t.Errorf("called %v, which has nothing to do with 1004", r.Calls)
	}
}
