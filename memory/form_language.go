package memory

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// englishList has English words as they are met in technical and commercial prose, without
// the forms that withoutEnding leads back to them.
//
//go:embed english.txt
var englishList string

var englishWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(englishList) {
		words[word] = true
	}
	return words
})

// functionWords of other languages are no names where they are written with a capital.
var functionWords = regexp.MustCompile(`^(?:l[ea]s?|d[eu]s?|der|das|den|dem|ein[e]?|el|l[oa]s|un[aoe]?|und|et|est|ist|auf|zu|mit|para|por|con|` +
	`che|il|di|um|uma|het|een|van|yang|untuk|ini|bir|ve|je|ich|ik|eu|yo|saya|ja|nous|vous|wir)$`)

// What is no prose: addresses, names of tools and of articles.
var noProse = regexp.MustCompile(`https?://[!-~]+|[!-~]*[@_/\\][!-~]*|[!-~]*\w[.:]\w[!-~]*|[\p{Latin}-]*[0-9][\p{Latin}0-9-]*`)

// sentenceEnds parts what is read at once. A line of a table is one.
var sentenceEnds = regexp.MustCompile(`\n|[.!?]+(?:\s|$)|[。！？\x01]`)

// What the words of a sentence weigh against each other: a Chinese character is about
// half a word.
const (
	wordWeight = 2
	hanWeight  = 1
	// leastUnread are two words: one that is not known is a name or a rare one.
	leastUnread = 2 * wordWeight
)

// unreadSentence gives the first sentence that is in neither of the languages that the
// rules read, or "". Text is folded; names are words of it that count as neither.
func unreadSentence(text string, names map[string]bool) string {
	for _, sentence := range sentenceEnds.Split(noProse.ReplaceAllString(text, " "), -1) {
		known, unknown, other := weigh(sentence, names)
		if unknown+other > known && (other >= wordWeight || unknown >= leastUnread) {
			return strings.TrimSpace(sentence)
		}
	}
	return ""
}

// weigh tells how much of a sentence is English or Chinese, how much is in Latin letters
// and not known, and how much is in other letters.
func weigh(sentence string, names map[string]bool) (known, unknown, other int) {
	for _, word := range strings.FieldsFunc(sentence, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
		han, spaced, unspaced := lettersOf(word)
		known += han * hanWeight
		other += unspaced * wordWeight
		switch {
		case spaced:
			other += wordWeight
		case han > 0 || unspaced > 0 || len(word) < 2 || names[word] && !functionWords.MatchString(word) || unicode.Is(unicode.Katakana, firstRune(word)):
		case isEnglish(word):
			known += wordWeight
		default:
			unknown += wordWeight
		}
	}
	return known, unknown, other
}

// lettersOf counts the letters of a word by their scripts: Chinese characters, whether it
// has letters of scripts that part words by spaces, and those of scripts that do not.
// Katakana, in which names are written, is none of them.
func lettersOf(word string) (han int, spaced bool, unspaced int) {
	for _, r := range word {
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.In(r, unicode.Hiragana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan):
			unspaced++
		case unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Katakana, unicode.Common):
			spaced = true
		}
	}
	return han, spaced, unspaced
}

func firstRune(word string) rune {
	r, _ := utf8.DecodeRuneInString(word)
	return r
}

// isEnglish reports whether a word is known, as it is or without an ending.
func isEnglish(word string) bool {
	words := englishWords()
	word, _, _ = strings.Cut(word, "'")
	if len(word) < 2 || words[word] {
		return true
	}
	for _, ending := range [...][2]string{{"ies", "y"}, {"ied", "y"}, {"ily", "y"}, {"es", ""}, {"s", ""}, {"ed", ""}, {"ed", "e"},
		{"ing", ""}, {"ing", "e"}, {"ly", ""}, {"er", ""}, {"er", "e"}, {"est", ""}, {"est", "e"}} {
		stem, ok := strings.CutSuffix(word, ending[0])
		if !ok || len(stem) < 3 {
			continue
		}
		if last := len(stem) - 1; words[stem+ending[1]] || stem[last] == stem[last-1] && words[stem[:last]] { // stopp-ed
			return true
		}
	}
	return false
}

// namesIn gives the words of an answer, folded, that are written with a capital within a
// sentence, or at its beginning before another one.
func namesIn(answer string) map[string]bool {
	names := map[string]bool{}
	for _, sentence := range sentenceEnds.Split(answer, -1) {
		words := strings.FieldsFunc(listMark.ReplaceAllString(sentence, ""), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && !unicode.Is(unicode.Mn, r) })
		for i, word := range words {
			inside := i > 0 || strings.HasPrefix(sentence, "|") || len(words) > 1 && unicode.IsUpper(firstRune(words[1]))
			if inside && unicode.IsUpper(firstRune(word)) {
				names[foldForm(word)] = true
			}
		}
	}
	return names
}

// adviceElsewhere has the beginnings of words that recommend in languages that are not
// read else, folded: Cyrillic letters are in part Latin ones then.
var adviceElsewhere = regexp.MustCompile(`\b(?:recommand|recomiend|recomend|raccomand|empfehl|empfiehl|empfohl|rekomen|aconsej|conseil|consigli|sugier|sugger[eio]|` +
	`vorschlag|vorschlage|sarankan|menyarankan|disarankan|polecam|doporuc|anbefal|aanbevel|aanrad|oneri|tavsiye|khuyen)\w*|` +
	`おすすめ|オススメ|お勧め|すべき|推奨|추천|권장|권해|권합|pekomehдy|cobety|npeдлara|cлeдyet`)

// adviseElsewhere finds words that recommend in other languages than English and Chinese.
func adviseElsewhere(clause string) (string, bool) {
	found := adviceElsewhere.FindString(clause)
	return found, found != ""
}
