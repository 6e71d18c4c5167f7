package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/state"
)

// Headers that say who asks, and which delivery a response is about.
const (
	HeaderTenant = "Sluice-Tenant"
	HeaderUser   = "Sluice-User"
	HeaderInput  = "Sluice-Input"
)

// local is the tenant and the user of a request that names none: one person on
// their own machine.
const local = "local"

// keySession is the state key under which a session is known to this door.
const keySession = "server/session"

// A sessionValue is the state under keySession.
type sessionValue struct {
	Created time.Time   `json:"created"`
	Live    host.LiveID `json:"live,omitempty"`
	Locale  string      `json:"locale,omitempty"`
	Mode    host.Mode   `json:"mode,omitempty"` // that it begins with
}

// postSession makes a session and stores it, so that every replica knows it.
func (s *Server) postSession(w http.ResponseWriter, r *http.Request) *refusal {
	ref, refused := caller(r)
	if refused != nil {
		return refused
	}
	var body struct {
		Locale string `json:"locale"`
		Live   string `json:"live"`
		Mode   string `json:"mode"`
	}
	if refused := decode(r, &body); refused != nil {
		return refused
	}
	for _, f := range []struct{ name, value string }{{"locale", body.Locale}, {"live", body.Live}} {
		if refused := validText(f.name, f.value); refused != nil {
			return refused
		}
	}
	if problem := agent.ValidMode(host.Mode(body.Mode)); problem != nil {
		return refuse(problem)
	}
	ref.Session = host.SessionID(host.NewID("session_"))
	value := sessionValue{Created: s.Now().UTC(), Live: host.LiveID(body.Live), Locale: body.Locale, Mode: host.Mode(body.Mode)}
	if err := s.Agent.Store.SaveState(r.Context(), ref, state.Change{Key: keySession, Data: encode(value)}); err != nil {
		return failed(err)
	}
	writeJSON(w, http.StatusCreated, struct {
		Session host.SessionID `json:"session"`
	}{ref.Session})
	return nil
}

// findSession finds the session of the path among those of the caller.
func (s *Server) findSession(r *http.Request) (agent.Session, *refusal) {
	ref, refused := caller(r)
	if refused != nil {
		return agent.Session{}, refused
	}
	ref.Session = host.SessionID(r.PathValue("session"))
	if refused := validText("session", string(ref.Session)); refused != nil {
		return agent.Session{}, refused
	}
	values, err := s.Agent.Store.LoadState(r.Context(), ref, keySession)
	if err != nil {
		return agent.Session{}, failed(err)
	}
	stored, ok := values[keySession]
	if !ok {
		return agent.Session{}, refuse(abi.NewProblem(abi.NotFound, "%s of tenant %s has no session %s", ref.User, ref.Tenant, ref.Session).
			WithHint("make one with POST /v1/sessions, and use it with the same %s and %s", HeaderTenant, HeaderUser))
	}
	var value sessionValue
	if err := json.Unmarshal(stored.Data, &value); err != nil {
		return agent.Session{}, refuse(abi.NewProblem(abi.StoreFailure, "session %s cannot be read", ref.Session)).because(err)
	}
	return agent.Session{Ref: ref, Live: value.Live, Locale: value.Locale, Mode: value.Mode}, nil
}

// postMode says how much the session's user lets the assistant do by itself,
// from the next turn on.
func (s *Server) postMode(w http.ResponseWriter, r *http.Request) *refusal {
	var body struct {
		Mode string `json:"mode"`
	}
	if refused := decode(r, &body); refused != nil {
		return refused
	}
	session, refused := s.findSession(r)
	if refused != nil {
		return refused
	}
	if err := s.Agent.SetMode(r.Context(), session, host.Mode(body.Mode)); err != nil {
		return failed(err).to(session.Locale)
	}
	writeJSON(w, http.StatusOK, struct {
		Session host.SessionID `json:"session"`
		Mode    string         `json:"mode"`
	}{session.Ref.Session, body.Mode})
	return nil
}

// postClear ends the session's short-term memory.
func (s *Server) postClear(w http.ResponseWriter, r *http.Request) *refusal {
	if refused := decode(r, &struct{}{}); refused != nil {
		return refused
	}
	session, refused := s.findSession(r)
	if refused != nil {
		return refused
	}
	if err := s.Agent.Clear(r.Context(), session.Ref); err != nil {
		return failed(err).to(session.Locale)
	}
	writeJSON(w, http.StatusOK, struct {
		Session host.SessionID `json:"session"`
	}{session.Ref.Session})
	return nil
}

// caller gives the tenant and the user that the headers name.
func caller(r *http.Request) (host.SessionRef, *refusal) {
	tenant, refused := identity(r, HeaderTenant)
	if refused != nil {
		return host.SessionRef{}, refused
	}
	user, refused := identity(r, HeaderUser)
	return host.SessionRef{Tenant: host.TenantID(tenant), User: host.UserID(user)}, refused
}

func identity(r *http.Request, header string) (string, *refusal) {
	values := r.Header.Values(header)
	switch {
	case len(values) > 1:
		return "", refuse(abi.NewProblem(abi.BadValue, "the header %s stands %d times; give it once", header, len(values)))
	case len(values) == 0 || values[0] == "":
		return local, nil
	}
	return values[0], validText(header, values[0])
}
