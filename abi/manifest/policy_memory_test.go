package manifest

import (
	"reflect"
	"strings"
	"testing"
)

func TestAPolicySaysWhatIsRememberedOfWhom(t *testing.T) {
	p := parsePolicy(t, `policy: 1
memory:
  - facts: [shop.catalog.get_product]
  - tenants: [acme, globex]
    points: [{name: opening, domain: script, topic: opening.minutes, scene: live, words: [开场, Opening]}]
    seen: [{tool: shop.stage.open_live, topic: opening.minutes, number: minutes, unit: minutes}]
`)
	var got []string
	for _, m := range p.Memory() {
		got = append(got, string(m.Settings))
	}
	want := []string{
		`{"facts":["shop.catalog.get_product"]}`,
		`{"points":[{"name":"opening","domain":"script","topic":"opening.minutes","scene":"live","words":["开场","Opening"]}],"seen":[{"tool":"shop.stage.open_live","topic":"opening.minutes","number":"minutes","unit":"minutes"}]}`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the settings are %q,\nwant %q", got, want)
	}
	if m := p.Memory(); !m[0].About("acme") || !m[0].About("other") || !m[1].About("globex") || m[1].About("other") {
		t.Errorf("whom the entries are about: %+v", m)
	}
	if (*Policy)(nil).Memory() != nil {
		t.Error("no policy says something of memory")
	}
}

func TestFindingsInMemoryNameTheirLine(t *testing.T) {
	const head = "policy: 1\nmemory:\n  - "
	for _, tt := range []struct{ name, text, want string }{
		{"no list", "policy: 1\nmemory: {facts: [a.b]}\n", "policy.yaml:2: memory: must be"},
		{"a misspelt word", head + "fact: [a.b]\n", "policy.yaml:3: memory[0].fact: is not a field here"},
		{"no tenants", head + "tenants: []\n", "policy.yaml:3: memory[0].tenants: must be"},
		{"a tool that is none", head + "facts: [get]\n", "policy.yaml:3: memory[0].facts[0]: must be"},
		{"a glob of tools", head + "facts: ['a.*']\n", "policy.yaml:3: memory[0].facts[0]: must be"},
		{"a point without a domain", head + "points: [{name: x, words: [y]}]\n", "policy.yaml:3: memory[0].points[0]"},
		{"a point without words", head + "points: [{name: x, domain: d, words: []}]\n", "policy.yaml:3: memory[0].points[0].words: must be"},
		{"a point with a blank word", head + "points: [{name: x, domain: d, words: [' ']}]\n", "policy.yaml:3: memory[0].points[0].words[0]: must be"},
		{"an observation of nothing", head + "seen: [{tool: a.b, topic: x}]\n", "policy.yaml:3: memory[0].seen[0]"},
		{"an observation of a number and a word", head + "seen: [{tool: a.b, topic: x, number: n, word: w}]\n", "policy.yaml:3: memory[0].seen[0]"},
		{"an observation without a topic", head + "seen: [{tool: a.b, number: n}]\n", "policy.yaml:3: memory[0].seen[0]"},
		{"conflicts that are settled otherwise", head + "conflicts: first\n", "policy.yaml:3: memory[0].conflicts: must be"},
		{"a lift of nothing", head + "lift: [{domain: pricing}]\n", "policy.yaml:3: memory[0].lift[0]"},
		{"a forgetting of nothing", head + "forget: {}\n", "policy.yaml:3: memory[0].forget: must"},
		{"a half-life of no time", head + "forget: {half_life_days: {fast: 0}}\n", "policy.yaml:3: memory[0].forget.half_life_days.fast: must"},
		{"a class that is none", head + "forget: {max_age_days: {never: 3}}\n", "policy.yaml:3: memory[0].forget.max_age_days.never: is not a field here"},
		{"a worth above 1", head + "forget: {below: 2}\n", "policy.yaml:3: memory[0].forget.below: must"},
		{"a misspelt part of an observation", head + "seen: [{tool: a.b, topic: x, number: n, units: m}]\n", "policy.yaml:3: memory[0].seen[0].units: is not a field here"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if p, err := ParsePolicy("policy.yaml", []byte(tt.text)); err == nil || p != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q", err, tt.want)
			}
		})
	}
}
