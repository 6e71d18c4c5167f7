package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// What the loop breaker looks at. Calls of a real model that went round in
// circles did so within these bounds, and calls that came to an end did not.
const (
	breakerWindow   = 5 // calls of the session before this one
	identicalRounds = 3 // answers of the model in which the same call may stand once
	similarRow      = 3 // similar calls in a row, this one with them
)

// The rules of the loop breaker, by their names on record.
const (
	ruleIdentical = "identical"
	ruleSimilar   = "similar"
	rulePeriod    = "period"
)

// A BreakerMode says what the loop breaker does.
type BreakerMode int

// Breaker modes.
const (
	BreakerCuts    BreakerMode = iota // the call does not run
	BreakerReports                    // the call runs, and the record says which rule it broke
)

// breaker cuts off calls that repeat without progress, and calls over budget.
func (f *flight) breaker(context.Context) *abi.Problem {
	if f.depth > 0 {
		return nil // the host asks, not the model
	}
	if problem := f.circling(); problem != nil {
		return problem
	}
	return f.overBudget()
}

// circling holds the call against the loop breaker's rules. It cuts the call
// off with a warning; the second time in a turn, the turn is to stop.
func (f *flight) circling() *abi.Problem {
	if f.depth > 0 || f.call.Resumed || len(f.call.Recent) == 0 {
		return nil
	}
	now := host.Past{Tool: f.call.Tool, Args: f.plain(), Input: f.call.Input, Round: f.call.Round}
	rule := circles(now, f.call.Recent, f.entry.Tool != nil && f.entry.Tool.Repeatable)
	if rule == "" {
		f.allow("breaker")
		return nil
	}
	problem := abi.NewProblem(abi.BreakerOpen, "%s was not run: %s. The same again will be cut off again, and the turn with it", f.call.Tool, ruleWords(rule))
	switch {
	case f.Breaker == BreakerReports:
		f.hear(Verdict{By: "breaker", Words: ruleWords(rule)})
		return nil
	case f.call.Trips > 0:
		problem = abi.NewProblem(abi.Circling, "%s was not run, and the turn stops: %s, after a warning", f.call.Tool, ruleWords(rule))
	}
	f.hear(Verdict{By: "breaker", Code: problem.Code, Words: ruleWords(rule)})
	return problem
}

func ruleWords(rule string) string {
	switch rule {
	case ruleIdentical:
		return "the very same call was just made, and nothing new came of it"
	case ruleSimilar:
		return "it is the third call in a row that is nearly the same, and nothing new came of them"
	}
	return "the same two calls take turns, and nothing new comes of them"
}

// refusedEarly gives the breaker's answer in place of a refusal that comes
// before its step: a model can go round in circles at the door, too.
func (f *flight) refusedEarly(step string, problem *abi.Problem) *abi.Problem {
	if step != "resolve" && step != "check" {
		return problem
	}
	trip := f.circling()
	if trip == nil {
		return problem
	}
	trip.Hint = problem.Hint
	trip.Message += ". What is wrong with it: " + problem.Message
	return trip
}

// Plain gives the form of a call's arguments in which the loop breaker compares
// them: as the gate accepts them where it does, else canonical, else as text.
func (d *Dispatcher) Plain(meaning, args string) string {
	if _, accepted, ok := strings.Cut(meaning, "\n"); ok {
		return accepted
	}
	text := strings.TrimSpace(args)
	if canonical, err := host.Canonical(json.RawMessage(text)); err == nil {
		return string(canonical)
	}
	return text
}

func (f *flight) plain() string { return f.Plain(f.meaning, f.call.Args) }

// circles gives the rule that the call now breaks after the recent ones, or
// nothing. A pattern trips where nothing new was learned after it was there
// for the first time; a failure is nothing new.
func circles(now host.Past, recent []host.Past, repeatable bool) string {
	h := looked(now, recent)
	switch {
	case !repeatable && h.identical():
		return ruleIdentical
	case !repeatable && h.similar():
		return ruleSimilar
	case h.period():
		return rulePeriod
	}
	return ""
}

// A lookback is what counts of the recent calls. It is made for every call, and
// takes no memory of the heap.
type lookback struct {
	now     host.Past
	calls   [breakerWindow]*host.Past // oldest first
	size    int                       // how many there are
	news    [breakerWindow]bool       // by call: it gave a result that was not seen before
	count   [breakerWindow]int        // the calls that patterns are made of
	counted int                       // how many there are
}

func looked(now host.Past, recent []host.Past) lookback {
	h := lookback{now: now}
	for i := len(recent) - 1; i >= 0 && h.size < breakerWindow; i-- {
		if p := &recent[i]; p.Status != host.Pending && p.Status != host.Unknown && !p.Resumed {
			h.calls[h.size] = p
			h.size++
		}
	}
	slices.Reverse(h.calls[:h.size])
	for i, p := range h.calls[:h.size] {
		h.news[i] = p.Status == host.Done && !h.seen(i)
		if p.Status == host.Failed && !p.Cut || p.Input == now.Input {
			h.count[h.counted] = i // the user may order the same thing again
			h.counted++
		}
	}
	return h
}

// seen reports whether the i-th call gave what an earlier one had given. Many
// writes answer alike: one with other arguments has done another thing.
func (h *lookback) seen(i int) bool {
	c := h.calls[i]
	for _, p := range h.calls[:i] {
		if p.Status == host.Done && p.Tool == c.Tool && p.Result == c.Result && (c.Effect != abi.Write || p.Args == c.Args) {
			return true
		}
	}
	return false
}

// stuck reports whether nothing new was learned after the i-th call.
func (h *lookback) stuck(i int) bool {
	for _, news := range h.news[i+1 : h.size] {
		if news {
			return false
		}
	}
	return true
}

// last gives the n-th last call that counts, from 1, and its index.
func (h *lookback) last(n int) (*host.Past, int) {
	i := h.count[h.counted-n]
	return h.calls[i], i
}

// identical: the same call was made within the rounds. A write that succeeded
// is another matter: that the model asks for it again is a suspicion, which a
// person decides about.
func (h *lookback) identical() bool {
	for n := 1; n <= h.counted; n++ {
		p, i := h.last(n)
		if p.Effect == abi.Write && p.Status == host.Done {
			continue
		}
		if same(p, &h.now) {
			return h.now.Round-p.Round < identicalRounds && h.stuck(i)
		}
	}
	return false
}

// similar: this call and those right before it are each like the one before.
// Whether anything was learned is asked first: most calls learn something, and
// to compare arguments takes their JSON apart.
func (h *lookback) similar() bool {
	if h.counted < similarRow-1 {
		return false
	}
	if _, first := h.last(similarRow - 1); !h.stuck(first) {
		return false
	}
	next := &h.now
	for n := 1; n < similarRow; n++ {
		p, _ := h.last(n)
		if !alike(p, next) {
			return false
		}
		next = p
	}
	return true
}

// period: A, B, A, and this one is B.
func (h *lookback) period() bool {
	if h.counted < 3 {
		return false
	}
	a, _ := h.last(3)
	b, i := h.last(2)
	again, _ := h.last(1)
	return same(a, again) && same(b, &h.now) && !same(a, b) && h.stuck(i)
}

func same(a, b *host.Past) bool { return a.Tool == b.Tool && a.Args == b.Args }

// alike reports whether two calls are of one tool and their arguments differ
// in at most one leaf, but for white space, case and the form of numbers.
func alike(a, b *host.Past) bool {
	if a.Tool != b.Tool {
		return false
	}
	if a.Args == b.Args {
		return true
	}
	x, y := leaves(a.Args), leaves(b.Args)
	differ := 0
	for path, value := range x {
		if other, ok := y[path]; !ok || other != value {
			differ++
		}
	}
	for path := range y {
		if _, ok := x[path]; !ok {
			differ++
		}
	}
	return differ <= 1
}

// leaves gives the values of arguments by where they stand, in one form. Text
// that is not JSON is one leaf.
func leaves(args string) map[string]string {
	found := map[string]string{}
	d := json.NewDecoder(bytes.NewReader([]byte(args)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		v = args
	}
	gather(found, "", v)
	return found
}

func gather(found map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			gather(found, path+"/"+name, member)
		}
	case []any:
		for i, item := range v {
			gather(found, path+"/"+strconv.Itoa(i), item)
		}
	default:
		found[path] = leaf(v)
	}
}

// leaf gives a value without what a model may vary and mean the same.
func leaf(v any) string {
	text := strings.ToLower(strings.Join(strings.Fields(fmt.Sprint(v)), " "))
	if text == "" || text[0] >= 'a' && text[0] <= 'z' || text[0] >= utf8.RuneSelf {
		return text // a word is no JSON, or in its one form
	}
	if number, err := host.Canonical(json.RawMessage(text)); err == nil {
		return string(number)
	}
	return text
}

// overBudget refuses a call that one of its budgets has no room for.
func (f *flight) overBudget() *abi.Problem {
	for _, b := range f.call.Budgets {
		if _, problem := b.Take(host.Amount{Calls: 1}); problem != nil {
			f.hear(Verdict{By: "budget", Code: problem.Code, Words: problem.Message})
			return problem
		}
	}
	if len(f.call.Budgets) > 0 {
		f.allow("budget")
	}
	return nil
}
