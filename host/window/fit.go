package window

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
)

// A Plan is what the model is to see of a conversation. Where Events is not
// empty, they and the Cut are to be stored before the model is asked.
type Plan struct {
	Messages []model.Message
	Cut      Cut
	Events   []Compaction   // what this plan replaced by what, in order
	Ask      *model.Request // for a better summary, by a small model; nil where none is needed
	Tokens   int            // of the whole request, as the model is expected to count them

	fitter fitter
	older  Cut // before the summary
	known  map[int]operation
}

// Fit decides what the model sees of a conversation. It is asked before every
// call of a model, inside a turn, too. As long as the request is below the
// threshold and the conversation below its share, nothing is changed. Else, in
// this order, and no further than needed: the tool calls of old turns have one
// line each; old turns stand in a summary, with the older summary in it; long
// messages of the current turn are shortened. The last three rounds stay as
// they are, but for the last of these steps.
//
// It is a pure function: the same conversation and budget give the same plan.
// To fit what was fitted changes nothing. Where nothing more can go and the
// request is still above the threshold, it fails with OverBudget; a budget
// that cannot be used is BadValue.
func Fit(c Conversation, b Budget) (Plan, error) {
	b = b.withDefaults()
	if problem := b.problem(); problem != nil {
		return Plan{}, host.Fail("window.Fit", problem, nil)
	}
	p := Plan{Cut: c.Cut, fitter: fitter{c, b}}
	p.see()
	if p.fitter.holds(p) {
		return p, nil
	}
	p.toLines()
	if !p.fitter.roomy(p) {
		p.toSummary()
	}
	if p.Tokens > p.fitter.Threshold() {
		p.toShort()
	}
	if p.Tokens > p.fitter.Threshold() {
		return Plan{}, host.Fail("window.Fit", p.fitter.tooMuch(p), nil)
	}
	return p, nil
}

// A fitter is what a plan is made for.
type fitter struct {
	Conversation
	Budget
}

// see sets what the model sees under the plan's cut.
func (p *Plan) see() {
	p.Messages = p.fitter.view(p.Cut)
	p.Tokens = p.fitter.Meter.Tokens(p.fitter.Fixed + conversationTokens(p.Messages))
}

// holds reports whether nothing needs to be compacted: the request is below
// the threshold, and the conversation below its share, or all of it recent.
func (f fitter) holds(p Plan) bool {
	return p.Tokens <= f.Threshold() && (f.verbatim(p) <= f.Verbatim() || !f.hasOld(p.Cut))
}

// roomyPart is how much of its share a conversation may fill after its tool
// calls have become lines. Where it fills more, the next message would be
// compacted again, and each compaction costs the model's prefix cache.
const roomyPart = 2.0 / 3

func (f fitter) roomy(p Plan) bool {
	return p.Tokens <= f.Threshold() && float64(f.verbatim(p)) <= roomyPart*float64(f.Verbatim())
}

// verbatim counts the conversation without its summary.
func (f fitter) verbatim(p Plan) int {
	messages := p.Messages
	if p.Cut.Summary != nil {
		messages = messages[1:]
	}
	return f.Meter.Tokens(conversationTokens(messages))
}

// hasOld reports whether there are messages that may go into the summary.
func (f fitter) hasOld(cut Cut) bool { return f.turnStart(roundsKept) > max(cut.Summed, f.First) }

// try makes the compaction and keeps it if the conversation becomes shorter.
func (p *Plan) try(e Compaction) bool {
	after := *p
	after.Cut = p.Cut.With(e)
	after.see()
	if after.Tokens >= p.Tokens {
		return false
	}
	e.Before, e.After = conversationTokens(p.Messages), conversationTokens(after.Messages)
	after.Events = append(p.Events[:len(p.Events):len(p.Events)], e)
	*p = after
	return true
}

// toLines is the first level.
func (p *Plan) toLines() {
	from, to := max(p.Cut.Lined, p.Cut.Summed, p.fitter.First), p.fitter.turnStart(roundsKept)
	if from < to {
		p.try(Compaction{Level: LevelLines, From: from, To: to})
	}
}

// toSummary is the second level. The summary is made without a model; a better
// one may be asked for.
func (p *Plan) toSummary() {
	if !p.fitter.hasOld(p.Cut) {
		return
	}
	from, to := max(p.Cut.Summed, p.fitter.First), p.fitter.turnStart(roundsKept)
	older := *p
	old := repaired(p.fitter.entriesIn(from, to))
	summary := extract(old, p.fitter.Conversation).after(p.Cut.Summary).bounded(p.fitter.summaryRoom())
	if p.try(Compaction{Level: LevelSummary, From: from, To: to, Summary: &summary}) {
		p.older = older.Cut
		p.ask(old)
	}
}

// rooms are the lengths to which the messages of the current turn are
// shortened, tried in this order, in characters.
func rooms() []int { return []int{3000, 2000, 1000, 500, 250} }

// shortPart is how much of the threshold a request has after its last turn was
// shortened, if that can be had: the turn goes on, and the next result would
// be shortened again.
const shortPart = 0.9

// toShort is the third level.
func (p *Plan) toShort() {
	from, to := p.fitter.turnStart(1), p.fitter.end()
	whole := *p
	for _, room := range rooms() {
		if earlier := whole.Cut.room(from); earlier > 0 && earlier < room {
			continue // what is shorter does not grow again
		}
		short := whole
		if short.try(Compaction{Level: LevelShort, From: from, To: to, Room: room}) {
			*p = short
		}
		if float64(p.Tokens) <= shortPart*float64(p.fitter.Threshold()) {
			return
		}
	}
}

// tooMuch says that nothing more can be compacted.
func (f fitter) tooMuch(p Plan) *abi.Problem {
	return abi.NewProblem(abi.OverBudget, "the last %d rounds and what always goes with them have %d tokens, more than the %d that the model takes, although everything older is summed up",
		roundsKept, p.Tokens, f.Threshold()).
		WithHint("begin a new session, send less at a time, or use a model with a larger window")
}
