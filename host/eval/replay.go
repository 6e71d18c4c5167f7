package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// Config is what a replay works with. All of it is required.
type Config struct {
	Store     *state.Store
	Releases  *release.Set
	Dispatch  *dispatch.Dispatcher
	Base      host.TenantID // holds the imported data; is sealed by the first fork
	Namespace string        // of the data
	Compare   Comparer
	Workers   int // cases at once; 1 if zero
}

// A Comparer knows the recorded form of results and final states.
type Comparer interface {
	// SameResult reports how an outcome differs from a recorded result.
	SameResult(recorded string, outcome host.Outcome) error
	// SameFinal reports how the changed entries differ from a recorded final
	// state. Original gives the value that a key had at the start.
	SameFinal(recorded json.RawMessage, changes []state.KVChange, original func(key string) ([]byte, bool)) error
}

// A Case is one recorded piece of work: a conversation, or actions alone.
type Case struct {
	Name     string
	Messages []model.Recorded // a conversation
	Actions  []Action         // in its place: calls with their results
	Final    json.RawMessage  // the recorded final state
}

// An Action is one recorded call with its result.
type Action struct {
	Tool   string
	Args   json.RawMessage
	Result string
}

// A Result is how one case came out.
type Result struct {
	Name     string        `json:"name"`
	Calls    int           `json:"calls"`              // recorded
	Same     int           `json:"same"`               // results equal to the recorded ones
	FinalOK  bool          `json:"final_ok"`           // final state equal to the recorded one
	Faults   []string      `json:"faults,omitempty"`   // the first few differences
	Sandbox  time.Duration `json:"sandbox"`            // time inside the sandbox
	Elapsed  time.Duration `json:"elapsed"`            // of the whole case
	Problems int           `json:"problems,omitempty"` // calls that ended in a problem, as recorded or not
}

// OK reports whether everything came out as recorded.
func (r Result) OK() bool { return r.Same == r.Calls && r.FinalOK && len(r.Faults) == 0 }

// maxFaults bounds the differences that a result lists.
const maxFaults = 5

func (r *Result) fault(format string, args ...any) {
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
	}
}

// Run plays the cases and gives their results in the order of the cases. Each
// result is given to done as it comes, one at a time; done may be nil. A case
// that fails does not stop the others. A cancelled context does, and its error
// comes with the results so far: a case that was not begun has only its name.
// Every case makes a tenant under Base, so a store serves one run.
func Run(ctx context.Context, cfg Config, cases []Case, done func(Result)) ([]Result, error) {
	results := make([]Result, len(cases))
	todo := make(chan int)
	var wait sync.WaitGroup
	var mu sync.Mutex
	for range max(cfg.Workers, 1) {
		wait.Go(func() {
			for i := range todo {
				results[i] = cfg.play(ctx, i, cases[i])
				if done != nil {
					mu.Lock()
					done(results[i])
					mu.Unlock()
				}
			}
		})
	}
	for i, c := range cases {
		if results[i].Name = c.Name; ctx.Err() != nil {
			continue
		}
		select {
		case todo <- i:
		case <-ctx.Done():
		}
	}
	close(todo)
	wait.Wait()
	return results, ctx.Err()
}

func (cfg Config) play(ctx context.Context, i int, c Case) Result {
	r := Result{Name: c.Name}
	start := time.Now()
	cfg.playInto(ctx, host.TenantID(fmt.Sprintf("%s/%03d", cfg.Base, i)), c, &r)
	r.Elapsed = time.Since(start)
	return r
}

func (cfg Config) playInto(ctx context.Context, tenant host.TenantID, c Case, r *Result) {
	if err := cfg.Store.Fork(ctx, cfg.Base, tenant); err != nil {
		r.fault("fork: %v", err)
		return
	}
	ref := host.SessionRef{Tenant: tenant, User: "replay", Session: host.SessionID(c.Name)}
	if c.Actions != nil {
		cfg.act(ctx, ref, c, r)
	} else {
		cfg.talk(ctx, ref, c, r)
	}
	if err := cfg.final(ctx, tenant, c.Final); err != nil {
		r.fault("final state: %v", err)
		return
	}
	r.FinalOK = true
}

// talk plays a conversation. A recorded user message that no answer follows is
// where the recording ends.
func (cfg Config) talk(ctx context.Context, ref host.SessionRef, c Case, r *Result) {
	recorded := resultsOf(c.Messages)
	r.Calls = len(recorded)
	a := agent.New(agent.Config{Store: cfg.Store, Releases: cfg.Releases, Dispatch: cfg.Dispatch, Model: model.NewReplay(c.Messages), Limits: unbounded, Claims: agent.ClaimsOff})
	next := 0
	for turn, text := range answered(c.Messages) {
		in := agent.Input{ID: host.InputID(fmt.Sprintf("%s/%d", c.Name, turn)), Text: text}
		answer, err := a.Turn(ctx, agent.Session{Ref: ref, Locale: "en"}, in, nil)
		for _, o := range answer.Outcomes {
			if next == len(recorded) {
				r.fault("turn %d: a call of %s that was not recorded", turn, o.Tool)
				return
			}
			cfg.compare(next, recorded[next], o, r)
			next++
		}
		if err != nil && !(next == len(recorded) && endsInResult(c.Messages, err)) {
			r.fault("turn %d: %v", turn, err)
			return
		}
	}
	if next < len(recorded) {
		r.fault("only %d of %d recorded calls were made", next, len(recorded))
	}
}

// unbounded are the limits of what was recorded without any.
func unbounded(host.TenantID) agent.Limits {
	return agent.Limits{Task: host.NoBound(), Session: host.NoBound(), Live: host.NoBound()}
}

// endsInResult reports whether a turn that made all recorded calls failed only
// because the recording stops at a tool's result, without a last word of the
// model. A recording with a call that has no result does not stop there.
func endsInResult(messages []model.Recorded, err error) bool {
	calls := 0
	for _, m := range messages {
		calls += len(m.ToolCalls)
	}
	return messages[len(messages)-1].Role == "tool" && calls == len(resultsOf(messages)) && host.ProblemOf(err).Code == abi.ModelRejected
}

func (cfg Config) act(ctx context.Context, ref host.SessionRef, c Case, r *Result) {
	r.Calls = len(c.Actions)
	catalog, _ := cfg.Releases.Catalog(ctx, nil)
	for i, a := range c.Actions {
		outcome := cfg.Dispatch.Do(ctx, catalog, host.Call{
			ID: host.CallIDFor(ref, i, 0), Session: ref, Locale: "en", Tool: a.Tool, Args: string(a.Args), Input: i + 1,
		})
		cfg.compare(i, a.Result, outcome, r)
	}
}

func (cfg Config) compare(i int, recorded string, o host.Outcome, r *Result) {
	r.Sandbox += o.Usage.Elapsed
	if !o.OK() {
		r.Problems++
	}
	if err := cfg.Compare.SameResult(recorded, o); err != nil {
		r.fault("call %d, %s: %v", i, o.Tool, err)
		return
	}
	r.Same++
}

func (cfg Config) final(ctx context.Context, tenant host.TenantID, recorded json.RawMessage) error {
	changes, err := cfg.Store.Changes(ctx, tenant, cfg.Namespace)
	if err != nil {
		return err
	}
	var failed error
	start := cfg.Store.View(cfg.Base, cfg.Namespace)
	err = cfg.Compare.SameFinal(recorded, changes, func(key string) ([]byte, bool) {
		value, found, err := start.Get(ctx, key)
		if err != nil {
			failed = err
		}
		return value, found
	})
	if failed != nil {
		return failed
	}
	return err
}

// resultsOf gives the recorded tool results in order.
func resultsOf(messages []model.Recorded) []string {
	var results []string
	for _, m := range messages {
		if m.Role == "tool" {
			results = append(results, m.Text())
		}
	}
	return results
}

// answered gives the user messages that are followed by an answer.
func answered(messages []model.Recorded) []string {
	var texts []string
	for i, m := range messages {
		if m.Role == "user" && i+1 < len(messages) {
			texts = append(texts, m.Text())
		}
	}
	return texts
}
