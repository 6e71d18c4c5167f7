package manifest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

func TestABasisHasWhatTheLinesWentByThatCount(t *testing.T) {
	p := parsePolicy(t, `policy: 1
red_lines:
  - {name: cut, tools: [set_price], when: args.price < facts.price, tier: hard-gate, say: "{{facts.title}} in {{state.live.current.name}}"}
  - {name: raise, tools: [set_price], when: args.price > facts.cost, tier: soft-gate}
  - {name: other, tools: [other], when: facts.other > 0}
  - {name: time, tools: [set_price], when: "now > timestamp('2026-01-01T00:00:00Z')", tier: soft-gate}
`)
	env := Env{
		Args: json.RawMessage(`{"price":5}`), Tool: "set_price", Skill: "shop.pricing",
		Facts: map[string]json.RawMessage{"price": json.RawMessage(`9`), "title": json.RawMessage(`"x"`), "cost": json.RawMessage(`7`), "other": json.RawMessage(`1`)},
		State: map[string]json.RawMessage{"live.current": json.RawMessage(`{"name":"y"}`), "live.next": json.RawMessage(`{}`), "live": json.RawMessage(`{}`)},
	}
	b := p.Basis(env)
	want := Basis{
		Facts: map[string]json.RawMessage{"price": env.Facts["price"], "title": env.Facts["title"]},
		State: map[string]json.RawMessage{"live.current": env.State["live.current"], "live": env.State["live"]},
	}
	if !reflect.DeepEqual(b, want) {
		t.Errorf("it went by %s, want %s", asText(b), asText(want))
	}
	env.Facts["cost"] = nil
	if b := p.Basis(env); b.Undecided {
		t.Error("a line counts that only tells")
	}
	env.Facts["price"] = nil
	if b := p.Basis(env); !b.Undecided {
		t.Error("what fails to evaluate counts as decided")
	}
	if got := p.StateRead(env); !reflect.DeepEqual(got, []string{"live.current.name"}) {
		t.Errorf("it reads %q", got)
	}
	if b := (*Policy)(nil).Basis(env); b.Undecided || (*Policy)(nil).StateRead(env) != nil {
		t.Error("no policy goes by something")
	}
}

func TestABasisOfAToolIsThatOfItsRules(t *testing.T) {
	tool, env := pricing(t).Tool("set_price"), pricingEnv()
	tier, _ := tool.TierOf(env)
	b := tool.Basis(env)
	if tier != abi.HardGate || len(b.Facts) == 0 || b.Undecided {
		t.Errorf("%s by %s", tier, asText(b))
	}
	env.Facts = nil
	if !tool.Basis(env).Undecided {
		t.Error("a fact that is not there decides")
	}
}

func asText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestTheStateIsReadByName(t *testing.T) {
	for when, want := range map[string]string{
		"state.live.on && has(state.score.mia)": "", "'x' in state": "as a whole", "state['live'] == 1": "as a whole", "state.`live.on`": "a dot in it",
	} {
		_, bad := CompileCondition(when)
		if (bad == nil) != (want == "") || bad != nil && !strings.Contains(bad.Error(), want) {
			t.Errorf("the condition %s: %v", when, bad)
		}
		for _, line := range []string{"{name: a, tools: [b], when: \"" + when + "\"}", "{name: a, tools: [b], when: \"true\", say: \"{{" + when + "}}\"}"} {
			_, bad := ParsePolicy("policy.yaml", []byte("policy: 1\nred_lines:\n  - "+line+"\n"))
			if (bad == nil) != (want == "") || bad != nil && !strings.Contains(bad.Error(), want) {
				t.Errorf("the line %s: %v", line, bad)
			}
		}
	}
}
