package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// An Asked is what a stored question tells the person who is asked, and what
// the call is made from again when the answer is yes.
type Asked struct {
	Skill   string          `json:"skill"`
	Tool    string          `json:"tool"`
	Release string          `json:"release"` // name@version
	Args    json.RawMessage `json:"args"`    // as the gate accepts them, canonical
	Tier    abi.Tier        `json:"tier"`
	Says    []string        `json:"says,omitempty"` // why it is asked
	Serves  int             `json:"serves"`         // ordinal of the user's own input
	Basis   string          `json:"basis"`          // digest of what it is asked because of: an answer goes by that
	Targets []string        `json:"targets,omitempty"`
}

// Name is the tool's full name, its skill's before it: what standing grants
// name.
func (a Asked) Name() string { return a.Skill + "." + a.Tool }

// ReadAsked reads the detail of a stored question.
func ReadAsked(a state.Approval) (Asked, error) {
	var asked Asked
	if err := json.Unmarshal(a.Detail, &asked); err != nil {
		return Asked{}, host.Fail("dispatch.ReadAsked", abi.NewProblem(abi.StoreFailure, "question %s cannot be read", a.ID), err)
	}
	return asked, nil
}

func (f *flight) asked() Asked {
	args, err := host.Canonical(f.args)
	if err != nil {
		panic("BUG: arguments that have a meaning have no canonical form: " + err.Error())
	}
	return Asked{
		Skill: f.entry.Release.Skill.Name, Tool: f.entry.Tool.Name, Release: f.outcome.Release,
		Args: args, Tier: abi.HardGate, Says: f.says, Serves: cmp.Or(f.call.Serves, f.call.Input), Basis: f.basis(), Targets: f.targets,
	}
}

// basis is a digest of what the words of a question are made of beside the
// arguments: the facts and the state that the rules went by, what the call
// touches, and what the skill's own check said. A yes was given to that. The
// words of hooks are left out, which may tell a time or a count: a question that
// differs whenever it is put could never be answered.
func (f *flight) basis() string {
	b, err := json.Marshal([]any{f.entry.Tool.Basis(f.env), f.Policy.Basis(f.ruled), f.targets, f.checkSay})
	if err != nil {
		panic("BUG: what was read as JSON does not marshal: " + err.Error())
	}
	return host.Digest(b)
}

// digest is what a question and its answer are bound to: the tool, the release
// with the bytes of its module, the arguments and the tier. Whatever of these
// changes makes another question. What it is asked because of is not in it: that
// may change, and there is one open question about a call.
func (a Asked) digest(module string) string {
	b, err := json.Marshal([]any{a.Name(), a.Release, module, a.Args, a.Tier})
	if err != nil {
		panic("BUG: a question does not marshal: " + err.Error())
	}
	return host.Digest(b)
}

// approve looks for a person's yes to exactly this call: the answer to a
// question about it, or a standing grant that covers it. Without one the
// question is put, durably, and the call is pending. A no holds for what it was
// said to; when the user asks for the same once more, that is a new question.
func (f *flight) approve(ctx context.Context) *abi.Problem {
	asked := f.asked()
	digest := asked.digest(f.entry.Release.SHA256)
	last, found, err := f.lastQuestion(ctx, digest, asked.Basis)
	if err != nil {
		return host.ProblemOf(err)
	}
	outdated := f.allows(last) && basisOf(last) != asked.Basis
	if found && !outdated {
		switch {
		case f.allows(last):
			return f.use(ctx, last.ID, digest)
		case f.call.Approval == last.ID, last.Status != state.ApprovalOpen && last.Status != state.ApprovalUsed && servedBy(last) == asked.Serves:
			return f.denied(last)
		}
	}
	if grant, covered := f.covered(ctx); covered {
		return f.withGrant(ctx, grant, last)
	}
	if last.Status == state.ApprovalOpen {
		return f.pending(last.ID)
	}
	if f.outcome.Attempts == 0 {
		if problem := f.undone(ctx, nil); problem != nil || f.done {
			return problem // this very call was done: nobody is asked about that
		}
	}
	if outdated {
		f.note("%s was a yes to what has changed since", last.ID)
		f.says = append([]string{"It was approved, but what it was approved on has changed since."}, f.says...)
		asked.Says = f.says
	}
	return f.question(ctx, asked, digest)
}

// allows reports whether a question has a yes that this call may have, or has.
func (f *flight) allows(a state.Approval) bool {
	return a.Status == state.ApprovalApproved || a.Status == state.ApprovalUsed && a.UsedBy == f.call.ID
}

// lastQuestion gives the question that the host makes the call for, if it is
// about this call, and else the newest one about it in the session. Where what
// the former was answered on has changed, there may be a newer one.
func (f *flight) lastQuestion(ctx context.Context, digest, basis string) (state.Approval, bool, error) {
	if f.call.Approval != "" {
		a, found, err := f.Store.Approval(ctx, f.call.Session.Tenant, f.call.Approval)
		if err != nil || found && a.Session == f.call.Session && a.Digest == digest && (!f.allows(a) || basisOf(a) == basis) {
			return a, found, err
		}
	}
	return f.Store.FindApproval(ctx, f.call.Session, digest)
}

// basisOf gives what a question was asked because of; nothing where that cannot
// be read, which is the basis of no call.
func basisOf(a state.Approval) string {
	asked, err := ReadAsked(a)
	if err != nil {
		return ""
	}
	return asked.Basis
}

// servedBy is the ordinal of the input that a question served; -1 where that
// cannot be read, which no call serves.
func servedBy(a state.Approval) int {
	asked, err := ReadAsked(a)
	if err != nil {
		return -1
	}
	return asked.Serves
}

// spend uses up the approval that the host makes a call for, where the call
// would run without one by now: nobody may run it with that again.
func (f *flight) spend(ctx context.Context) *abi.Problem {
	if f.call.Approval == "" || f.depth > 0 {
		return nil
	}
	return f.use(ctx, f.call.Approval, f.asked().digest(f.entry.Release.SHA256))
}

// use takes the approval for this call and no other. After a crash the same
// call has it still.
func (f *flight) use(ctx context.Context, id host.ApprovalID, digest string) *abi.Problem {
	if err := f.flushed(ctx); err != nil {
		return host.ProblemOf(err)
	}
	now, granted, err := f.Store.UseApproval(ctx, state.ApprovalUse{
		Session: f.call.Session, Fence: f.call.Fence, ID: id, Digest: digest, Call: f.call.ID,
		Records: []host.Record{f.record(host.RecordApproved, detail(map[string]any{"approval": id}))},
	})
	switch {
	case err != nil:
		return host.ProblemOf(err)
	case !granted:
		return f.denied(now)
	}
	f.outcome.Approval = id
	f.allow(fmt.Sprintf("approval %s of %s", id, now.AnsweredBy))
	return nil
}

// denied says why a question that was put is no yes for this call, to the model
// and on record.
func (f *flight) denied(a state.Approval) *abi.Problem {
	problem := f.denial(a)
	if a.Status != state.ApprovalOpen {
		f.hear(Verdict{By: "approval " + string(a.ID), Code: problem.Code, Words: problem.Message})
	}
	return problem
}

func (f *flight) denial(a state.Approval) *abi.Problem {
	f.outcome.Approval = a.ID
	said := ""
	if a.Words != "" {
		said = fmt.Sprintf(" What they said: %q.", a.Words)
	}
	switch a.Status {
	case state.ApprovalOpen:
		return f.pending(a.ID)
	case state.ApprovalUsed:
		return abi.NewProblem(abi.Conflict, "%s was approved once, and call %s has run with that (%s).", f.call.Tool, a.UsedBy, a.ID).
			WithHint("It is done. Do not do it again unless the user asks for it once more.")
	case state.ApprovalConflicted:
		return abi.NewProblem(abi.Rejected, "%s was not done: one person said yes and one said no (%s).%s", f.call.Tool, a.ID, said).
			WithHint("Do not repeat it; tell the user that they disagree.")
	case state.ApprovalCancelled:
		return abi.NewProblem(abi.Rejected, "%s was not done: the question whether it may was taken back (%s).%s", f.call.Tool, a.ID, said)
	}
	return abi.NewProblem(abi.Rejected, "%s was not done: the user said no (%s).%s", f.call.Tool, a.ID, said)
}

// question puts the question.
func (f *flight) question(ctx context.Context, asked Asked, digest string) *abi.Problem {
	text := detail(asked)
	if len(text) > state.MaxQuestionBytes {
		return abi.NewProblem(abi.InputLimit, "a person must confirm %s, and its arguments are longer than anybody can read: at most %d bytes are asked about", f.call.Tool, state.MaxQuestionBytes).
			WithHint("do it in several calls")
	}
	if err := f.flushed(ctx); err != nil { // with the facts that it is asked because of
		return host.ProblemOf(err)
	}
	open, _, err := f.Store.AskApproval(ctx, state.Question{
		Session: f.call.Session, Fence: f.call.Fence, Call: f.call.ID, Digest: digest, Detail: text,
		Records: []host.Record{f.record(host.RecordQuestion, text)},
	})
	if err != nil {
		return host.ProblemOf(err)
	}
	return f.pending(open.ID)
}

func (f *flight) pending(id host.ApprovalID) *abi.Problem {
	f.outcome.Approval = id
	return verdict(abi.PendingApproval, fmt.Sprintf("%s needs the user's confirmation before it runs. The user was asked (%s).", f.call.Tool, id), f.says).
		WithHint("Do not call it again: it runs by itself when the user has confirmed it. Go on with what does not depend on it, and tell the user what waits for them.")
}

// covered gives the first standing grant that covers the call: for its tool,
// up to its tier, and with a condition that holds. One that cannot be decided
// covers nothing. A grant says what may be done: not that it is wanted twice, so
// it does not cover what was done for the same words already; not that nobody
// need know what it is, so not where a rule could not be decided; and not that
// the user does not want to be asked, so not in a session that only suggests.
func (f *flight) covered(ctx context.Context) (state.StandingGrant, bool) {
	if f.call.Ordinal > 0 || f.apart || f.entry.Tool.Basis(f.env).Undecided || f.Policy.Basis(f.ruled).Undecided {
		return state.StandingGrant{}, false
	}
	grants, err := f.Store.StandingGrants(ctx, f.call.Session)
	if err != nil {
		f.hear(Verdict{By: "standing grants", Words: "could not be read: " + host.ProblemOf(err).Error()})
		return state.StandingGrant{}, false
	}
	name := f.asked().Name()
	for _, g := range grants {
		if g.Tool != name || f.outcome.Tier.Rank() > g.MaxTier.Rank() {
			continue
		}
		holds, err := f.holds(ctx, g.Condition)
		if err != nil {
			f.hear(Verdict{By: "standing grant " + g.ID, Words: err.Error()})
		}
		if holds {
			return g, true
		}
	}
	return state.StandingGrant{}, false
}

// maxConditions bounds the compiled conditions that are kept: people write few,
// and the next call compiles what was dropped.
const maxConditions = 256

// conditions are those of standing grants, compiled once: to compile one takes
// longer than the rest of the gate. They are safe for concurrent use.
type conditions struct {
	mu       sync.Mutex
	compiled map[string]*manifest.Condition // by their text; guarded by mu
}

// holds reports whether a grant's condition holds for the call; none always
// does.
func (f *flight) holds(ctx context.Context, text string) (bool, error) {
	if text == "" {
		return true, nil
	}
	condition, err := f.conditions.find(text)
	if err != nil {
		return false, err
	}
	env, problem := f.seeing(ctx, condition.StateRead())
	if problem != nil {
		return false, problem
	}
	return condition.Holds(env)
}

func (c *conditions) find(text string) (*manifest.Condition, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if condition := c.compiled[text]; condition != nil {
		return condition, nil
	}
	condition, err := manifest.CompileCondition(text)
	if err != nil {
		return nil, err
	}
	if c.compiled == nil || len(c.compiled) >= maxConditions {
		c.compiled = map[string]*manifest.Condition{}
	}
	c.compiled[text] = condition
	return condition, nil
}

// withGrant lets a call run with a standing grant. A question about it that is
// still open is taken back: answered later, it would run the call again.
func (f *flight) withGrant(ctx context.Context, g state.StandingGrant, last state.Approval) *abi.Problem {
	if last.Status == state.ApprovalOpen {
		if err := f.flushed(ctx); err != nil {
			return host.ProblemOf(err)
		}
		words := "a standing grant covers it: " + g.ID
		now, err := f.Store.CancelApproval(ctx, last.Session.Tenant, last.ID, g.GrantedBy, words, f.record(host.RecordAnswer, detail(map[string]any{"approval": last.ID, "status": state.ApprovalCancelled, "words": words})))
		switch {
		case err != nil:
			return host.ProblemOf(err)
		case now.Status == state.ApprovalRejected || now.Status == state.ApprovalConflicted:
			return f.denied(now) // a person was faster, and a no outranks a grant
		}
	}
	f.allow(fmt.Sprintf("standing grant %s of %s", g.ID, g.GrantedBy))
	return nil
}

func detail(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a record's detail does not marshal: " + err.Error())
	}
	return b
}
