package factcheck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what is worked out from known numbers. The wider they are, the more
// invented numbers happen to come out.
const (
	maxOperands = 12        // that are stated in the answer or by the user, nearest first
	maxCount    = 10        // that a price is multiplied by
	maxWanted   = 100 * one // pieces that a user asks the price of
	maxSums     = 4000      // of members of results
	maxMembers  = 200       // of one result
	maxDepth    = 32        // of its objects
	maxLegs     = 8         // whose whole is a thing of its own: the items of an order, the legs of a trip
	maxPersons  = 6         // that each pay it
)

// unbackedNumbers gives the numbers that are neither known nor follow from what
// is known.
func (k *index) unbackedNumbers(a *answerText) []Finding {
	if len(a.numbers) == 0 {
		return nil
	}
	var found []Finding
	backed := k.known(a.numbers)
	open := 0
	for i, m := range a.numbers {
		if backed[i] = backed[i] || k.knows(m) || a.isProposal(m); !backed[i] {
			open++
		}
	}
	if open == 0 {
		return nil
	}
	sums := k.sums()
	k.setTable()
	for i, m := range a.numbers {
		if backed[i] || len(found) == MaxFindings {
			continue
		}
		if k.follows(a, backed, i) || slices.ContainsFunc(sums, func(s int64) bool { return near(s, m) }) {
			backed[i] = true
			continue
		}
		found = append(found, Finding{Kind: m.kind, Start: m.start, End: m.end, Known: k.nearest(m.value),
			Why: fmt.Sprintf("no fact and no result of a call has the %s %s", m.kind, decimal(m.value))})
	}
	return found
}

// isProposal reports whether a number is only proposed, or asked about.
func (a *answerText) isProposal(m mention) bool {
	c := a.clauses[m.clause]
	return c.question && isLastOf(a, m.clause) || a.proposes(m.clause, m.start)
}

// knows reports whether a number is known as it is, rounded, in cents, or as a
// share.
func (k *index) knows(m mention) bool {
	v := m.value
	if k.hasValue(v) || m.kind == Amount && v == 0 {
		return true
	}
	if m.percent {
		rest := 100*one - v
		return v%100 == 0 && k.hasValue(v/100) || k.hasValue(rest) || rest%100 == 0 && k.hasValue(rest/100)
	}
	if m.kind == Amount && (k.hasValue(v*100) || v%100 == 0 && k.hasValue(v/100)) {
		return true
	}
	return k.hasNear(m)
}

// near reports whether a value, rounded to the digits of a number, is that.
func near(value int64, m mention) bool {
	d := value - m.value
	return d == 0 || m.unit > 1 && 2*max(d, -d) <= m.unit && (m.unit != one || value%one != 0)
}

// An operand is a number that may be worked with.
type operand struct {
	value   int64
	percent bool
	count   bool // the user named it, and it may be how many they want
}

// follows reports whether a number is worked out from two others that the
// answer states near it or the user gave: a sum, a difference, a multiple, a
// share; or the sum of those before it; or from one of these and one of what
// was last on the table.
func (k *index) follows(a *answerText, backed []bool, i int) bool {
	m := a.numbers[i]
	stated := k.operands(a, backed, i)
	for x, o := range stated {
		if o.isMultiple(m) {
			return true
		}
		for _, other := range stated[x+1:] {
			if o.comesTo(other, m) || o.isProduct(other, m) {
				return true
			}
		}
		for _, other := range k.table {
			if o.comesTo(other, m) || o.count && o.isProduct(other, m) {
				return true
			}
		}
	}
	sum := int64(0)
	for j := i - 1; j >= 0 && i-j <= maxOperands; j-- {
		if backed[j] && !a.numbers[j].percent {
			if sum += a.numbers[j].value; near(sum, m) {
				return true
			}
		}
	}
	return false
}

// operands gives the values that may be worked with, nearest first: those that
// the answer states and the user gives now.
func (k *index) operands(a *answerText, backed []bool, i int) (stated []operand) {
	for d := 1; d < len(a.numbers) && len(stated) < maxOperands; d++ {
		for _, j := range []int{i - d, i + d} {
			if j >= 0 && j < len(a.numbers) && backed[j] {
				stated = addOperand(stated, operand{value: a.numbers[j].value, percent: a.numbers[j].percent})
			}
		}
	}
	text := foldOnly(cutText(k.User, MaxAnswerBytes))
	scanNumbers(text, func(n number) {
		if after := strings.TrimLeft(text[n.end:], " "); !n.inside {
			o := operand{value: n.value, percent: startsAny(after, "%", "percent", "折")}
			o.count = !o.percent && n.value%one == 0 && n.value <= maxWanted
			if strings.HasPrefix(after, "折") {
				o.value, _ = zhe(n)
			}
			stated = addOperand(stated, o)
		}
	})
	return stated
}

// setTable notes what was last on the table: the numbers of the last answer,
// and those of this input's results where they are few.
func (k *index) setTable() {
	if len(k.Said) > 0 {
		last := readAnswer(k.Said[len(k.Said)-1])
		for _, m := range last.numbers {
			k.table = addOperand(k.table, operand{value: m.value, percent: m.percent})
		}
	}
	var fresh []operand
	for i, c := range k.Calls {
		if !c.Now || !c.OK {
			continue
		}
		scanNumbers(k.results[i], func(n number) {
			if !n.inside && n.value != 0 && len(fresh) <= maxOperands && !slices.Contains(fresh, operand{value: n.value}) {
				fresh = append(fresh, operand{value: n.value})
			}
		})
	}
	if len(fresh) <= maxOperands {
		k.table = append(k.table, fresh...)
	}
}

func addOperand(list []operand, o operand) []operand {
	if o.value == 0 || len(list) == maxOperands || slices.Contains(list, o) {
		return list
	}
	return append(list, o)
}

// isMultiple reports whether a number is a few times an operand, or one of a few
// equal parts of it.
func (o operand) isMultiple(m mention) bool {
	for count := int64(2); count <= maxCount; count++ {
		if o.value <= maxFactor && near(o.value*count, m) || o.value%count == 0 && o.value/count == m.value {
			return true
		}
	}
	return false
}

// comesTo reports whether a number is the sum or the difference of two, a share
// of one by the other, what is left without it or comes to with it, or the share
// that one is of the other.
func (o operand) comesTo(other operand, m mention) bool {
	x, y := o.value, other.value
	if near(x+y, m) || near(x-y, m) || near(y-x, m) {
		return true
	}
	if max(x, y) > maxFactor || min(x, y) <= 0 {
		return false
	}
	fx, fy := float64(x)/one, float64(y)/one
	switch {
	case m.percent:
		return isNear(100*fx/fy, m) || isNear(100*fy/fx, m) || isNear(100*(1-fx/fy), m) || isNear(100*(1-fy/fx), m)
	case o.percent && !other.percent:
		fx, fy = fy, fx
		fallthrough
	case other.percent && !o.percent:
		return isNear(fx*fy/100, m) || isNear(fx*(1-fy/100), m) || isNear(fx*(1+fy/100), m)
	}
	return false
}

// maxFactor bounds factors, so that no product runs over.
const maxFactor = int64(1e7) * one

// isProduct reports whether a number is the product of two or their quotient.
func (o operand) isProduct(other operand, m mention) bool {
	if max(o.value, other.value) > maxFactor || min(o.value, other.value) <= 0 {
		return false
	}
	x, y := float64(o.value)/one, float64(other.value)/one
	return isNear(x*y, m) || isNear(x/y, m) || isNear(y/x, m)
}

func isNear(v float64, m mention) bool {
	return v >= 0 && v < float64(maxFactor) && near(int64(v*one+0.5), m)
}

// sums gives, for each member of each result, latest first, what its values
// come to: the legs of a trip, each for a few persons; and of long lists two
// that stand side by side.
func (k *index) sums() []int64 {
	var list []int64
	for i, c := range slices.Backward(k.Calls) {
		if !c.OK {
			continue
		}
		for _, values := range members(k.results[i]) {
			sum := int64(0)
			for i, v := range values {
				if sum += v; i > 0 {
					list = append(list, values[i-1]+v)
				}
			}
			for count := int64(1); count <= maxPersons && len(values) <= maxLegs; count++ {
				list = append(list, sum*count)
			}
			if len(list) > maxSums {
				return list
			}
		}
	}
	return list
}

// members gives the numbers of JSON by the names of their members and of the
// objects that those stand in, in the order of the names' first places. What is
// not JSON gives what looks like it.
func members(text string) [][]int64 {
	var list [][]int64
	places := map[string]int{}
	var outer []string
	key, last := "", ""
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			end := endOfString(text, i+1)
			last, i = text[i+1:end], end
		case c == ':':
			key = last
		case c == '{' && len(outer) < maxDepth:
			outer, key = append(outer, key), ""
		case c == '}' && len(outer) > 0:
			key, outer = outer[len(outer)-1], outer[:len(outer)-1]
		case isDigit(c):
			n, ok := readDigits(text, i)
			i = n.end - 1
			if !ok || n.value > maxFactor || len(list) == maxMembers {
				continue
			}
			name := key
			if len(outer) > 0 {
				name = outer[len(outer)-1] + "." + key
			}
			at, there := places[name]
			if !there {
				at = len(list)
				places[name], list = at, append(list, nil)
			}
			list[at] = append(list[at], n.value)
		}
	}
	return list
}

// endOfString gives the end of a JSON string that begins at i.
func endOfString(text string, i int) int {
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i, len(text))
}

func decimal(v int64) string { return strconv.FormatFloat(float64(v)/one, 'f', -1, 64) }
