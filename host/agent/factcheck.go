package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/factcheck"
	"github.com/sluicehq/sluice/host/model"
)

// Claims says what becomes of an answer that claims what nothing on record
// shows: an action without its call, an amount, an id or a name from nowhere.
type Claims string

// What becomes of such an answer.
const (
	ClaimsStop   Claims = "stop"   // the model may mend it once; then the user is asked to confirm. The default
	ClaimsReport Claims = "report" // it is on record, and nothing more
	ClaimsOff    Claims = "off"    // answers are not looked at
)

// ValidClaims refuses a word that says none of these. The empty one is
// ClaimsStop.
func ValidClaims(c Claims) *abi.Problem {
	switch c {
	case "", ClaimsStop, ClaimsReport, ClaimsOff:
		return nil
	}
	return abi.NewProblem(abi.BadValue, "claims cannot be %q", string(c)).WithHint("use %s, %s or %s", ClaimsStop, ClaimsReport, ClaimsOff)
}

// Bounds of what is told of an answer that was stopped.
const (
	toldFindings = 5    // to the user, and to the model: the rest is on record
	toldWrites   = 5    // that were done all the same
	toldArgs     = 300  // of one of them, in bytes
	keptAnswer   = 4000 // of the answer, on record, in bytes
)

// withholds reports whether nobody may see an answer before it was judged.
func (t *turn) withholds() bool {
	return t.Claims == ClaimsStop || t.Dispatch.Hooks.GuardsAnswers(t.ref.Tenant)
}

// checkClaims compares what an answer says with what the model was told and
// what its calls did, and gives the objection to an answer that claims more.
// Notes is how many of the remarks were objections to the answer before: they
// quote it, and prove nothing.
func (t *turn) checkClaims(ctx context.Context, reply model.Reply, notes int) (*abi.Problem, error) {
	if t.Claims == ClaimsOff || !factcheck.Claims(reply.Text) {
		return nil, nil
	}
	found := factcheck.Check(reply.Text, t.known(notes))
	if len(found) == 0 {
		return nil, nil
	}
	if err := t.recordUnbacked(ctx, reply, found); err != nil || t.Claims == ClaimsReport {
		return nil, err
	}
	t.unbacked = found
	var list []string
	for _, f := range found[:min(len(found), toldFindings)] {
		list = append(list, fmt.Sprintf("%q: %s", cut(f.Words, noteText/20), f.Why))
	}
	return abi.NewProblem(abi.NotAllowed, "it claims what nothing on record shows: %s.", strings.Join(list, "; ")).
		WithHint("Say only what results, facts and the user's words show. Say that something was done only after its call succeeded; if it was not, do it now or say so. Look up a figure that is missing, or ask for it."), nil
}

// known is all that an answer may rest on.
func (t *turn) known(notes int) factcheck.Known {
	told := t.told
	told.Notes = told.Notes[min(notes, len(told.Notes)):]
	request := told.Request()
	known := factcheck.Known{Texts: []string{request.System, request.Hint}}
	if len(request.Messages) > 0 && request.Messages[0].Text != t.messages[0].Text {
		known.Texts = append(known.Texts, request.Messages[0].Text) // the summary of what was compacted
	}
	t.knowMessages(&known)
	for _, tool := range request.Tools {
		known.Tools = append(known.Tools, factcheck.Tool{Name: tool.Name, Summary: tool.Description, Effect: tool.Effect})
		known.Texts = append(known.Texts, string(tool.Parameters))
	}
	for _, c := range known.Calls {
		known.Tools = t.knowTool(known.Tools, c.Tool)
	}
	return known
}

// knowMessages adds what was said and called, as far as it is in view.
func (t *turn) knowMessages(known *factcheck.Known) {
	whole := map[host.CallID]host.Outcome{} // of this run: the messages have long results in short
	for _, o := range t.answer.Outcomes {
		whole[o.Call] = o
	}
	begins := max(t.input.begins(), t.first)
	for i := t.first; i < t.count(); i++ {
		switch m := t.at(i); {
		case m.Role == model.RoleUser && m.ByHost:
			known.Texts = append(known.Texts, m.Text)
		case m.Role == model.RoleUser && i == begins:
			known.User = m.Text
		case m.Role == model.RoleUser:
			known.Heard = append(known.Heard, m.Text)
		case m.Role == model.RoleAssistant && m.Text != "" && !m.ByHost:
			known.Said = append(known.Said, m.Text)
		}
		for index, c := range t.at(i).Calls {
			known.Calls = append(known.Calls, t.knownCall(openCall{i, index, c}, i >= begins, whole))
		}
	}
}

func (t *turn) knownCall(c openCall, now bool, whole map[host.CallID]host.Outcome) factcheck.Call {
	call := factcheck.Call{Tool: c.call.Tool, Args: c.call.Args, Now: now}
	if result, ok := t.resultAt(c.message, c.index); ok {
		call.OK, call.Result = result.OK, result.Text
		call.Refused = !result.OK && result.Code.Class() == abi.ClassArguments
	}
	if o, ok := whole[t.callID(c)]; ok && len(o.Data) > len(call.Result) {
		call.Result += "\n" + string(o.Data)
	}
	return call
}

// knowTool adds a tool that was called and that the model does not see now.
func (t *turn) knowTool(list []factcheck.Tool, name string) []factcheck.Tool {
	if slices.ContainsFunc(list, func(have factcheck.Tool) bool { return have.Name == name }) {
		return list
	}
	tool := factcheck.Tool{Name: name, Effect: abi.Write}
	if t.changesNothing(name) {
		tool.Effect = abi.Read
	}
	if entry, problem := t.catalog.Resolve(name); problem == nil {
		tool.Summary = entry.Tool.Summary
	}
	return append(list, tool)
}

// recordUnbacked puts a finding on record. Without that the turn does not go on.
func (t *turn) recordUnbacked(ctx context.Context, reply model.Reply, found []factcheck.Finding) error {
	detail, err := json.Marshal(struct {
		Input    int                 `json:"input"`
		Step     int                 `json:"step"`
		Claims   Claims              `json:"claims"`
		Answer   string              `json:"answer"`
		Findings []factcheck.Finding `json:"findings"`
	}{t.input.Ordinal, t.answer.Steps, t.Claims, cut(reply.Text, keptAnswer), found})
	if err != nil {
		panic("BUG: findings do not marshal: " + err.Error())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	return t.Store.Record(ctx, host.Record{Session: t.ref, Kind: host.RecordUnbacked, Detail: detail})
}

// confirmation is what the user gets in the place of an answer that was stopped:
// what it claims, what was done, and the request to confirm.
func (t *turn) confirmation() string {
	zh := t.speaksChinese()
	say := func(en, chinese string) string {
		if zh {
			return chinese
		}
		return en
	}
	var b strings.Builder
	b.WriteString(say("The assistant's answer was withheld, because nothing on record shows this:", "助手的回答已被拦下，因为以下内容没有任何记录可以证实："))
	for _, f := range t.unbacked[:min(len(t.unbacked), toldFindings)] {
		fmt.Fprintf(&b, say("\n- \"%s\": %s", "\n- “%s”：%s"), f.Words, say(lackEN(f.Kind), lackZH(f.Kind)))
	}
	done, doubtful := t.doneNow()
	if len(done) > 0 {
		b.WriteString(say("\nThis was really done: ", "\n实际已执行：") + strings.Join(done, say("; ", "；")) + say(".", "。"))
	}
	if len(doubtful) > 0 {
		b.WriteString(say("\nIt is not known whether this was done: ", "\n以下操作是否已执行尚不确定：") + strings.Join(doubtful, say("; ", "；")) + say(".", "。"))
	}
	if len(done)+len(doubtful) == 0 {
		b.WriteString(say("\nNothing was changed for this request.", "\n本次请求没有执行任何更改。"))
	}
	b.WriteString(say("\nPlease confirm what is right, or ask again.", "\n请确认正确的内容，或重新提问。"))
	return b.String()
}

func (t *turn) speaksChinese() bool {
	if t.session.Locale == "" {
		return strings.ContainsFunc(t.at(t.input.Message).Text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	}
	return strings.HasPrefix(strings.ToLower(t.session.Locale), "zh")
}

// doneNow gives the calls that changed something for this input, and those of
// which that is not known.
func (t *turn) doneNow() (done, doubtful []string) {
	tell := func(list []string, c model.Call) []string {
		if len(list) == toldWrites {
			return list
		}
		return append(list, c.Tool+" "+cut(c.Args, toldArgs))
	}
	for i := max(t.input.begins(), t.first); i < t.count(); i++ {
		for index, c := range t.at(i).Calls {
			result, ended := t.resultAt(i, index)
			switch {
			case t.changesNothing(c.Tool):
			case ended && result.OK:
				done = tell(done, c)
			case !ended || result.Code == abi.OutcomeUnknown || result.Code == abi.Cancelled:
				doubtful = tell(doubtful, c)
			}
		}
	}
	return done, doubtful
}

func lackEN(k factcheck.Kind) string {
	switch k {
	case factcheck.Action:
		return "no call that succeeded did this"
	case factcheck.Amount:
		return "no result has this amount"
	case factcheck.Quantity:
		return "no result has this number"
	case factcheck.ID:
		return "no result has this id"
	}
	return "no result has this name"
}

func lackZH(k factcheck.Kind) string {
	switch k {
	case factcheck.Action:
		return "没有成功的操作记录"
	case factcheck.Amount:
		return "没有任何结果包含该金额或比例"
	case factcheck.Quantity:
		return "没有任何结果包含该数量"
	case factcheck.ID:
		return "没有任何结果包含该编号"
	}
	return "没有任何结果包含该名称"
}
