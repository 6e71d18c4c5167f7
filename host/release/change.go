package release

import (
	"context"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A Status says what became of a release.
type Status string

// What becomes of releases.
const (
	Current Status = "current" // loaded: sessions that have not met its skill use it
	Pinned  Status = "pinned"  // loaded for a session that uses it, for a record or by the operator's policy
	Refused Status = "refused" // not loaded
)

// A Change is what a set does with a release, as it stands on record.
type Change struct {
	Release string       `json:"-"`                // name@version
	SHA256  string       `json:"sha256,omitempty"` // of its module; empty where it was not even fetched
	Status  Status       `json:"status"`
	Was     string       `json:"was,omitempty"` // the version that was current before, where another was
	Problem *abi.Problem `json:"problem,omitempty"`
}

func (s *Set) tell(ctx context.Context, c Change) error {
	if s.Told == nil {
		return nil
	}
	return s.Told(ctx, c)
}

// refused tells of a release that was not loaded, which it is not, told or not.
// A caller that has gone refuses nothing.
func (s *Set) refused(ctx context.Context, name, sha256 string, err error) {
	if ctx.Err() == nil {
		_ = s.tell(ctx, Change{Release: name, SHA256: sha256, Status: Refused, Problem: host.ProblemOf(err)})
	}
}
