package tokens

import "bytes"

// stem gives the stem of an English word in lower case, by M. F. Porter, "An
// algorithm for suffix stripping", Program 14 (1980), with the two departures of
// his own later programs (-logi to -log, -bli to -ble). What is no English word by
// its letters stays as it is. It writes over the word.
func stem(word []byte) []byte {
	const shortest = 3 // shorter words have no suffix
	if len(word) < shortest || !isEnglish(word) {
		return word
	}
	w := plurals(word)
	w = pastForms(w)
	w = finalY(w)
	w = replaceFirst(w, 0, doubleSuffixes)
	w = replaceFirst(w, 0, simpleSuffixes)
	w = dropSuffix(w)
	return finalE(w)
}

func isEnglish(word []byte) bool {
	for _, b := range word {
		if b < 'a' || b > 'z' {
			return false
		}
	}
	return true
}

// plurals is step 1a: caresses, ponies, cats.
func plurals(w []byte) []byte {
	switch {
	case ends(w, "sses"), ends(w, "ies"):
		return w[:len(w)-2]
	case ends(w, "ss"):
		return w
	case ends(w, "s"):
		return w[:len(w)-1]
	}
	return w
}

// pastForms is step 1b: agreed, plastered, motoring.
func pastForms(w []byte) []byte {
	if ends(w, "eed") {
		if measure(cut(w, "eed")) > 0 {
			return w[:len(w)-1]
		}
		return w
	}
	for _, suffix := range []string{"ed", "ing"} {
		if ends(w, suffix) && hasVowel(cut(w, suffix)) {
			return mendStem(cut(w, suffix))
		}
	}
	return w
}

// mendStem gives a verb's stem its e back, or takes its doubled letter off.
func mendStem(w []byte) []byte {
	switch {
	case ends(w, "at"), ends(w, "bl"), ends(w, "iz"):
		return append(w, 'e')
	case endsDouble(w) && !bytes.ContainsRune([]byte("lsz"), rune(w[len(w)-1])):
		return w[:len(w)-1]
	case measure(w) == 1 && endsShort(w):
		return append(w, 'e')
	}
	return w
}

// finalY is step 1c: happy.
func finalY(w []byte) []byte {
	if ends(w, "y") && hasVowel(cut(w, "y")) {
		w[len(w)-1] = 'i'
	}
	return w
}

// A rewrite puts one suffix for another.
type rewrite struct{ from, to string }

// doubleSuffixes is step 2. Of two that fit, the longer stands first.
var doubleSuffixes = []rewrite{
	{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
	{"bli", "ble"}, {"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"},
	{"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"},
	{"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"},
	{"logi", "log"},
}

// simpleSuffixes is step 3.
var simpleSuffixes = []rewrite{
	{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
}

// replaceFirst rewrites the first suffix that fits, where the stem before it
// measures more than least.
func replaceFirst(w []byte, least int, rewrites []rewrite) []byte {
	for _, r := range rewrites {
		if ends(w, r.from) {
			if before := cut(w, r.from); measure(before) > least {
				return append(before, r.to...)
			}
			return w
		}
	}
	return w
}

// lastSuffixes is step 4. Of two that fit, the longer stands first.
var lastSuffixes = []string{
	"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize",
}

// dropSuffix is step 4: revival, adjustment, adoption.
func dropSuffix(w []byte) []byte {
	for _, suffix := range lastSuffixes {
		if !ends(w, suffix) {
			continue
		}
		before := cut(w, suffix)
		if suffix == "ion" && !ends(before, "s") && !ends(before, "t") {
			return w
		}
		if measure(before) > 1 {
			return before
		}
		return w
	}
	return w
}

// finalE is step 5: probate, controll.
func finalE(w []byte) []byte {
	if before := cut(w, "e"); ends(w, "e") && (measure(before) > 1 || measure(before) == 1 && !endsShort(before)) {
		w = before
	}
	if ends(w, "ll") && measure(w) > 1 {
		w = w[:len(w)-1]
	}
	return w
}

func ends(w []byte, suffix string) bool {
	return len(w) >= len(suffix) && string(w[len(w)-len(suffix):]) == suffix
}

// cut gives a word without a suffix that it ends with; a word that is shorter than
// the suffix, nothing.
func cut(w []byte, suffix string) []byte { return w[:max(0, len(w)-len(suffix))] }

// isConsonant reports whether the letter at i is one. A y is a vowel after a
// consonant, and else a consonant. It recurses over y only, a word's length at most.
func isConsonant(w []byte, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !isConsonant(w, i-1)
	}
	return true
}

// measure counts how often a vowel is followed by a consonant: Porter's m.
func measure(w []byte) int {
	count, afterVowel := 0, false
	for i := range w {
		consonant := isConsonant(w, i)
		if consonant && afterVowel {
			count++
		}
		afterVowel = !consonant
	}
	return count
}

func hasVowel(w []byte) bool {
	for i := range w {
		if !isConsonant(w, i) {
			return true
		}
	}
	return false
}

func endsDouble(w []byte) bool {
	n := len(w)
	return n >= 2 && w[n-1] == w[n-2] && isConsonant(w, n-1)
}

// endsShort reports whether a word ends consonant, vowel, consonant, the last of
// them none of w, x, y: hop, fil.
func endsShort(w []byte) bool {
	n := len(w)
	return n >= 3 && isConsonant(w, n-3) && !isConsonant(w, n-2) && isConsonant(w, n-1) &&
		w[n-1] != 'w' && w[n-1] != 'x' && w[n-1] != 'y'
}
