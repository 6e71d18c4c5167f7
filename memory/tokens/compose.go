package tokens

import (
	"golang.org/x/text/unicode/norm"
)

// composed gives a text in the form NFKC, where it may not be in it: a letter and its
// marks become one letter, and those of half width usual ones. Nearly all text is in
// that form, but for what fold treats alike, so that most of it is only looked through.
func composed(text string) string {
	for _, r := range text {
		if !isComposed(r) {
			return head(norm.NFKC.String(text), MaxTextBytes)
		}
	}
	return text
}

// isComposed tells of the usual letters and signs that they stay as they are beside each
// other, or that fold makes of them what NFKC does. Of all others it does not know.
func isComposed(r rune) bool {
	const (
		firstAccented, lastAccented = 'À', 'ÿ'
		firstQuote, lastQuote       = '‐', '…'
		firstMark, lastKana         = '、', 'ヺ'
		firstSonant, lastSonant     = 0x3099, 0x309c // marks upon kana
		firstHangul, lastHangul     = '가', '힣'
	)
	switch {
	case r < 0x80, firstHan <= r && r <= lastHan, wideFirst <= r && r <= wideLast, firstAccented <= r && r <= lastAccented:
		return true
	case firstMark <= r && r <= lastKana:
		return r < firstSonant || r > lastSonant
	}
	return firstQuote <= r && r < lastQuote || firstHangul <= r && r <= lastHangul || r == 'ー'
}
