package memory

import (
	"slices"
	"strings"
)

// notAdviceEN takes out words that hold a cue and recommend nothing.
var notAdviceEN = removing(
	"suggested retail price", "recommended retail price", "recommendation feed", "recommendation traffic",
	"recommendation engine", "recommended feed", "recommended traffic", "must-have", "should arrive",
	"should have arrived", "should still be", "should show", "should appear", "suggestion box", "best seller",
	"best-selling", "go live", "must-see",
)

// strongEN finds English words that recommend.
func strongEN(clause string) (string, bool) {
	for _, cue := range [...]string{"recommend", "recommends", "recommended", "recommendation", "recommending", "i suggest",
		"we suggest", "i'd suggest", "would suggest", "my suggestion", "suggest you", "suggest that you", "suggestion",
		"suggested", "advise", "advice", "i'd advise", "my advice", "should", "shouldn't", "ought to", "had better",
		"you'd better",
		"you must", "must", "you need to", "we need to", "you have to", "best to", "best option", "best choice", "best bet",
		"best move", "best approach", "best way", "best plan", "safest choice", "safer choice", "better choice",
		"wiser choice", "optimal choice", "optimal price", "is necessary", "go with", "go for", "opt for", "stick with",
		"stick to", "better to", "better off", "right move", "right choice", "right price", "make sure", "be sure to",
		"i would", "i'd", "let's", "worth doing", "worth lowering", "worth raising", "no need to", "it is time to",
		"it's time to", "deserves", "deserve", "thing to do is", "smart move", "smart choice", "wise to", "wiser to",
		"pays to", "time to", "so do that", "do that", "definitely", "my pick", "the way to go", "the answer is to"} {
		at := wordAt(clause, cue)
		if at < 0 || exemptEN(clause[:at], clause[at+len(cue):], cue) {
			continue
		}
		return cue, true
	}
	for _, verb := range [...]string{"suggest", "suggests"} { // "the data suggest lowering it", not "that it fell"
		if at := wordAt(clause, verb); at >= 0 {
			next, _, _ := strings.Cut(strings.TrimSpace(clause[at+len(verb):]), " ")
			if strings.HasSuffix(next, "ing") && !exemptEN(clause[:at], "", verb) {
				return verb, true
			}
		}
	}
	return "", false
}

// exemptEN is exemptZH for English.
func exemptEN(before, after, cue string) bool {
	if hasWord(before, "whether", "do you want me", "would you like me", "would you like a", "want a", "like a", "you said",
		"you told", "you wrote", "you noted", "you asked", "it says", "he said", "she said", "they said", "wrote") ||
		attributedEN(before, "platform", "platform's", "brand", "brand's", "supplier", "viewers", "viewer", "customers",
			"customer", "fans", "law", "rule", "rules", "policy", "constraint", "constraints", "contract", "requires") {
		return true
	}
	switch cue {
	case "recommend", "recommends", "recommending", "suggest", "suggests", "advise", "advice", "recommended", "suggested", "recommendation", "suggestion":
		return refusesEN(before) || pastAdvice(before, after, cue)
	case "i would", "i'd":
		return hasWord(after, "need", "like to know", "be able", "have to", "require")
	case "one option", "an option", "another option", "an alternative":
		return refusesEN(before)
	case "definitely":
		return true // alone it recommends nothing
	}
	return false
}

// refusesEN reports whether advice is refused: "I cannot recommend", and not "I
// would not recommend", which is advice.
func refusesEN(before string) bool {
	return hasWord(before, "cannot", "can't", "could not", "couldn't", "unable", "no", "not a", "not enough", "too little",
		"without", "too early", "rather than", "instead of", "insufficient", "won't", "will not", "neither", "nor", "never",
		"refrain") && !hasWord(before, "no doubt", "no question", "without doubt")
}

// pastAdvice reports whether advice is told of that was given earlier, or that is
// the user's.
func pastAdvice(before, after, cue string) bool {
	if cue == "recommend" || cue == "suggest" || cue == "advise" {
		return false
	}
	return hasWord(before, "last time", "earlier", "previously", "last week", "last month", "last live", "in the past",
		"yesterday", "was", "were", "had been") ||
		hasWord(after, "last time", "earlier", "previously", "last week", "yesterday", "by the brand", "by the platform") ||
		strings.HasSuffix(before, "your ") || hasWord(before, "rejected", "adopted", "accepted", "followed", "against", "ignored", "refused") ||
		hasWord(after, "was", "were", "adopted", "rejected", "count") && !hasWord(before, "is", "my", "the")
}

// nearWords is how many words may stand between who says something and what is said.
const nearWords = 3

// attributedEN is attributedZH for English.
func attributedEN(before string, sources ...string) bool {
	words := strings.Fields(strings.ReplaceAll(before, ":", " "))
	for i := max(0, len(words)-nearWords-1); i < len(words); i++ {
		if !slices.Contains(sources, strings.Trim(words[i], "'\"")) {
			continue
		}
		forWhom := false // "for these customers you should"
		for _, w := range words[max(0, i-2):i] {
			forWhom = forWhom || slices.Contains([]string{"for", "to", "with", "as", "since", "because", "given", "by"}, w)
		}
		if !forWhom {
			return true
		}
	}
	return false
}

// weakEN finds English words that propose.
func weakEN(clause string) (string, bool) {
	for _, cue := range [...]string{"consider", "considering", "you could", "you might", "you may want", "you can try",
		"might be worth", "may be worth", "worth a try", "worth trying", "worth testing", "worth considering", "how about",
		"what about", "why not", "perhaps try", "maybe try", "try", "one option", "an option", "another option", "could try",
		"we could", "it could help", "may help", "might help", "for reference", "feel free to", "would be better",
		"might be better", "might work", "could work", "would work", "might want to", "have you thought", "have you considered",
		"could be a", "might be a", "may be a", "could be an", "might be an", "may be an", "an alternative", "alternatively",
		"could tell", "if you want"} {
		at := wordAt(clause, cue)
		if at < 0 || exemptEN(clause[:at], clause[at+len(cue):], cue) || (cue == "consider" || cue == "considering" || cue == "try") && hasWord(clause[:at], "did",
			"didn't", "does", "first", "second", "every", "each") || cue == "considering" && !hasWord(clause[:at], "worth",
			"be") {
			continue
		}
		return cue, true
	}
	return "", false
}

// imperativeEN finds an English clause that tells the user what to do: it begins
// with a verb and goes on as an order does.
func imperativeEN(clause string) (string, bool) {
	words := strings.Fields(strings.Trim(clause, `"“”'`))
	if len(words) > 1 && (words[0] == "please" && !slices.Contains([]string{"confirm", "tell", "let", "decide", "say", "note",
		"see", "provide", "check", "specify", "choose"}, words[1]) || words[0] == "never" && !hasWord(clause, "was", "were",
		"is", "had")) {
		return words[0] + " …", true
	}
	for len(words) > 0 && slices.Contains([]string{"then", "so", "please", "just", "first", "next", "instead", "therefore",
		"and", "or", "simply", "tonight", "conclusion:", "answer:", "now", "also", "don't", "do", "not"}, words[0]) {
		words = words[1:]
	}
	if len(words) < 2 {
		return "", false
	}
	verbs := []string{"lower", "raise", "set", "cut", "drop", "increase", "reduce", "use", "start", "open", "switch", "push",
		"choose", "pick", "keep", "move", "put", "add", "remove", "run", "launch", "schedule", "avoid", "skip", "stop", "offer",
		"give", "go", "shorten", "extend", "change", "price", "discount", "bundle", "replace", "focus", "test", "hold", "delay",
		"sell", "pin", "restock", "deal", "send", "cancel", "wait", "plan", "lead", "begin", "end", "swap", "promote",
		"feature"}
	follow := []string{"the", "a", "an", "your", "it", "them", "this", "that", "to", "with", "down", "up", "back", "at", "for",
		"on", "by", "all", "more", "fewer", "less", "sku", "product", "prices", "price", "coupons", "from", "only", "both",
		"off", "ahead", "each", "every", "now", "giving", "using", "discounts"}
	if !slices.Contains(verbs, words[0]) {
		return "", false
	}
	next := strings.Trim(words[1], `.:"`)
	if (words[0] == "avoid" || words[0] == "stop" || words[0] == "start") && strings.HasSuffix(next, "ing") {
		return words[0] + " …", true
	}
	if slices.Contains(follow, next) && !strings.HasSuffix(words[1], ":") || next != "" && isDigit(next[0]) && words[0] != "end" && !hasWord(clause, "was",
		"were", "had", "fell", "rose", "has", "are", "is", "%") {
		return words[0] + " …", true
	}
	return "", false
}
