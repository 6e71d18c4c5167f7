//go:build !race

package sdk_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// shopCalls are calls as the skills of a shop get them.
func shopCalls() map[string]string {
	around := func(tool, args, more string) string {
		return `{"abi":1,"tool":"` + tool + `","args":` + args + `,"call":{"id":"call_01J8ZQ6Y","key":"3f0c2b8e-3d5e-5b7a-9a64-0c7a52f0a001","attempt":1,"now":"2026-01-15T12:00:00Z","tenant":"shop-17","live":"live-20260115","locale":"zh-CN"}` + more + `}`
	}
	return map[string]string{
		"quote":  around("quote", `{"sku":"1001"}`, ``),
		"find":   around("find", `{"query":"有没有保温杯？"}`, ``),
		"issue":  around("issue", `{"sku":"1001","amount":10.5,"count":100}`, `,"facts":{"price":99.50}`),
		"switch": around("switch", `{"skus":["1001","1002","1003"],"labels":{"b":"新品","a":"<hot>"}}`, `,"state":{"live.current":"1001","live.products":["1001","1002","1003"]}`),
	}
}

// TestTheJSONOfACallTakesUnderHalfOfWhatEncodingJSONTakes counts instructions
// in the sandbox; that of copying input and output is left out on both sides.
func TestTheJSONOfACallTakesUnderHalfOfWhatEncodingJSONTakes(t *testing.T) {
	m := sandboxtest.Load(t, sandboxtest.Build(t, "sdk/testdata/codecs"), abi.Limits{})
	for tool, input := range shopCalls() {
		t.Run(tool, func(t *testing.T) {
			ours, theirs, copied := codecCall(t, m, abi.ExportInvoke, input), codecCall(t, m, "by_encoding_json", input), codecCall(t, m, "by_nothing", input)
			if string(ours.Output) != string(theirs.Output) {
				t.Errorf("%s\nwant\n%s", ours.Output, theirs.Output)
			}
			our, their := ours.Usage.Fuel-copied.Usage.Fuel, theirs.Usage.Fuel-copied.Usage.Fuel
			t.Logf("%d instructions, %d by encoding/json (%.2f), besides %d", our, their, float64(our)/float64(their), copied.Usage.Fuel)
			if our*2 >= their {
				t.Errorf("%d instructions, encoding/json takes %d", our, their)
			}
		})
	}
}

func codecCall(t testing.TB, m *sandbox.Module, export, input string) sandbox.Result {
	t.Helper()
	res := m.Call(context.Background(), sandbox.Request{Export: export, Input: []byte(input)})
	if res.Problem != nil {
		t.Fatalf("%s: %v", export, res.Problem)
	}
	return res
}

func BenchmarkTheJSONOfACall(b *testing.B) {
	m := sandboxtest.Load(b, sandboxtest.Build(b, "sdk/testdata/codecs"), abi.Limits{})
	for tool, input := range shopCalls() {
		for _, export := range []string{abi.ExportInvoke, "by_encoding_json", "by_nothing"} {
			b.Run(tool+"/"+export, func(b *testing.B) {
				for b.Loop() {
					codecCall(b, m, export, input)
				}
			})
		}
	}
}

// TestADescriptionIsMadeOnceAndForAll: it lies in the image that calls start
// from, so that to give it is to copy it.
func TestADescriptionIsMadeOnceAndForAll(t *testing.T) {
	m := sandboxtest.Load(t, sandboxtest.Build(t, "sdk/testdata/codecs"), abi.Limits{})
	described := codecCall(t, m, abi.ExportDescribe, "")
	const perByte = 100 // of copying, and some; to make a description takes thousands
	if most := int64(len(described.Output)) * perByte; len(described.Output) == 0 || described.Usage.Fuel > most {
		t.Errorf("%d bytes took %d instructions, want at most %d", len(described.Output), described.Usage.Fuel, most)
	}
}

// TestWhatIsNestedAsDeepAsItMayIsAnswered: the checker recurses, in a memory of
// the default size.
func TestWhatIsNestedAsDeepAsItMayIsAnswered(t *testing.T) {
	m := sandboxtest.Load(t, sandboxtest.Build(t, "sdk/testdata/codecs"), abi.Limits{})
	for _, tt := range []struct {
		depth int
		code  string
	}{{9_990, `{"ok":true`}, {10_001, `{"ok":false,"problem":{"code":4001`}, {400_000, `{"ok":false,"problem":{"code":4001`}} {
		deep := strings.Repeat("[", tt.depth) + strings.Repeat("]", tt.depth)
		res := codecCall(t, m, abi.ExportInvoke, `{"abi":1,"tool":"find","args":{},"deep":`+deep+`}`)
		if !strings.HasPrefix(string(res.Output), tt.code) {
			t.Errorf("nested %d deep: %.200s", tt.depth, res.Output)
		}
		t.Logf("nested %d deep: %d instructions, %v of memory", tt.depth, res.Usage.Fuel, res.Usage.PeakMemory)
	}
}
