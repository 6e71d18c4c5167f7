package tokens

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Query gives the terms of a question, each with how much it tells: from 0 for
// nothing to 1. None of the question's own terms is left out. To a question of when
// it adds the words with which people date what they tell. The question is read to
// 4 KiB.
func Query(text string) Vector {
	text = composed(head(text, longestQuestion))
	asked := termIDs(text)
	leading, within := leadingLetters(text), loneLetters(text)
	ids := slices.Concat(asked, leading, within)
	if asksWhen(asked) {
		ids = append(ids, moments...)
	}
	return collect(ids, func(id uint32, _ int) float32 {
		switch {
		case slices.Contains(within, id):
			return letterShare
		case !slices.Contains(asked, id) && slices.Contains(leading, id):
			return leadingShare
		case !slices.Contains(asked, id):
			return momentShare
		case slices.Contains(functionWords, id):
			return functionShare
		case slices.Contains(questionWords, id):
			return questionShare
		}
		return 1
	})
}

// leadingLetters gives the first letter of each run that has no spaces as a term:
// a name of one letter stands alone in what tells of it, and in a question at the
// start, with the rest of the sentence at its heels.
func leadingLetters(text string) (ids []uint32) {
	within := false
	for _, r := range text {
		r = fold(r)
		if pairs := classOf(r) == inPairs; pairs != within {
			within = pairs
			if pairs {
				ids = append(ids, termID(utf8.AppendRune(nil, r)))
			}
		}
	}
	return ids
}

// letters gives the Han letters of a text as terms, each once, for who asks for one alone:
// a pair says nothing of its halves. They are others than those of a run of one letter.
func letters(text string) (ids []uint32) {
	for _, r := range head(text, MaxTextBytes) {
		if firstHan <= r && r <= lastHan {
			ids = append(ids, letterID(simplify(r)))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// loneLetters gives the Han letters that stand alone in a question.
func loneLetters(text string) (ids []uint32) {
	for term := range terms(text) {
		if r, n := utf8.DecodeRune(term); n == len(term) && firstHan <= r && r <= lastHan {
			ids = append(ids, letterID(r))
		}
	}
	return ids
}

// letterID gives the term of a letter within a word. No text has its first byte.
func letterID(r rune) uint32 { return termID(utf8.AppendRune([]byte{0xff}, r)) }

// asksWhen reports whether a question is one of when. English says so at the start:
// further on, "when" tells what goes with what.
func asksWhen(ids []uint32) bool {
	return len(ids) > 0 && ids[0] == whenFirst[0] || slices.ContainsFunc(ids, func(id uint32) bool { return slices.Contains(whenAnywhere, id) })
}

// The lists are terms as Document makes them. Chinese ones are pairs of letters,
// also those across the border of a question word and its usual neighbour.
var (
	functionWords = idsOf(`a an the of to in on at by for with from and or is are was were be been am do does did
		what when where who whom whose which why how has have had i you he she it we they my your his her its our their
		as that this these those would could will can s about after before during`)
	questionWords = idsOf(`什么 是什 么时 时候 么是 么样 么人 么名 叫什 做什 有什 了什 为什 哪些 哪个 哪里 哪一 哪年 哪几 哪位 在哪 是哪 有哪 于哪
		多少 多大 多久 有多 如何 怎么 怎样 何时 何种 请问 是谁 谁的 由谁 被谁 几个 的是 称为 名字`)
	moments = idsOf(`yesterday today tomorrow last next week weekend month year ago recently monday tuesday wednesday
		thursday friday saturday sunday summer winter tonight morning night
		昨天 今天 明天 前天 上周 下周 这周 周末 上个 下个 个月 月份 今年 去年 明年 最近 早上 晚上`)
	whenFirst    = idsOf("when")
	whenAnywhere = idsOf("何时 么时 哪天 几号 几月 哪年")
)

func idsOf(words string) []uint32 {
	var ids []uint32
	for _, word := range strings.Fields(words) {
		ids = append(ids, termIDs(word)...)
	}
	return ids
}
