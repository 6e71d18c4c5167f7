package grant

import (
	"context"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
)

// addMemory grants sluice_memory_recall and _remember for the kinds that the
// manifest declares.
func (g *Grant) addMemory(use *abi.MemoryUse) {
	if use == nil {
		return
	}
	if len(use.Recall) > 0 {
		if g.config.Recall == nil {
			g.add(absent("memory", abi.FuncMemoryRecall)...)
		} else {
			g.add(sandbox.Function{Name: abi.FuncMemoryRecall, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
				return g.recall(ctx, use.Recall, args[0])
			}})
		}
	}
	if len(use.Remember) > 0 {
		if g.config.Remember == nil {
			g.add(absent("memory", abi.FuncMemoryRemember)...)
		} else {
			g.addWrites(abi.AccessWrite, sandbox.Function{Name: abi.FuncMemoryRemember, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
				return nil, g.remember(use.Remember, args[0])
			}})
		}
	}
}

// recall asks for the declared kinds only, and gives nothing of another kind
// whatever the memory answers.
func (g *Grant) recall(ctx context.Context, declared []string, raw []byte) ([]byte, *abi.Problem) {
	q, problem := decode[abi.RecallQuery](abi.FuncMemoryRecall, raw)
	if problem == nil {
		problem = q.Check()
	}
	if problem != nil {
		return nil, problem
	}
	if len(q.Kinds) == 0 {
		q.Kinds = slices.Clone(declared)
	}
	for _, kind := range q.Kinds {
		if !slices.Contains(declared, kind) {
			return nil, undeclaredKind("recalled", kind, declared)
		}
	}
	if q.Limit == 0 {
		q.Limit = abi.RecallHits
	}
	hits, err := g.config.Recall(ctx, g.call.Session, q)
	if err != nil {
		return nil, host.ProblemOf(err)
	}
	hits = slices.DeleteFunc(slices.Clone(hits), func(m abi.Memory) bool { return !slices.Contains(q.Kinds, m.Kind) })
	hits = hits[:min(len(hits), q.Limit)]
	if hits == nil {
		hits = []abi.Memory{}
	}
	return encode(hits), nil
}

// remember keeps a memory for the end of the call.
func (g *Grant) remember(declared []string, raw []byte) *abi.Problem {
	m, problem := decode[abi.Memory](abi.FuncMemoryRemember, raw)
	if problem == nil {
		problem = m.Check()
	}
	switch {
	case problem != nil:
		return problem
	case !slices.Contains(declared, m.Kind):
		return undeclaredKind("remembered", m.Kind, declared)
	case len(g.memories) == abi.CallMemories:
		return abi.NewProblem(abi.QuotaReached, "one call may remember %d things", abi.CallMemories)
	}
	g.memories = append(g.memories, m)
	return nil
}

func undeclaredKind(done, kind string, declared []string) *abi.Problem {
	return abi.NewProblem(abi.NotGranted, "the manifest does not declare that memories of kind %.60q are %s", kind, done).
		WithHint("it declares %s", strings.Join(declared, ", "))
}
