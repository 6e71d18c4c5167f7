package memory

import (
	"math"
	"slices"
	"strings"
)

// OpenEnd is the High of a range without an upper end, as its negative is the Low
// of one without a lower end: JSON has no infinity.
const OpenEnd = math.MaxFloat64

// Between gives the claim that a topic lies in a range, ends included.
func Between(topic string, low, high float64, unit string) Claim {
	return Claim{Topic: topic, Low: &low, High: &high, Unit: unit}
}

// AtLeast gives the claim that a topic is never below a number.
func AtLeast(topic string, low float64, unit string) Claim {
	return Between(topic, low, OpenEnd, unit)
}

// AtMost gives the claim that a topic is never above a number.
func AtMost(topic string, high float64, unit string) Claim {
	return Between(topic, -OpenEnd, high, unit)
}

// An Accord says how what was seen stands to what was said.
type Accord int8

// The accords. What cannot be compared is Undecided: it neither raises belief nor
// makes a gap.
const (
	Undecided Accord = iota
	Agrees
	Contradicts
)

// Compare tells whether what was seen agrees with what was said. The topics must be
// the same, and the units of one measure. A closed range is widened by tolerance, a
// share of its ends; a limit (an open end) is exact. What lies partly inside and partly
// outside is undecided, except under a limit or where strict is set: there one
// departure contradicts.
func Compare(said, seen Claim, tolerance float64, strict bool) Accord {
	if !sameTopic(said.Topic, seen.Topic) {
		return Undecided
	}
	var accords []Accord
	if said.Low != nil && said.High != nil {
		accords = append(accords, compareRanges(said, seen, tolerance, strict))
	}
	if len(said.Words) > 0 {
		accords = append(accords, accordOf(relateWords(said.Words, seen.Words), said.Not, seen.Not, strict))
	}
	switch {
	case len(accords) == 0 || slices.Contains(accords, Undecided) && !slices.Contains(accords, Contradicts):
		return Undecided
	case slices.Contains(accords, Contradicts):
		return Contradicts
	}
	return Agrees
}

func sameTopic(a, b string) bool {
	return a != "" && foldWord(a) == foldWord(b)
}

func foldWord(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// A relation is how a set that was seen lies to one that was said.
type relation int8

const (
	unknown relation = iota
	inside           // seen is part of said
	equal
	covers // said is part of seen
	overlaps
	apart
)

// accordOf reads a relation of two sets, each of which may be excluded.
func accordOf(r relation, saidNot, seenNot, strict bool) Accord {
	within, without := r == inside || r == equal, r == covers || r == equal
	partly := Undecided
	if strict {
		partly = Contradicts
	}
	switch {
	case r == unknown:
		return Undecided
	case saidNot && seenNot: // seen is a set that never happens
		return when(without, Agrees, Undecided)
	case seenNot:
		return when(without, Contradicts, Undecided)
	case saidNot:
		return when(r == apart, Agrees, when(within, Contradicts, partly))
	}
	return when(within, Agrees, when(r == apart, Contradicts, partly))
}

func when(is bool, then, otherwise Accord) Accord {
	if is {
		return then
	}
	return otherwise
}

func compareRanges(said, seen Claim, tolerance float64, strict bool) Accord {
	low, high, ok := inUnitOf(said, seen)
	if !ok {
		return Undecided
	}
	from, until := *said.Low, *said.High
	if isLimit(said) {
		strict = true
	} else if !strict && !said.Not {
		// The width of the habit that a person means grows with the number.
		slack := tolerance * max(math.Abs(from), math.Abs(until))
		from, until = from-slack, until+slack
	}
	return accordOf(relateRanges(from, until, low, high), said.Not, seen.Not, strict)
}

func isLimit(c Claim) bool { return *c.Low <= -OpenEnd || *c.High >= OpenEnd }

// relateRanges lets ends that differ by rounding be the same.
func relateRanges(from, until, low, high float64) relation {
	atMost := func(a, b float64) bool { return a <= b || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }
	in, over := atMost(from, low) && atMost(high, until), atMost(low, from) && atMost(until, high)
	switch {
	case !(from <= until) || !(low <= high): // also NaN
		return unknown
	case in && over:
		return equal
	case in:
		return inside
	case over:
		return covers
	case !atMost(low, until) || !atMost(from, high):
		return apart
	}
	return overlaps
}

func relateWords(said, seen []string) relation {
	a, b := wordSet(said), wordSet(seen)
	if len(a) == 0 || len(b) == 0 {
		return unknown
	}
	both := 0
	for w := range b {
		if a[w] {
			both++
		}
	}
	switch {
	case both == len(a) && both == len(b):
		return equal
	case both == len(b):
		return inside
	case both == len(a):
		return covers
	case both == 0:
		return apart
	}
	return overlaps
}

func wordSet(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		if w = foldWord(w); w != "" {
			set[w] = true
		}
	}
	return set
}

// inUnitOf gives the range that was seen in the unit of what was said. A unit that
// only one of them names is taken for both, except a percentage: 0.3 may be 30 % or
// not.
func inUnitOf(said, seen Claim) (low, high float64, ok bool) {
	if seen.Low == nil || seen.High == nil {
		return 0, 0, false
	}
	low, high = *seen.Low, *seen.High
	a, b := unitOf(said.Unit), unitOf(seen.Unit)
	switch {
	case a.measure == b.measure:
	case (said.Unit == "" || seen.Unit == "") && a.measure != percent && b.measure != percent:
		return low, high, true
	default:
		return 0, 0, false
	}
	scale := b.size / a.size
	return scaleEnd(low, scale), scaleEnd(high, scale), true
}

func scaleEnd(end, scale float64) float64 {
	if math.Abs(end) >= OpenEnd {
		return end
	}
	return end * scale
}

// A unit is one of a measure, and its size in the measure's smallest one.
type unit struct {
	measure string
	size    float64
}

const percent = "percent"

// unitOf reads a unit. One that is not known is a measure of its own.
func unitOf(name string) unit {
	name = foldWord(name)
	switch name {
	case "s", "sec", "secs", "second", "seconds", "秒", "秒钟":
		return unit{"time", 1}
	case "min", "mins", "minute", "minutes", "分钟":
		return unit{"time", 60}
	case "h", "hour", "hours", "小时", "个小时":
		return unit{"time", 3600}
	case "day", "days", "天", "日":
		return unit{"time", 86400}
	case "week", "weeks", "周", "星期":
		return unit{"time", 7 * 86400}
	case "分":
		return unit{"cny", 1}
	case "角", "毛":
		return unit{"cny", 10}
	case "cny", "rmb", "yuan", "元", "块", "块钱", "¥":
		return unit{"cny", 100}
	case "万元", "万块":
		return unit{"cny", 1_000_000}
	case "%", "percent", "％", "个点":
		return unit{percent, 1}
	case "折": // 8 折 is 80 % of the price
		return unit{"discount", 1}
	case "piece", "pieces", "pcs", "件", "个", "单", "款", "items", "item":
		return unit{"count", 1}
	case "times", "time", "次", "遍", "回":
		return unit{"times", 1}
	}
	return unit{name, 1}
}
