package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// checkTime bounds one check: whoever asks gives up after a few seconds.
const checkTime = 2 * time.Second

// A Check is one thing without which turns fail, or are worse (Config.Helps). Do has
// checkTime; it is called for every request to /readyz, several at once.
type Check struct {
	Name string
	Do   func(ctx context.Context) error
}

// getHealth says that the process lives and answers, and nothing more: a
// restart would not mend what readyz tells.
func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request) *refusal {
	writeJSON(w, http.StatusOK, struct {
		OK      bool   `json:"ok"`
		Version string `json:"version"`
	}{true, s.Version})
	return nil
}

type checked struct {
	Name    string       `json:"name"`
	OK      bool         `json:"ok"`
	Problem *abi.Problem `json:"problem,omitempty"`
}

// getReady says whether turns can be served now, and whether as well as they should be:
// a host that is degraded is not taken out of service for it.
func (s *Server) getReady(w http.ResponseWriter, r *http.Request) *refusal {
	report := struct {
		Ready    bool      `json:"ready"`
		Degraded bool      `json:"degraded,omitempty"`
		Version  string    `json:"version"`
		Checks   []checked `json:"checks"`
	}{Ready: true, Version: s.Version}
	for _, c := range append([]Check{{"accepting turns", s.turns.accepting}}, s.Ready...) {
		result := s.check(r.Context(), c)
		report.Checks = append(report.Checks, result)
		report.Ready = report.Ready && result.OK
	}
	for _, c := range s.Helps {
		result := s.check(r.Context(), c)
		report.Checks = append(report.Checks, result)
		report.Degraded = report.Degraded || !result.OK
	}
	status := http.StatusOK
	if !report.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, report)
	return nil
}

func (s *Server) check(ctx context.Context, c Check) checked {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	err := c.Do(ctx)
	if err != nil {
		s.Log.Warn("a check of readiness failed", "check", c.Name, "error", err)
	}
	return checked{c.Name, err == nil, host.ProblemOf(err)}
}

type tool struct {
	Name    string          `json:"name"`
	Release string          `json:"release"` // name@version
	Summary string          `json:"summary"`
	Effect  abi.Effect      `json:"effect"`
	Input   json.RawMessage `json:"input"` // JSON Schema
}

// getTools lists the tools that a session which begins now sees. An older one
// keeps the releases that it began with.
func (s *Server) getTools(w http.ResponseWriter, r *http.Request) *refusal {
	catalog, _ := s.Agent.Releases.Catalog(r.Context(), nil)
	tools := []tool{}
	for _, e := range catalog.Entries() {
		tools = append(tools, tool{e.Tool.Name, e.Release.String(), e.Tool.Summary, e.Tool.Effect, e.Tool.Input})
	}
	writeJSON(w, http.StatusOK, struct {
		Tools []tool `json:"tools"`
	}{tools})
	return nil
}
