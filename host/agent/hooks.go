package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/factcheck"
	"github.com/sluicehq/sluice/host/model"
)

// Bounds of what is kept of hooks' words, in bytes.
const (
	noteText    = 2000 // one note on record
	refusedText = 400  // of an answer that a guard refused, told to the model again
	insteadText = 4000 // for the user, in the place of that answer
)

// recall asks the hooks before the model is asked. What they inject stands in
// this one request. A guard's refusal ends the turn; one that says that it may
// pass, or a guard that does not answer, breaks it off.
func (t *turn) recall(ctx context.Context, notes []string) error {
	t.recalled, t.remarks, t.instead = nil, notes, ""
	injections, refused := t.Dispatch.Hooks.PreReasoning(ctx, t.reasoning(t.at(t.input.Message).Text))
	var kept []string
	for _, in := range injections {
		t.recalled = append(t.recalled, in.Recalled...)
		t.spend(in.Used)
		for line := range strings.Lines(in.Text) {
			if line = strings.TrimSpace(line); line != "" {
				t.remarks = append(t.remarks, line)
			}
		}
		kept = appendNote(kept, in.Note)
	}
	if problem := host.ProblemOf(refused); problem != nil {
		kept = appendNote(kept, fmt.Sprintf("refused with %d: %s", problem.Code, problem.Message))
	}
	if err := t.noteHooks(ctx, "before reasoning", kept); err != nil {
		return err
	}
	return t.refusedBy(ctx, host.ProblemOf(refused))
}

// judge asks the hooks before an answer is kept, and gives the first guard's
// objection. Its words for the user are noted, should the turn end with it.
func (t *turn) judge(ctx context.Context, reply model.Reply) (objection *abi.Problem, err error) {
	t.instead = ""
	about := t.reasoning(reply.Text)
	about.Round-- // the answer itself has been counted
	for _, c := range reply.Calls {
		about.Calls = append(about.Calls, c.Tool)
	}
	about.Read = t.read()
	var kept []string
	for _, r := range t.Dispatch.Hooks.PostReasoning(ctx, about) {
		if r.Note != "" {
			kept = appendNote(kept, "hook "+r.Hook+": "+r.Note)
		}
		if r.Problem != nil {
			kept = appendNote(kept, fmt.Sprintf("hook %s: refused with %d: %s", r.Hook, r.Problem.Code, r.Problem.Message))
			if objection == nil {
				objection, t.instead = r.Problem, cut(r.Instead, insteadText)
			}
		}
	}
	return objection, t.noteHooks(ctx, "after reasoning", kept)
}

// refusedBy does what the table of problems says of a guard's refusal that is
// not told to the model: what may pass breaks the turn off, so that the input
// can be delivered again; anything else ends it.
func (t *turn) refusedBy(ctx context.Context, problem *abi.Problem) error {
	switch {
	case problem == nil:
		return nil
	case ctx.Err() != nil:
		return host.Fail("agent.think", nil, context.Cause(ctx))
	case abi.RowOf(problem.Code).Recovery == abi.Retry:
		return host.Fail("agent.think", problem, nil)
	}
	t.refused = problem
	return nil
}

// reasoning is what the hooks learn of an answer or the question to it.
func (t *turn) reasoning(text string) host.Reasoning {
	return host.Reasoning{
		Session: t.ref, Live: t.session.Live, Locale: t.session.Locale, Input: t.input.Ordinal,
		Round: int(t.budgets()[0].Used.Steps) + 1, Text: text, Outcomes: t.outcomes(),
		Said: t.saidNow(), SaidAt: t.saidAt(), Spoken: t.input.Ordinal - t.meta.ByHost, Serves: t.servedWords(),
	}
}

// saidNow gives what the user said in the input. Of a message that was stored before it
// told the user's words from files, it is nothing where the digest shows that there are any.
func (t *turn) saidNow() string {
	words := saidIn(t.at(t.input.Message))
	if t.input.Digest != host.Digest([]byte(words)) {
		return ""
	}
	return words
}

// fileMark is what a file in a message begins with, as window.Expand puts it there.
const fileMark = "\n\n[file "

// servedWords gives what the user said in the input that an answer to a question goes
// on with. Of a message that was stored before it told the user's words from files, it is
// nothing where a file stands in it.
func (t *turn) servedWords() string {
	if t.input.Serves == 0 {
		return ""
	}
	i, found := t.messageOf(t.input.Serves)
	if !found {
		return ""
	}
	if m := t.at(i); m.Said > 0 || !strings.Contains(m.Text, fileMark) {
		return saidIn(m)
	}
	return ""
}

// saidIn gives what the user said of a message.
func saidIn(m model.Message) string {
	switch {
	case m.Role != model.RoleUser || m.ByHost:
		return ""
	case m.Said > 0:
		return m.Text[:min(m.Said, len(m.Text))]
	}
	return m.Text
}

// saidAt gives when the input came. One that was stored before that was kept counts as old
// as its session: so it comes before whatever was said or forgotten since.
func (t *turn) saidAt() time.Time {
	if t.input.At.IsZero() {
		return t.meta.Created
	}
	return t.input.At
}

// objected tells the model what a guard has against its last answer.
func objected(reply model.Reply, objection *abi.Problem) []string {
	said := reply.Text
	for _, c := range reply.Calls {
		said += " [" + c.Tool + "]"
	}
	words := fmt.Sprintf("Your last answer (%s) was withheld from the user and nothing of it was done: %s", cut(strings.TrimSpace(said), refusedText), objection.Message)
	if objection.Hint != "" {
		words += " " + objection.Hint
	}
	return []string{words, "Give another answer that heeds this."}
}

// outcomes gives the ends of this input's calls, in the order of the calls:
// those of this run as they are, and earlier ones as the model was told.
func (t *turn) outcomes() []host.Outcome {
	now := map[host.CallID]host.Outcome{}
	for _, o := range t.answer.Outcomes {
		now[o.Call] = o
	}
	var list []host.Outcome
	for i := t.input.Message; i < t.count(); i++ {
		for index, c := range t.at(i).Calls {
			result, ok := t.resultAt(i, index)
			if !ok {
				continue
			}
			id := t.callID(openCall{i, index, c})
			o, ok := now[id]
			if !ok {
				o = toldOutcome(id, c, result)
			}
			list = append(list, o)
		}
	}
	return list
}

func toldOutcome(id host.CallID, c model.Call, result model.Message) host.Outcome {
	o := host.Outcome{Call: id, Tool: c.Tool, Status: host.Done, Preview: result.Text}
	if !result.OK {
		o.Status, o.Problem = host.Failed, &abi.Problem{Code: result.Code, Message: result.Text}
	}
	return o
}

// read gives what an answer may rest on, as far as it is in view. A call that failed gives
// nothing: its problem quotes what the model asked for.
func (t *turn) read() (texts []string) {
	var known factcheck.Known
	t.knowMessages(&known)
	texts = known.Heard
	for _, c := range known.Calls {
		if c.OK {
			texts = append(texts, c.Tool+" "+c.Result)
		}
	}
	return append(texts, known.User)
}

// noteHooks puts what hooks said on record. Without that the turn does not go on.
func (t *turn) noteHooks(ctx context.Context, point string, notes []string) error {
	if len(notes) == 0 {
		return nil
	}
	detail, err := json.Marshal(struct {
		Point string   `json:"point"`
		Input int      `json:"input"`
		Step  int      `json:"step"`
		Notes []string `json:"notes"`
	}{point, t.input.Ordinal, t.answer.Steps, notes})
	if err != nil {
		panic("BUG: notes do not marshal: " + err.Error())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	return t.Store.Record(ctx, host.Record{Session: t.ref, Kind: host.RecordHook, Detail: detail})
}

func appendNote(notes []string, note string) []string {
	if note == "" {
		return notes
	}
	return append(notes, cut(note, noteText))
}

func cut(text string, most int) string {
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "")
}

// trouble tells the user of a problem, and the hooks and the operator with them.
func (t *turn) trouble(ctx context.Context, p *abi.Problem) {
	t.sink.notice(p, t.session.Locale)
	t.Dispatch.Report(ctx, host.Trouble{Session: t.ref, Problem: p})
}

// tellEnd tells the hooks of the turn's end, which is stored by then.
func (t *turn) tellEnd(ctx context.Context, reason Reason) {
	t.Dispatch.Complain(t.ref, t.Dispatch.Hooks.TurnEnd(context.WithoutCancel(ctx), host.TurnEnd{
		Session: t.ref, Live: t.session.Live, Input: t.input.Ordinal, Reason: string(reason), Text: t.shown(),
	}))
}

// shown gives what the user was told in answer to the input.
func (t *turn) shown() string {
	var words []string
	for _, m := range t.messages[min(len(t.messages), max(0, t.input.Message-t.first)):] {
		if m.Role == model.RoleAssistant && m.Text != "" {
			words = append(words, m.Text)
		}
	}
	return strings.Join(words, "\n")
}
