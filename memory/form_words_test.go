package memory

import (
	"strings"
	"testing"
)

func TestAnAnswerOfLowTrustIsGrounded(t *testing.T) {
	given := Given{
		Memories: []string{"m4: on 3 May you said that the margin at 59 was thin", "5月3日说过59元那场毛利太薄"},
		Read:     []string{`query_sales {"sku":"1001","sold":412,"returns":9,"name":"Käthe 连衣裙"}`, "should I lower the dress to 59? 连衣裙要不要降价？"},
	}
	for _, tt := range []struct {
		answer, cue string // of the first finding; "" where it passes
	}{
		{"Käthe 1001 sold 412, with 9 returns. The decision is yours.", ""},
		{"On 3 May you said that the margin at 59 was thin (m4).", ""},
		{"连衣裙卖出412件，退货9件；您5月3日说过59元那场“毛利太薄”。由您决定。", ""},
		{"| SKU | Sold |\n|---|---|\n| 1001 | 412 |", ""},
		{"- 59: 412 sold\n- 69: 287 sold", ""},
		{"📊 1001 sold 412.", ""},
		{"Let me look at the record.", ""},
		{"我查一下记录。", ""},
		{"59 crushes it, 412 sold.", "crushes"},
		{"1001 sold 412. The crowd adores it.", "crowd adores"},
		{"卖出412件，越卖越旺。", "越"},
		{"Pegasus sold 412.", "pegasus"}, // a name that it was not given
		{"59.", "a sentence that reports nothing"},
		{"59元。", "a sentence that reports nothing"},
		{"Yes.", "yes"},
		{"降价。", "a sentence that reports nothing"},
		{"由您决定，59元。", "a sentence that reports nothing"},
		{"The dress sold 412.\n59.", "a sentence that reports nothing"},
		{"So it is 59.", "a sentence that reports nothing"},
		{"今晚的价格是59元。", "a sentence that reports nothing"},
		{"Tonight: 59\nTomorrow: 69", "a sentence that reports nothing"},
		{"59 sold 412 👍", "a sign that may be a verdict"},
		{"The dress at 59 ✅, at 69 ❌", "a sign that may be a verdict"},
		{`The record says: "go big on 59"`, "go"}, // nobody said it
	} {
		found := CheckForm(EvidenceOnly, tt.answer, given)
		if (len(found) == 0) != (tt.cue == "") {
			t.Errorf("%q: %+v", tt.answer, found)
			continue
		}
		named := tt.cue == ""
		for _, f := range found {
			named = named || strings.Contains(tt.cue, f.Cue) || strings.Contains(f.Cue, tt.cue)
		}
		if !named {
			t.Errorf("%q is withheld for %+v; want %q", tt.answer, found, tt.cue)
		}
		if cues := CheckForm(Refer, tt.answer, given); len(cues) > len(found) {
			t.Errorf("%q: with middling trust %+v", tt.answer, cues)
		}
	}
}

// What an answer was given is read up to a bound, the newest first.
func TestWhatGroundsAnAnswerIsBounded(t *testing.T) {
	long := strings.Repeat("zyzzyva ", maxGroundBytes/8)
	if len(CheckForm(EvidenceOnly, "The quokka sold 412.", Given{Read: []string{"quokka", long}})) == 0 {
		t.Error("what lies beyond the bound grounds an answer")
	}
	if found := CheckForm(EvidenceOnly, "The quokka sold 412.", Given{Read: []string{long, "quokka"}}); len(found) > 0 {
		t.Errorf("the newest text is not read: %+v", found)
	}
}
