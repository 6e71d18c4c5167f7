package memory

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An answer of testdata/forms: "strong" recommends, "weak" proposes, "none" gives
// evidence alone. Taken is set where the rules are known to read it otherwise.
type formAnswer struct {
	Says     string   `json:"says"`
	Taken    string   `json:"taken"`
	Answer   string   `json:"answer"`
	Recalled []string `json:"recalled"` // the memories that it was given
}

// readLines reads a file of testdata with an object in each line.
func readLines[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		all = append(all, one)
	}
	return all
}

// saysOf gives what CheckForm takes an answer for.
func saysOf(answer string, recalled ...string) string {
	switch {
	case len(CheckForm(Refer, answer, Given{Memories: recalled})) > 0:
		return "strong"
	case len(CheckForm(EvidenceOnly, answer, Given{Memories: recalled, Read: []string{answer}})) > 0:
		return "weak"
	}
	return "none"
}

func TestAnswersOfLowTrustCannotRecommend(t *testing.T) {
	for _, name := range []string{"zh.jsonl", "en.jsonl", "fresh.jsonl", "later.jsonl"} {
		answers := readLines[formAnswer](t, filepath.Join("forms", name))
		if len(answers) < 40 {
			t.Errorf("%s has %d answers", name, len(answers))
		}
		for _, a := range answers {
			if got := saysOf(a.Answer, a.Recalled...); got != cmp.Or(a.Taken, a.Says) {
				t.Errorf("%s: %q is taken for %s, and is %s: %+v", name, a.Answer, got, a.Says, CheckForm(EvidenceOnly, a.Answer, Given{}))
			}
			if found := CheckForm(Recommend, a.Answer, Given{}); len(found) > 0 {
				t.Errorf("%q may not be said with high trust: %+v", a.Answer, found)
			}
		}
	}
}

func TestNoDisguiseHidesARecommendation(t *testing.T) {
	for _, answer := range []string{
		// words that exempt something else
		"您的商品建议降价到99元", "您的连衣裙推荐定价99元", "根据之前的数据推荐您降到99元", "历史数据显示建议降价到99元", "不是89而是建议99元",
		"无论如何建议您降到99元", "没有别的办法应该降到99元", "未来三天建议降到99元", "平台和我都推荐99元", "上次建议您降价，这次推荐您降到99元",
		"平台推荐过一次，但我推荐99元", "平台推荐59元而我推荐99元", "建议过两天降价",
		"I cannot see any reason to wait and I recommend 99.", "The brand and I recommend 99.", "No question you should lower the price to 99.",
		"Your price should drop to 99 tonight.", "The brand recommends 59 but I recommend 99",
		// orders and praise
		"把价格定在99元", "set it to 99", "go with 99", "Price at 99 tonight.", "Drop the price to 99.", "the data are clear so set it to 99",
		"99元最合适", "定价99元是最优解", "最优解", "99最好", "The sweet spot is 99.", "99 is the right call.", "The optimal price is 99.", "99 it is",
		// letters that look like others, and spaces
		"建 议 降 价 到 99", "建　议降价", "降價到99元是最佳選擇，建議立即執行", "I rеcommend 99", "Ι rεcοmmend 99", "I rec​ommend 99",
		"I récommend 99", "I r e c o m m e n d 99", "𝗜 𝗿𝗲𝗰𝗼𝗺𝗺𝗲𝗻𝗱 99", "ⓘ ⓡⓔⓒⓞⓜⓜⓔⓝⓓ 99", "I｠recommend 99", "建ㅤ议降价",
	} {
		if got := saysOf(answer); got != "strong" {
			t.Errorf("%q is taken for %s", answer, got)
		}
	}
}

// A quotation is somebody else's where they are named right beside it, or a memory's
// where it is found in what was recalled.
func TestAQuotationIsEvidenceOnlyOfWhomItIs(t *testing.T) {
	memory := "Mia's rule of May: always\nlower it to 99 by Friday, you should not wait."
	for _, tt := range []struct {
		answer, want string
		recalled     []string
	}{
		{"您在3月1日说过：“应该降到99元”", "none", nil},
		{"您（3月1日）说：“应该降到99元”", "none", nil},
		{"观众留言：“建议降到99元”", "none", nil},
		{`You told me on 1 March: "we should lower it to 99"`, "none", nil},
		{`You said (m5, 11 February): "we should lower it to 99"`, "none", nil},
		{`Viewers commented "you should lower it to 99"`, "none", nil},
		{"记录：“建议立即降价到99元”", "strong", nil},
		{`Record: "I recommend lowering it to 99 now"`, "strong", nil},
		{"我说过：“应该降到99元”", "strong", nil},
		{"您说得对，答案：“应该降到99元”", "strong", nil},
		{`You said a lot. Memory: "you should lower it to 99"`, "strong", nil},
		{`I and the viewers said: "you should lower it to 99"`, "strong", nil},
		{`Memory m5 says: "Always lower it to 99 by Friday, you should not wait"`, "none", []string{"other", memory}},
		{`Memory m5 says: "Always lower it to 59, you should not wait"`, "strong", []string{"other", memory}},
		{`I have one word: "should"`, "strong", []string{"should"}},
		{`"You should not wait" is in m5, and you should lower it`, "strong", []string{memory}},
		{`"You should not wait" is in m5`, "strong", nil},
		{"“建议降价到99元”（m3）", "none", []string{"供应商：建议降价到99元。"}},
	} {
		if got := saysOf(tt.answer, tt.recalled...); got != tt.want {
			t.Errorf("%q with %q is taken for %s, want %s", tt.answer, tt.recalled, got, tt.want)
		}
	}
}

// What lets the first words of a clause off does not let off its last, and too many of
// one are no sentence of evidence.
func TestEachPlaceOfAWordIsRead(t *testing.T) {
	given := Given{Read: []string{"观众建议，您说应该，我建议降价", "the brand recommends it for us"}}
	for _, tt := range [][2]string{{"观众建议", "我建议降价"}, {"the brand recommends it for us ", "I recommends 99"}, {"您说应该", "我说应该"}} {
		few, many := strings.Repeat(tt[0], 3), strings.Repeat(tt[0], (MaxFormBytes-100)/len(tt[0]))
		if len(CheckForm(EvidenceOnly, few, given)) > 0 || len(CheckForm(EvidenceOnly, few+tt[1], given)) == 0 || len(CheckForm(EvidenceOnly, many, given)) == 0 {
			t.Errorf("%q a few times: %+v; and %q", tt[0], CheckForm(EvidenceOnly, few, given), tt[1])
		}
	}
}

// An answer of quotations alone is read in a bounded time, and the last one is found.
func TestTooManyQuotationsAreTheAnswersOwn(t *testing.T) {
	said, given := "您说：“应该降价”。", Given{Read: []string{"应该降价吗？", "好"}}
	if found := CheckForm(EvidenceOnly, strings.Repeat(said, maxQuotations), given); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	if len(CheckForm(EvidenceOnly, strings.Repeat("“好”。", maxQuotations)+"我说：“应该降价”。", given)) == 0 {
		t.Error("a recommendation after many quotations is not found")
	}
}

// FuzzCheckForm: a form that allows less never finds less, and what is found can be
// told.
func FuzzCheckForm(f *testing.F) {
	for _, answer := range []string{"建议降到59元。", "You said: “should", "请", "never ", "把\n“」”到", "\xff应该\u200b吧", "1. - > 降价 - 59"} {
		f.Add(answer)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		low, middling := CheckForm(EvidenceOnly, answer, Given{}), CheckForm(Refer, answer, Given{})
		if len(low) < len(middling) || len(low) > maxFormFindings || len(CheckForm(Recommend, answer, Given{})) > 0 {
			t.Fatalf("%q: %d findings with low trust, %d with middling trust", answer, len(low), len(middling))
		}
		for _, found := range low {
			if found.Words == "" || found.Cue == "" || len(found.Words) > maxToldBytes+len("…") {
				t.Fatalf("%q: %+v", answer, found)
			}
		}
	})
}

// What the user reads in the place of an answer says what was held back, why, and what to
// do; it is itself no advice on the matter.
func TestAWithheldAnswerIsExplained(t *testing.T) {
	for _, tt := range []struct {
		form   Form
		locale string
		want   []string
	}{
		{EvidenceOnly, "en", []string{"advice", `"pricing"`, "0.35 of 1", "low", "figures", "0.70"}},
		{Refer, "en", []string{"a recommendation", "0.35", "middling", "reference"}},
		{EvidenceOnly, "zh-CN", []string{"含有建议", "“pricing”", "0.35", "较低", "数据和记录", "0.70"}},
		{Refer, "zh-CN", []string{"明确的建议", "中等", "参考"}},
		{Recommend, "en", nil},
	} {
		text := tt.form.Withheld("pricing", 0.35, tt.locale)
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s in %s: %q lacks %q", tt.form, tt.locale, text, want)
			}
		}
		if (text == "") != (tt.want == nil) || strings.Contains(text, "%!") {
			t.Errorf("%s in %s: %q", tt.form, tt.locale, text)
		}
	}
}
