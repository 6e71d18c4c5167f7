package memory

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of what is read: more memories are not recalled for one answer, and what
// is quoted after so many quotations is read as the answer's own.
const (
	maxRecalled   = 64
	maxQuotations = 100
)

// The least that is a quotation: a single word of a memory says what it did not.
const (
	leastQuoteRunes = 4 // where it is Chinese
	leastQuoteWords = 3
)

// withoutCited blanks the quotations that an answer gives as the words of somebody who
// is named right beside them, and those of memories that were recalled for it. It
// leaves others: a recommendation in quotation marks is one.
func withoutCited(text string, recalled []string) string {
	return withoutQuoted(text, " … ", func(before, quotation, after string) bool {
		return cites(before, after) || isRecalled(quotation, recalled)
	})
}

// foundQuotation stands in the place of a quotation that is found.
const foundQuotation = "\x02"

// withoutFound blanks the quotations that are found in a memory.
func withoutFound(text string, recalled []string) string {
	return withoutQuoted(text, " "+foundQuotation+" ", func(_, quotation, _ string) bool { return isRecalled(quotation, recalled) })
}

// withoutQuoted puts a blank in the place of the quotations that are somebody else's words.
func withoutQuoted(text, blank string, others func(before, quotation, after string) bool) string {
	var b strings.Builder
	for range maxQuotations {
		at := strings.IndexAny(text, "“「『\"")
		if at < 0 {
			break
		}
		open, size := utf8.DecodeRuneInString(text[at:])
		length := strings.IndexRune(text[at+size:], quoteEnd(open))
		if length < 0 {
			break
		}
		end := at + size + length + utf8.RuneLen(quoteEnd(open))
		b.WriteString(text[:at])
		if others(text[:at], text[at+size:at+size+length], text[end:]) {
			b.WriteString(blank)
		} else {
			b.WriteString(text[at:end])
		}
		text = text[end:]
	}
	return b.String() + text
}

// foldRecalled folds what QuoteLine shows of each memory.
func foldRecalled(recalled []string) []string {
	var folded []string
	for _, text := range recalled[:min(len(recalled), maxRecalled)] {
		folded = append(folded, strings.ReplaceAll(plainForm(text[:min(len(text), MaxPassageBytes)]), "\n", " "))
	}
	return folded
}

// foldRead folds the last of what else an answer was given.
func foldRead(read []string) (folded []string) {
	left := maxGroundBytes
	for _, text := range slices.Backward(read) {
		text = strings.ToValidUTF8(text[:min(len(text), left)], "")
		left -= len(text)
		folded = append(folded, plainForm(text))
	}
	return folded
}

// isRecalled reports whether a quotation is found in a memory, word for word.
func isRecalled(quotation string, recalled []string) bool {
	quotation = strings.Trim(strings.ReplaceAll(quotation, "\n", " "), " .。,，!！…")
	enough := len(strings.Fields(quotation)) >= leastQuoteWords || hasHan(quotation) && utf8.RuneCountInString(quotation) >= leastQuoteRunes
	return enough && slices.ContainsFunc(recalled, func(text string) bool { return strings.Contains(text, quotation) })
}

// cites reports whether the words beside a quotation give it as somebody else's.
func cites(before, after string) bool {
	before = strings.TrimRight(lastBytes(before), " :：,，")
	if at := strings.LastIndexAny(before, "\n。.!！?？;；,，"); at >= 0 {
		before = strings.TrimLeft(before[at:], "\n。.!！?？;；,， ")
	}
	return citesZH(before) || citesEN(before) || countsZH(before, after)
}
