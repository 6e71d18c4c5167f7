package model

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestARankerScoresToolsByTheUsersWords(t *testing.T) {
	tools := append(shopTools(), Tool{Name: "odd_schema", Description: "Weighs parcels.", Parameters: json.RawMessage(`[1]`)})
	r := NewRanker(tools)
	for text, want := range map[string]string{
		"把 1002 改到 35 元": "set_price", "what is the price of 1002": "quote", "有没有面霜": "find_products", "switch to 1003": "switch_product",
		"weigh this parcel": "odd_schema", "发 50 张 10 元的优惠券": "issue_coupon",
	} {
		scores := r.Scores(text)
		if len(scores) != len(tools) {
			t.Fatalf("%d scores of %d tools", len(scores), len(tools))
		}
		if best := tools[slices.Index(scores, slices.Max(scores))].Name; best != want {
			t.Errorf("%q is about %s, want %s: %v", text, best, want, scores)
		}
	}
	for _, text := range []string{"", "the of and", "qwertz"} {
		if scores := r.Scores(text); slices.Max(scores) != 0 {
			t.Errorf("%q has scores %v", text, scores)
		}
	}
	if scores := NewRanker(nil).Scores("price"); len(scores) != 0 {
		t.Errorf("no tools have scores %v", scores)
	}
}

func TestWordsAreWhatATextIsAbout(t *testing.T) {
	for text, want := range map[string][]string{
		"Set the prices of 1001 to 89": {"change", "price"}, "１００１ 的库存": {"stock"}, "": nil, "the 1001": nil,
	} {
		if got := Words(text); !slices.Equal(got, want) {
			t.Errorf("%q is about %v, want %v", text, got, want)
		}
	}
}
