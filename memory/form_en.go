package memory

import (
	"regexp"
	"slices"
	"strings"
)

// notAdviceEN takes out words that hold a cue and recommend nothing.
var notAdviceEN = removing(
	"suggested retail price", "recommended retail price", "recommendation feed", "recommendation traffic",
	"recommendation engine", "recommendation text", "recommended feed", "recommended traffic", "must-have", "should arrive",
	"should have arrived", "should still be", "should show", "should appear", "suggestion box", "best seller",
	"best-selling", "go live", "must-see",
)

// strongEN finds English words that recommend.
func strongEN(clause string) (string, bool) {
	for _, cue := range [...]string{"recommend", "recommends", "recommended", "recommendation", "recommendations", "recommending", "i suggest",
		"we suggest", "i'd suggest", "would suggest", "my suggestion", "suggest you", "suggest that you", "suggestion", "suggestions",
		"suggested", "advise", "advises", "advice", "i'd advise", "my advice", "should", "shouldn't", "ought to", "had better",
		"you'd better",
		"you must", "must", "you need to", "we need to", "you have to", "best to", "best option", "best choice", "best bet",
		"best move", "best approach", "best way", "best plan", "safest choice", "safer choice", "better choice",
		"wiser choice", "is necessary", "go with", "go for", "opt for", "stick with",
		"stick to", "better to", "better off", "right move", "right choice", "right price", "make sure", "be sure to",
		"i would", "i'd", "let's", "worth doing", "worth lowering", "worth raising", "no need to", "it is time to",
		"it's time to", "deserves", "deserve", "thing to do is", "smart move", "smart choice", "wise to", "wiser to",
		"pays to", "time to", "so do that", "do that", "my pick", "the way to go", "the answer is to", "makes sense to",
		"make sense to", "you'll want", "you will want", "you want to", "what you want", "my take", "my call", "my verdict", "sensible price",
		"sensible choice", "sensible option", "only sensible", "follow that", "follow this", "best shot", "least risk", "rule out",
		"start selling", "in favour of lowering", "in favour of raising"} {
		if recommends(clause, cue, wordAt, exemptEN) {
			return cue, true
		}
	}
	for _, verb := range [...]string{"suggest", "suggests"} { // "the data suggest lowering it", not "that it fell"
		if recommends(clause, verb, wordAt, exemptSuggestEN) {
			return verb, true
		}
	}
	for _, order := range [...]*regexp.Regexp{midOrderEN, moreEN, chosenEN, pointedEN} {
		if at := order.FindStringIndex(clause); at != nil && !reportedEN(clause[:at[0]]) {
			return clause[at[0]:at[1]], true
		}
	}
	return "", false
}

// midOrderEN is an order inside of a clause: "the data are clear so set it to 59".
var midOrderEN = regexp.MustCompile(`\b(?:so|then|just|simply) (?:set|price|lower|raise|drop|cut|move|put|keep|take|bring) (?:it|them|the price|this|that)\b`)

var (
	// moreEN orders goods, and is not the number of an order.
	moreEN = regexp.MustCompile(`^order [0-9]+ (?:more|of|pieces|units|extra)\b`)
	// chosenEN says which option it is: "89 wins", "59 is your number", "79 is the price to run".
	chosenEN = regexp.MustCompile(`\b(?:[0-9][0-9.']*|it|that|(?:option|plan|version) \w+|[a-z]) wins\b|\bwins?$|\byou want [0-9]|\bis your (?:number|price|answer|pick|winner|move|slot)\b|` +
		`\bis the (?:\w+ )?(?:price|number|slot|time|plan|option|product|one|move|version) to (?:run|take|use|pick|set|go|beat|choose|sell|start|push|show|open|lead)\b`)
	// pointedEN has the record say what to do: "all signs point to 79".
	pointedEN = regexp.MustCompile(`\b(?:(?:signs?|evidence|data|figures|numbers|record|everything|lives|it)(?: \w+)? (?:points?|leans?)(?: \w+)? (?:to|towards?|at)) (?:lowering|raising|keeping|cutting|[0-9]\w*|\w+ o'clock)`)
)

func exemptSuggestEN(before, after, cue string) bool {
	next, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	return !strings.HasSuffix(next, "ing") || exemptEN(before, after, cue)
}

// What must stand right before an English cue to let it off.
var (
	askedEN   = regexp.MustCompile(`\b(?:(?:whether|want me|like me)(?: [\w']+){0,2}|like a|want a) $`)
	adviserEN = regexp.MustCompile(`\b(?:` + advisersEN + `)(?:'s?)?(?: (?:also|both|always|never|had|has|have|once|still))* $`)
	saidEN    = regexp.MustCompile(`\b((?:you|he|she|it|they|` + advisersEN + `|` + rulesEN + `)(?:'s?)?(?: [\w']+){0,2} (?:` + saysEN + `)(?: (?:me|us))?(?: (?:in|on) (?:the|a|its|their|your) \w+)?:?)((?: [\w']+){0,3}) $`)
	ruledEN   = regexp.MustCompile(`\b(?:(?:your|shop's|(?:` + advisersEN + `)(?:'s)?) (?:\w+ )?(?:` + rulesEN + `)|(?:` + rulesEN + `) (?:that )?you \w+)` +
		`(?: (?:is|are|was|says|say|reads|states))?(?: that|:)((?: [\w']+){0,3}) $`)
	// "I cannot give a recommendation", and not "I would not recommend", which is advice.
	refusedEN = regexp.MustCompile(`\b(?:cannot|can't|could not|couldn't|unable|no|won't|will not|without|neither|nor|never|refrain|too little|too early|` +
		`rather than|instead of|insufficient|not (?:able|a|an|any|enough|sufficient|give|make|offer|provide))(?: (?:give|offer|make|provide|any|a|an|one|` +
		`to|from|clear|specific|further|for|evidence|data|enough|support|form|of|kind|single|such|you|yet|reach|basis|firm|earlier|previous|` +
		`past|prior|adopted|recommend|suggest|advise))* $`)
	pastEN = regexp.MustCompile(`\b(?:was|were|been|earlier|previous|previously|last|past|rejected|adopted|accepted|followed|against|ignored|refused)` +
		`(?: (?:the|a|an|any|these|those|one|two|three|four|five|six|seven|eight|nine|ten|most|all|some|both|my|your|[0-9]+))* $`)
	laterEN = regexp.MustCompile(`^ (?:last (?:time|week|month|live)|earlier|previously|yesterday|by the (?:brand|platform|supplier)|on [0-9]+ ` +
		`(?:january|february|march|april|may|june|july|august|september|october|november|december))\b`)
	// What makes an adviser the one for whom, or by whose words, something is advised.
	forWhomEN = regexp.MustCompile(`\b(?:i|we|my|our|for|to|with|as|since|because|given|by|like)(?: (?:the|a|an|these|those|this|that|your|all|new|and))* $`)
	turnsEN   = regexp.MustCompile(`\b(?:so|therefore|but|and|hence|thus|then|i|i'd|my)\b`)
)

const (
	advisersEN = "platform|brand|supplier|suppliers|viewers|viewer|customers|customer|fans|buyers|users|boss|manager|operator|host|competitor"
	rulesEN    = "law|rule|rules|policy|constraint|constraints|contract"
	saysEN     = "said|say|says|told|wrote|write|writes|noted|asked|states|stated|require|requires|declared|think|thinks|thought|believe|believes|call|called"
)

// exemptEN is exemptZH for English.
func exemptEN(before, after, cue string) bool {
	if askedEN.MatchString(before) || reportedEN(before) {
		return true
	}
	switch cue {
	case "recommend", "recommends", "recommending", "suggest", "suggests", "advise", "advises", "advice", "recommended", "suggested",
		"recommendation", "recommendations", "suggestion", "suggestions":
		return refusedEN.MatchString(before) || advisedEN(before) || pastAdvice(before, after, cue)
	case "i would", "i'd":
		return startsAny(after, " need", " like to know", " be able", " have to", " require")
	case "one option", "an option", "another option", "an alternative":
		return refusedEN.MatchString(before)
	}
	return false
}

// reportedEN reports whether a cue is in what somebody says or a rule has: a speaker, a
// verb of saying, and a few words.
func reportedEN(before string) bool {
	for _, find := range [...]*regexp.Regexp{saidEN, ruledEN} {
		at := find.FindStringSubmatchIndex(before)
		if at == nil || forWhomEN.MatchString(before[:at[0]]) {
			continue
		}
		last := len(at) - 2
		if !turnsEN.MatchString(before[at[last]:at[last+1]]) && !turnsEN.MatchString(before[at[0]:at[last]]) {
			return true
		}
	}
	return false
}

// advisedEN reports whether it is somebody else who advises, and not the assistant too.
func advisedEN(before string) bool {
	at := adviserEN.FindStringIndex(before)
	return at != nil && !forWhomEN.MatchString(before[:at[0]])
}

// pastAdvice reports whether advice is told of that was given earlier, or that is
// the user's.
func pastAdvice(before, after, cue string) bool {
	if cue == "recommend" || cue == "suggest" || cue == "advise" {
		return false
	}
	return pastEN.MatchString(before) || laterEN.MatchString(after) ||
		strings.HasSuffix(before, "your ") && startsAny(after, " was", " were", " of", " from", " on") ||
		startsAny(after, " was", " were", " adopted", " rejected", " count") && !hasWord(before, "is", "my", "the")
}

// bestEN finds English words that put one option above the others.
func bestEN(clause string) (string, bool) {
	for _, cue := range [...]string{"sweet spot", "right call", "right decision", "right answer", "correct choice", "best price", "best call",
		"best thing", "best slot", "ideal", "optimal", "optimum", "obvious choice", "clear choice", "clear winner", "no-brainer", "winning move",
		"makes the most sense", "make the most sense", "makes more sense", "my money is on", "my vote", "smartest", "safest", "wisest",
		"nothing beats", "can't go wrong", "cannot go wrong"} {
		if recommends(clause, cue, wordAt, exemptBestEN) {
			return cue, true
		}
	}
	if found := itIsEN.FindString(clause); found != "" {
		return found, true
	}
	return "", false
}

var (
	itIsEN = regexp.MustCompile(`^(?:so |then )?[\w.']+ (?:\w+ )?it is$`)
	// openEN leaves open what is best: "too little to say what the best price is".
	openEN = regexp.MustCompile(`\b(?:(?:what|which|whether|where|cannot)(?: [\w']+){0,3}|no|no such) $`)
)

// exemptBestEN: nobody knows which option is best, or somebody else says so.
func exemptBestEN(before, after, cue string) bool {
	return openEN.MatchString(before) || reportedEN(before) || hasWord(after, "unknown", "unclear", "undecided", "not known", "cannot") ||
		cue == "best price" && (startsAny(after, " of", " in", " on") || hasWord(after, "was", "were", "had") && !hasWord(after, "is")) ||
		hasWord(cue, "smartest", "safest", "wisest") && after != "" && !startsAny(after, " is", " choice", " option", " price", " way", " plan",
			" thing", " move", " bet", " of", " one", " to")
}

// citesEN reports whether English words end with somebody who says or writes what
// follows.
func citesEN(before string) bool {
	at := quotedEN.FindStringSubmatchIndex(before + " ")
	return at != nil && !forWhomEN.MatchString(before[:at[0]]) && !turnsEN.MatchString(before[at[2]:at[3]])
}

// quotedEN is a speaker, a few words, and a verb of saying, perhaps with a date.
var quotedEN = regexp.MustCompile(`\b((?:you|your|he|she|it|they|` + advisersEN + `|` + rulesEN + `)(?:'s?)?(?: [\w']+){0,3}? ` +
	`(?:` + saysEN + `|comment|commented|replied|reads|ask|asks|rule|rules|words (?:were|are)|(?:comment|message|rule|constraint) (?:was|is))` +
	`(?: (?:me|us|that))?)(?: (?:on|in|at|earlier|yesterday|last|time|week|month|[0-9]+|january|february|march|april|may|june|july|august|` +
	`september|october|november|december))*:? $`)

// weakEN finds English words that propose.
func weakEN(clause string) (string, bool) {
	for _, cue := range [...]string{"consider", "considering", "you could", "you might", "you may want", "you can try",
		"might be worth", "may be worth", "worth a try", "worth trying", "worth testing", "worth considering", "how about",
		"what about", "why not", "perhaps try", "maybe try", "try", "one option", "an option", "another option", "could try",
		"we could", "it could help", "may help", "might help", "for reference", "feel free to", "would be better",
		"might be better", "perhaps a", "maybe a", "perhaps the", "an idea to", "you could look", "go down well", "more reasonable",
		"might work", "could work", "would work", "might want to", "have you thought", "have you considered",
		"could be a", "might be a", "may be a", "could be an", "might be an", "may be an", "an alternative", "alternatively",
		"could tell", "if you want"} {
		if recommends(clause, cue, wordAt, exemptWeakEN) {
			return cue, true
		}
	}
	if found := mayOrderEN.FindString(clause); found != "" {
		return found, true
	}
	return "", false
}

// mayOrderEN is an order that is put as what can be done.
var mayOrderEN = regexp.MustCompile(`\b(?:you|we) can (?:now |also |just )?(?:set|price|lower|raise|drop|cut|move|put|keep) `)

func exemptWeakEN(before, after, cue string) bool {
	switch cue {
	case "consider", "considering", "try":
		if hasWord(before, "did", "didn't", "does", "first", "second", "every", "each") || cue == "considering" && !hasWord(before, "worth", "be") {
			return true
		}
	}
	return exemptEN(before, after, cue)
}

// concludesEN leads to what the assistant makes of it.
var concludesEN = regexp.MustCompile(`^[a-z ]{0,12}(?:conclusion|verdict|answer|result|decision|call|bottom line|next step)[a-z ]{0,12}: ?`)

// verdictEN is a number that is put forward as what all comes to.
var verdictEN = regexp.MustCompile(`^(?:my |the |final |so the |our )*(?:conclusion|verdict|answer|bottom line|best|pick|call): ?(?:[a-z]+ )?[0-9][0-9.']*(?: (?:yuan|dollars))?$`)

// fieldEN is a field of a record and what it has: "sku 1001, price 93, floor 80".
var fieldEN = regexp.MustCompile(`^(?:price|discount|cap|charge) [0-9][0-9.']*(?: (?:yuan|cny|元))?$`)

// imperativeEN finds an English clause that tells the user what to do: it begins
// with a verb and goes on as an order does.
func imperativeEN(clause string) (string, bool) {
	if found := verdictEN.FindString(clause); found != "" {
		return "verdict …", true
	}
	words := strings.Fields(strings.Trim(concludesEN.ReplaceAllString(clause, ""), `"“”'`))
	if len(words) > 1 && (words[0] == "don't" || words[0] == "do" && words[1] == "not") {
		return words[0] + " …", true
	}
	if len(words) > 1 && (words[0] == "please" && !slices.Contains([]string{"confirm", "tell", "let", "decide", "say", "note",
		"see", "provide", "check", "specify", "choose"}, words[1]) || words[0] == "never" && !hasWord(clause, "was", "were",
		"is", "had")) {
		return words[0] + " …", true
	}
	for len(words) > 0 && slices.Contains([]string{"then", "so", "please", "just", "first", "next", "instead", "therefore",
		"and", "or", "simply", "tonight", "now", "also", "don't", "do", "not"}, words[0]) {
		words = words[1:]
	}
	if len(words) < 2 {
		return "", false
	}
	verbs := []string{"lower", "raise", "set", "cut", "drop", "increase", "reduce", "use", "start", "open", "switch", "push",
		"choose", "pick", "keep", "move", "put", "add", "remove", "run", "launch", "schedule", "avoid", "skip", "stop", "offer",
		"give", "go", "shorten", "extend", "change", "price", "discount", "bundle", "replace", "focus", "test", "hold", "delay",
		"sell", "pin", "restock", "deal", "send", "cancel", "wait", "plan", "lead", "begin", "end", "swap", "promote",
		"feature", "take", "settle", "charge", "list", "bring", "aim", "pull", "cap", "follow", "leave", "return", "trim",
		"ditch", "pause", "double", "buy", "get", "make", "let", "ship", "close", "stick"}
	follow := []string{"the", "a", "an", "your", "it", "them", "this", "that", "to", "with", "down", "up", "back", "at", "for",
		"on", "by", "all", "more", "fewer", "less", "sku", "product", "prices", "price", "coupons", "from", "only", "both",
		"off", "out", "host", "below", "above", "under", "over", "then", "before", "after", "ahead", "each", "every", "now", "giving", "using", "discounts", "plan", "option", "version"}
	if !slices.Contains(verbs, words[0]) || fieldEN.MatchString(clause) {
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
