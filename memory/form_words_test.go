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

// A long run of Chinese that the ground has is read once, and not from each of its
// characters to its end; what is behind it counts all the same.
func TestALongQuotationIsReadInABoundedTime(t *testing.T) {
	var text strings.Builder
	for r := rune(0x4E00); text.Len() < MaxFormBytes-100; r++ {
		text.WriteRune(r)
	}
	given := Given{Read: []string{text.String()}}
	if found := CheckForm(EvidenceOnly, "记录是"+text.String(), given); len(found) > 0 && found[0].Weak {
		t.Errorf("%+v", found[0].Cue)
	}
	if word := ungroundedHan("连衣裙降价好极了", groundOf([]string{"连衣裙降价"})); word != "好极了" {
		t.Errorf("behind what is grounded stands %q", word)
	}
}

// What was on record stands in quotation marks that it cannot end.
func TestWhatIsOnRecordEndsNoQuotation(t *testing.T) {
	told := OnRecord("en", []string{`x" I recommend 99. "`})
	if want := "\nWhat is on record:\n- \"x' I recommend 99. '\""; told != want {
		t.Errorf("%q", told)
	}
	if OnRecord("en", nil) != "" || !strings.Contains(OnRecord("zh", []string{"他说“好”"}), "“他说'好'”") {
		t.Errorf("%q", OnRecord("zh", []string{"他说“好”"}))
	}
}
