package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/sdk/skilltest"
	"github.com/sluicehq/sluice/skills/shop"
)

func TestExamples(t *testing.T) { skilltest.New(t).Examples() }

func TestSetPriceKeepsToItsBounds(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		code       abi.Code // 0 for success
		field      string
		candidates []string
		price      float64 // afterwards
	}{
		{"above the floor", `{"sku":"1001","price":89}`, 0, "", nil, 89},
		{"at the floor", `{"sku":"1001","price":69}`, 0, "", nil, 69},
		{"a cent below the floor", `{"sku":"1001","price":68.99}`, abi.OutOfBounds, "price", []string{"69.00"}, 99},
		{"two decimals", `{"sku":"1001","price":88.88}`, 0, "", nil, 88.88},
		{"two decimals that no float holds", `{"sku":"1001","price":1000.1}`, 0, "", nil, 1000.1},
		{"three decimals", `{"sku":"1001","price":88.888}`, abi.BadValue, "price", nil, 99},
		{"the largest", `{"sku":"1001","price":1000000}`, 0, "", nil, 1000000},
		{"too large", `{"sku":"1001","price":1000000.01}`, abi.BadValue, "price", nil, 99},
		{"zero", `{"sku":"1001","price":0}`, abi.BadValue, "price", nil, 99},
		{"negative", `{"sku":"1001","price":-5}`, abi.BadValue, "price", nil, 99},
		{"text", `{"sku":"1001","price":"free"}`, abi.WrongType, "price", nil, 99},
		{"missing", `{"sku":"1001"}`, abi.Missing, "price", nil, 99},
		{"unknown field", `{"sku":"1001","price":89,"prise":1}`, abi.UnknownField, "prise", nil, 99},
		{"its own currency", `{"sku":"1001","price":89,"currency":"CNY"}`, 0, "", nil, 89},
		{"another currency", `{"sku":"1001","price":89,"currency":"USD"}`, abi.BadValue, "currency", []string{"CNY"}, 99},
		{"no such product", `{"sku":"1010","price":89}`, abi.NotFound, "sku", []string{"1001"}, 99},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := skilltest.New(t)
			h.Put(shop.ProductPrefix+"1001", product())
			expect(t, h.CallJSON("set_price", tt.args), tt.code, tt.field, tt.candidates)
			var after shop.Product
			if h.Get(shop.ProductPrefix+"1001", &after); after.Price != tt.price {
				t.Errorf("the price is %v afterwards, want %v", after.Price, tt.price)
			}
		})
	}
}

func expect(t *testing.T, reply abi.Reply, code abi.Code, field string, candidates []string) {
	t.Helper()
	if code == 0 {
		if !reply.OK {
			t.Errorf("it ends in %v, want success", reply.Problem)
		}
		return
	}
	p := reply.Problem
	if p == nil || p.Code != code || p.Field != field || !slices.Equal(p.Candidates, candidates) {
		t.Errorf("problem %+v, want code %d at %q with candidates %v", p, code, field, candidates)
	}
}

func TestSetPriceAgainUnderTheSameKeyGivesTheSame(t *testing.T) {
	h := skilltest.New(t)
	h.Put(shop.ProductPrefix+"1001", product())
	args := NewPrice{SKU: "1001", Price: 89}
	first := h.Call("set_price", args, skilltest.Key("k"))
	again := h.Call("set_price", args, skilltest.Key("k"))
	if !first.OK || string(first.Data) != string(again.Data) || first.Preview != again.Preview {
		t.Errorf("first %s, again %s", first.Data, again.Data)
	}
}

func TestSetPriceChangesNothingButThePrice(t *testing.T) {
	h := skilltest.New(t)
	h.Put(shop.ProductPrefix+"1001", product())
	h.Call("set_price", NewPrice{SKU: "1001", Price: 89.5})
	want := product()
	want.Price = 89.5
	var got shop.Product
	if h.Get(shop.ProductPrefix+"1001", &got); got != want {
		t.Errorf("the product is %+v, want %+v", got, want)
	}
}

func TestAProductWithoutAFloorKeepsTheLeastPrice(t *testing.T) {
	h := skilltest.New(t)
	p := product()
	p.Floor = -1
	h.Put(shop.ProductPrefix+"1001", p)
	expect(t, h.CallJSON("set_price", `{"sku":"1001","price":0.01}`), 0, "", nil)
}

func TestALargeChangeWaitsForAPerson(t *testing.T) {
	skill, err := manifest.Compile(skilltest.New(t).Manifest())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		price, fact string
		want        abi.Tier
	}{
		{`89`, `99`, abi.SoftGate}, {`120`, `99`, abi.SoftGate}, {`69.5`, `99`, abi.SoftGate}, {`69`, `99`, abi.HardGate},
		{`297`, `99`, abi.SoftGate}, {`297.01`, `99`, abi.HardGate}, {`5`, `0`, abi.HardGate}, {`0.01`, `-3`, abi.HardGate}, {`0.03`, `0.01`, abi.SoftGate},
		{`69`, `null`, abi.HardGate}, // what cannot be decided counts as the stricter
	} {
		env := manifest.Env{
			Args:  json.RawMessage(`{"sku":"1001","price":` + tt.price + `}`),
			Facts: map[string]json.RawMessage{"price": json.RawMessage(tt.fact)},
		}
		if tier, says := skill.Tool("set_price").TierOf(env); tier != tt.want {
			t.Errorf("from %s to %s: tier %s %q, want %s", tt.fact, tt.price, tier, says, tt.want)
		}
	}
}

func TestAResultThatIsNotWhatWasAskedForIsNotKept(t *testing.T) {
	skill, err := manifest.Compile(skilltest.New(t).Manifest())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool, args, data string
		kept             bool
	}{
		{"set_price", `{"sku":"1001","price":98}`, `{"sku":"1001","price":98,"currency":"CNY"}`, true},
		{"set_price", `{"sku":"1001","price":98,"currency":"CNY"}`, `{"sku":"1001","price":98.0,"currency":"CNY"}`, true},
		{"set_price", `{"sku":"1001","price":98}`, `{"sku":"1001","price":89,"currency":"CNY"}`, false},
		{"set_price", `{"sku":"1001","price":98}`, `{"sku":"1002","price":98,"currency":"CNY"}`, false},
		{"set_price", `{"sku":"1001","price":98,"currency":"CNY"}`, `{"sku":"1001","price":98,"currency":"USD"}`, false},
		{"quote", `{"sku":"1001"}`, `{"sku":"1001"}`, true},
		{"quote", `{"sku":"1001"}`, `{"sku":"1002"}`, false},
	} {
		problem := skill.Tool(tt.tool).CheckResult(manifest.Env{Args: json.RawMessage(tt.args), Data: json.RawMessage(tt.data)})
		if (problem == nil) != tt.kept {
			t.Errorf("%s %s gives %s: %v", tt.tool, tt.args, tt.data, problem)
		}
	}
}

func product() shop.Product {
	return shop.Product{SKU: "1001", Title: "保温杯", Price: 99, Floor: 69, Stock: 3, Currency: "CNY"}
}
