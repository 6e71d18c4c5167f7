package factcheck

import (
	"fmt"
	"strings"
)

// unbackedIDs gives the ids that stand nowhere in what is known.
func (k *index) unbackedIDs(a *answerText) []Finding {
	var found []Finding
	for _, id := range a.ids {
		if len(found) == MaxFindings || k.has(id.text) || k.hasParts(id.text) || a.proposes(id.clause, id.start) {
			continue
		}
		found = append(found, Finding{Kind: ID, Start: id.start, End: id.end, Known: k.likeID(id.text),
			Why: fmt.Sprintf("no fact and no result of a call has the id %s", shorten(id.text, maxSpanBytes))})
	}
	return found
}

// maxTokens bounds the ids and the names of an answer that are looked up.
const maxTokens = 500

// findIDs finds the tokens that are ids: capitals and digits together, names
// with digits, long numbers, and what is called an id.
func (a *answerText) findIDs() {
	for at, c := range a.clauses {
		for i := c.start; i < c.end && len(a.ids) < maxTokens; i++ {
			if !isAlnum(a.text[i]) {
				continue
			}
			from := i
			for i < c.end && (isWord(a.text[i]) || a.text[i] == '-' && i+1 < c.end && isAlnum(a.text[i+1])) {
				i++
			}
			text := a.text[from:i]
			if isColour(a.text[:from], text) {
				continue
			}
			if isID(text) || len(text) >= 3 && hasDigitOrIsUpper(text) && isCalledID(a.low[c.start:from]) {
				a.ids = append(a.ids, token{word{text, from, i}, at})
			}
		}
	}
}

// isColour reports whether a token is one as web pages write it, such as #FF5733.
func isColour(before, token string) bool {
	return len(token) == 6 && strings.HasSuffix(before, "#") && strings.Trim(token, "0123456789abcdefABCDEF") == "" && strings.ContainsAny(token, "abcdefABCDEF")
}

// isID goes by the form of a token alone.
func isID(token string) bool {
	digits, upper, lower, marks := 0, 0, 0, 0
	for i := range len(token) {
		switch c := token[i]; {
		case isDigit(c):
			digits++
		case c >= 'A' && c <= 'Z':
			upper++
		case c == '_' || c == '-':
			marks++
		default:
			lower++
		}
	}
	switch {
	case digits == 0 || len(token) < 5 || isCommonName(token):
		return false
	case upper == 0 && lower == 0:
		return marks == 0 && digits >= 7 // 2024-05-20 is none
	case lower == 0:
		return marks == 0 || digits >= 3
	case marks > 0:
		return digits >= 3
	}
	return digits >= 4 && upper+lower >= 2 && isDigit(token[len(token)-1])
}

// isCommonName knows words with digits that are in everybody's mouth.
func isCommonName(token string) bool {
	name := strings.ToUpper(token)
	return startsAny(name, "COVID", "SHA1", "SHA2", "SHA5", "UTF", "ISO", "HTTP", "IPV", "RFC", "H264", "H265", "MP3", "MP4", "WIN32", "WIN64", "ARM64", "BASE64", "INT32", "INT64", "FLOAT") ||
		startsAny(name, "FY20", "Q1-20", "Q2-20", "Q3-20", "Q4-20")
}

// isCalledID reports whether the words before a token call it an id.
func isCalledID(before string) bool {
	before = strings.TrimRight(before, " *`:\"“「#号为")
	before = strings.TrimSuffix(before, " is")
	return endsAny(before, " id", "reservation", "order", "sku", "coupon", "voucher", "tracking number", "订单", "编", "单", "券码", "流水") && before != "in order"
}

func hasDigitOrIsUpper(token string) bool {
	digit, lower := false, false
	for i := range len(token) {
		digit = digit || isDigit(token[i])
		lower = lower || token[i] >= 'a' && token[i] <= 'z'
	}
	return digit && (len(token) > 3 || isLetter(token[0])) || !lower && len(token) >= 5
}

// hasParts reports whether an id is one that is known written otherwise: with
// its kind before it, or without it.
func (k *index) hasParts(id string) bool {
	i := len(id)
	for i > 0 && isDigit(id[i-1]) {
		i--
	}
	if len(id)-i < minIDDigits || i > 0 && id[i-1] != '_' && id[i-1] != '-' {
		return len(id) >= minIDDigits && i == 0 && strings.Contains(k.low, "_"+id)
	}
	return k.has(strings.NewReplacer("_", " ", "-", " ").Replace(id))
}

// likeID gives a known id that differs in its end only.
func (k *index) likeID(id string) string {
	for cut := len(id) - 1; cut >= 3 && cut >= len(id)-3; cut-- {
		i := strings.Index(k.text, id[:cut])
		if i < 0 || i > 0 && isAlnum(k.text[i-1]) {
			continue
		}
		end := i
		for end < len(k.text) && isWord(k.text[end]) && end-i < 2*len(id) {
			end++
		}
		return k.text[i:end]
	}
	return ""
}
