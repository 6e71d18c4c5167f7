package memory

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Letters of other alphabets, and Latin ones with marks, and the Latin letters that
// people take them for, in the same order.
const (
	lookalikes = "аеорсухіјѕһԁԛԝвкмнтгпёїѵαεορνυικτχμηβωζγ" + "ıłøɡɑℓⅰⅴⅹⅼⅽⅾⅿ" +
		"àáâãäåāăąǎèéêëēėęěìíîïīįǐòóôõöōőǒùúûüūůűǔçćčñńňýÿśšşźżžğřťďṁḿ"
	lookLike = "aeopcyxijshdqwbkmhtrneivaeopvuiktxmnbwzy" + "ilogalivxlcdm" +
		"aaaaaaaaaaeeeeeeeeiiiiiiioooooooouuuuuuuucccnnnyysssz" + "zzgrtdmm"
)

// unmasked folds letters that look like Latin ones.
var unmasked = pairing(lookalikes, lookLike)

// A bracketed note of references: ids of memories and dates.
var (
	bracketed  = regexp.MustCompile(`[ ]?[（(][^（()）\n]{1,60}[)）]`)
	references = regexp.MustCompile(`^[ ]?[（(] ?(?:证据|编号|evidence)? ?(?:[a-z]{0,4}[0-9]+[年月日号]*(?: (?:january|february|march|april|may|june|july|` +
		`august|september|october|november|december))?[ ,，、和:/.-]*)+[)）]$`)
)

// plainForm is foldForm without references in brackets, which part no words.
func plainForm(text string) string {
	return bracketed.ReplaceAllStringFunc(foldForm(text), func(note string) string {
		if references.MatchString(note) {
			return ""
		}
		return note
	})
}

// foldForm brings an answer to plain lower case: letters that look like others,
// emphasis, spaces inside of words and characters that nobody sees may not hide a word.
func foldForm(answer string) string {
	lines := strings.Split(answer, "\n")
	for i, line := range lines {
		lines[i] = joinSpaced(unmasked.Replace(strings.ToLower(strings.Map(plainLetter, oneLine(line)))))
	}
	return simplified.Replace(strings.Join(lines, "\n"))
}

// plainLetter folds the shapes that Unicode has of one letter, and drops what marks or
// parts words and is not seen.
func plainLetter(r rune) rune {
	switch {
	case r >= 0xFF21 && r <= 0xFF5A || r >= 0xFF10 && r <= 0xFF19: // wide letters and digits
		return r - 0xFF01 + '!'
	case r >= 0x1D400 && r <= 0x1D6A3: // bold, slanted and other letters of formulas
		return letterOf(r - 0x1D400)
	case r >= 0x1D7CE && r <= 0x1D7FF: // their digits
		return '0' + (r-0x1D7CE)%10
	case r >= 0x24B6 && r <= 0x24E9: // circled letters
		return letterOf(r - 0x24B6)
	case r == '’' || r == '‘':
		return '\''
	case r == '*' || r == '_' || r == '`', unicode.Is(unicode.Mn, r), strings.ContainsRune("\u115f\u1160\u2800\u3164\uffa0", r):
		return -1
	}
	return r
}

// letterOf gives the letter at a place in rows of A to Z and a to z.
func letterOf(place rune) rune {
	return 'a' + place%26
}

// leastSpelled is how many letters one by one are a word that is spelled out.
const leastSpelled = 4

// joinSpaced takes out the spaces between Chinese characters, and those of an English
// word that is written letter by letter.
func joinSpaced(line string) string {
	words := strings.Split(line, " ")
	spelled := make([]bool, len(words)) // the letter goes on the word before it
	for start := 0; start < len(words); start++ {
		end := start
		for end < len(words) && len(words[end]) == 1 && isLatin(words[end][0]) {
			end++
		}
		if end > start && (words[start] == "i" || words[start] == "a") {
			start++ // a word of its own
		}
		for i := start + 1; i < end && end-start >= leastSpelled; i++ {
			spelled[i] = true
		}
		start = max(start, end)
	}
	var b strings.Builder
	for i, w := range words {
		if i > 0 && !spelled[i] && !(endsHan(words[i-1]) && startsHan(w)) {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}

func startsHan(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.Is(unicode.Han, r)
}

func endsHan(word string) bool {
	r, _ := utf8.DecodeLastRuneInString(word)
	return unicode.Is(unicode.Han, r)
}

// The bounds of what is read to let a cue off: on each side of it more than any
// exemption needs, and of one cue in one clause more than anybody says.
const (
	maxBesideBytes = 160
	maxLetOff      = 16
)

// exemption reports whether what stands before and after a cue lets it off.
type exemption func(before, after, cue string) bool

// recommends reports whether a cue stands anywhere in a clause where nothing lets it
// off. Find gives where it is first. A clause that has it too often is taken to.
func recommends(clause, cue string, find func(text, cue string) int, exempt exemption) bool {
	for from, read := 0, 0; ; read++ {
		at := find(clause[from:], cue)
		if at < 0 {
			return false
		}
		start, end := from+at, from+at+len(cue)
		if read == maxLetOff || !exempt(lastBytes(clause[:start]), firstBytes(clause[end:]), cue) {
			return true
		}
		from = end
	}
}

func lastBytes(text string) string {
	at := max(0, len(text)-maxBesideBytes)
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}

func firstBytes(text string) string {
	end := min(len(text), maxBesideBytes)
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
