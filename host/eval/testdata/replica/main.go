// The replica program is one replica of the host that is killed: it runs turns
// of recorded conversations, several at once, until its input ends. Its model
// is the recording.
//
//	replica SETUP.json
//	replica SETUP.json DATA
//
// With a folder of the airline's data it imports these and ends.
// It reads deliveries and writes their ends, a JSON object on each line, and
// begins with an empty line when it is ready. Each question to the model is a
// line of the ledger, a file that all replicas append to.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/registry"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

func main() {
	ctx := context.Background()
	r := &replica{}
	err := read(os.Args[1], &r.setup)
	switch {
	case err != nil:
	case len(os.Args) > 2:
		err = r.importFrom(ctx, os.Args[2])
	default:
		err = r.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replica:", err)
		os.Exit(1)
	}
}

// A setup is what a replica needs to know.
type setup struct {
	Name     string
	Store    string // URL
	Module   string // file
	Manifest string // file
	Compiled string // folder
	Runs     string // file of recorded conversations
	Ledger   string // file
	Base     host.TenantID
	Lease    time.Duration // of a turn on its session
}

// A delivery is one input of one conversation.
type delivery struct {
	N    int // of the delivery, for its end
	Run  int // the recorded conversation
	Ref  host.SessionRef
	ID   host.InputID
	Text string
	Fork bool // the conversation's data must be forked first; again is no harm
}

// An end is what became of a delivery.
type end struct {
	N       int
	Code    abi.Code // 0 if it was answered
	Message string   // of the problem
	Text    string   // of the answer
}

type replica struct {
	setup
	store  *state.Store
	agent  *agent.Agent
	models []*model.Replay
	ledger *os.File

	mu sync.Mutex // one line at a time
}

func (r *replica) importFrom(ctx context.Context, folder string) error {
	store, err := state.Open(ctx, r.Store, state.Options{})
	if err != nil {
		return err
	}
	entries, err := airdb.Entries(os.DirFS(folder))
	if err == nil {
		err = store.Import(ctx, r.Base, "airline", entries)
	}
	return errors.Join(err, store.Close())
}

func (r *replica) run(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	fmt.Println()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, agent.MaxInputBytes*8)
	for lines.Scan() {
		var d delivery
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return err
		}
		go r.deliver(ctx, d)
	}
	return lines.Err()
}

func read(file string, into any) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

func (r *replica) open(ctx context.Context) (err error) {
	if r.ledger, err = os.OpenFile(r.Ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	runs, err := os.Open(r.Runs)
	if err != nil {
		return err
	}
	recorded, err := model.ParseRuns(runs)
	if err != nil {
		return err
	}
	for _, run := range recorded {
		r.models = append(r.models, model.NewReplay(run.Messages))
	}
	releases, err := r.load(ctx)
	if err != nil {
		return err
	}
	// A database that is away comes back.
	for r.store, err = state.Open(ctx, r.Store, state.Options{}); err != nil; r.store, err = state.Open(ctx, r.Store, state.Options{}) {
		time.Sleep(50 * time.Millisecond)
	}
	r.agent = agent.New(agent.Config{Claims: agent.ClaimsOff, Store: r.store, Releases: releases, Model: oracle{r}, Name: r.Name, Lease: r.Lease,
		Dispatch: dispatch.New(dispatch.Config{Config: grant.Config{Store: r.store}, Breaker: dispatch.BreakerReports})})
	return nil
}

func (r *replica) load(ctx context.Context) (*release.Set, error) {
	var m abi.Manifest
	if err := read(r.Manifest, &m); err != nil {
		return nil, err
	}
	skill, err := manifest.Compile(m)
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(r.Module)
	if err != nil {
		return nil, err
	}
	sb, err := sandbox.New(sandbox.Config{CacheDir: r.Compiled})
	if err != nil {
		return nil, err
	}
	set := release.NewSet(sb, nil)
	_, err = set.Load(ctx, &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)})
	return set, err
}

func (r *replica) deliver(ctx context.Context, d delivery) {
	e := end{N: d.N}
	answer, err := r.turn(ctx, d)
	if e.Text = answer.Text; err != nil {
		e.Code, e.Message = host.ProblemOf(err).Code, err.Error()
	}
	r.say(os.Stdout, e)
}

func (r *replica) turn(ctx context.Context, d delivery) (agent.Answer, error) {
	if d.Fork {
		if err := r.store.Fork(ctx, r.Base, d.Ref.Tenant); err != nil && host.ProblemOf(err).Code != abi.Conflict {
			return agent.Answer{}, err
		}
	}
	ctx = context.WithValue(ctx, talk{}, d)
	return r.agent.Turn(ctx, agent.Session{Ref: d.Ref, Locale: "en"}, agent.Input{ID: d.ID, Text: d.Text}, nil)
}

// say writes a line, in one write.
func (r *replica) say(to *os.File, what any) {
	line, err := json.Marshal(what)
	if err == nil {
		r.mu.Lock()
		_, err = to.Write(append(line, '\n'))
		r.mu.Unlock()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replica:", err)
		os.Exit(1)
	}
}

// talk is the key under which a turn's context has its delivery: a model is not
// told whose conversation it sees, and the ledger must know.
type talk struct{}

// A question is a line of the ledger.
type question struct {
	At       time.Time
	Replica  string
	Process  int
	Session  host.SessionRef
	Input    host.InputID
	Messages int  // that the model saw
	Stored   bool // its answer was stored already when it was asked
}

// An oracle answers as recorded, by nothing but the messages that it sees.
type oracle struct{ *replica }

func (o oracle) Complete(ctx context.Context, req model.Request, on func(model.Event)) (model.Reply, error) {
	d := ctx.Value(talk{}).(delivery)
	q := question{At: time.Now(), Replica: o.Name, Process: os.Getpid(), Session: d.Ref, Input: d.ID, Messages: len(req.Messages)}
	key := fmt.Sprintf("agent/message/%08d", q.Messages)
	stored, err := o.store.LoadState(ctx, d.Ref, key)
	if err != nil {
		return model.Reply{}, err
	}
	_, q.Stored = stored[key]
	o.say(o.ledger, q)
	select {
	case <-ctx.Done():
	case <-time.After(thinking(q)):
	}
	return o.models[d.Run].Complete(ctx, req, on)
}

// thinking is how long an answer takes: 1 to 25 ms.
func thinking(q question) time.Duration {
	return time.Duration(1+(q.Messages*7+len(q.Session.Session)+q.Process)%25) * time.Millisecond
}
