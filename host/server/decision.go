package server

import (
	"net/http"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// maxFigures bounds the business figures of one time: a business judges by some.
const maxFigures = 64

// decider gives whose decisions a request is about: those of the caller's own user.
func (s *Server) decider(r *http.Request) (keeper.Owner, *refusal) {
	ref, refused := caller(r)
	if refused != nil {
		return keeper.Owner{}, refused
	}
	if s.Memory == nil {
		return keeper.Owner{}, refuse(abi.NewProblem(abi.Unavailable, "this host keeps no decisions").WithHint("ask the operator to turn memory on"))
	}
	return keeper.Owner{Tenant: ref.Tenant, User: ref.User}, nil
}

// getDecisions lists what was shown to the caller's user at decision points, oldest
// first, a page of them behind the query's after.
func (s *Server) getDecisions(w http.ResponseWriter, r *http.Request) *refusal {
	owner, refused := s.decider(r)
	if refused != nil {
		return refused
	}
	after := r.URL.Query().Get("after")
	if refused := validText("after", after); refused != nil {
		return refused
	}
	traces, err := s.Memory.Keeper.Traces(r.Context(), owner, after)
	if err != nil {
		return failed(err)
	}
	writeJSON(w, http.StatusOK, struct {
		Decisions []memory.Trace `json:"decisions"`
	}{append([]memory.Trace{}, traces...)})
	return nil
}

// postDecisionAct keeps what the user did with a decision, over what was read from their
// words.
func (s *Server) postDecisionAct(w http.ResponseWriter, r *http.Request) *refusal {
	var body struct {
		Action  string `json:"action"`
		Instead string `json:"instead"`
	}
	if refused := decode(r, &body); refused != nil {
		return refused
	}
	switch memory.Decision(body.Action) {
	case memory.Accept, memory.Reject, memory.Modify:
	default:
		return refuse(abi.NewProblem(abi.BadValue, "the action is %.80q", body.Action).WithField("action").
			WithCandidates(string(memory.Accept), string(memory.Reject), string(memory.Modify)))
	}
	return s.changeDecision(w, r, func(o keeper.Owner, id string) (memory.Trace, error) {
		return s.Memory.Keeper.Act(r.Context(), o, id, memory.Decision(body.Action), body.Instead)
	})
}

// An outcome is what came of a decision, told in one of three ways.
type outcome struct {
	Lift   *float64           `json:"lift"`   // of an output that was adopted
	Right  *bool              `json:"right"`  // of another one: whether the agent was
	Before map[string]float64 `json:"before"` // business figures, of which the policy's formula makes the lift
	After  map[string]float64 `json:"after"`
}

func (o outcome) check() *refusal {
	ways := 0
	for _, given := range []bool{o.Lift != nil, o.Right != nil, len(o.Before)+len(o.After) > 0} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return refuse(abi.NewProblem(abi.BadValue, "it is not clear what came of the decision").
			WithHint("give lift, or right, or business figures with before and after"))
	case len(o.Before) > maxFigures || len(o.After) > maxFigures:
		return refuse(abi.NewProblem(abi.BadValue, "%d business figures before and %d after; at most %d each are taken", len(o.Before), len(o.After), maxFigures))
	}
	return nil
}

// postDecisionOutcome keeps what came of a decision, which moves trust once.
func (s *Server) postDecisionOutcome(w http.ResponseWriter, r *http.Request) *refusal {
	var body outcome
	if refused := decode(r, &body); refused != nil {
		return refused
	}
	if refused := body.check(); refused != nil {
		return refused
	}
	return s.changeDecision(w, r, func(o keeper.Owner, id string) (memory.Trace, error) {
		if len(body.Before)+len(body.After) > 0 {
			trace, err := s.Memory.Keeper.Trace(r.Context(), o, id)
			if err != nil || !trace.Attributed.IsZero() { // delivered again: the formula may have gone since
				return trace, err
			}
			lift, err := s.liftOf(trace, memory.Business{Before: body.Before, After: body.After})
			if err != nil {
				return memory.Trace{}, err
			}
			body.Lift = &lift
		}
		return s.Memory.Keeper.Attribute(r.Context(), o, id, body.Lift, body.Right)
	})
}

// liftOf gives the lift of a decision by the policy's formula for its domain.
func (s *Server) liftOf(trace memory.Trace, b memory.Business) (float64, error) {
	formula, ok := s.Memory.Settings(trace.Tenant).LiftOf(trace.Domain)
	if !ok {
		return 0, host.Fail("server.lift", abi.NewProblem(abi.BadValue, "no policy says how the lift of a decision in %q follows from figures", trace.Domain).
			WithHint("give the lift itself, or have the operator set memory.lift in the policy"), nil)
	}
	return formula(b)
}

func (s *Server) changeDecision(w http.ResponseWriter, r *http.Request, change func(keeper.Owner, string) (memory.Trace, error)) *refusal {
	owner, refused := s.decider(r)
	if refused != nil {
		return refused
	}
	id := r.PathValue("decision")
	if refused := validText("decision", id); refused != nil {
		return refused
	}
	trace, err := change(owner, id)
	if err != nil {
		return failed(err)
	}
	writeJSON(w, http.StatusOK, trace)
	return nil
}
