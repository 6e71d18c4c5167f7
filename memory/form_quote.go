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
		if cites(text[:at], text[end:]) || isRecalled(text[at+size:at+size+length], recalled) {
			b.WriteString(" … ")
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
