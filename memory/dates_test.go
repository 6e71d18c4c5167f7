package memory

import (
	"testing"
	"time"
)

func TestAQuestionNamesDates(t *testing.T) {
	now := time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC) // a Tuesday
	for _, tt := range []struct {
		text     string
		in, out  string // days
		noneMore bool
	}{
		{text: "What happened on 8 May, 2023?", in: "2023-05-08", out: "2023-05-09"},
		{text: "on May 8th 2023", in: "2023-05-08", out: "2024-05-08"},
		{text: "the 3rd of July", in: "2021-07-03", out: "2021-07-04"},
		{text: "camping in July", in: "2024-07-20", out: "2024-08-01"},
		{text: "in Sept 2023", in: "2023-09-30", out: "2022-09-30"},
		{text: "in May", in: "2025-05-31", out: "2025-06-01"},
		{text: "during 2022", in: "2022-12-31", out: "2023-01-01"},
		{text: "2026-02-03", in: "2026-02-03", out: "2026-02-04"},
		{text: "2026/2", in: "2026-02-28", out: "2026-03-01"},
		{text: "2026年2月3日播了什么", in: "2026-02-03", out: "2026-02-04"},
		{text: "2月3号那场", in: "2025-02-03", out: "2025-02-04"},
		{text: "5月份的销量", in: "2025-05-09", out: "2025-06-09"},
		{text: "2025年的目标", in: "2025-01-01", out: "2026-01-01"},
		{text: "yesterday", in: "2026-03-09", out: "2026-03-10"},
		{text: "昨天的直播", in: "2026-03-09", out: "2026-03-08"},
		{text: "上周的复盘", in: "2026-03-02", out: "2026-03-10"},
		{text: "Last Month", in: "2026-02-10", out: "2026-03-10"},
		{text: "去年", in: "2025-06-01", out: "2026-03-01"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			covered := func(day string) bool {
				at, err := time.Parse(time.DateOnly, day)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range datesIn(tt.text, now) {
					if d.covers(at.Add(9 * time.Hour)) {
						return true
					}
				}
				return false
			}
			if !covered(tt.in) || covered(tt.out) {
				t.Errorf("%s is covered: %t, want true; %s: %t, want false", tt.in, covered(tt.in), tt.out, covered(tt.out))
			}
		})
	}
}

func TestWhatIsNoDateNamesNone(t *testing.T) {
	for _, text := range []string{
		"", "it may rain", "we march on", "the decision was augmented", "room 12023", "price 19995元", "0月", "marathon", "a janitor in juneau",
		string(make([]byte, maxDatedBytes+1)) + " May 2023",
	} {
		if dates := datesIn(text, time.Time{}); len(dates) != 0 {
			t.Errorf("%.40q names %v", text, dates)
		}
	}
	if dates := datesIn("yesterday", time.Time{}); len(dates) != 0 {
		t.Error("yesterday is known although nobody knows what day it is")
	}
}

func FuzzDatesIn(f *testing.F) {
	for _, seed := range []string{"", "8 May, 2023", "2026年2月3日", "2026-02-31", "上周 last week", "may 99 2099", "99月99日"} {
		f.Add(seed)
	}
	now := time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		dates := datesIn(text, now)
		if most := 3*maxDates + 1 + len(saidFromNow); len(dates) > most {
			t.Fatalf("%d dates, at most %d are looked for", len(dates), most)
		}
		for _, d := range dates {
			d.covers(now)
			if d.year == 0 && d.month == 0 && d.day == 0 && d.span == (Span{}) {
				t.Fatal("a date that says nothing would cover every day")
			}
		}
	})
}
