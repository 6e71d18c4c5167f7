package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/sdk/clock"
	"github.com/sluicehq/sluice/sdk/skilltest"
	"github.com/sluicehq/sluice/skills/shop"
)

func TestExamples(t *testing.T) { skilltest.New(t).Examples() }

func TestSwitchProductPutsAProductOnStage(t *testing.T) {
	h := seeded(t)
	if s := stage(t, h.Call("current_product", Nothing{})); s.OnStage {
		t.Fatalf("at first %+v is on stage", s)
	}
	switched := stage(t, h.Call("switch_product", BySKU{SKU: "1002"}))
	if switched.Product == nil || switched.Product.SKU != "1002" || switched.Since != noon {
		t.Errorf("switched to %+v", switched)
	}
	if now := stage(t, h.Call("current_product", Nothing{})); now.Product == nil || now.Product.SKU != "1002" {
		t.Errorf("on stage is %+v", now)
	}
}

func TestSwitchToWhatIsOnStageKeepsItsTime(t *testing.T) {
	h := seeded(t)
	h.Call("switch_product", BySKU{SKU: "1001"}, skilltest.Key("k"))
	later := stage(t, h.Call("switch_product", BySKU{SKU: "1001"}, skilltest.Key("k"), skilltest.Now(clock.Time(noon.Add(3600)))))
	if later.Since != noon {
		t.Errorf("on stage since %v, want %v", later.Since, noon)
	}
}

func TestSwitchToWhatIsSoldOutIsRefusedAndChangesNothing(t *testing.T) {
	h := seeded(t)
	h.Call("switch_product", BySKU{SKU: "1001"})
	p := h.Call("switch_product", BySKU{SKU: "1003"}).Problem
	if p == nil || p.Code != OutOfStock || !slices.Equal(p.Candidates, []string{"1001", "1002"}) {
		t.Errorf("problem %+v, want OutOfStock with what is in stock", p)
	}
	if now := stage(t, h.Call("current_product", Nothing{})); now.Product == nil || now.Product.SKU != "1001" {
		t.Errorf("on stage is %+v, want what was there", now)
	}
}

func TestSwitchToNothingKnownNamesTheNearest(t *testing.T) {
	p := seeded(t).Call("switch_product", BySKU{SKU: "10022"}).Problem
	if p == nil || p.Code != abi.NotFound || len(p.Candidates) == 0 || p.Candidates[0] != "1002" {
		t.Errorf("problem %+v, want NotFound with 1002 first", p)
	}
}

func TestAnEmptyShopSaysThatNothingIsInStock(t *testing.T) {
	h := skilltest.New(t)
	h.Put(shop.ProductPrefix+"1003", shop.Product{SKU: "1003"})
	if p := h.Call("switch_product", BySKU{SKU: "1003"}).Problem; p == nil || p.Code != OutOfStock || p.Candidates != nil {
		t.Errorf("problem %+v", p)
	}
}

func TestTheSessionKnowsWhatItPutOnStage(t *testing.T) {
	h := seeded(t)
	for _, sku := range []string{"1001", "1002", "1001"} {
		stage(t, h.Call("switch_product", BySKU{SKU: sku}, skilltest.Now(clock.Time(noon.Add(60)))))
	}
	var now OnStage
	var shown []string
	if !h.StateOf("live.current", &now) || now.SKU != "1001" || now.Title != "保温杯" || now.Since != noon.Add(60) {
		t.Errorf("on stage is %+v", now)
	}
	if !h.StateOf("live.shown", &shown) || !slices.Equal(shown, []string{"1002", "1001"}) {
		t.Errorf("shown were %v", shown)
	}
	h.Call("switch_product", BySKU{SKU: "1003"})
	if h.StateOf("live.current", &now); now.SKU != "1001" {
		t.Errorf("after a refusal %s is on stage", now.SKU)
	}
}

func TestASessionRemembersTheLatestProductsOnly(t *testing.T) {
	var shown []string
	for i := range maxShown {
		shown = append(shown, fmt.Sprint(i))
	}
	state, problem := skilltest.New(t).Reduce(map[string]any{"live.shown": shown, "live.current": OnStage{SKU: "0"}, "live.title": "x"}, Switch{SKU: "new"})
	if problem != nil {
		t.Fatal(problem)
	}
	if err := json.Unmarshal(state["live.shown"], &shown); err != nil || len(shown) != maxShown || shown[0] != "1" || shown[maxShown-1] != "new" {
		t.Errorf("shown were %v, %v", shown, err)
	}
	if string(state["live.title"]) != `"x"` {
		t.Errorf("another's key is %s", state["live.title"])
	}
}

func seeded(t *testing.T) *skilltest.Host {
	h := skilltest.New(t, skilltest.Now(clock.Time(noon)))
	for _, p := range []shop.Product{{SKU: "1001", Title: "保温杯", Stock: 1}, {SKU: "1002", Title: "Mug", Stock: 5}, {SKU: "1003", Title: "Scarf"}} {
		h.Put(shop.ProductPrefix+p.SKU, p)
	}
	return h
}

func stage(t *testing.T, reply abi.Reply) (s Stage) {
	t.Helper()
	if !reply.OK {
		t.Fatal(reply.Problem)
	}
	if err := json.Unmarshal(reply.Data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheHostCompilesTheDeclarations(t *testing.T) {
	if _, err := manifest.Compile(skilltest.New(t).Manifest()); err != nil {
		t.Error(err)
	}
}
