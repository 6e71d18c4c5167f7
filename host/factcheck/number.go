package factcheck

import (
	"strings"
	"unicode/utf8"
)

// one is the value of 1: numbers are counted in ten-thousandths, so that a
// price of 0.0001 is exact and sums are.
const one = 10_000

// maxDigits bounds a number; what is longer is an id.
const maxDigits = 12

// A number is one number in a text.
type number struct {
	start, end int
	value      int64 // in ten-thousandths
	unit       int64 // of the last digit that is shown, likewise
	han        bool  // in Chinese numerals
	inside     bool  // of a word, such as an id, a date or a time
}

// scanNumbers gives the numbers of a folded text in order: digits with or
// without separators and decimals, with 万, 亿 and k behind them, and Chinese
// numerals.
func scanNumbers(text string, yield func(number)) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c-'0' > 9 && c-0xE3 > 6:
			i++
		case isDigit(c):
			n, ok := readDigits(text, i)
			if ok {
				yield(n)
			}
			i = n.end
		case !beginsHan(text, i):
			i += 3
		default:
			n, ok := readHan(text, i)
			if ok {
				yield(n)
			}
			i = max(n.end, i+3)
		}
	}
}

// beginsHan tells most characters from Chinese numerals by two bytes.
func beginsHan(text string, i int) bool {
	if i+2 >= len(text) {
		return false
	}
	switch text[i] {
	case 0xE4:
		return text[i+1] >= 0xB8 && text[i+1] <= 0xBA
	case 0xE5:
		return text[i+1] == 0x85 || text[i+1] == 0x8D || text[i+1] == 0x9B
	case 0xE7:
		return text[i+1] == 0x99
	}
	return text[i] == 0xE3 && text[i+1] == 0x80 || text[i] == 0xE9 && text[i+1] == 0x9B
}

// readDigits reads the number whose first digit is at i.
func readDigits(text string, i int) (number, bool) {
	n := number{start: i, unit: one}
	j, digits := i, 0
	for ; j < len(text) && isDigit(text[j]); j++ {
		if digits++; digits <= maxDigits {
			n.value = n.value*10 + int64(text[j]-'0')
		}
	}
	for j < len(text) && text[j] == ',' && (digits <= 3 || text[j-4] == ',') && isGroup(text, j) {
		if digits += 3; digits <= maxDigits {
			n.value = n.value*1000 + int64(text[j+1]-'0')*100 + int64(text[j+2]-'0')*10 + int64(text[j+3]-'0')
		}
		j += 4
	}
	n.value *= one
	if j+1 < len(text) && text[j] == '.' && isDigit(text[j+1]) {
		for j++; j < len(text) && isDigit(text[j]); j++ {
			if n.unit > 1 {
				n.unit /= 10
				n.value += int64(text[j]-'0') * n.unit
			}
		}
	}
	n.end = j
	n.inside = isInside(text, i, j)
	if digits > maxDigits {
		return n, false
	}
	if j < len(text) && mayScale(text[j]) {
		n.scale(text)
	}
	return n, true
}

// mayScale tells most of what follows on a number from a multiplier by one byte.
func mayScale(c byte) bool {
	switch c {
	case ' ', 'k', 'K', 'w', 'W', 0xE4, 0xE5, 0xE7:
		return true
	}
	return false
}

// isGroup reports whether a comma and exactly three digits stand at j.
func isGroup(text string, j int) bool {
	return j+3 < len(text) && text[j] == ',' && isDigit(text[j+1]) && isDigit(text[j+2]) && isDigit(text[j+3]) &&
		(j+4 == len(text) || !isDigit(text[j+4]))
}

// isInside reports whether digits belong to a word, a date or a time.
func isInside(text string, i, j int) bool {
	if i > 0 && (isLetter(text[i-1]) || text[i-1] == '_' || joins(text[i-1]) && i > 1 && isWord(text[i-2])) {
		return true
	}
	if j < len(text) && (text[j] == '_' || isLetter(text[j])) {
		return !isScale(text, j) && !isCurrencyWord(text[j:])
	}
	return j+1 < len(text) && joins(text[j]) && text[j] != '.' && isDigit(text[j+1])
}

// joins reports whether a mark joins the parts of a date, a time or a version.
func joins(c byte) bool { return c == '-' || c == ':' || c == '/' || c == '.' }

// isScale reports whether a lone k or w stands at j.
func isScale(text string, j int) bool {
	return strings.IndexByte("kKwW", text[j]) >= 0 && (j+1 == len(text) || !isWord(text[j+1]))
}

// scale multiplies by what stands behind the digits.
func (n *number) scale(text string) {
	rest := strings.TrimLeft(text[n.end:], " ")
	by, size := int64(1), len(text)-n.end-len(rest)
	switch {
	case strings.HasPrefix(rest, "万"):
		by, size = 10_000, size+len("万")
	case strings.HasPrefix(rest, "千"):
		by, size = 1000, size+len("千")
	case strings.HasPrefix(rest, "百"):
		by, size = 100, size+len("百")
	case size == 0 && rest != "" && isScale(text, n.end):
		if by = 1000; rest[0]|0x20 == 'w' {
			by = 10_000
		}
		size = 1
	}
	if by == 1 || n.value > int64(9e14)/by {
		return
	}
	n.value, n.unit, n.end = n.value*by, n.unit*by, n.end+size
}

// hanDigit gives the value of a Chinese digit, or -1.
func hanDigit(r rune) int64 {
	switch r {
	case '零', '〇':
		return 0
	case '一':
		return 1
	case '二', '两':
		return 2
	case '三':
		return 3
	case '四':
		return 4
	case '五':
		return 5
	case '六':
		return 6
	case '七':
		return 7
	case '八':
		return 8
	case '九':
		return 9
	}
	return -1
}

func hanPower(r rune) int64 {
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

// readHan reads Chinese numerals at i: 八十九, 一百二, 三万五千, 一点五, 一〇〇一.
func readHan(text string, i int) (number, bool) {
	n := number{start: i, end: i, unit: one, han: true}
	var sum, part, digit, power int64
	digit = -1
	digits, runes, zero := int64(0), 0, false
	for runes < maxDigits && n.end < len(text) {
		r, size := utf8.DecodeRuneInString(text[n.end:])
		d, p := hanDigit(r), hanPower(r)
		if d < 0 && p == 0 {
			break
		}
		n.end += size
		runes++
		switch {
		case p == 10_000:
			sum, part, digit, power = (sum+part+max(digit, 0))*p, 0, -1, p
		case p > 0:
			if digit < 0 {
				digit = 1 // 十五
			}
			part, digit, power, zero = part+digit*p, -1, p, false
		default:
			digits = digits*10 + d
			digit = d
			zero = zero || d == 0
		}
	}
	switch {
	case runes == 0:
		return n, false
	case power == 0:
		n.value = digits * one // digit by digit
	default:
		if digit > 0 && power > 10 && !zero {
			digit *= power / 10 // 一百二, and not 一百零二
		}
		n.value = (sum + part + max(digit, 0)) * one
	}
	if rest, ok := strings.CutPrefix(text[n.end:], "点"); ok {
		r, size := utf8.DecodeRuneInString(rest)
		if d := hanDigit(r); d >= 0 {
			n.unit = one / 10
			n.value += d * n.unit
			n.end += len("点") + size
		}
	}
	return n, true
}
