package window

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/model"
)

func TestAMeterLearnsTheModelsOwnCount(t *testing.T) {
	var m Meter
	if m.Tokens(1000) != 1000 || m.CacheHitRate() != 0 {
		t.Error("a new meter has learned something")
	}
	for range 10 {
		m = m.Observe(1000, model.Usage{Input: 1500, Cached: 1200, Output: 100})
	}
	if got := m.Tokens(1000); got != 1500 {
		t.Errorf("1000 are %d", got)
	}
	if m.CacheHitRate() != 0.8 || m.Uncached() != 10*(300+100) {
		t.Errorf("the hit rate is %v, uncached %d", m.CacheHitRate(), m.Uncached())
	}
	m = m.Observe(1000, model.Usage{Input: 900})
	if got := m.Tokens(1000); got != 1300 {
		t.Errorf("after another count 1000 are %d", got)
	}
	var stored Meter
	if data, err := json.Marshal(m); err != nil || json.Unmarshal(data, &stored) != nil || stored != m {
		t.Errorf("it is stored as %+v, %v", stored, err)
	}
}

func TestAMeterIsNotMisled(t *testing.T) {
	for name, u := range map[string]model.Usage{"nobody counts": {}, "another request's count": {Input: 100_000}, "far too few": {Input: 10}, "negative": {Input: -5}} {
		if m := (Meter{Ratio: 1.2}).Observe(1000, u); m.Ratio != 1.2 {
			t.Errorf("%s: the ratio is %v", name, m.Ratio)
		}
	}
	if m := (Meter{}).Observe(100, model.Usage{Input: 100, Cached: 1000}); m.CacheHitRate() != 1 {
		t.Errorf("more cached than there was: %v", m.CacheHitRate())
	}
}

func TestTokensOfLittleTexts(t *testing.T) {
	for text, want := range map[string][2]int{
		"": {0, 0}, "a": {1, 1}, "hello world": {2, 2}, "你": {1, 2}, "   ": {1, 1}, "\n\n": {1, 1}, "12345678": {3, 3}, "🙂": {1, 2}, "\xff\xfe": {1, 3}, "Привет": {1, 4},
		"　　x": {1, 3}, " \n \n x": {1, 4},
	} {
		if got := Tokens(text); got < want[0] || got > want[1] {
			t.Errorf("%q has %d tokens, want %v", text, got, want)
		}
	}
}

func TestTokensAllocateNothing(t *testing.T) {
	text := strings.Repeat(`{"sku":"1001","title":"保温杯 Thermos 500ml"} and some words, `, 100)
	if n := testing.AllocsPerRun(10, func() { Tokens(text) }); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
}

func FuzzTokens(f *testing.F) {
	for _, seed := range []string{"hello", "你好，世界", "\u3000\u3000 x", "\xff", "a\n \t\nb", "{}[]()"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := Tokens(text)
		if n < 0 || n > 2*len(text)+1 {
			t.Errorf("%q has %d tokens", text, n)
		}
		if both := Tokens(text + text); both+2 < n {
			t.Errorf("%q has %d tokens, twice it %d", text, n, both)
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	text := strings.Repeat(`{"sku":"1001","title":"保温杯 Thermos 500ml"} and some words, `, 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Tokens(text)
	}
}

func BenchmarkFitThousandMessages(b *testing.B) {
	c := shopTalk()
	for len(c.Messages) < 1000 {
		c.Messages = append(c.Messages, shopTalk().Messages...)
	}
	c.Messages = append(c.Messages, user("and now?"))
	for name, window := range map[string]int{"nothing to do": 200_000, "compacted": 16_000} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Fit(c, Budget{Window: window}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
