package dispatch

import (
	"context"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
)

// BenchmarkGateOfARead is everything of the gate before a read runs, without
// the sandbox and the records: resolve, check, breaker over five calls, a hook,
// a red line and the tier. What state a skill reads comes on top, a query each.
func BenchmarkGateOfARead(b *testing.B) {
	g := newGate(b, func(m *abi.Manifest) { m.Capabilities.State, m.Reducer = nil, false })
	hooks, err := host.NewHooks(host.Hook{Name: "guard", PreToolCall: func(context.Context, host.ToolCall) (host.Opinion, error) { return host.Opinion{}, nil }})
	if err != nil {
		b.Fatal(err)
	}
	g.d.Hooks = hooks
	g.d.Policy, err = manifest.ParsePolicy("policy.yaml", []byte("policy: 1\nred_lines: [{name: no-ink, tools: ['*'], when: \"args.item == 'ink'\"}]\n"))
	if err != nil {
		b.Fatal(err)
	}
	c := call("total", `{"item":"pen"}`)
	for i, item := range []string{"a", "b", "c", "d", "e"} {
		c.Recent = append(c.Recent, host.Past{Tool: "total", Args: `{"item":"` + item + `"}`, Status: host.Done, Result: item, Round: i})
	}
	c.Round = 6
	ctx := context.Background()
	for b.Loop() {
		f := newFlight(g.d, g.catalog, c)
		for _, do := range []func(context.Context) *abi.Problem{f.resolve, f.check, f.breaker, f.beforeHooks, f.gate} {
			if problem := do(ctx); problem != nil {
				b.Fatal(problem)
			}
		}
	}
}
