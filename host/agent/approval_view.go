package agent

import (
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/state"
)

// An ApprovalView is a question and what became of it, as doors tell it. Times
// are by the store's clock.
type ApprovalView struct {
	ID         host.ApprovalID      `json:"id"`
	Session    host.SessionRef      `json:"session"`
	Status     state.ApprovalStatus `json:"status"`
	Tool       string               `json:"tool"` // with its skill's name before it
	Release    string               `json:"release"`
	Args       json.RawMessage      `json:"args"`
	Tier       abi.Tier             `json:"tier"`
	Says       []string             `json:"says,omitempty"` // why it is asked
	Digest     string               `json:"digest"`         // to be named in an answer
	AskedAt    time.Time            `json:"asked_at"`
	AnsweredAt time.Time            `json:"answered_at,omitzero"`
	AnsweredBy host.UserID          `json:"answered_by,omitempty"`
	ContraryBy host.UserID          `json:"contrary_by,omitempty"` // who said otherwise, or took it back
	Words      string               `json:"words,omitempty"`
	UsedBy     host.CallID          `json:"used_by,omitempty"` // the call that ran with it
}

// ViewApproval reads a stored question.
func ViewApproval(a state.Approval) (ApprovalView, error) {
	asked, err := dispatch.ReadAsked(a)
	return ApprovalView{
		ID: a.ID, Session: a.Session, Status: a.Status, Tool: asked.Name(), Release: asked.Release, Args: asked.Args, Tier: asked.Tier, Says: asked.Says, Digest: a.Digest,
		AskedAt: a.AskedAt, AnsweredAt: a.AnsweredAt, AnsweredBy: a.AnsweredBy, ContraryBy: a.ContraryBy, Words: a.Words, UsedBy: a.UsedBy,
	}, err
}

// ViewApprovals reads a page of stored questions.
func ViewApprovals(page []state.Approval) ([]ApprovalView, error) {
	views := make([]ApprovalView, len(page))
	for i, a := range page {
		var err error
		if views[i], err = ViewApproval(a); err != nil {
			return nil, err
		}
	}
	return views, nil
}
