package server

import (
	"context"
	"net/http"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/state"
)

// anyStatus asks for the questions of every status.
const anyStatus = "all"

// getApprovals lists the questions of the caller's tenant, a page of them
// behind the query's after.
func (s *Server) getApprovals(w http.ResponseWriter, r *http.Request) *refusal {
	ref, refused := caller(r)
	if refused != nil {
		return refused
	}
	filter, refused := approvalFilter(r)
	if refused != nil {
		return refused
	}
	stored, err := s.Agent.Store.Approvals(r.Context(), ref.Tenant, filter)
	if err != nil {
		return failed(err)
	}
	views, err := agent.ViewApprovals(stored)
	if err != nil {
		return failed(err)
	}
	writeJSON(w, http.StatusOK, struct {
		Approvals []agent.ApprovalView `json:"approvals"`
	}{views})
	return nil
}

func approvalFilter(r *http.Request) (state.ApprovalFilter, *refusal) {
	query := r.URL.Query()
	filter := state.ApprovalFilter{After: host.ApprovalID(query.Get("after"))}
	if refused := validText("after", string(filter.After)); refused != nil {
		return filter, refused
	}
	switch status := state.ApprovalStatus(query.Get("status")); status {
	case "":
		filter.Status = state.ApprovalOpen
	case anyStatus:
	case state.ApprovalOpen, state.ApprovalApproved, state.ApprovalRejected, state.ApprovalConflicted, state.ApprovalCancelled, state.ApprovalUsed:
		filter.Status = status
	default:
		return filter, refuse(abi.NewProblem(abi.BadValue, "there is no status %.80q", status).WithField("status").
			WithCandidates(anyStatus, string(state.ApprovalOpen), string(state.ApprovalApproved), string(state.ApprovalRejected),
				string(state.ApprovalConflicted), string(state.ApprovalCancelled), string(state.ApprovalUsed)))
	}
	return filter, nil
}

// postApproval stores a person's answer to a question of a session of theirs,
// and goes on with the session.
func (s *Server) postApproval(w http.ResponseWriter, r *http.Request) *refusal {
	var body struct {
		Answer string `json:"answer"`
		Words  string `json:"words"`
		Digest string `json:"digest"`
	}
	if refused := decode(r, &body); refused != nil {
		return refused
	}
	if body.Answer != "approve" && body.Answer != "reject" {
		return refuse(abi.NewProblem(abi.BadValue, "the answer is %.80q", body.Answer).WithField("answer").WithCandidates("approve", "reject"))
	}
	if body.Digest == "" {
		return refuse(abi.NewProblem(abi.Missing, "the answer does not say what it is about").WithField("digest").WithHint("give the digest of the question as it was shown"))
	}
	session, refused := s.findSession(r)
	if refused != nil {
		return refused
	}
	id := host.ApprovalID(r.PathValue("approval"))
	if refused := s.decide(r, session, id, agent.Decision{Approve: body.Answer == "approve", By: session.Ref.User, Words: body.Words, Digest: body.Digest}); refused != nil {
		return refused.to(session.Locale)
	}
	return s.serveTurn(w, r, session, host.InputID(id), func(ctx context.Context, on func(host.Event)) (agent.Answer, error) {
		return s.Agent.Continue(ctx, session, id, on)
	})
}

// decide stores the answer. A question of another session does not exist here.
func (s *Server) decide(r *http.Request, session agent.Session, id host.ApprovalID, d agent.Decision) *refusal {
	if refused := validText("approval", string(id)); refused != nil {
		return refused
	}
	asked, found, err := s.Agent.Store.Approval(r.Context(), session.Ref.Tenant, id)
	if err != nil {
		return failed(err)
	}
	if !found || asked.Session != session.Ref {
		return refuse(abi.NewProblem(abi.NotFound, "session %s has no question %s", session.Ref.Session, id).WithHint("list the open ones with GET /v1/approvals"))
	}
	if _, err := agent.Decide(r.Context(), s.Agent.Store, session.Ref.Tenant, id, d); err != nil {
		return failed(err)
	}
	return nil
}
