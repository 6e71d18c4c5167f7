package memory

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A numeral is a number as it stands in a text.
type numeral struct {
	start, end int // bytes
	value      float64
}

// maxDigits bounds a number: what is longer is an id.
const maxDigits = 12

// numerals finds the numbers of a text in order: digits with decimals and
// separators, Chinese numerals, and 千, 万 and 亿 behind them. Digits inside of a word,
// such as an id, are none.
func numerals(text string) []numeral {
	var found []numeral
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		n, ok := numeral{start: i, end: i + size}, false
		switch {
		case r >= '0' && r <= '9':
			n, ok = digitsAt(text, i)
		case isLatin(byte(r)) && r < utf8.RuneSelf:
			n, ok = wordNumeralAt(text, i)
		case hanDigit(r) >= 0 || r == '十' || r == '百' || r == '半':
			n, ok = hanNumeralAt(text, i)
		}
		if ok {
			found = append(found, n)
		}
		i = max(n.end, i+size)
	}
	return found
}

func digitsAt(text string, start int) (numeral, bool) {
	end := start
	for end < len(text) && (isDigit(text[end]) || (text[end] == '.' || text[end] == ',') && end+1 < len(text) && isDigit(text[end+1])) {
		end++
	}
	n := numeral{start: start, end: end}
	value, err := strconv.ParseFloat(strings.ReplaceAll(text[start:end], ",", ""), 64)
	if err != nil || end-start > maxDigits || start > 0 && joinsWord(text[start-1]) {
		return n, false
	}
	n.value = value
	if end < len(text) && isLatin(text[end]) {
		return n, unitFollows(text[end:])
	}
	return scaled(text, n), true
}

// wordNumeralAt reads a number in English words, up to twenty and the tens that
// people say of minutes. "One" is a pronoun more often.
func wordNumeralAt(text string, start int) (numeral, bool) {
	n := numeral{start: start, end: start}
	for n.end < len(text) && inWord(text[n.end]) {
		n.end++
	}
	switch text[start:n.end] {
	case "two":
		n.value = 2
	case "three":
		n.value = 3
	case "four":
		n.value = 4
	case "five":
		n.value = 5
	case "six":
		n.value = 6
	case "seven":
		n.value = 7
	case "eight":
		n.value = 8
	case "nine":
		n.value = 9
	case "ten":
		n.value = 10
	case "twelve":
		n.value = 12
	case "fifteen":
		n.value = 15
	case "twenty":
		n.value = 20
	case "thirty":
		n.value = 30
	case "forty":
		n.value = 40
	case "fifty":
		n.value = 50
	case "sixty":
		n.value = 60
	}
	return n, n.value > 0
}

// unitFollows tells 10min from 10x9a: a number may stand close to a unit.
func unitFollows(rest string) bool {
	end := 0
	for end < len(rest) && (isLatin(rest[end]) || isDigit(rest[end])) {
		end++
	}
	return unitOf(rest[:end]).measure != foldWord(rest[:end])
}

func isDigit(c byte) bool   { return c >= '0' && c <= '9' }
func isLatin(c byte) bool   { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func joinsWord(c byte) bool { return isLatin(c) || c == '_' || c == '-' || c == '#' }

// scaled reads 千, 万 and 亿 behind a number.
func scaled(text string, n numeral) numeral {
	for {
		r, size := utf8.DecodeRuneInString(text[n.end:])
		power := hanPower(r)
		if power < 1000 {
			return n
		}
		n.value *= power
		n.end += size
		if n.value > 1e15 {
			return n
		}
	}
}

func hanDigit(r rune) float64 {
	if r == '两' {
		return 2
	}
	if at := strings.IndexRune("零一二三四五六七八九", r); at >= 0 {
		return float64(at / len("零"))
	}
	return -1
}

func hanPower(r rune) float64 {
	switch r {
	case '十':
		return 10
	case '百':
		return 100
	case '千':
		return 1000
	case '万':
		return 1e4
	case '亿':
		return 1e8
	}
	return 0
}

// hanNumeralAt reads Chinese numerals: 十二, 一百零五, 三千, 两万五, 半, 三点五.
// A single 一 is an article more often than a number: it counts where another numeral or a
// unit that is measured follows.
func hanNumeralAt(text string, start int) (numeral, bool) {
	if strings.HasPrefix(text[start:], "半") {
		end := start + len("半")
		unit, _ := unitAt(text[end:])
		return numeral{start, end, 0.5}, unit != ""
	}
	n, runes, sum, part, digit, last := numeral{start: start, end: start}, 0, 0.0, 0.0, -1.0, 1.0
	zero := false
	for n.end < len(text) && runes < maxDigits {
		r, size := utf8.DecodeRuneInString(text[n.end:])
		d, p := hanDigit(r), hanPower(r)
		switch {
		case d >= 0 && digit > 0: // 三四: digit by digit is no amount
			return numeral{start: start, end: n.end + size}, false
		case d >= 0:
			digit, zero = d, zero || d == 0
		case p >= 1e4:
			sum, part, digit, last = (sum+part+max(digit, 0))*p, 0, -1, p
		case p > 0:
			part, digit, last = part+when1(digit)*p, -1, p
		default:
			size = 0
		}
		if size == 0 {
			break
		}
		n.end, runes = n.end+size, runes+1
	}
	if digit > 0 && last > 10 && !zero {
		digit *= last / 10 // 一百二 is 120
	}
	n.value = sum + part + max(digit, 0)
	n = hanDecimals(text, n)
	unit, _ := unitAt(text[n.end:])
	return n, runes > 0 && n.value < math.MaxInt32 && (runes > 1 || unit != "" && !(n.value == 1 && unit == "个"))
}

// when1 reads 十 without a digit as 一十.
func when1(digit float64) float64 {
	if digit < 0 {
		return 1
	}
	return digit
}

func hanDecimals(text string, n numeral) numeral {
	rest, ok := strings.CutPrefix(text[n.end:], "点")
	if !ok {
		return n
	}
	r, size := utf8.DecodeRuneInString(rest)
	d := hanDigit(r)
	if d < 0 {
		return n
	}
	n.value += d / 10
	n.end += len("点") + size
	return n
}

// unitWords are the units that are read behind a number, longer ones before those
// that they begin with.
var unitWords = [...]string{"个小时", "小时", "分钟", "秒钟", "秒", "天", "周", "星期", "万元", "万块", "块钱", "块", "元",
	"角", "毛", "折", "个点", "%", "％", "percent",
	"件", "单", "款", "次", "遍", "个", "minutes", "minute", "mins", "min", "seconds", "second", "secs", "sec", "hours", "hour",
	"days", "day", "weeks", "week", "yuan", "cny", "rmb", "pieces", "items", "times"}

// unitAt reads the unit at the beginning of a text, past a space.
func unitAt(rest string) (name string, end int) {
	trimmed := strings.TrimLeft(rest, " ")
	gap := len(rest) - len(trimmed)
	if gap > 1 {
		return "", 0
	}
	low := strings.ToLower(trimmed)
	for _, w := range unitWords {
		if !strings.HasPrefix(low, w) {
			continue
		}
		if isLatin(w[0]) && len(low) > len(w) && isLatin(low[len(w)]) {
			continue
		}
		return w, gap + len(w)
	}
	return "", 0
}
