package window

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicehq/sluice/host/model"
)

// Bounds of what is taken out of a conversation without a model.
const (
	extractReads   = 8   // results of reads, the last ones: what was read can be read again
	requestRunes   = 200 // of a user's message
	agreementRunes = 24  // of a message that says yes and nothing else
	agreedRunes    = 200 // of what an assistant said before the user agreed
	leastRequest   = 8   // letters: a shorter message answers something and asks for nothing
	leastHan       = 4   // Chinese characters likewise
	extractedMost  = 200 // lines of a kind before they are bounded
)

// extract sums up turns without a model: the user's requests, the calls that
// succeeded, what the user agreed to, and what failed or was left open. The
// lines are the talk's own words, in Chinese and in English.
func extract(old []entry, c Conversation) Summary {
	var s Summary
	proposed := ""
	for _, e := range old {
		switch m := e.message; m.Role {
		case model.RoleUser:
			yes := agrees(m.Text)
			if yes && proposed != "" {
				s.Consensus = append(s.Consensus, proposed)
			}
			if asksFor(m.Text) && (!yes || utf8.RuneCountInString(m.Text) > agreementRunes) {
				s.Requests = append(s.Requests, telling(m.Text, requestRunes))
			}
			proposed = ""
		case model.RoleAssistant:
			if strings.TrimSpace(m.Text) != "" {
				proposed = telling(m.Text, agreedRunes)
			}
		}
	}
	if proposed != "" && isQuestion(proposed) {
		s.Todos = append(s.Todos, proposed)
	}
	s.Done, s.Todos = extractCalls(operationsOf(old, c), s.Todos)
	for _, kind := range s.kinds() {
		*kind.lines = (*kind.lines)[max(0, len(*kind.lines)-extractedMost):]
	}
	return s.distinct()
}

// extractCalls gives what was done, writes all and reads the last ones, in
// order; and before the given todos the last failure of each write that was
// not done afterwards.
func extractCalls(known map[int]operation, todos []string) (done, left []string) {
	reads := 0
	var later []operation // writes that ended later, well or not
	for number := len(known); number > 0; number-- {
		switch op := known[number]; {
		case op.ok && op.write:
			done = append(done, op.line)
			later = append(later, op)
		case op.ok:
			if reads++; reads <= extractReads {
				done = append(done, op.line)
			}
		case op.write && len(left) < extractedMost && !slices.ContainsFunc(later, op.sameAs):
			left = append(left, op.line)
			later = append(later, op)
		}
	}
	slices.Reverse(done)
	slices.Reverse(left)
	return done, append(left, todos...)
}

// sameAs reports whether two calls are about one thing: they name an id in
// common, or none at all.
func (o operation) sameAs(other operation) bool {
	return o.tool == other.tool &&
		(len(o.ids) == 0 || slices.ContainsFunc(o.ids, func(id string) bool { return slices.Contains(other.ids, id) }))
}

// idsIn gives the texts with digits in them among the arguments.
func idsIn(args string) []string {
	var members map[string]any
	if json.Unmarshal([]byte(args), &members) != nil {
		return nil
	}
	var ids []string
	for _, v := range members {
		if id, ok := v.(string); ok && strings.ContainsAny(id, "0123456789") {
			ids = append(ids, id)
		}
	}
	return ids
}

// agrees reports whether a message says yes to what was proposed.
func agrees(text string) bool {
	first := strings.ToLower(strings.TrimSpace(text))
	for _, sign := range []string{"yes", "yep", "yeah", "sure", "ok", "okay", "agreed", "confirm", "correct", "please proceed", "go ahead", "that works", "sounds good"} {
		if rest, ok := strings.CutPrefix(first, sign); ok && (rest == "" || !unicode.IsLetter([]rune(rest)[0])) {
			return true
		}
	}
	for _, sign := range []string{"好的", "好，", "好。", "可以", "同意", "确认", "没问题", "是的", "行，", "就这样", "对，", "嗯"} {
		if strings.HasPrefix(first, sign) {
			return true
		}
	}
	return first == "好" || first == "行" || first == "对"
}

// asksFor reports whether a message is long enough to ask for something.
func asksFor(text string) bool {
	letters, han := 0, 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			letters++
		}
	}
	return letters+2*han >= leastRequest && (han == 0 || han >= leastHan || letters > 0)
}

func isQuestion(text string) bool { return strings.ContainsAny(text, "?？") }

// telling gives of a text the sentences that tell most, in their order:
// numbers, ids, orders and questions.
func telling(text string, most int) string {
	if line := oneLine(text, most); !strings.HasSuffix(line, "…") {
		return line
	}
	all := sentencesOf(text)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return weightOf(all[b]) - weightOf(all[a]) })
	room := most
	var chosen []int
	for _, i := range order {
		if n := len([]rune(all[i])); n <= room {
			room -= n + 1
			chosen = append(chosen, i)
		}
	}
	if len(chosen) == 0 {
		return oneLine(text, most)
	}
	slices.Sort(chosen)
	parts := make([]string, len(chosen))
	for i, at := range chosen {
		parts[i] = all[at]
	}
	return strings.Join(parts, " ")
}

// sentencesMost bounds the sentences of one message that are weighed.
const sentencesMost = 200

// sentencesOf parts a text at full stops, questions and line ends.
func sentencesOf(text string) []string {
	text = strings.NewReplacer(". ", ".\n", "? ", "?\n", "! ", "!\n", "。", "。\n", "？", "？\n", "！", "！\n", "；", "；\n").Replace(text)
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && len(all) < sentencesMost {
			all = append(all, line)
		}
	}
	return all
}

// weightOf says how much a sentence tells. A question or an order counts most,
// then the words with digits in them, up to a few.
func weightOf(sentence string) int {
	weight := 0
	if isQuestion(sentence) {
		weight += 3
	}
	lower := strings.ToLower(sentence)
	for _, sign := range []string{"please", "want", "need", "would like", "cancel", "change", "book", "refund", "total", "请", "把", "要", "帮", "改", "取消", "不要", "总共", "确认"} {
		if strings.Contains(lower, sign) {
			weight += 2
			break
		}
	}
	for _, word := range strings.Fields(sentence) {
		if strings.ContainsAny(word, "0123456789") {
			weight++
		}
	}
	return min(weight, 8)
}
