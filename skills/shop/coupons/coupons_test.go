package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/sdk/skilltest"
	"github.com/sluicehq/sluice/skills/shop"
)

func TestExamples(t *testing.T) { skilltest.New(t).Examples() }

func TestIssueCouponKeepsToItsCeilings(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		code       abi.Code // 0 for success
		field      string
		candidates []string
	}{
		{"for the whole shop", `{"amount":10,"count":100}`, 0, "", nil},
		{"for a product", `{"sku":"1001","amount":98.99,"count":1}`, 0, "", nil},
		{"as much as the product", `{"sku":"1001","amount":99,"count":1}`, abi.OutOfBounds, "amount", []string{"98.99"}},
		{"the largest coupon", `{"amount":200,"count":1}`, 0, "", nil},
		{"a larger coupon", `{"amount":200.01,"count":1}`, abi.OutOfBounds, "amount", []string{"200.00"}},
		{"the most coupons", `{"amount":40,"count":500}`, 0, "", nil},
		{"more coupons", `{"amount":1,"count":501}`, abi.OutOfBounds, "count", []string{"500"}},
		{"a cent too much together", `{"amount":40.01,"count":500}`, abi.OutOfBounds, "count", []string{"499"}},
		{"three decimals", `{"amount":1.005,"count":1}`, abi.BadValue, "amount", nil},
		{"none", `{"amount":1,"count":0}`, abi.BadValue, "count", nil},
		{"a part of one", `{"amount":1,"count":1.5}`, abi.WrongType, "count", nil},
		{"for a product without a name, which would be the whole shop", `{"sku":"","amount":1,"count":5}`, abi.BadValue, "sku", nil},
		{"no such product", `{"sku":"1002","amount":1,"count":1}`, abi.NotFound, "sku", []string{"1001"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := skilltest.New(t)
			h.Put(shop.ProductPrefix+"1001", shop.Product{SKU: "1001", Title: "保温杯", Price: 99, Currency: "CNY"})
			reply := h.CallJSON("issue_coupon", tt.args)
			if tt.code == 0 {
				if !reply.OK || len(h.Keys()) != 2 {
					t.Errorf("problem %v, keys %v; want one coupon", reply.Problem, h.Keys())
				}
				return
			}
			p := reply.Problem
			if p == nil || p.Code != tt.code || p.Field != tt.field || !slices.Equal(p.Candidates, tt.candidates) || len(h.Keys()) != 1 {
				t.Errorf("problem %+v, keys %v; want code %d at %q with %v and no coupon", p, h.Keys(), tt.code, tt.field, tt.candidates)
			}
		})
	}
}

func TestIssueCouponAgainUnderTheSameKeyGivesTheSameCoupon(t *testing.T) {
	h := skilltest.New(t)
	args := NewCoupon{Amount: 10, Count: 5}
	first := h.Call("issue_coupon", args, skilltest.Key("k1"))
	again := h.Call("issue_coupon", args, skilltest.Key("k1"))
	other := h.Call("issue_coupon", args, skilltest.Key("k2"))
	if !first.OK || string(first.Data) != string(again.Data) || first.Preview != again.Preview {
		t.Errorf("first %s, again %s", first.Data, again.Data)
	}
	if !other.OK || len(h.Keys()) != 2 {
		t.Errorf("another key gave %s; coupons %v, want two", other.Data, h.Keys())
	}
}

func TestAnIdThatIsTakenByAnotherCallIsAConflict(t *testing.T) {
	h := skilltest.New(t)
	h.Put(couponPrefix+couponID("k1"), record{Coupon: Coupon{ID: couponID("k1")}, Key: "k2"})
	if p := h.Call("issue_coupon", NewCoupon{Amount: 10, Count: 5}, skilltest.Key("k1")).Problem; p == nil || p.Code != abi.Conflict {
		t.Errorf("problem %v, want a conflict", p)
	}
}

func TestCouponIDsHaveOneLengthAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range 10_000 {
		id := couponID(fmt.Sprint(i))
		if len(id) != 14 || seen[id] {
			t.Fatalf("key %d has the id %q", i, id)
		}
		seen[id] = true
	}
}

func TestListCouponsGivesTheFirstFiftyAndCountsAll(t *testing.T) {
	h := skilltest.New(t)
	for i := range 60 {
		id := fmt.Sprintf("C%03d", i)
		h.Put(couponPrefix+id, record{Coupon: Coupon{ID: id, Amount: 1, Count: 1, Currency: "CNY"}})
	}
	var list List
	if err := json.Unmarshal(h.Call("list_coupons", Nothing{}).Data, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Coupons) != maxListed || list.Total != 60 || list.Coupons[0].ID != "C000" {
		t.Errorf("listed %d of %d, want %d of 60", len(list.Coupons), list.Total, maxListed)
	}
}

func TestManyCouponsWaitForAPerson(t *testing.T) {
	skill, err := manifest.Compile(skilltest.New(t).Manifest())
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]abi.Tier{
		`{"amount":10,"count":500}`: abi.SoftGate, `{"amount":10.01,"count":500}`: abi.HardGate, `{"amount":200,"count":25}`: abi.SoftGate,
	} {
		if tier, says := skill.Tool("issue_coupon").TierOf(manifest.Env{Args: json.RawMessage(args)}); tier != want {
			t.Errorf("%s: tier %s %q, want %s", args, tier, says, want)
		}
	}
}
