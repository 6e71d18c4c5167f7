package model

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A unit is what a number counts.
type unit int

const (
	unitNone unit = iota
	unitMoney
	unitCount
	unitPercent
)

// A span is a part of the user's words that may be the value of an argument.
type span struct {
	start, end  int
	text        string
	number      string // as a plain decimal; empty where it is none
	unit        unit   // of a number
	date        string // as 2024-05-20; empty where it is none
	left, right string // its neighbours
	relative    bool   // a number by which something changes, as in 降 10 元 and 10 yuan off
}

func (s span) overlaps(o span) bool { return s.start < o.end && o.start < s.end }

const hanDigits = "零一二两三四五六七八九十百千万"

var (
	datePattern   = regexp.MustCompile(`\b([0-9]{4})\s*[-/.年]\s*([0-9]{1,2})\s*[-/.月]\s*([0-9]{1,2})(?:\s*日|\b)`)
	wordPattern   = regexp.MustCompile(`[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[A-Za-z0-9_]+(?:[-.][A-Za-z0-9_]+)*`)
	numberPattern = regexp.MustCompile(`^[0-9][0-9,]*(?:\.[0-9]+)?$`)
	gluedPattern  = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([A-Za-z]+)$`)
	hanPattern    = regexp.MustCompile(`[` + hanDigits + `]+(?:点[` + hanDigits + `]+)?`)
	quotePattern  = regexp.MustCompile(`"([^"]{1,200})"|“([^”]{1,200})”|「([^」]{1,200})」|『([^』]{1,200})』|《([^》]{1,200})》|(?:^|\s)'([^']{1,200})'`)
)

// spansOf finds the dates, numbers and identifiers in the user's words, in
// their order.
func spansOf(text string) []span {
	var out []span
	add := func(s span) {
		if !slices.ContainsFunc(out, s.overlaps) {
			s.text = text[s.start:s.end]
			s.left, s.right = tokenBefore(text[:s.start]), tokenAfter(text[s.end:])
			s.relative = s.number != "" && isRelative(s.left, text[s.end:])
			out = append(out, s)
		}
	}
	for _, m := range datePattern.FindAllStringSubmatchIndex(text, -1) {
		if date := isoDate(text[m[2]:m[3]], text[m[4]:m[5]], text[m[6]:m[7]]); date != "" {
			add(span{start: m[0], end: m[1], date: date})
		}
	}
	for _, m := range wordPattern.FindAllStringIndex(text, -1) {
		if s, ok := wordSpan(text, m[0], m[1]); ok {
			add(s)
		}
	}
	for _, m := range hanPattern.FindAllStringIndex(text, -1) {
		number, ok := hanNumber(text[m[0]:m[1]])
		// 这一个, 下一个 and 第三张 point and do not count.
		points := strings.ContainsRune("下上这那第每哪另某", lastRune(text[:m[0]]))
		large := strings.ContainsAny(text[m[0]:m[1]], "十百千万点")
		if u := unitAfter(text[m[1]:]); ok && !points && (u != unitNone || large) {
			add(span{start: m[0], end: m[1], number: number, unit: u})
		}
	}
	slices.SortFunc(out, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return joinJiao(text, out)
}

// wordSpan makes a span of a word that is a number or looks like an
// identifier: with a digit inside, or in capitals.
func wordSpan(text string, start, end int) (span, bool) {
	word := text[start:end]
	if m := gluedPattern.FindStringSubmatch(word); m != nil {
		if u := unitAfter(m[2]); u != unitNone {
			return span{start: start, end: start + len(m[1]), number: plain(m[1]), unit: u}, true
		}
	}
	if !numberPattern.MatchString(word) {
		isID := strings.ContainsAny(word, "0123456789") || len(word) > 1 && word == strings.ToUpper(word)
		return span{start: start, end: end}, isID
	}
	if multiplies(tokenAfter(text[end:])) {
		return span{}, false // 1 万 is not 1
	}
	s := span{start: start, end: end, number: plain(word), unit: unitAfter(text[end:])}
	if before := strings.TrimRight(text[:start], " "); strings.HasSuffix(before, "¥") || strings.HasSuffix(before, "$") {
		s.unit = unitMoney
	}
	if start > 0 && text[start-1] == '-' && (start == 1 || !isWordByte(text[start-2])) {
		s.start, s.number = start-1, "-"+s.number
	}
	return s, true
}

// multiplies reports whether the word after a number makes it another number.
func multiplies(token string) bool {
	switch token {
	case "k", "w", "m", "hundred", "thousand", "million", "billion", "dozen":
		return true
	}
	return token != "" && strings.ContainsRune("百千万亿", firstRune(token))
}

// isRelative reports whether a number tells a difference and not a value, by
// the word before it or the words after it.
func isRelative(left, after string) bool {
	for _, sign := range []string{"降", "涨", "减", "加", "降价", "涨价", "加价", "减价", "便宜", "贵", "了"} {
		if strings.HasSuffix(left, sign) {
			return true
		}
	}
	next := strings.Fields(lowerASCII(after))
	isDifference := func(word string) bool {
		switch strings.Trim(word, endMarks) {
		case "off", "cheaper", "less", "more", "lower", "higher":
			return true
		}
		return false
	}
	return left == "by" || slices.ContainsFunc(next[:min(len(next), 2)], isDifference)
}

// plain gives a number without thousands marks and leading zeros, as JSON
// wants it.
func plain(number string) string {
	number = strings.ReplaceAll(number, ",", "")
	whole, rest, dotted := strings.Cut(number, ".")
	whole = cmp.Or(strings.TrimLeft(whole, "0"), "0")
	if dotted {
		return whole + "." + rest
	}
	return whole
}

// joinJiao makes one number of what people write as 79块5 (79.5).
func joinJiao(text string, spans []span) []span {
	var out []span
	for _, s := range spans {
		if n := len(out) - 1; n >= 0 && s.unit == unitNone && len(s.number) == 1 && out[n].number != "" &&
			!strings.Contains(out[n].number, ".") && text[out[n].end:s.start] == "块" {
			out[n].number += "." + s.number
			out[n].end, out[n].text, out[n].right = s.end, text[out[n].start:s.end], s.right
			continue
		}
		out = append(out, s)
	}
	return out
}

// unitAfter reads the unit at the start of a text.
func unitAfter(text string) unit {
	token := tokenAfter(text)
	switch token {
	case "yuan", "rmb", "cny", "usd", "eur", "dollar", "dollars", "euro", "euros", "bucks", "$", "€":
		return unitMoney
	case "pcs", "pieces", "piece", "items", "units", "times":
		return unitCount
	case "%", "percent":
		return unitPercent
	}
	switch r := firstRune(token); {
	case strings.ContainsRune("元块圆钱", r):
		return unitMoney
	case strings.ContainsRune("张个份件条支瓶盒次只双套", r):
		return unitCount
	case r == '折':
		return unitPercent
	}
	return unitNone
}

// hanNumber reads a number in Chinese characters below a hundred million, such
// as 八十九. A last digit after a unit counts tenths of that unit, as in 两百五
// (250) and 一万二 (12,000), unless a 零 stands before it.
func hanNumber(text string) (string, bool) {
	whole, fraction, _ := strings.Cut(text, "点")
	total, section, digit, tenth := 0, 0, 0, 1
	for _, r := range whole {
		switch unit := hanUnit(r); {
		case unit == 10_000 && section+digit == 0:
			return "", false
		case unit == 10_000:
			total, section, digit, tenth = (total+section+digit)*unit, 0, 0, unit/10
		case unit > 0:
			if digit == 0 && unit > 10 {
				return "", false // 百 alone is no number, 十 is
			}
			section, digit, tenth = section+max(digit, 1)*unit, 0, unit/10
		case digit > 0:
			return "", false // 一二 is no number
		case r == '零':
			tenth = 1
		default:
			digit = hanDigit(r)
		}
		if total > 1e8 {
			return "", false
		}
	}
	number := strconv.Itoa(total + section + digit*tenth)
	for i, r := range fraction {
		d := hanDigit(r)
		if d < 0 {
			return "", false
		}
		if i == 0 {
			number += "."
		}
		number += strconv.Itoa(d)
	}
	return number, true
}

func hanUnit(r rune) int {
	switch r {
	case '十':
		return 10
	case '百':
		return 100
	case '千':
		return 1000
	case '万':
		return 10_000
	}
	return 0
}

func hanDigit(r rune) int {
	if r == '两' {
		return 2
	}
	for d, c := range []rune("零一二三四五六七八九") {
		if r == c {
			return d
		}
	}
	return -1
}

// isoDate gives a date as 2024-05-20, or "" where there is no such day.
func isoDate(year, month, day string) string {
	d, err := time.Parse("2006-1-2", year+"-"+month+"-"+day)
	if err != nil {
		return ""
	}
	return d.Format(time.DateOnly)
}

// quotesIn gives what stands in quotation marks.
func quotesIn(text string) []span {
	var out []span
	for _, m := range quotePattern.FindAllStringSubmatchIndex(text, -1) {
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				out = append(out, span{start: m[g], end: m[g+1], text: text[m[g]:m[g+1]]})
			}
		}
	}
	return out
}
