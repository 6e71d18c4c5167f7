package index

import (
	"context"
	"math"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// Bounds of an index and of what it is asked.
const (
	maxEntries = 4 << 20             // some 2 GB; more need a server
	maxTerms   = tokens.MaxTextBytes // of an entry or a question: a term has a byte at least
	maxName    = 1 << 10             // bytes of an id or a name: ids have 36, entities memory.MaxEntityBytes
	maxLimit   = 10_000              // of a search: 30 times the longest list, and room
)

// ready tells why the index cannot be used, if it cannot. It is called with mu held.
func (x *Index) ready(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return host.Fail(op, nil, err)
	}
	if x.closed {
		return host.Fail(op, abi.NewProblem(abi.Unavailable, "the index of memories is closed: the host is stopping"), nil)
	}
	return nil
}

func noTenant() *abi.Problem {
	return abi.NewProblem(abi.BadValue, "the index of memories is asked for one tenant, and none is named")
}

// checkEntries refuses what would break the index, and gives the length of vectors.
func (x *Index) checkEntries(entries []memory.Entry) (length int, problem *abi.Problem) {
	if x.entries+len(entries) > maxEntries {
		return 0, abi.NewProblem(abi.QuotaReached, "the embedded index is full: it holds %d memories of at most %d; use a Qdrant server", x.entries, maxEntries)
	}
	length = x.length
	for _, e := range entries {
		if e.Dense != nil && length == 0 {
			length = len(e.Dense)
		}
		problem := checkNames(e)
		if problem == nil {
			problem = checkTerms(e.Sparse)
		}
		if problem == nil && e.Dense != nil {
			problem = checkVector(e.Dense, length)
		}
		if problem != nil {
			return 0, problem
		}
	}
	return length, nil
}

func checkNames(e memory.Entry) *abi.Problem {
	if e.ID == "" || e.Tenant == "" || e.User == "" {
		return abi.NewProblem(abi.BadValue, "a memory in the index has an id, a tenant and a user; one is missing of %.40q", string(e.ID))
	}
	names := []string{string(e.ID), string(e.Tenant), string(e.User), string(e.Session), string(e.Live), e.Entity, e.Platform, string(e.Kind), string(e.Status)}
	for _, name := range names {
		if len(name) > maxName {
			return abi.NewProblem(abi.BadValue, "a name of memory %.40s has %d bytes; the index takes %d", string(e.ID), len(name), maxName)
		}
	}
	return nil
}

// checkTerms holds a vector to what tokens.Vector promises. A weight that is not above
// zero would make a hit of no score, or turn the order around.
func checkTerms(v tokens.Vector) *abi.Problem {
	if len(v) > maxTerms {
		return abi.NewProblem(abi.BadValue, "a text has %d terms; the index of memories takes %d", len(v), maxTerms)
	}
	for i, term := range v {
		if i > 0 && term.ID <= v[i-1].ID {
			return abi.NewProblem(abi.BadValue, "the terms of a text are not in order, or one is there twice")
		}
		if w := float64(term.Weight); !(w > 0) || math.IsInf(w, 0) {
			return abi.NewProblem(abi.BadValue, "a term of a text has the weight %g, which is not above zero", w)
		}
	}
	return nil
}

func checkVector(v []float32, length int) *abi.Problem {
	if len(v) != length || length == 0 {
		return abi.NewProblem(abi.BadValue, "a vector has %d numbers; those of this index have %d", len(v), length).
			WithHint("embed with the model that the index was made with, or rebuild it")
	}
	for _, number := range v {
		if f := float64(number); math.IsNaN(f) || math.IsInf(f, 0) {
			return abi.NewProblem(abi.BadValue, "a vector has a number that is none, or has no end")
		}
	}
	return nil
}

// checkSearch refuses a search of no tenant: it would be one of all.
func checkSearch(filter memory.Filter, limit int) *abi.Problem {
	if filter.Tenant == "" {
		return noTenant()
	}
	if limit < 1 || limit > maxLimit {
		return abi.NewProblem(abi.BadValue, "a search gives 1 to %d memories, not %d", maxLimit, limit)
	}
	return nil
}
