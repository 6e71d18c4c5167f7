package memory

import (
	"strings"
	"testing"
	"time"
)

func TestAnAnswerAsksWhatItHasOfTheUsersWords(t *testing.T) {
	const minutes, english, low, high = "每次开场讲10分钟", "Openings always take 10 minutes", "价格绝对不能低于59元", "价格绝对不能超过50元"
	ten := Between("opening.minutes", 10, 10, "min")
	said := Node{ID: "m", Text: minutes, Claim: &ten}
	q := Question{Said: ten, Seen: Between("opening.minutes", 3, 3, "min"), Gaps: []string{"1", "2", "3"}}
	first, second := Node{Text: low, At: time.Unix(0, 0)}, Node{Text: high, At: time.Unix(9, 0)}
	for _, tt := range []struct {
		answer string
		about  []string
		want   bool
	}{
		{q.Text(said, "zh"), []string{minutes}, true},
		{"好的。\n" + q.Text(said, "en"), []string{minutes}, true},
		{q.ChoiceText(first, second, "zh"), []string{low, high}, true},
		{q.ChoiceText(first, second, "en"), []string{low, high}, true},
		{"您说过开场讲10分钟，最近都是3分钟，要不要改", []string{minutes}, true},
		{"Earlier you said that openings take 10 minutes; lately it was 3. Should I change that?", []string{english}, true},
		{"价格不能低于59元，对吧？", []string{low, high}, true}, // its terms are those of both
		{"您说过开场讲10分钟，我照做。", []string{minutes}, false},
		{"好的，还有别的要求吗？", []string{minutes}, false},
		{"Shall I start?", []string{english}, false},
		{"", []string{minutes}, false},
		{"吗？", nil, false},
		{strings.Repeat("好", MaxHeardBytes) + q.Text(said, "zh"), []string{minutes}, false},
	} {
		if got := Asks(tt.answer, tt.about...); got != tt.want {
			t.Errorf("%.80q asks about %q: %v", tt.answer, tt.about, got)
		}
	}
}
