package server

import (
	"net/http"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
)

// postObjection keeps that the user said no to a call that they were told of.
func (s *Server) postObjection(w http.ResponseWriter, r *http.Request) *refusal {
	var body struct {
		Words string `json:"words"`
	}
	if refused := decode(r, &body); refused != nil {
		return refused
	}
	session, refused := s.findSession(r)
	if refused != nil {
		return refused
	}
	call := host.CallID(r.PathValue("call"))
	if refused := validText("call", string(call)); refused != nil {
		return refused.to(session.Locale)
	}
	first, err := dispatch.Object(r.Context(), s.Agent.Store, session.Ref, call, body.Words)
	if err != nil {
		return failed(err).to(session.Locale)
	}
	writeJSON(w, http.StatusOK, struct {
		Call  host.CallID `json:"call"`
		First bool        `json:"first"` // whether this delivery changed something
	}{call, first})
	return nil
}
