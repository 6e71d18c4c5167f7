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

func TestFindProductsRanksMatches(t *testing.T) {
	h := skilltest.New(t)
	for i, title := range []string{"保温杯 500ml", "马克杯 Coffee mug", "Travel mug 保温杯套", "围巾 Scarf"} {
		sku := fmt.Sprint(1001 + i)
		h.Put(shop.ProductPrefix+sku, shop.Product{SKU: sku, Title: title, Price: 10, Currency: "CNY"})
	}
	h.Put("coupon/C1", "not a product")
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"1004", []string{"1004"}},
		{"保温杯", []string{"1001", "1003"}},
		{"有没有保温杯？", []string{"1001", "1003"}},
		{"MUG", []string{"1002", "1003"}},
		{"coffee cup", []string{"1002"}},
		{"travel coffee mug", []string{"1002", "1003"}},
		{"红色围巾", []string{"1004"}},
		{"杯", []string{"1001", "1002", "1003"}},
		{"自行车", nil},
		{"?!", nil},
		{"", []string{"1001", "1002", "1003", "1004"}},
	} {
		t.Run(tt.query, func(t *testing.T) {
			found := find(t, h, tt.query)
			if got := skus(found.Products); !slices.Equal(got, tt.want) || found.Total != len(tt.want) {
				t.Errorf("found %v of %d, want %v", got, found.Total, tt.want)
			}
		})
	}
}

func TestFindProductsGivesTheBestTwentyAndCountsAll(t *testing.T) {
	h := skilltest.New(t)
	for i := range 1500 {
		sku := fmt.Sprint(10000 + i)
		h.Put(shop.ProductPrefix+sku, shop.Product{SKU: sku, Title: "Mug"})
	}
	found := find(t, h, "11499")
	if got := skus(found.Products); !slices.Equal(got, []string{"11499"}) {
		t.Errorf("the number found %v", got)
	}
	if found = find(t, h, "mug"); len(found.Products) != maxFound || found.Total != 1500 {
		t.Errorf("found %d of %d, want %d of 1500", len(found.Products), found.Total, maxFound)
	}
}

func TestGetProductNamesTheNearestWhenThereIsNone(t *testing.T) {
	h := skilltest.New(t)
	h.Put(shop.ProductPrefix+"1001", thermosProduct)
	h.Put(shop.ProductPrefix+"1002", mugProduct)
	for _, tt := range []struct {
		sku        string
		candidates []string
	}{
		{"10011", []string{"1001"}},
		{"保温杯", []string{"1001"}},
		{"coffee mug", []string{"1002"}},
		{"zzzzzz", nil},
	} {
		t.Run(tt.sku, func(t *testing.T) {
			p := h.Call("get_product", BySKU{SKU: tt.sku}).Problem
			if p == nil || p.Code != abi.NotFound || p.Field != "sku" || p.Hint == "" || !slices.Equal(p.Candidates, tt.candidates) {
				t.Errorf("problem %+v, want NotFound with the candidates %v", p, tt.candidates)
			}
		})
	}
}

func TestADamagedRecordIsASystemFailure(t *testing.T) {
	h := skilltest.New(t)
	h.Put(shop.ProductPrefix+"1001", []byte(`{"sku":`))
	if p := h.Call("get_product", BySKU{SKU: "1001"}).Problem; p == nil || p.Code != abi.SystemFailure {
		t.Errorf("get_product: problem %v, want a system failure", p)
	}
	if p := h.Call("find_products", Query{}).Problem; p == nil || p.Code != abi.SystemFailure {
		t.Errorf("find_products: problem %v, want a system failure", p)
	}
}

func skus(products []shop.Product) []string {
	var all []string
	for _, p := range products {
		all = append(all, p.SKU)
	}
	return all
}

func find(t *testing.T, h *skilltest.Host, query string) Found {
	t.Helper()
	var found Found
	reply := h.Call("find_products", Query{Query: query})
	if !reply.OK {
		t.Fatal(reply.Problem)
	}
	if err := json.Unmarshal(reply.Data, &found); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTheHostCompilesTheDeclarations(t *testing.T) {
	if _, err := manifest.Compile(skilltest.New(t).Manifest()); err != nil {
		t.Error(err)
	}
}
