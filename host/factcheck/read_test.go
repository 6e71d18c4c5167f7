package factcheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNumbersAreReadInEveryForm(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"89元", []string{"89"}},
		{"１，２３４．５元", []string{"1234.5"}},
		{"$1,234.50 and 12,34", []string{"1234.5", "12", "34"}},
		{"1,234,567", []string{"1234567"}},
		{"𝟳𝟵 ٧٩", []string{"79", "79"}},
		{"7\u200b9元", []string{"79"}},
		{"1.2万件，3k，5w", []string{"12000", "3000", "50000"}},
		{"八十九 一百二十 一百二 两千三百五 十五 三万五千 一百零二 一〇〇一 八点五", []string{"89", "120", "120", "2350", "15", "35000", "102", "1001", "8.5"}},
		{"999999999999999999999", nil},
		{"0.00001", []string{"0"}},
	} {
		var got []string
		scanNumbers(foldOnly(tt.text), func(n number) { got = append(got, decimal(n.value)) })
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q has %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestNumbersOfDatesTimesAndIDsAreInside(t *testing.T) {
	for text, want := range map[string]bool{
		"2024-05-20": true, "06:30": true, "HAT069": true, "v1.2": true, "certificate_7504069": true, "5/20": true,
		`{"price":89}`: false, "[1,200]": false, "89USD": false, "3k": false, "1001到": false,
	} {
		scanNumbers(text, func(n number) {
			if n.inside != want {
				t.Errorf("%q: inside is %v at %d", text, n.inside, n.start)
			}
		})
	}
}

// TestFoldKeepsPlaces: what was folded is found again in the answer.
func TestFoldKeepsPlaces(t *testing.T) {
	text := "价格１００１，\u200bｓku－９ САТ"
	f := fold(text)
	if f.text != "价格1001,sku-9 CAT" {
		t.Fatalf("folded is %q", f.text)
	}
	for folded, want := range map[string]string{"1001": "１００１", "sku-9": "ｓku－９", "CAT": "САТ"} {
		i := strings.Index(f.text, folded)
		start, end := f.place(i, i+len(folded))
		if got := text[start:end]; got != want {
			t.Errorf("%q stood at %q, want %q", folded, got, want)
		}
	}
}

// TestMoods: which sentences claim that something was done.
func TestMoods(t *testing.T) {
	for text, want := range map[string]bool{
		"I've cancelled it.": true, "We have just updated it": true, "It has been refunded.": true, "I cancelled A and refunded B.": true, "Cancelled order X for you.": true,
		"If it is cancelled, tell me.": false, "Once confirmed, it will be cancelled": false, "I have not cancelled it": false, "I couldn't get it cancelled": false,
		"Has it been cancelled?": false, "the updated price": false, "You have cancelled it": false, "It can be cancelled": false, "After it was cancelled, nothing": false,
		"After checking, I've cancelled it": true, "Updated details:": false,
		"已经改好了": true, "现在已经把1001改到89元了": true, "已将价格调整为新价": true, "改好了！": true, "把它改到新价了": true, "退款成功": true, "券已发": true, "搞定啦": true,
		"改好了吗？": false, "还没改好": false, "改价失败了": false, "如果改好了": false, "我会改到新价": false, "要不要改到新价": false, "正在改价": false, "确认后改价": false,
		"我发现了问题": false, "建议您关注": false, "您已付款": false, "请改好了再说": false,
	} {
		if got := len(readAnswer(text).claims) > 0; got != want {
			t.Errorf("%q claims something: %v, want %v", text, got, want)
		}
	}
}

// TestMembersAreSummedByName: seats are not added to prices of the same name.
func TestMembersAreSummedByName(t *testing.T) {
	got := fmt.Sprint(members(`[{"seats":{"eco":3},"prices":{"eco":152}},{"seats":{"eco":9},"prices":{"eco":103}}]`))
	if want := fmt.Sprint([][]int64{{3 * one, 9 * one}, {152 * one, 103 * one}}); got != want {
		t.Errorf("members are %s, want %s", got, want)
	}
}

// TestWorkIsBounded: however long and odd the texts, a check ends with the
// findings that it may have. Twice the text is far from four times the work; that
// is held by counting what is kept, not by a clock.
func TestWorkIsBounded(t *testing.T) {
	long := strings.Repeat("已把 1001 改到 7,777 元了. I've cancelled ORD-1234567, \"x\" 九百九十九元 ", 4000)
	a := readAnswer(long)
	if len(a.text) > MaxAnswerBytes || len(a.claims) > maxClaims+1 || len(a.numbers) > maxMentions || len(a.ids) > maxTokens || len(a.names) > maxTokens {
		t.Errorf("kept are %d bytes, %d claims, %d numbers, %d ids, %d names", len(a.text), len(a.claims), len(a.numbers), len(a.ids), len(a.names))
	}
	known := Known{User: long, Said: []string{long}, Calls: []Call{{Tool: "x", Args: long, Result: strings.Repeat(`{"a":1.5,`, 100_000), OK: true, Now: true}}}
	if found := Check(strings.Repeat("库存 31337 件。价格 90210 元。", 2000), known); len(found) != MaxFindings {
		t.Errorf("%d findings", len(found))
	}
}
