package manifest

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

func pricing(tb testing.TB) *Skill {
	tb.Helper()
	raw, err := os.ReadFile("../testdata/manifests/pricing.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	s, err := Parse("pricing.yaml", raw, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func pricingEnv() Env {
	return Env{
		Args:  json.RawMessage(`{"sku":"1001","price":69,"currency":"CNY"}`),
		Now:   time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC),
		State: map[string]json.RawMessage{"live.products": json.RawMessage(`["1001","1002"]`)},
		Facts: map[string]json.RawMessage{"price": json.RawMessage(`100`)},
		Last:  func(_, _ string) (*LastCall, error) { return nil, nil },
	}
}

func BenchmarkParse(b *testing.B) {
	raw, err := os.ReadFile("../testdata/manifests/pricing.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Parse("pricing.yaml", raw, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckArgs(b *testing.B) {
	tool, args := pricing(b).Tool("set_price"), pricingEnv().Args
	b.ReportAllocs()
	for b.Loop() {
		if found := tool.CheckArgs(args); found != nil {
			b.Fatal(found)
		}
	}
}

func BenchmarkInScope(b *testing.B) {
	tool, env := pricing(b).Tool("set_price"), pricingEnv()
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := tool.InScope(env); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkTargetsOf(b *testing.B) {
	tool, env := pricing(b).Tool("set_price"), pricingEnv()
	b.ReportAllocs()
	for b.Loop() {
		if ids, err := tool.TargetsOf(env); len(ids) != 1 || err != nil {
			b.Fatal(ids, err)
		}
	}
}

func BenchmarkTierOf(b *testing.B) {
	tool, env := pricing(b).Tool("set_price"), pricingEnv()
	b.ReportAllocs()
	for b.Loop() {
		if _, says := tool.TierOf(env); len(says) != 1 {
			b.Fatal(says)
		}
	}
}
