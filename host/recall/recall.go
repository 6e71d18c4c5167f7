package recall

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// A Config is what New needs. Keeper and Store must be set.
type Config struct {
	Keeper   *keeper.Keeper
	Store    *state.Store                 // of the audit log and the sessions
	Settings func(host.TenantID) Settings // nil for none; they were checked

	Reconcile memory.ReconcileConfig // memory.DefaultReconcile where zero
	Habits    memory.HabitConfig     // memory.DefaultHabits where zero
	Forget    memory.ForgetConfig    // memory.DefaultForget where zero

	// Ask is the model that hears what users declare, beside the rules; nil for
	// the rules alone. It is asked in the background.
	Ask Ask

	Now    func() time.Time // time.Now by default
	Logger *slog.Logger     // slog.Default() by default
}

// An Ask is a memory.AskModel that tells what it used.
type Ask func(ctx context.Context, system, user string, schema json.RawMessage) (answer string, used host.Amount, err error)

// A Recall is memory as sessions have it. It is safe for concurrent use.
type Recall struct {
	Config

	mu    sync.Mutex
	turns map[host.SessionRef]*turn // guarded by mu
	swept time.Time                 // guarded by mu: when old turns were dropped last

	used map[host.SessionRef]using // guarded by mu: by Ask, and not told to the agent yet

	background *background
}

// New gives memory for sessions. Close ends what it does in the background.
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
	return &Recall{Config: c, turns: map[host.SessionRef]*turn{}, used: map[host.SessionRef]using{}, background: newBackground(c.Logger)}
}

// Close ends what goes on in the background, and waits for it. It comes before the
// keeper's. Calling it again does nothing.
func (r *Recall) Close() { r.background.close() }

// Times that the hooks have. The user waits for the first one; nobody waits for what
// the end of a session and a purge do, and a purge may have to wait for the
// scrubbing of the database's files. The end of a live takes some milliseconds for each of
// its users; the agent waits for longer than that before it tells one again.
const (
	turnTime    = 2 * time.Second
	sessionTime = time.Minute
	liveTime    = 5 * time.Minute
)

// Hooks gives the hooks of memory: one that recalls and keeps, whose failure stops
// nothing; one of the ends of sessions, without whose success no purge ends, and one of
// the ends of lives, both of which are told again until they succeed; and the
// guard of the form of answers, whose failure stops the turn. The guard is asked about
// the tenants alone whose settings have decision points: the answers of others are shown
// as they come.
func (r *Recall) Hooks() []host.Hook {
	return []host.Hook{
		{Name: "memory", Observer: true, Time: turnTime, PreReasoning: r.before, OnTurnEnd: r.turnEnded},
		{Name: "memory.session", Observer: true, Time: sessionTime, OnSessionEnd: r.sessionEnded, OnPurge: r.purged},
		{Name: "memory.live", Observer: true, Time: liveTime, OnEvent: r.happened},
		{Name: "memory.form", PreReasoning: r.form, PostReasoning: r.judge, About: r.decides},
	}
}

func (r *Recall) decides(tenant host.TenantID) bool { return len(r.Settings(tenant).Points) > 0 }

func ownerOf(ref host.SessionRef) keeper.Owner {
	return keeper.Owner{Tenant: ref.Tenant, User: ref.User}
}
