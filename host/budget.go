package host

import (
	"math"

	"github.com/sluicehq/sluice/abi"
)

// Unbounded is the limit of what is not counted. Zero means zero.
const Unbounded = math.MaxInt64

// An Amount is how much of each thing a piece of work uses or may use.
type Amount struct {
	Steps  int64 `json:"steps"`  // answers of the model
	Tokens int64 `json:"tokens"` // output and input that was not cached
	Calls  int64 `json:"calls"`  // of tools
	Money  int64 `json:"money"`  // millionths of the account's currency
}

// NoBound is the limit that bounds nothing.
func NoBound() Amount { return Amount{Unbounded, Unbounded, Unbounded, Unbounded} }

// each gives an amount made of two, part by part.
func (a Amount) each(b Amount, f func(a, b int64) int64) Amount {
	return Amount{f(a.Steps, b.Steps), f(a.Tokens, b.Tokens), f(a.Calls, b.Calls), f(a.Money, b.Money)}
}

// A Budget is what a turn, a task, a session or a live may use, and what it
// has used. It is a value: whoever keeps it orders its changes.
type Budget struct {
	Of    string `json:"of"` // what it is the budget of, for people: turn, task, session, live
	Limit Amount `json:"limit"`
	Used  Amount `json:"used"`
}

// Left gives what is left, which is never below zero.
func (b Budget) Left() Amount {
	return b.Limit.each(b.Used, func(limit, used int64) int64 {
		if limit == Unbounded {
			return Unbounded
		}
		return max(0, limit-max(0, used))
	})
}

// Take takes an amount, or gives the problem OverBudget and the budget as it
// was: less than what is asked for is left of something. Nothing is taken in
// part, and a negative amount takes nothing.
func (b Budget) Take(a Amount) (Budget, *abi.Problem) {
	left := b.Left()
	for _, part := range []struct {
		name        string
		want, have  int64
		limit, used int64
	}{
		{"model steps", a.Steps, left.Steps, b.Limit.Steps, b.Used.Steps},
		{"tokens", a.Tokens, left.Tokens, b.Limit.Tokens, b.Used.Tokens},
		{"tool calls", a.Calls, left.Calls, b.Limit.Calls, b.Used.Calls},
		{"millionths of money", a.Money, left.Money, b.Limit.Money, b.Used.Money},
	} {
		if part.want > part.have {
			return b, abi.NewProblem(abi.OverBudget, "the %s has a budget of %d %s and has used %d; %d more are not left", b.Of, part.limit, part.name, part.used, part.want)
		}
	}
	return b.Spend(a), nil
}

// Spend adds what was used, whether it was left or not: what has happened
// counts.
func (b Budget) Spend(a Amount) Budget {
	b.Used = b.Used.each(a, func(used, more int64) int64 {
		if more = max(0, more); used > Unbounded-more {
			return Unbounded
		}
		return used + more
	})
	return b
}

// Child gives the budget of a part of the work: what is asked for, and never
// more than what is left here. What the child uses is to be spent here, too.
func (b Budget) Child(of string, limit Amount) Budget {
	return Budget{Of: of, Limit: b.Left().each(limit, func(left, limit int64) int64 { return min(left, max(0, limit)) })}
}
