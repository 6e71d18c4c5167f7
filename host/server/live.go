package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// A liveView is what the API tells of a live.
type liveView struct {
	Live    host.LiveID     `json:"live"`
	Started time.Time       `json:"started"`
	Ended   time.Time       `json:"ended,omitzero"` // not there while it is on
	Detail  json.RawMessage `json:"detail"`
	First   *bool           `json:"first,omitempty"` // whether this delivery changed something
}

func viewOf(l state.Live) liveView {
	return liveView{Live: l.ID, Started: l.StartedAt, Ended: l.EndedAt, Detail: l.Detail}
}

// postLiveStart begins a live of the caller's tenant.
func (s *Server) postLiveStart(w http.ResponseWriter, r *http.Request) *refusal {
	var body struct {
		Detail json.RawMessage `json:"detail"`
	}
	if refused := decode(r, &body); refused != nil {
		return refused
	}
	return s.changeLive(w, r, func(ref host.SessionRef, live host.LiveID) (bool, error) {
		return s.Agent.StartLive(r.Context(), ref.Tenant, live, body.Detail)
	})
}

// postLiveEnd ends it.
func (s *Server) postLiveEnd(w http.ResponseWriter, r *http.Request) *refusal {
	if refused := decode(r, &struct{}{}); refused != nil {
		return refused
	}
	return s.changeLive(w, r, func(ref host.SessionRef, live host.LiveID) (bool, error) {
		return s.Agent.EndLive(r.Context(), ref.Tenant, live)
	})
}

func (s *Server) changeLive(w http.ResponseWriter, r *http.Request, change func(host.SessionRef, host.LiveID) (bool, error)) *refusal {
	ref, refused := caller(r)
	if refused != nil {
		return refused
	}
	live := host.LiveID(r.PathValue("live"))
	if refused := validText("live", string(live)); refused != nil {
		return refused
	}
	first, err := change(ref, live)
	if err != nil {
		return failed(err)
	}
	stored, _, err := s.Agent.Store.Live(r.Context(), ref.Tenant, live)
	if err != nil {
		return failed(err)
	}
	view := viewOf(stored)
	view.First = &first
	writeJSON(w, http.StatusOK, view)
	return nil
}

// getLives lists the lives of the caller's tenant, a page of them behind the
// query's after.
func (s *Server) getLives(w http.ResponseWriter, r *http.Request) *refusal {
	ref, refused := caller(r)
	if refused != nil {
		return refused
	}
	after := r.URL.Query().Get("after")
	if refused := validText("after", after); refused != nil {
		return refused
	}
	lives, err := s.Agent.Store.Lives(r.Context(), ref.Tenant, host.LiveID(after), 0)
	if err != nil {
		return failed(err)
	}
	page := struct {
		Lives []liveView `json:"lives"`
	}{make([]liveView, len(lives))}
	for i, l := range lives {
		page.Lives[i] = viewOf(l)
	}
	writeJSON(w, http.StatusOK, page)
	return nil
}
