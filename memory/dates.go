package memory

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Bounds of the dates of one question.
const (
	maxDatedBytes = 4 << 10 // of a question; longer ones are texts, and name too many dates to mean one
	maxDates      = 8
)

// A namedDate is what a question says of a day: each number that is 0 was not said.
// A span is said by words such as "last week".
type namedDate struct {
	year, month, day int
	span             Span
}

// covers reports whether a moment is of the date.
func (d namedDate) covers(at time.Time) bool {
	if !d.span.From.IsZero() {
		return !at.Before(d.span.From) && at.Before(d.span.Until)
	}
	return (d.year == 0 || d.year == at.Year()) &&
		(d.month == 0 || d.month == int(at.Month())) && (d.day == 0 || d.day == at.Day())
}

// The forms of a date. Each has groups for year, month and day, in an order of its own.
var (
	numericDate = regexp.MustCompile(`\b((?:19|20)\d\d)[-/](\d{1,2})(?:[-/](\d{1,2}))?\b`)
	chineseDate = regexp.MustCompile(`(?:((?:19|20)\d\d)\s*年)?\s*(\d{1,2})\s*月(?:份|\s*(\d{1,2})\s*[日号號])?`)
	englishDate = regexp.MustCompile(`(?i)\b(?:(\d{1,2})(?:st|nd|rd|th)?(?: of)? )?(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(uary|ruary|ch|il|ust|ember|tember|ober)?\b\.?(?: (\d{1,2})(?:st|nd|rd|th)?\b)?(?:,? ((?:19|20)\d\d)\b)?`)
	bareYear    = regexp.MustCompile(`(?:^|[^\d])((?:19|20)\d\d)(?:$|[^\d])`)
)

// datesIn finds the dates that a question names: numbers, months in English, the
// Chinese forms, and days that are said from now.
func datesIn(text string, now time.Time) []namedDate {
	if len(text) > maxDatedBytes {
		return nil
	}
	var dates []namedDate
	for _, form := range []*regexp.Regexp{numericDate, chineseDate} {
		for _, m := range form.FindAllStringSubmatch(text, maxDates) {
			if d := (namedDate{year: number(m[1]), month: number(m[2]), day: number(m[3])}); d.month > 0 {
				dates = append(dates, d)
			}
		}
	}
	for _, m := range englishDate.FindAllStringSubmatch(text, maxDates) {
		if d, ok := english(m); ok {
			dates = append(dates, d)
		}
	}
	if m := bareYear.FindStringSubmatch(text); len(dates) == 0 && m != nil {
		dates = append(dates, namedDate{year: number(m[1])})
	}
	return append(dates, relativeDates(text, now)...)
}

// english reads a match of englishDate. "may" and "march" are words too: they are
// months with a number beside them or in capitals.
func english(m []string) (namedDate, bool) {
	name := strings.ToLower(m[2] + m[3])
	d := namedDate{year: number(m[5]), day: max(number(m[1]), number(m[4]))}
	for month := time.January; month <= time.December; month++ {
		full := strings.ToLower(month.String())
		if name == full || name == full[:3] || name == "sept" && month == time.September {
			d.month = int(month)
		}
	}
	isWord := (name == "may" || name == "march" || name == "mar") && d.year == 0 && d.day == 0 && m[2] == strings.ToLower(m[2])
	return d, d.month > 0 && !isWord
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // "" is 0: not said
	return n
}

// saidFromNow is the words for days that are counted from now, and the span that
// each means, in days from the start of today.
var saidFromNow = []struct {
	words       []string
	from, until int
}{
	{[]string{"yesterday", "昨天", "昨日"}, -1, 0},
	{[]string{"前天"}, -2, -1},
	{[]string{"today", "今天", "今日"}, 0, 1},
	{[]string{"last week", "上周", "上星期", "上個星期", "上个星期"}, -13, -1},
	{[]string{"this week", "本周", "这周", "這週"}, -6, 1},
	{[]string{"last month", "上个月", "上個月", "上月"}, -62, -1},
	{[]string{"last year", "去年"}, -730, -31},
}

// relativeDates finds what is said from now. A week or a month is meant loosely: the
// span is what people may mean.
func relativeDates(text string, now time.Time) (dates []namedDate) {
	if now.IsZero() {
		return nil
	}
	text = strings.ToLower(text)
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	for _, said := range saidFromNow {
		for _, word := range said.words {
			if strings.Contains(text, word) {
				dates = append(dates, namedDate{span: Span{From: today.AddDate(0, 0, said.from), Until: today.AddDate(0, 0, said.until)}})
				break
			}
		}
	}
	return dates
}
