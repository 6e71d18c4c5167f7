package rules

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
)

// Bounds of what a module's words may be, in bytes: what people and models read
// are a few sentences, what is on record is a line.
const (
	sayText      = 1000
	noteText     = 500
	logText      = 500 // of all logs of one question together
	whyText      = 300 // why it could not decide
	fieldText    = 200 // also one candidate
	maxNearWords = 10  // candidates
)

// digestText is how much of a module's digest stands with each opinion: enough
// to tell releases apart.
const digestText = 12

// A judge asks one policy module. It is safe for concurrent use.
type judge struct {
	release  *release.Release
	observer bool
	deadline time.Duration
	now      func() time.Time
}

// ask puts one question to the module, and gives what the host makes of its
// answer. Its note is for the record and never empty.
func (j judge) ask(ctx context.Context, o abi.Occasion) host.Opinion {
	o.ABI, o.Now = abi.Version, j.now().UTC()
	input, err := json.Marshal(o)
	if err != nil {
		return j.undecided("what it is asked about does not marshal", sandbox.Result{}, false)
	}
	result := j.release.Module.Call(ctx, sandbox.Request{
		Tenant: host.TenantID(o.Session.Tenant), Export: abi.ExportHook, Input: input,
		Now: o.Now, Deadline: j.deadline, Seed: sha256.Sum256(input),
	})
	if p := result.Problem; p != nil {
		passing := p.Code.Class() == abi.ClassSystem || p.Code == abi.Cancelled
		return j.undecided(p.Message, result, passing)
	}
	opinion, wrong := readOpinion(result.Output, o.Point)
	if wrong != "" {
		return j.undecided(wrong, result, false)
	}
	return host.Opinion{
		Tier: opinion.Tier, Say: cut(opinion.Say, sayText), Problem: bounded(opinion.Problem),
		Note: j.note(j.verdict(opinion), refusal(opinion), opinion.Note, result),
	}
}

// undecided is what comes of a question that the module gave no opinion on. Who
// failed in a way that may pass is as one who does not answer; who would fail
// again blocks, and the operator is alerted.
func (j judge) undecided(why string, result sandbox.Result, passing bool) host.Opinion {
	why = cut(why, whyText)
	o := host.Opinion{Note: j.note("could not decide", why, "", result)}
	switch {
	case j.observer:
	case passing:
		o.Problem = abi.NewProblem(abi.Unavailable, "the rules %s could not decide: %s", j.release, why)
	default:
		o.Problem = abi.NewProblem(abi.RedLine, "the rules %s could not decide, so this is not done: %s", j.release, why).
			WithHint("Do not try it again; the operator has to look at these rules.")
	}
	return o
}

// verdict says for the record what a module decided, or would have.
func (j judge) verdict(o abi.Opinion) string {
	would, verb := "", "s"
	if j.observer {
		would, verb = "would ", ""
	}
	switch {
	case o.Problem != nil:
		return fmt.Sprintf("%srefuse%s with %d", would, verb, o.Problem.Code)
	case o.Tier != "" && o.Tier != abi.Auto:
		return fmt.Sprintf("%sask%s for %s", would, verb, o.Tier)
	}
	return "no objection"
}

// refusal gives the words of a refusal, if it is one.
func refusal(o abi.Opinion) string {
	if o.Problem == nil {
		return ""
	}
	return o.Problem.Message
}

// note is the line on record: what was decided, by which bytes, what that cost,
// why, and what the module says of it. The record of a call cuts a line, so what
// a module can make long comes last.
func (j judge) note(verdict, why, said string, result sandbox.Result) string {
	line := fmt.Sprintf("%s (sha256 %.*s, %d units of fuel, %s of memory)", verdict, digestText, j.release.SHA256, result.Usage.Fuel, result.Usage.PeakMemory)
	for _, words := range []string{why, said} {
		if words != "" {
			line += "; " + cut(words, noteText)
		}
	}
	if len(result.Logs) == 0 {
		return line
	}
	logs := make([]string, len(result.Logs))
	for i, l := range result.Logs {
		logs[i] = l.Level + ": " + l.Text
	}
	return line + "; " + cut(strings.Join(logs, " | "), logText)
}

// readOpinion accepts one opinion that can be one at that point, or says what is
// wrong with it. A misspelt objection is no consent, and neither is one that a
// second member of its name, or of one that reads the same, takes back.
func readOpinion(output []byte, at abi.HookPoint) (o abi.Opinion, wrong string) {
	d := json.NewDecoder(bytes.NewReader(output))
	d.DisallowUnknownFields()
	if d.Decode(&o) != nil || !bytes.HasPrefix(bytes.TrimSpace(output), []byte("{")) {
		return abi.Opinion{}, "its answer is no opinion"
	}
	if _, err := d.Token(); err != io.EOF {
		return abi.Opinion{}, "it gave more than one opinion"
	}
	if !exact(output) {
		return abi.Opinion{}, "its answer has a member twice, or one that is nearly an opinion's"
	}
	if wrong := o.Check(at); wrong != "" {
		return abi.Opinion{}, wrong
	}
	return o, ""
}

// exact reports whether an answer has the members of an opinion to the letter,
// and all of its members once. The decoder takes any case, and the last of two.
func exact(output []byte) bool {
	if _, err := host.Canonical(output); err != nil {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(output, &members) != nil {
		return false
	}
	for name := range members {
		if name != "tier" && name != "say" && name != "problem" && name != "note" {
			return false
		}
	}
	return true
}

// bounded cuts the words of a refusal.
func bounded(p *abi.Problem) *abi.Problem {
	if p == nil {
		return nil
	}
	b := *p
	b.Message, b.Hint, b.Field = cut(p.Message, sayText), cut(p.Hint, sayText), cut(p.Field, fieldText)
	b.Candidates = nil
	for _, c := range p.Candidates[:min(len(p.Candidates), maxNearWords)] {
		b.Candidates = append(b.Candidates, cut(c, fieldText))
	}
	return &b
}
