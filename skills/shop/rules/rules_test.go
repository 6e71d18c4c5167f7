package main

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk/skilltest"
)

func TestNoPriceEndsInFour(t *testing.T) {
	h := skilltest.New(t)
	for _, tt := range []struct {
		price any
		near  string // the nearest prices that do; empty where the price does
	}{
		{84, "83 85"}, {4, "3 5"}, {1004, "1003 1005"}, {79.4, "79.3 79.5"}, {79.44, "79.43 79.45"}, {84.0, "83 85"}, {0.04, "0.03 0.05"},
		{40, ""}, {84.5, ""}, {44.9, ""}, {89, ""}, {0, ""}, {nil, ""}, {440, ""},
	} {
		got := h.BeforeCall("set_price", map[string]any{"sku": "1004", "price": tt.price})
		if near := nearOf(got.Problem); near != tt.near {
			t.Errorf("%v: %+v, want %q near", tt.price, got.Problem, tt.near)
		}
	}
	if got := h.BeforeCall("set_price", map[string]any{"price": "84"}); got.Problem == nil {
		t.Error("a price that cannot be read passes")
	}
	read := abi.Occasion{Point: abi.PreToolCall, Call: &abi.OccasionCall{Tool: "find", Effect: abi.Read, Args: []byte(`{"price":84}`)}}
	if got := h.Ask(read); got != (abi.Opinion{}) {
		t.Errorf("a read is judged: %+v", got)
	}
}

func nearOf(p *abi.Problem) string {
	if p == nil {
		return ""
	}
	return strings.Join(p.Candidates, " ")
}

func TestNothingIsPraisedAbsolutely(t *testing.T) {
	h := skilltest.New(t)
	for _, tt := range []struct{ text, word string }{
		{"这是全网最低价，最好的保温杯", "最好"}, {"国家级工艺", "国家级"}, {"最 佳 选择", "最佳"}, {"最\u200b佳选择", "最佳"}, {"销量第一！", "销量第一"},
		{"最后一天，最近上新，最多两件", ""}, {"保温杯 89 元", ""}, {"The best cup there is", ""}, {"", ""},
	} {
		if got := h.AfterReasoning(tt.text); (got.Problem != nil) != (tt.word != "") || got.Problem != nil && !strings.Contains(got.Problem.Message, tt.word) {
			t.Errorf("the answer %q: %+v, want %q", tt.text, got.Problem, tt.word)
		}
		got := h.BeforeCall("add_product", map[string]any{"sku": "1", "titles": []any{map[string]any{"zh": tt.text}}})
		if (got.Problem != nil) != (tt.word != "") || got.Problem != nil && got.Problem.Field != "titles[0].zh" {
			t.Errorf("the title %q: %+v, want %q", tt.text, got.Problem, tt.word)
		}
	}
}
