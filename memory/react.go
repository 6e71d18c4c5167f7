package memory

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxReactionBytes bounds a message that is read for what a user does with an output:
// who says more speaks of something else, too.
const maxReactionBytes = 600

// ReadReaction reads by a user's words what they do with the output that was shown to
// them right before: accept, reject or modify it, then with the alternative in their own
// words. It reads English and Chinese by rules, and only what is clear: each word of the
// message must be one by which people agree, decline or change, or be of what was
// proposed. It is false for a question, a condition, a quotation, somebody else's words,
// mere thanks, and where anything else is said beside it. So it is for a bare "fine"
// where the output only mentions something, for what may answer another question of the
// output's, and for a bare "no" to advice against something: nobody can tell what these
// are about.
//
// An output that proposes nothing is accepted by words alone that name it, such as "as
// you suggest", and neither rejected nor modified.
func ReadReaction(words, output string) (action Decision, alternative string, ok bool) {
	words = strings.ReplaceAll(words, "’", "'")
	parts := sentences(words)
	if len(words) > maxReactionBytes || len(parts) > maxAnswerSentences || strings.TrimSpace(output) == "" {
		return "", "", false
	}
	if _, quoted := blankQuotes(words); strings.Contains(quoted, "q") {
		return "", "", false
	}
	r := reaction{to: proposalOf(output), phrases: reactionPhrases()}
	for _, s := range parts {
		if s.question || s.pasted || supposes(s.low) || othersSpeak(s.low) || !r.read(s.low, words[s.start:s.end]) {
			return "", "", false
		}
	}
	if action, alternative, ok = r.action(); !ok {
		return "", "", false
	}
	return action, alternative, true
}

// A proposal is what of an output recommends or proposes something.
type proposal struct {
	clauses string     // folded; empty where it proposes nothing
	strong  bool       // it recommends, and does not only mention
	numbers []quantity // those with a unit, where there are any
	ids     []quantity // the others then: of products, and of lists
	names   []string   // of what it is about
	agreed  bool       // the output asks whether the user agrees
	asks    bool       // it asks something else
}

func proposalOf(output string) (p proposal) {
	own, _ := blankQuotes(cutBytes(output, MaxHeardBytes))
	text := plainForm(own)
	for _, found := range findingsIn(EvidenceOnly, text, nil) {
		p.clauses += restOf(text, found.Words) + "\n"
		p.strong = p.strong || !found.Weak
	}
	for _, n := range numerals(p.clauses) {
		p.numbers = append(p.numbers, quantityAt(p.clauses, n))
	}
	if slices.ContainsFunc(p.numbers, quantity.measured) {
		p.ids = slices.DeleteFunc(slices.Clone(p.numbers), quantity.measured)
		p.numbers = slices.DeleteFunc(p.numbers, func(q quantity) bool { return !q.measured() })
	}
	for _, s := range Subjects() {
		if s.namedIn(p.clauses) {
			p.names = append(p.names, s.Names...)
		}
	}
	for _, s := range sentences(output) {
		agreed := says(s.low, agreedZH(), agreedEN())
		p.agreed, p.asks = p.agreed || s.question && agreed, p.asks || s.question && !agreed
	}
	return p
}

// restOf gives a clause of a text with what follows it in its sentence: "A at 89, B at 59"
// proposes both.
func restOf(text, clause string) string {
	at := strings.Index(text, clause)
	if at < 0 {
		return clause
	}
	for i, r := range text[at:] {
		if endsSentence(text, at+i, r) {
			return text[at : at+i]
		}
	}
	return text[at:]
}

// stands tells whether a number is the one that was proposed, or one in its place. It is
// neither where several were proposed, or none that measures the same.
func (p proposal) stands(q quantity) (proposed, other bool) {
	same, like := 0, 0
	for i, n := range p.numbers {
		if !n.alike(q) || slices.ContainsFunc(p.numbers[:i], n.is) {
			continue
		}
		if like++; n.is(q) {
			same++
		}
	}
	return same == 1 && like == 1, same == 0 && like > 0
}

// nameAt gives the name of what a proposal is about that stands at a place of a text.
func (p proposal) nameAt(low string, at int) (name string) {
	for _, n := range p.names {
		if len(n) > len(name) && standsAt(low, at, n) {
			name = n
		}
	}
	return name
}

// A quantity is a number with its unit, if it has one.
type quantity struct {
	end   int // bytes of the text, with the unit
	value float64
	unit  unit
}

func quantityAt(text string, n numeral) quantity {
	name, end := unitAt(text[n.end:])
	return quantity{n.end + end, n.value, unitOf(name)}
}

func (q quantity) measured() bool { return q.unit.measure != "" }

// alike reports whether two numbers may measure the same: one without a unit may have
// the other's.
func (q quantity) alike(other quantity) bool {
	return !q.measured() || !other.measured() || q.unit.measure == other.unit.measure
}

func (q quantity) is(other quantity) bool {
	if q.measured() && other.measured() {
		return q.alike(other) && q.value*q.unit.size == other.value*other.unit.size
	}
	return q.value == other.value
}

// A reaction is what was read of a message so far.
type reaction struct {
	to      proposal
	phrases map[string]role
	has     [roles]bool
	same    bool   // a number that was proposed
	other   string // one in its place
	instead string // other words in its place
}

// read takes a sentence in, and is false where it says anything that is not known.
func (r *reaction) read(low, words string) bool {
	for start := 0; start < len(low); {
		end := start
		for end < len(low) && !endsClause(low, end) {
			end++
		}
		if !r.readClause(low[start:end], words[start:end]) {
			return false
		}
		_, size := utf8.DecodeRuneInString(low[end:])
		start = end + max(size, 1)
	}
	return true
}

// endsClause reports whether a mark at a place ends a clause, and stands in no number.
func endsClause(low string, at int) bool {
	if low[at] == ',' {
		return at == 0 || at+1 == len(low) || !isDigit(low[at-1]) || !isDigit(low[at+1])
	}
	return strings.HasPrefix(low[at:], "，") || strings.HasPrefix(low[at:], "、")
}

func (r *reaction) readClause(low, words string) bool {
	numbers, declined := numerals(low), false
	for at := 0; at < len(low); {
		phrase, role := r.phraseAt(low, at)
		n := slices.IndexFunc(numbers, func(n numeral) bool { return n.start == at })
		letter, size := utf8.DecodeRuneInString(low[at:])
		switch name := r.to.nameAt(low, at); {
		case role == roleUnclear:
			return false
		case role == roleChanges:
			at += len(phrase)
			return r.change(low[at:], words[at:], name != "" || r.named(low[:at]))
		case phrase != "":
			r.has[role], declined = true, declined || role == roleDeclines
			at += len(phrase)
		case n >= 0:
			q := quantityAt(low, numbers[n])
			if !r.number(q, words[at:q.end], declined) {
				return false
			}
			at = q.end
		case name != "":
			at += len(name)
		case unicode.IsLetter(letter) || unicode.IsNumber(letter):
			return false
		default:
			at += size
		}
	}
	return true
}

// phraseAt gives the longest known phrase that stands at a place of a text.
func (r *reaction) phraseAt(low string, at int) (phrase string, of role) {
	for p, role := range r.phrases {
		if len(p) > len(phrase) && standsAt(low, at, p) {
			phrase, of = p, role
		}
	}
	return phrase, of
}

// standsAt reports whether a phrase stands at a place of a text, and in no other word.
func standsAt(low string, at int, phrase string) bool {
	if !strings.HasPrefix(low[at:], phrase) {
		return false
	}
	end := at + len(phrase)
	inOther := at > 0 && inWord(low[at-1]) && inWord(phrase[0]) || end < len(low) && inWord(low[end]) && inWord(phrase[len(phrase)-1])
	return !inOther
}

func (r *reaction) named(low string) bool {
	for at := range low {
		if r.to.nameAt(low, at) != "" {
			return true
		}
	}
	return false
}

// number takes in a number, which is declined or said for what is wanted.
func (r *reaction) number(q quantity, words string, declined bool) bool {
	proposed, other := r.to.stands(q)
	switch {
	case proposed:
		r.same = r.same || !declined
	case !q.measured() && slices.ContainsFunc(r.to.ids, q.is):
	case other && !declined && (r.other == "" || r.other == words):
		r.other = words
	default:
		return false
	}
	return true
}

// change takes in what follows a verb of change: a number, or other words where they or
// those before the verb name what was proposed. "Make it a table" is about the answer.
func (r *reaction) change(low, words string, named bool) bool {
	if r.has[roleChanges] || r.other != "" {
		return false
	}
	for at := range low {
		if _, role := r.phraseAt(low, at); role == roleChanges || role == roleUnclear {
			return false
		}
	}
	r.has[roleChanges], r.same = true, false
	tail := reaction{to: r.to, phrases: r.phrases}
	if tail.readClause(low, words) && (tail.same || tail.other != "") {
		r.same, r.other = tail.same, tail.other
		return !tail.has[roleDeclines] && !tail.has[roleRefuses]
	}
	r.instead = strings.TrimSpace(words)
	for _, end := range [...]string{"吧", "了", "就行", "就好", "please", "instead"} {
		r.instead = strings.TrimSpace(strings.TrimSuffix(r.instead, end))
	}
	return r.instead != "" && (named || r.named(low))
}

// action tells what the message says as a whole.
func (r *reaction) action() (Decision, string, bool) {
	has, to := r.has, r.to
	accepts, declined := has[roleNames] || has[roleMeans] || has[roleAgrees] || r.same, has[roleRefuses] || has[roleDeclines]
	switch alternative := cmp.Or(r.instead, r.other); {
	case has[roleReasons] && !declined && alternative == "" || to.clauses == "" && !has[roleNames]:
		return "", "", false
	case alternative != "":
		replaces := has[roleChanges] || has[rolePrefers] || has[roleSettles] || has[roleBut] || declined
		return Modify, alternative, replaces && !r.same && !has[roleNames] && !has[roleMeans]
	case has[roleRefuses] && !has[roleMeans] && !has[roleAgrees] && !r.same:
		return Reject, "", true
	case accepts && declined, has[roleBut], declined && has[roleMoment]:
		return "", "", false
	case has[roleDeclines]:
		return Reject, "", !to.asks && !denies(limitWords.Replace(to.clauses))
	case has[roleNames]:
		return Accept, "", true
	case has[roleMeans] || r.same && (has[roleAgrees] || has[roleSettles] || has[roleChanges] || has[rolePrefers]):
		return Accept, "", !to.asks
	}
	return Accept, "", has[roleAgrees] && !has[roleThanks] && !to.asks && (to.strong || to.agreed)
}
