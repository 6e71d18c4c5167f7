package memory

import (
	_ "embed"
	"iter"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The words with which an answer reports: what else an answer of the form EvidenceOnly
// says must be in what it was given.
var (
	//go:embed report_en.txt
	reportEN string
	//go:embed report_zh.txt
	reportZH string
)

// Bounds of the lists' entries, and of what is read to ground an answer.
const (
	maxPhraseWords = 8
	maxReportRunes = 16
	maxGroundBytes = 128 << 10 // of all texts: more than a window has of one question
	shownRunes     = 6         // of Chinese that is not known
)

// A lexicon has the words that report, in both languages.
type lexicon struct {
	phrases map[string]bool // English ones, their words parted by a space, # for a number
	begins  map[string]bool // what a longer phrase begins with
	han     map[string]bool
}

var reporting = sync.OnceValue(func() *lexicon {
	l := &lexicon{phrases: map[string]bool{}, begins: map[string]bool{}, han: map[string]bool{}}
	for entry := range entries(reportEN) {
		words := strings.Split(entry, "_")
		for i := 1; i < len(words); i++ {
			l.begins[strings.Join(words[:i], " ")] = true
		}
		l.phrases[strings.Join(words, " ")] = true
	}
	for word := range entries(reportZH) {
		l.han[word] = true
	}
	return l
})

// entries gives the words of a list, without its headings.
func entries(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(list) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			for word := range strings.FieldsSeq(line) {
				if !yield(word) {
					return
				}
			}
		}
	}
}

// A ground has what an answer's words may come from, beside those that report.
type ground struct {
	words   map[string]bool // in letters; and Chinese ones of a single character
	bigrams map[string]bool // of Chinese characters
}

// groundOf reads the texts that an answer was given, folded, up to maxGroundBytes.
func groundOf(texts []string) *ground {
	g := &ground{words: map[string]bool{}, bigrams: map[string]bool{}}
	left := maxGroundBytes
	for _, text := range texts {
		text = text[:min(len(text), left)]
		left -= len(text)
		for _, p := range piecesOf(text) {
			runes := []rune(p.text)
			if !p.han || len(runes) == 1 {
				g.words[p.text] = true
				continue
			}
			for i := range len(runes) - 1 {
				g.bigrams[string(runes[i:i+2])] = true
			}
		}
	}
	return g
}

// has reports whether a word in letters is of the ground, as one or as several.
func (g *ground) has(word string) bool {
	word, _ = strings.CutSuffix(word, "'s")
	if g.words[word] || g.words[word+"s"] {
		return true
	}
	one, ok := strings.CutSuffix(word, "s")
	return ok && len(one) > 2 && g.words[one]
}

// A piece of a text is a word in letters, a run of Chinese characters, or a number.
type piece struct {
	text        string
	han, number bool
	begins      bool // something stands before it over which no phrase reaches
}

// piecesOf cuts a folded text.
func piecesOf(text string) (all []piece) {
	for begins := true; text != ""; {
		r, size := utf8.DecodeRuneInString(text)
		p := piece{begins: begins}
		end := size
		switch {
		case unicode.Is(unicode.Han, r):
			p.han, end = true, runOf(text, isHan)
		case unicode.IsDigit(r):
			p.number, end = true, runOf(text, func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune(".,':", r) })
		case unicode.IsLetter(r):
			end = runOf(text, func(r rune) bool { return unicode.IsLetter(r) && !isHan(r) || r == '\'' })
		default:
			begins = begins || !strings.ContainsRune(" -~·", r)
			text = text[size:]
			continue
		}
		p.text = strings.Trim(text[:end], ".,':")
		all = append(all, p)
		begins, text = false, text[end:]
	}
	return all
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// runOf gives how many bytes at the beginning of a text are of one kind.
func runOf(text string, of func(rune) bool) int {
	if at := strings.IndexFunc(text, func(r rune) bool { return !of(r) }); at >= 0 {
		return at
	}
	return len(text)
}

// ungrounded gives the first word of a folded clause that neither reports nor is of the
// ground, or "". It cuts the clause into phrases and words in every way that there is.
func ungrounded(clause string, g *ground) string {
	pieces := piecesOf(clause)
	cut := make([]bool, len(pieces)+1) // the clause up to there is
	cut[0] = true
	far := 0
	for i, p := range pieces {
		if !cut[i] {
			continue
		}
		far = i
		reporting().phrasesAt(pieces[i:], func(n int) { cut[i+n] = true })
		cut[i+1] = cut[i+1] || p.number || g.has(p.text) || isMark(pieces, i) || p.han && ungroundedHan(p.text, g) == ""
	}
	switch {
	case cut[len(pieces)]:
		return ""
	case pieces[far].han:
		return ungroundedHan(pieces[far].text, g)
	}
	return pieces[far].text
}

// isMark reports whether a piece is the letters of an id, a version or a unit: one or two
// right beside a number.
func isMark(pieces []piece, i int) bool {
	return !pieces[i].han && len(pieces[i].text) <= 2 && (i > 0 && pieces[i-1].number || i+1 < len(pieces) && pieces[i+1].number)
}

// phrasesAt tells how many pieces each phrase takes that some pieces begin with.
func (l *lexicon) phrasesAt(pieces []piece, is func(n int)) {
	phrase := ""
	for i, p := range pieces[:min(len(pieces), maxPhraseWords)] {
		if p.han || i > 0 && p.begins {
			return
		}
		word := p.text
		if p.number {
			word = "#"
		}
		phrase = strings.TrimPrefix(phrase+" "+word, " ")
		base, _ := strings.CutSuffix(phrase, "'s")
		if l.phrases[phrase] || l.phrases[base] {
			is(i + 1)
		}
		if !l.begins[phrase] {
			return
		}
	}
}

// ungroundedHan cuts a run of Chinese characters into words that report and runs of the
// ground, and gives what stands behind the furthest cut, or "" where all of it is cut.
func ungroundedHan(run string, g *ground) string {
	runes, l := []rune(run), reporting()
	if len(runes) == 1 && g.words[run] {
		return ""
	}
	cut := make([]bool, len(runes)+1) // the run up to there is
	cut[0] = true
	far, followed := 0, 0 // followed is how far the last run of the ground went: one that begins in it ends there
	for i := range runes {
		if !cut[i] {
			continue
		}
		far = i
		for j := i + 1; j <= min(i+maxReportRunes, len(runes)); j++ {
			cut[j] = cut[j] || l.han[string(runes[i:j])]
		}
		if i+1 < followed {
			continue
		}
		for j := i + 2; j <= len(runes) && g.bigrams[string(runes[j-2:j])]; j++ {
			cut[j], followed = true, j
		}
	}
	if cut[len(runes)] {
		return ""
	}
	return string(runes[far:min(len(runes), far+shownRunes)])
}
