package memory

import (
	"math"
	"testing"
)

func TestCompare(t *testing.T) {
	words := func(not bool, w ...string) Claim { return Claim{Topic: "t", Words: w, Not: not} }
	span := func(low, high float64, unit string) Claim { return Between("t", low, high, unit) }
	not := func(c Claim) Claim { c.Not = true; return c }
	for _, tt := range []struct {
		name       string
		said, seen Claim
		strict     bool
		want       Accord
	}{
		{"the same", span(10, 10, "min"), span(10, 10, "min"), false, Agrees},
		{"within the tolerance", span(10, 10, "min"), span(10, 12, "min"), false, Agrees},
		{"at its very end", span(10, 10, "min"), span(8, 12, "min"), false, Agrees},
		{"a little beyond it", span(10, 10, "min"), span(10, 12.1, "min"), false, Undecided},
		{"apart", span(10, 10, "min"), span(13, 15, "min"), false, Contradicts},
		{"strict has no tolerance", span(10, 10, "min"), span(10, 12, "min"), true, Contradicts},
		{"a limit has none", AtMost("t", 10, "min"), span(10, 10.5, "min"), false, Contradicts},
		{"at the limit", AtMost("t", 10, "min"), span(3, 10, "min"), false, Agrees},
		{"a least", AtLeast("t", 59, "元"), span(58.9, 70, "元"), false, Contradicts},
		{"an open end in another unit", AtLeast("t", 1, "小时"), span(61, 90, "分钟"), false, Agrees},
		{"hours and minutes", span(1, 1, "h"), span(60, 60, "min"), false, Agrees},
		{"yuan and cents", span(1, 1, "元"), span(99, 101, "分"), false, Agrees},
		{"ten thousands", span(1, 1, "万元"), span(10000, 10000, "元"), true, Agrees},
		{"minutes and yuan", span(10, 10, "min"), span(10, 10, "元"), false, Undecided},
		{"a unit that is missing", span(10, 10, "min"), span(20, 20, ""), false, Contradicts},
		{"but for percentages", span(30, 30, "%"), span(0.3, 0.3, ""), false, Undecided},
		{"an unknown unit with itself", span(3, 3, "Boxes"), span(3, 3, "boxes"), false, Agrees},
		{"an unknown unit with another", span(3, 3, "boxes"), span(3, 3, "crates"), false, Undecided},
		{"negative numbers", span(-10, -10, ""), span(-11, -9, ""), false, Agrees},
		{"no number", span(math.NaN(), 1, ""), span(1, 1, ""), true, Undecided},
		{"a range that is upside down", span(2, 1, ""), span(1, 1, ""), true, Undecided},
		{"an excluded range that is met", not(span(10, 20, "")), span(12, 12, ""), false, Contradicts},
		{"an excluded range that is left", not(span(10, 20, "")), span(21, 30, ""), false, Agrees},
		{"an excluded range that is touched", not(span(10, 20, "")), span(15, 30, ""), false, Undecided},
		{"or strictly", not(span(10, 20, "")), span(15, 30, ""), true, Contradicts},
		{"what is never seen was said", span(10, 10, ""), not(span(5, 15, "")), false, Contradicts},
		{"what is never seen is more than was excluded", not(span(10, 10, "")), not(span(5, 15, "")), false, Agrees},
		{"what is never seen is something else", span(10, 10, ""), not(span(50, 60, "")), false, Undecided},
		{"one of the words", words(false, "a", "b"), words(false, "a"), false, Agrees},
		{"none of the words", words(false, "a", "b"), words(false, "c"), false, Contradicts},
		{"a word and another", words(false, "a"), words(false, "a", "c"), false, Undecided},
		{"or strictly", words(false, "a"), words(false, "a", "c"), true, Contradicts},
		{"a word that is excluded", words(true, "a"), words(false, "A "), false, Contradicts},
		{"another word than is excluded", words(true, "a"), words(false, "b"), false, Agrees},
		{"a word that is never seen", words(false, "a"), words(true, "a", "b"), false, Contradicts},
		{"words and numbers cannot be compared", words(false, "a"), span(1, 1, ""), false, Undecided},
		{"no claim at all", Claim{Topic: "t"}, Claim{Topic: "t"}, true, Undecided},
		{"another topic", span(1, 1, ""), Between("u", 9, 9, ""), true, Undecided},
		{"no topic", Claim{Words: []string{"a"}}, Claim{Words: []string{"b"}}, true, Undecided},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Compare(tt.said, tt.seen, 0.2, tt.strict); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestNumbersAreRead(t *testing.T) {
	for text, want := range map[string][]float64{
		"10分钟": {10}, "10 到 12 分钟": {10, 12}, "1,234.5元": {1234.5}, "十分钟": {10}, "十二": {12}, "二十": {20}, "一百零五": {105}, "一百二": {120},
		"两万五": {25000}, "三千": {3000}, "两百块": {200}, "半小时": {0.5}, "三点五分钟": {3.5}, "1.5万": {15000}, "一个人": nil, "一起": nil, "三分钟": {3},
		"10min": {10}, "sku10x9": nil, "a10": nil, "ten minutes": {10}, "often": nil, "1234567890123": nil, "三四": nil, "": nil, "第2场59.9元": {2, 59.9}, "万一": nil,
	} {
		got := numerals(text)
		same := len(got) == len(want)
		for i := range got {
			same = same && math.Abs(got[i].value-want[i]) < 1e-9 && got[i].start < got[i].end && got[i].end <= len(text)
		}
		if !same {
			t.Errorf("%q has %+v, want %v", text, got, want)
		}
	}
}

// Folding keeps every byte in its place: what is heard is cut from the message.
func TestTraditionalCharactersAreFoldedInPlace(t *testing.T) {
	if got := simplified.Replace("價格不能低於59元，以後開場講10分鐘"); got != "价格不能低于59元，以后开场讲10分钟" {
		t.Errorf("folded to %q", got)
	}
	for _, r := range traditional + simple {
		if len(string(r)) != 3 {
			t.Errorf("%q has %d bytes", r, len(string(r)))
		}
	}
	if len([]rune(traditional)) != len([]rune(simple)) {
		t.Error("the two lists are not of one length")
	}
	heard := Listen(Message{Text: "價格不能低於59元"})
	if len(heard) != 1 || heard[0].Text != "價格不能低於59元" || heard[0].Claim == nil || *heard[0].Claim.Low != 59 {
		t.Errorf("heard %+v", heard)
	}
}
