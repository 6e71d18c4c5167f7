package manifest

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

func TestAPolicyNamesItsModulesInOrderAndItsRanges(t *testing.T) {
	p := parsePolicy(t, `policy: 1
hooks:
  - skill: acme.words@1.2.0
  - skill: acme.prices@2.0.0-rc.1
    sha256: `+strings.Repeat("0a", 32)+`
    tenants: [acme, globex]
    points: [pre_tool_call]
    observer: true
    deadline: 200ms
  - skill: acme.words@1.3.0
egress:
  allow: [10.1.0.0/16, 127.0.0.1/32, "fd00::/64"]
`)
	want := []PolicyHook{
		{Skill: "acme.words", Version: "1.2.0"},
		{Skill: "acme.prices", Version: "2.0.0-rc.1", SHA256: strings.Repeat("0a", 32), Tenants: []string{"acme", "globex"}, Points: []abi.HookPoint{abi.PreToolCall}, Observer: true, Deadline: 200 * time.Millisecond},
		{Skill: "acme.words", Version: "1.3.0"},
	}
	if got := p.Hooks(); !reflect.DeepEqual(got, want) {
		t.Errorf("hooks are %+v, want %+v", got, want)
	}
	opened := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("fd00::/64")}
	if got := p.Opened(); !reflect.DeepEqual(got, opened) {
		t.Errorf("opened are %v, want %v", got, opened)
	}
	if none := (*Policy)(nil); none.Hooks() != nil || none.Opened() != nil {
		t.Error("no policy has hooks or opens something")
	}
}

func TestFindingsInHooksAndEgressNameTheirLine(t *testing.T) {
	hook := func(more string) string { return "policy: 1\nhooks:\n  - skill: a.b@1.0.0\n" + more }
	for _, tt := range []struct{ name, text, want string }{
		{"no version", "policy: 1\nhooks:\n  - skill: a.b\n", "policy.yaml:3: hooks[0].skill: must be"},
		{"a range of versions", "policy: 1\nhooks:\n  - skill: a.b@^1.0\n", "policy.yaml:3: hooks[0].skill: must be"},
		{"a short version", "policy: 1\nhooks:\n  - skill: a.b@1.0\n", `policy.yaml:3: hooks[0].skill: "1.0" is not a semantic version`},
		{"a module twice", hook("  - skill: a.b@1.0.0\n"), "policy.yaml:4: hooks[1].skill: a.b@1.0.0 stands twice"},
		{"no tenants", hook("    tenants: []\n"), "policy.yaml:4: hooks[0].tenants: must be"},
		{"no points", hook("    points: []\n"), "policy.yaml:4: hooks[0].points: must be"},
		{"a point that is none", hook("    points: [on_alert]\n"), "policy.yaml:4: hooks[0].points[0]: must be one of"},
		{"no time", hook("    deadline: 0s\n"), "policy.yaml:4: hooks[0].deadline: 0s is not more than 0"},
		{"too much time", hook("    deadline: 11s\n"), "policy.yaml:4: hooks[0].deadline: 11s is not more than 0 and at most 10s"},
		{"more time than there is", hook("    deadline: " + strings.Repeat("999999h", 2) + "\n"), "deadline"},
		{"a time that nobody can count", hook("    deadline: " + strings.Repeat("999999h", 1) + "999999h9h\n"), "hooks"},
		{"a misspelt word", hook("    observe: true\n"), "policy.yaml:4: hooks[0].observe: is not a field here"},
		{"a digest that is none", hook("    sha256: abc\n"), "policy.yaml:4: hooks[0].sha256: must be"},
		{"too many", "policy: 1\nhooks:\n" + manyHooks(17), "hooks: must be"},
		{"an address", "policy: 1\negress:\n  allow: [10.1.2.3]\n", `policy.yaml:3: egress.allow[0]: "10.1.2.3" is not a range`},
		{"a host", "policy: 1\negress:\n  allow: [10.1.0.0/16, db.internal]\n", `policy.yaml:3: egress.allow[1]: "db.internal" is not a range`},
		{"bits outside of the range", "policy: 1\negress:\n  allow: [10.1.2.3/16]\n", `policy.yaml:3: egress.allow[0]`},
		{"a misspelt allow", "policy: 1\negress:\n  alow: []\n", "policy.yaml:3: egress.alow: is not a field here"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if p, err := ParsePolicy("policy.yaml", []byte(tt.text)); err == nil || p != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q", err, tt.want)
			}
		})
	}
}

func manyHooks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  - skill: a.b@1.0.%d\n", i)
	}
	return b.String()
}
