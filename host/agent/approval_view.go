package agent

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
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
	Args       json.RawMessage      `json:"args"` // to be shown: what cannot be seen is U+FFFD
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
	args, says := visible(asked)
	return ApprovalView{
		ID: a.ID, Session: a.Session, Status: a.Status, Tool: asked.Name(), Release: asked.Release, Args: args, Tier: asked.Tier, Says: says, Digest: a.Digest,
		AskedAt: a.AskedAt, AnsweredAt: a.AnsweredAt, AnsweredBy: a.AnsweredBy, ContraryBy: a.ContraryBy, Words: a.Words, UsedBy: a.UsedBy,
	}, err
}

// visible gives the arguments and the reasons of a question as people are to see
// them who decide by it. The call is made from what is stored.
func visible(asked dispatch.Asked) (args json.RawMessage, says []string) {
	for _, say := range asked.Says {
		lines := strings.Split(say, "\n")
		for i, line := range lines {
			lines[i] = manifest.Visible(line)
		}
		says = append(says, strings.Join(lines, "\n"))
	}
	if asked.Args != nil {
		args = json.RawMessage(manifest.Visible(string(asked.Args)))
	}
	return args, says
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
