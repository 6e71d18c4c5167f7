package rules

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// BenchmarkAQuestion is what one policy module adds to one call: the question,
// the sandbox, the opinion. The module is the shop's own.
func BenchmarkAQuestion(b *testing.B) {
	c := newCourt(b)
	c.publish("skills/shop/rules", nil)
	hooks, err := c.load("  - skill: shop.rules@1.0.0\n")
	if err != nil {
		b.Fatal(err)
	}
	call := host.ToolCall{
		Call:  host.Call{ID: "call_1", Tool: "set_price", Session: host.SessionRef{Tenant: "acme", User: "mia", Session: "s1"}, Locale: "zh-CN", Input: 1},
		Skill: "shop.pricing@1.0.0", Effect: abi.Write, Args: json.RawMessage(`{"sku":"1001","price":89,"currency":"CNY"}`),
	}
	reasoning := host.Reasoning{Session: call.Call.Session, Input: 1, Round: 1, Text: "保温杯 1001 现在的价格是 89 元，库存 120 件。"}
	for _, at := range []struct {
		name string
		ask  func() (host.Opinion, error)
	}{
		{"before a call", func() (host.Opinion, error) { return hooks[0].PreToolCall(b.Context(), call) }},
		{"after reasoning", func() (host.Opinion, error) { return hooks[0].PostReasoning(b.Context(), reasoning) }},
	} {
		b.Run(at.name, func(b *testing.B) {
			took := make([]time.Duration, 0, b.N)
			for b.Loop() {
				start := time.Now()
				if o, err := at.ask(); err != nil || o.Problem != nil {
					b.Fatal(o, err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
		})
	}
}
