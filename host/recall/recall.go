package recall

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// Bounds of what is put before the model.
const (
	recalledHits = 8      // memories that fit the words: more push out the conversation
	constraints  = 8      // that stand before them
	maxTurns     = 10_000 // under way in this process: no host has more
)

// A Config is what Open needs. Keeper and Store must be set.
type Config struct {
	Keeper   *keeper.Keeper
	Store    *state.Store                 // of the audit log and the sessions
	Settings func(host.TenantID) Settings // nil for none; they were checked

	Reconcile memory.ReconcileConfig // memory.DefaultReconcile where zero
	Habits    memory.HabitConfig     // memory.DefaultHabits where zero
	Forget    memory.ForgetConfig    // memory.DefaultForget where zero

	// Ask is the model that hears what users declare, beside the rules; nil for
	// the rules alone.
	Ask memory.AskModel

	Now    func() time.Time // time.Now by default
	Logger *slog.Logger     // slog.Default() by default
}

// A Recall is memory as sessions have it. It is safe for concurrent use.
type Recall struct {
	Config

	mu    sync.Mutex
	turns map[host.SessionRef]*turn // guarded by mu
}

// A turn is what the hooks know of an input between the question to the model and
// its answer.
type turn struct {
	input    int
	words    string // the user's
	at       *Point // nil where no decision is made
	form     memory.Form
	trust    float64
	sources  []memory.ID          // what was recalled
	injected host.Injection       // for the first question
	asked    bool                 // whether it is known if a decision is made
	say      string               // of the form, at the first question
	kept     map[host.CallID]bool // whose results were kept as facts
}

// New gives memory for sessions.
func New(c Config) *Recall {
	if c.Settings == nil {
		c.Settings = func(host.TenantID) Settings { return Settings{} }
	}
	if c.Reconcile == (memory.ReconcileConfig{}) {
		c.Reconcile = memory.DefaultReconcile()
	}
	if c.Habits.MinLives == 0 {
		c.Habits = memory.DefaultHabits()
	}
	if c.Forget.Below == 0 {
		c.Forget = memory.DefaultForget()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return &Recall{Config: c, turns: map[host.SessionRef]*turn{}}
}

// Hooks gives the hooks of memory: one that recalls and keeps, whose failure stops
// nothing, and the guard of the form of answers, whose failure does.
func (r *Recall) Hooks() []host.Hook {
	return []host.Hook{
		{Name: "memory", Observer: true, Time: 2 * time.Second, PreReasoning: r.before, OnTurnEnd: r.turnEnded, OnSessionEnd: r.sessionEnded, OnEvent: r.happened},
		{Name: "memory.form", PreReasoning: r.form, PostReasoning: r.judge},
	}
}

func ownerOf(ref host.SessionRef) keeper.Owner {
	return keeper.Owner{Tenant: ref.Tenant, User: ref.User}
}

// Remembered keeps what a skill remembers for the user of a session. The same ones
// again are kept once. It is grant.Config's Remember.
func (r *Recall) Remembered(ctx context.Context, ref host.SessionRef, memories []abi.Memory) error {
	nodes := make([]memory.Node, len(memories))
	for i, m := range memories {
		nodes[i] = memory.Node{Text: m.Text, Kind: memory.Kind(m.Kind), Entity: m.Entity, Layer: memory.Fact,
			Trust: memory.FactTrust, Source: memory.Source{Session: ref.Session}}
	}
	_, err := r.Keeper.Remember(ctx, ownerOf(ref), nodes)
	return err
}

// Recalled gives the memories of the user of a session that answer a skill's query,
// best first. It is grant.Config's Recall.
func (r *Recall) Recalled(ctx context.Context, ref host.SessionRef, q abi.RecallQuery) ([]abi.Memory, error) {
	kinds := make([]memory.Kind, len(q.Kinds))
	for i, k := range q.Kinds {
		kinds[i] = memory.Kind(k)
	}
	hits, err := r.Keeper.Recall(ctx, keeper.Query{Filter: memory.Filter{Tenant: ref.Tenant, User: ref.User, Kinds: kinds}, Text: q.Query, Limit: q.Limit})
	if err != nil {
		return nil, err
	}
	out := make([]abi.Memory, len(hits))
	for i, h := range hits {
		out[i] = abi.Memory{Kind: string(h.Node.Kind), Text: h.Node.Text, Entity: h.Node.Entity, Score: h.Score}
	}
	return out, nil
}

// begin gives the turn of an input, made anew for another input of the session.
// With too many under way there is none.
func (r *Recall) begin(q host.Reasoning) (t *turn, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t = r.turns[q.Session]; t != nil && t.input == q.Input {
		return t, false
	}
	if t == nil && len(r.turns) >= maxTurns {
		return nil, false
	}
	t = &turn{input: q.Input, words: q.Text, form: memory.Recommend, kept: map[host.CallID]bool{}}
	r.turns[q.Session] = t
	return t, true
}

func (r *Recall) under(ref host.SessionRef) *turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turns[ref]
}

func (r *Recall) turnEnded(_ context.Context, e host.TurnEnd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.turns, e.Session)
	return nil
}
