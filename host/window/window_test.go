package window

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
)

func skill(name, positioning string) *manifest.Skill {
	return &manifest.Skill{Manifest: abi.Manifest{Name: name, Summary: name + " does things. ", Positioning: positioning}}
}

func TestSystemPutsWhatNeverChangesFirst(t *testing.T) {
	one := System([]*manifest.Skill{skill("shop.catalog", " Use it to look things up.\n")})
	two := System([]*manifest.Skill{skill("shop.catalog", " Use it to look things up.\n"), skill("shop.pricing", "")})
	if !strings.HasPrefix(one, System(nil)+"\n") || !strings.HasPrefix(two, one) {
		t.Error("the prompt of fewer skills is not the beginning of the prompt of more")
	}
	if want := "\n\n## shop.catalog\nshop.catalog does things.\nUse it to look things up."; !strings.HasSuffix(one, want) {
		t.Errorf("the skill reads %q", one[len(System(nil)):])
	}
}

func TestToolsKeepTheirOrderAndSchema(t *testing.T) {
	tools := Tools([]*manifest.Tool{
		{Tool: abi.Tool{Name: "quote", Summary: "Quote.", Effect: abi.Read, Input: []byte(`{"type":"object"}`)}},
		{Tool: abi.Tool{Name: "set_price", Summary: "Set.", Effect: abi.Write, Examples: []abi.Example{{Say: "把 1001 改到 89 元"}}}},
	})
	if len(tools) != 2 || tools[0].Name != "quote" || string(tools[0].Parameters) != `{"type":"object"}` || tools[0].Description != "Quote." {
		t.Fatalf("tools are %+v", tools)
	}
	if tools[1].Effect != abi.Write || len(tools[1].Examples) != 1 {
		t.Errorf("the second is %+v", tools[1])
	}
}
