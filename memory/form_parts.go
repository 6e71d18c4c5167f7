package memory

import "strings"

// Incomplete tells the user that a recommendation was not shown because it came without
// some of its parts, which are those of MissingParts, and what the user can do.
func Incomplete(missing []string, locale string) string {
	speak := speakIn(locale)
	words := make([]string, len(missing))
	for i, part := range missing {
		words[i] = speak.part(part)
	}
	return speak.pick(
		"I held my recommendation back: it came without %s. Ask me again, or ask for the figures and the record alone.",
		"我的建议没有发给您：其中缺少%s。请再问我一次，或者让我只列出数据和记录。",
		strings.Join(words, speak.pick(" and without ", "、")))
}

// part gives what a part of a recommendation is called.
func (s speaker) part(part string) string {
	switch part {
	case PartCounter:
		return s.pick("a counter-example", "反例")
	case PartAlternative:
		return s.pick("an alternative", "备选方案")
	}
	return s.pick("how sure it is", "置信度")
}
