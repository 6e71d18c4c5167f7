package manifest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

const policyText = `policy: 1
red_lines:
  - name: calm-prices
    tools: [shop.pricing.*]
    when: count('set_price', duration('10m')) >= 20
    say: "{{tool}} was used 20 times in 10 minutes."
  - name: slow-switches
    tools: [switch_product]
    when: last(tool, args.sku) != null && now - last(tool, args.sku).time < duration('30s')
    tier: hard-gate
  - name: small-shops
    tools: ["*"]
    when: user.id == 'eve' && args.price > 100
    tier: soft-gate
`

func parsePolicy(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := ParsePolicy("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRedLinesApplyToTheirToolsWhereTheyHold(t *testing.T) {
	p := parsePolicy(t, policyText)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name string
		edit func(*Env)
		want string
	}{
		{"nothing happened", func(*Env) {}, ""},
		{"often enough", func(e *Env) { e.Count = func(string, time.Duration) (int, error) { return 20, nil } }, "calm-prices:block:set_price was used 20 times in 10 minutes."},
		{"another skill", func(e *Env) {
			e.Skill = "shop.stage"
			e.Count = func(string, time.Duration) (int, error) { return 20, nil }
		}, ""},
		{"a moment ago", func(e *Env) {
			e.Tool = "switch_product"
			e.Last = func(tool, target string) (*LastCall, error) {
				if tool != "switch_product" || target != "7" {
					return nil, nil
				}
				return &LastCall{Time: now.Add(-29 * time.Second)}, nil
			}
		}, "slow-switches:hard-gate:"},
		{"a while ago", func(e *Env) {
			e.Tool = "switch_product"
			e.Last = func(string, string) (*LastCall, error) { return &LastCall{Time: now.Add(-30 * time.Second)}, nil }
		}, ""},
		{"who it is", func(e *Env) { e.User = map[string]any{"id": "eve"} }, "small-shops:soft-gate:"},
		{"an unknown user counts", func(e *Env) { e.User = nil }, "small-shops:soft-gate:Whether"},
		{"an unknown past counts", func(e *Env) { e.Count = nil }, "calm-prices:block:Whether"},
		{"a store that fails counts", func(e *Env) { e.Count = func(string, time.Duration) (int, error) { return 0, errors.New("x") } }, "calm-prices:block:Whether"},
		{"a last that fails counts", func(e *Env) {
			e.Tool = "switch_product"
			e.Last = func(string, string) (*LastCall, error) { return nil, errors.New("x") }
		}, "slow-switches:hard-gate:Whether"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := Env{
				Args: json.RawMessage(`{"sku":"7","price":120}`), User: map[string]any{"id": "mia"}, Now: now, Tool: "set_price", Skill: "shop.pricing",
				Last:  func(string, string) (*LastCall, error) { return nil, nil },
				Count: func(string, time.Duration) (int, error) { return 19, nil },
			}
			tt.edit(&env)
			var got []string
			for _, c := range p.Crossed(env) {
				got = append(got, c.Name+":"+string(c.Tier)+":"+c.Say)
			}
			if text := strings.Join(got, ";"); !strings.HasPrefix(text, tt.want) || tt.want == "" && text != "" || len(got) > 1 {
				t.Errorf("crossed %q, want %q", text, tt.want)
			}
		})
	}
	if got := (*Policy)(nil).Crossed(Env{}); got != nil {
		t.Errorf("no policy gives %v", got)
	}
}

func TestFindingsInAPolicyNameTheirLine(t *testing.T) {
	line := func(text string) string { return "policy: 1\nred_lines:\n  - name: one\n    tools: ['*']\n" + text }
	for _, tt := range []struct{ name, text, want string }{
		{"not YAML", "policy: [", "policy.yaml:"},
		{"no version", "red_lines: []\n", "policy"},
		{"an unknown word", "policy: 1\nredlines: []\n", "policy.yaml:2"},
		{"an unknown tier", line("    when: 'true'\n    tier: forbid\n"), "policy.yaml:6"},
		{"auto would loosen", line("    when: 'true'\n    tier: auto\n"), "policy.yaml:6"},
		{"not CEL", line("    when: args.x >\n"), "policy.yaml:5"},
		{"not a condition", line("    when: 1 + 1\n"), "policy.yaml:5: red_lines[0].when: gives int, but must give bool"},
		{"a misspelt name", line("    when: arg.x == 1\n"), "did you mean args?"},
		{"a misspelt function", line("    when: counted('x', duration('1m')) > 1\n"), "policy.yaml:5"},
		{"wrong arguments", line("    when: count('x', 5) > 1\n"), "policy.yaml:5"},
		{"a text that does not compile", line("    when: 'true'\n    say: '{{tol}}'\n"), "policy.yaml:6"},
		{"no tools", "policy: 1\nred_lines:\n  - name: one\n    tools: []\n    when: 'true'\n", "policy.yaml:4"},
		{"a name twice", line("    when: 'true'\n  - name: one\n    tools: ['*']\n    when: 'true'\n"), "policy.yaml:6: red_lines[1].name: the name one stands twice"},
		{"too large", "# " + strings.Repeat("x", MaxFileBytes), "is larger than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ParsePolicy("policy.yaml", []byte(tt.text))
			if err == nil || p != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q", err, tt.want)
			}
			var problem *abi.Problem
			if !errors.As(err, &problem) {
				t.Errorf("%v carries no problem", err)
			}
		})
	}
}

func TestARedLineThatCostsTooMuchApplies(t *testing.T) {
	p := parsePolicy(t, "policy: 1\nred_lines: [{name: dear, tools: ['*'], when: \"args.n.exists(x, args.n.exists(y, x + y == -1))\"}]\n")
	list, _ := json.Marshal(map[string]any{"n": make([]int, 1000)})
	if got := p.Crossed(Env{Args: list, Tool: "a"}); len(got) != 1 || got[0].Tier != abi.Block {
		t.Errorf("crossed %v", got)
	}
}

// FuzzPolicy: no text makes the reader or the lines of what it reads fail
// otherwise than by findings.
func FuzzPolicy(f *testing.F) {
	seeds, err := filepath.Glob("testdata/policy/*.yaml")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range seeds {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(policyText))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParsePolicy("policy.yaml", text)
		if (p == nil) == (err == nil) {
			t.Fatalf("it gave %v and %v", p, err)
		}
		for _, c := range p.Crossed(Env{Args: json.RawMessage(`{"sku":"7","price":1}`), Tool: "set_price", Skill: "shop.pricing"}) {
			if c.Tier.Rank() == 0 {
				t.Fatalf("a red line asks for %s", c.Tier)
			}
		}
	})
}
