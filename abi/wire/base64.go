package wire

import (
	"errors"
	"strconv"
)

// Base64 as encoding/base64 has it in StdEncoding, which with package
// encoding/binary would be 17 KB of every module.

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// appendBase64 appends bytes as base64 with padding.
func appendBase64(out, b []byte) []byte {
	for ; len(b) >= 3; b = b[3:] {
		n := uint(b[0])<<16 | uint(b[1])<<8 | uint(b[2])
		out = append(out, base64Digits[n>>18], base64Digits[n>>12&63], base64Digits[n>>6&63], base64Digits[n&63])
	}
	switch len(b) {
	case 1:
		out = append(out, base64Digits[b[0]>>2], base64Digits[b[0]<<4&63], '=', '=')
	case 2:
		n := uint(b[0])<<8 | uint(b[1])
		out = append(out, base64Digits[n>>10], base64Digits[n>>4&63], base64Digits[n<<2&63], '=')
	}
	return out
}

// decodeBase64 reads base64 with padding; the ends of lines in it do not count.
func decodeBase64(text []byte) ([]byte, error) {
	out := make([]byte, 0, len(text)/4*3)
	for i := 0; ; {
		n, digits, end, wrong := base64Group(text, i)
		switch {
		case wrong >= 0:
			return nil, errors.New("illegal base64 data at input byte " + strconv.Itoa(wrong))
		case digits == 0:
			return out, nil
		}
		out = append(out, byte(n>>16), byte(n>>8), byte(n))[:len(out)+digits-1]
		i = end
	}
}

// base64Group reads the four characters from i on. It gives their bits, how many
// are digits, none at the end of the text, and the index behind them. Wrong is
// the index of what is no base64, or -1.
func base64Group(text []byte, i int) (n uint, digits, end, wrong int) {
	for ; digits < 4; digits++ {
		if i = skipLines(text, i); i == len(text) {
			if digits == 0 {
				return 0, 0, i, -1
			}
			return 0, 0, i, i - digits
		}
		d := base64Digit(text[i])
		if i++; d < 0 {
			return n << (6 * (4 - digits)), digits, len(text), base64Padding(text, i, digits)
		}
		n = n<<6 | uint(d)
	}
	return n, digits, i, -1
}

// base64Padding checks what stands for a digit, whose index is i-1, and what
// follows it: padding, and then nothing.
func base64Padding(text []byte, i, digits int) (wrong int) {
	if text[i-1] != '=' || digits < 2 {
		return i - 1
	}
	if digits == 2 {
		if i = skipLines(text, i); i == len(text) {
			return len(text)
		}
		if text[i] != '=' {
			return i - 1 // as encoding/base64 counts
		}
		i++
	}
	if i = skipLines(text, i); i < len(text) {
		return i
	}
	return -1
}

func base64Digit(c byte) int {
	switch {
	case 'A' <= c && c <= 'Z':
		return int(c - 'A')
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 26
	case isDigit(c):
		return int(c-'0') + 52
	case c == '+':
		return 62
	case c == '/':
		return 63
	}
	return -1
}

func skipLines(text []byte, i int) int {
	for i < len(text) && (text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}
