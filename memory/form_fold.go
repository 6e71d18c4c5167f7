package memory

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
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
	lines := strings.Split(oneBreak.Replace(answer), "\n")
	for i, line := range lines {
		lines[i] = joinSpaced(unmasked.Replace(strings.ToLower(strings.Map(plainLetter, oneLine(line)))))
	}
	return simplified.Replace(strings.Join(lines, "\n"))
}

// plainLetter folds the shapes that Unicode has of one letter, and drops what marks or
// parts words and is not seen. Pictures become emoji, and numbers in circles, which
// begin the lines of lists, bullets.
func plainLetter(r rune) rune {
	switch {
	case r == '_': // it may part words, or mark them
		return '~'
	case r < 0x80 && r != '*' && r != '`':
		return r
	case r >= 0x2460 && r <= 0x2473 || r >= 0x2776 && r <= 0x2793:
		return '•'
	case r >= 0x249C && r <= 0x24B5: // letters in brackets, which are three characters to Unicode
		return letterOf(r - 0x249C)
	case r >= 0x1F110 && r <= 0x1F129:
		return letterOf(r - 0x1F110)
	case r >= 0x1F150 && r <= 0x1F169: // white on black, round and square
		return letterOf(r - 0x1F150)
	case r >= 0x1F170 && r <= 0x1F189:
		return letterOf(r - 0x1F170)
	case r >= 0x1F1E6 && r <= 0x1F1FF: // of flags
		return letterOf(r - 0x1F1E6)
	case r == '’' || r == '‘':
		return '\''
	case r == '*' || r == '`', unicode.Is(unicode.M, r), strings.ContainsRune("\u115f\u1160\u2800\u3164\uffa0", r):
		return -1
	}
	return compatible(r)
}

// compatible gives the one letter or digit that Unicode holds a character for: wide, bold,
// in a circle, or a radical. Punctuation stays as it is.
func compatible(r rune) rune {
	if plain := []rune(norm.NFKC.String(string(r))); len(plain) == 1 && (unicode.IsLetter(plain[0]) || unicode.IsDigit(plain[0])) {
		return plain[0]
	}
	if r > 0xFF && unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) && r > 0xFFFF {
		return emoji
	}
	return r
}

// letterOf gives the letter at a place in rows of A to Z and a to z.
func letterOf(place rune) rune {
	return 'a' + place%26
}

// leastSpelled is how many letters one by one are a word that is spelled out.
const leastSpelled = 4

// joinSpaced takes out the spaces between Chinese characters and beside numbers in
// Chinese, and those of an English word that is written letter by letter.
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
		if i > 0 && !spelled[i] && !isOneChinese(words[i-1], w) {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}

// isOneChinese reports whether Chinese is written without a space between two words, of
// which one may be a number.
func isOneChinese(before, after string) bool {
	if before == "" || after == "" {
		return false
	}
	return endsHan(before) && (startsHan(after) || isDigit(after[0])) || startsHan(after) && isDigit(before[len(before)-1])
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
