package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/state/statetest"
)

// mariadb is the server of the tests that need one.
var mariadb statetest.Shared

func TestMain(m *testing.M) { os.Exit(mariadb.Main(m)) }

// A fakeClock is the store's, where a test sets it.
type fakeClock struct {
	mu sync.Mutex
	at time.Time // guarded by mu
}

func newClock() *fakeClock { return &fakeClock{at: time.Unix(1_700_000_000, 0)} }

func (c *fakeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *fakeClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// databases are those that the tests of several replicas run on.
func databases() map[string]func(t testing.TB) string {
	return map[string]func(t testing.TB) string{
		"sqlite":  func(t testing.TB) string { return filepath.Join(t.TempDir(), "store.db") },
		"mariadb": mariadb.Database,
	}
}

// onReplicas runs a test on each database with two replicas, "first" and
// "second", which wait for nobody. By the clock that they get nothing runs out
// unless the test says so; without one the database's own counts.
func onReplicas(t *testing.T, clock *fakeClock, test func(t *testing.T, first, second *house)) {
	set := newSet(t, nil)
	for name, fresh := range databases() {
		t.Run(name, func(t *testing.T) {
			dsn, opts := fresh(t), state.Options{}
			if clock != nil {
				opts.Now = clock.now
			}
			test(t, newReplica(t, dsn, "first", set, opts), newReplica(t, dsn, "second", set, opts))
		})
	}
}

// newReplica gives an agent with a store of its own on a database. Its model
// is the test's to set.
func newReplica(t *testing.T, dsn, name string, set *release.Set, opts state.Options) *house {
	t.Helper()
	store, err := state.Open(t.Context(), dsn, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &house{t: t, store: store, agent: New(Config{
		Store: store, Releases: set, Name: name, Wait: -1,
		Dispatch: dispatch.New(dispatch.Config{Config: grant.Config{Store: store}, Sleep: noSleep}),
	})}
}

// An asked is a model that is a function.
type asked func(ctx context.Context, req model.Request) (model.Reply, error)

func (f asked) Complete(ctx context.Context, req model.Request, _ func(model.Event)) (model.Reply, error) {
	return f(ctx, req)
}

// answers makes a model of prepared answers.
func answers(list ...func() (model.Reply, error)) *script { return &script{answers: list} }

// A held turn is one whose model has been asked and does not answer yet.
type held struct {
	release chan struct{} // to be closed: the model answers
	ended   chan error    // what became of the turn
}

// hold begins a turn and returns when its model is asked, with "held" as its
// answer to come.
func (h *house) hold(id, text string) held {
	h.t.Helper()
	begun := make(chan struct{})
	turn := held{make(chan struct{}), make(chan error, 1)}
	h.agent.Model = asked(func(ctx context.Context, _ model.Request) (model.Reply, error) {
		close(begun)
		select {
		case <-turn.release:
			return says("held")()
		case <-ctx.Done():
			return model.Reply{}, host.Fail("model", nil, ctx.Err())
		}
	})
	go func() {
		_, err := h.turn(id, text)
		turn.ended <- err
	}()
	select {
	case <-begun:
	case err := <-turn.ended:
		h.t.Fatalf("the turn ended before its model was asked: %v", err)
	}
	return turn
}

// said gives what is stored of the conversation.
func (h *house) said() string {
	h.t.Helper()
	c := conversation{ref: session.Ref}
	if err := c.find(h.t.Context(), h.store, ""); err != nil {
		h.t.Fatal(err)
	}
	messages, err := loadMessages(h.t.Context(), h.store, c.ref, 0, c.meta.Messages)
	if err != nil {
		h.t.Fatal(err)
	}
	var said []string
	for _, m := range messages {
		text := m.Text
		for _, c := range m.Calls {
			text += c.Tool
		}
		said = append(said, fmt.Sprintf("%s:%s", m.Role, text))
	}
	return strings.Join(said, " ")
}

func (h *house) wantSaid(want string) {
	h.t.Helper()
	if got := h.said(); got != want {
		h.t.Errorf("the conversation is\n%s\nwant\n%s", got, want)
	}
}

// wantBusy fails unless err is a Busy that names somebody, where it is given.
func wantBusy(t *testing.T, err error, who string) *abi.Problem {
	t.Helper()
	problem := host.ProblemOf(err)
	if err == nil || problem.Code != abi.Busy || !strings.Contains(problem.Message, who) || problem.Hint == "" {
		t.Fatalf("got %v, want a busy that names %q", err, who)
	}
	return problem
}

func wantLost(t *testing.T, err error) {
	t.Helper()
	if wantBusy(t, err, ""); !errors.Is(err, state.ErrLeaseLost) {
		t.Errorf("got %v, want a lease that is over", err)
	}
}
