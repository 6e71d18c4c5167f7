package agent

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
)

// Defaults of Config, and bounds.
const (
	DefaultSteps    = 40               // a task that needs more has gone astray
	DefaultParallel = 8                // reads of one answer at once
	DefaultBatch    = 90 * time.Second // for the calls of one answer together
	MaxInputBytes   = 64 << 10         // of one user input: more is an upload
	MaxCalls        = 64               // of one answer: the ceiling of parallel calls
	DefaultLease    = 30 * time.Second // so long a session rests after its replica died, and a store may be away for two thirds of it
	DefaultWait     = 5 * time.Second  // for another turn of the session: most are over by then, and nobody likes to wait longer for a no
)

// Config is what an Agent works with. Store, Releases, Dispatch and Model are
// required.
type Config struct {
	Store    *state.Store
	Releases *release.Set
	Dispatch *dispatch.Dispatcher
	Model    model.Provider

	Steps    int           // model answers in one turn
	Parallel int           // reads at once; MaxCalls at most
	Batch    time.Duration // for the calls of one answer together
	Timeout  time.Duration // of one call's attempt; shrinks what its skill's limits allow
	Now      func() time.Time

	Name  string        // of this process, for those who find a session busy; by default its id and machine
	Lease time.Duration // on a session, renewed while its turn runs; state.MaxLeaseTime at most
	Wait  time.Duration // for another turn of the session; less than 0 does not wait

	Window  int            // of the model, in tokens; window.DefaultWindow by default
	Small   model.Provider // makes summaries of what does not fit; nil extracts them
	Tools   int            // that the model sees at once; window.DefaultTools by default
	Pinned  []string       // tools that it always sees
	Persona string         // how the assistant speaks

	Files       *files.Store   // of sessions; nil where they have none
	Scenes      []window.Scene // of the tenant, beside those of a live
	TopicRounds int            // inputs after which a session is cut into topics; window.DefaultTopicRounds by default
}

// An Agent runs turns. It is safe for concurrent use. Of all agents on one store
// one at a time runs a turn of a session, and only its writes are kept.
type Agent struct {
	Config

	mu      sync.Mutex
	running map[host.SessionRef]*place // guarded by mu
	shelves map[string]*window.Shelf   // by the releases on them; guarded by mu
}

// New makes an agent.
func New(cfg Config) *Agent {
	if cfg.Steps == 0 {
		cfg.Steps = DefaultSteps
	}
	if cfg.Parallel == 0 {
		cfg.Parallel = DefaultParallel
	}
	cfg.Parallel = min(cfg.Parallel, MaxCalls)
	if cfg.Batch == 0 {
		cfg.Batch = DefaultBatch
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.TopicRounds == 0 {
		cfg.TopicRounds = window.DefaultTopicRounds
	}
	if cfg.Name == "" {
		cfg.Name = processName()
	}
	if cfg.Lease <= 0 {
		cfg.Lease = DefaultLease
	}
	cfg.Lease = min(cfg.Lease, state.MaxLeaseTime)
	if cfg.Wait == 0 {
		cfg.Wait = DefaultWait
	}
	return &Agent{Config: cfg, running: map[host.SessionRef]*place{}, shelves: map[string]*window.Shelf{}}
}

// A Session is who is talking, and about what.
type Session struct {
	Ref    host.SessionRef
	Live   host.LiveID
	Locale string // BCP 47
}

// An Input is one delivery of the user's words. A redelivery has the same ID.
type Input struct {
	ID   host.InputID
	Text string

	question *state.Approval // whose answer it is; nil for the user's words
}

// A Reason says why a turn ended.
type Reason string

// Reasons.
const (
	Answered   Reason = "answered"
	TooLong    Reason = "steps"      // the ceiling of steps was reached
	Circled    Reason = "circling"   // the loop breaker cut off calls twice
	Superseded Reason = "superseded" // it was broken off, and another input came before it was delivered again
)

// An Answer is the end of a turn.
type Answer struct {
	Text     string         `json:"text"`
	Reason   Reason         `json:"reason"`
	Steps    int            `json:"steps"` // answers of the model, this run
	Outcomes []host.Outcome `json:"-"`     // of this run, in the order of the calls; the audit log has them all
	Usage    model.Usage    `json:"usage"`
	Pending  []ApprovalRef  `json:"pending,omitempty"`  // questions of the turn that wait for a person
	Repeated bool           `json:"repeated,omitempty"` // the input had been answered before; nothing ran
}

// Turn answers one input. Events are given to on, in order, one at a time; on
// may be nil and must not block for long. An error carries a problem: the
// input is stored, and the same input given again continues the turn. An input
// that was answered, or that another one has superseded, gives its old end.
//
// While another turn of the session runs, in this process or elsewhere, Turn
// waits for Config.Wait; then it is Busy, which says who has the session and
// when to come back. A turn whose session was taken over is Busy, too, with
// nothing of it kept from then on. An id that comes with other words than
// before is Conflict.
func (a *Agent) Turn(ctx context.Context, s Session, in Input, on func(host.Event)) (Answer, error) {
	if problem := validInput(s, in); problem != nil {
		return Answer{}, host.Fail("agent.Turn", problem, nil)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	t := a.newTurn(s, on, end)
	defer t.lease.leave(ctx)
	if err := t.begin(ctx, in); err != nil {
		return Answer{}, err
	}
	if t.input.Answer != nil {
		return t.again(ctx)
	}
	t.sink.emit(host.Event{Kind: host.EventTurnStart, Text: in.Text})
	for _, problem := range t.untold {
		t.tell(problem)
	}
	t.tellMissing()
	return t.run(ctx)
}

func validInput(s Session, in Input) *abi.Problem {
	if err := s.Ref.Valid(); err != nil {
		return abi.NewProblem(abi.BadValue, "%v", err)
	}
	if err := (host.SessionRef{Tenant: "-", User: "-", Session: host.SessionID(in.ID)}).Valid(); err != nil {
		return abi.NewProblem(abi.BadValue, "the input's id cannot be used: give 1 to %d printable bytes", host.MaxIDBytes)
	}
	if isAnswer(in.ID) && in.question == nil {
		return abi.NewProblem(abi.BadValue, "the input's id cannot be used: those that begin with %s are answers to questions", answerPrefix)
	}
	if in.Text == "" || len(in.Text) > MaxInputBytes {
		return abi.NewProblem(abi.InputLimit, "the input has %d bytes; give 1 to %d", len(in.Text), MaxInputBytes)
	}
	if !utf8.ValidString(in.Text) {
		return abi.NewProblem(abi.BadValue, "the input is not UTF-8 text")
	}
	return nil
}

// A turn is one run of the loop.
type turn struct {
	*Agent
	session Session
	sink    sink
	lease   *lease
	conversation

	catalog *release.Catalog
	shelf   *window.Shelf
	resumed int                        // messages that there were when the turn went on; 0 for a new input
	before  map[string]json.RawMessage // the skills' state when this run of the turn began
	untold  []*abi.Problem             // with the user's own files, until the turn tells
	noted   bool                       // the project's notes were read
	project string                     // the notes
	answer  Answer
}

func (a *Agent) newTurn(s Session, on func(host.Event), end context.CancelCauseFunc) *turn {
	return &turn{Agent: a, session: s, sink: sink{on: on, now: a.Now}, lease: a.newLease(s.Ref, end)}
}

// tellMissing tells the user which skills they have to do without.
func (t *turn) tellMissing() {
	for _, name := range slices.Sorted(maps.Keys(t.catalog.Missing)) {
		why := host.ProblemOf(t.catalog.Missing[name]).Message
		t.sink.notice(abi.NewProblem(abi.RegistryFailure, "%s cannot be used now: %s", name, why), t.session.Locale)
	}
}

// run goes on from what the conversation says until the turn is over.
func (t *turn) run(ctx context.Context) (Answer, error) {
	for {
		var err error
		switch next := t.next(); {
		case next == over:
			return t.end(ctx, Answered)
		case ctx.Err() != nil:
			err = host.Fail("agent.Turn", nil, context.Cause(ctx))
		case next == act:
			err = t.act(ctx)
		case t.circled():
			return t.end(ctx, Circled)
		case t.steps() >= t.Steps:
			return t.end(ctx, TooLong)
		default:
			err = t.think(ctx)
		}
		if err != nil {
			return t.fail(err)
		}
	}
}

// fail is the end of a turn that is broken off. Whatever a turn says whose
// session was taken over, that is the reason.
func (t *turn) fail(err error) (Answer, error) {
	if lost := t.lease.isLost(); lost != nil {
		err = lost
	}
	t.sink.notice(host.ProblemOf(err), t.session.Locale)
	return t.answer, err
}

// think asks the model and stores its answer. An answer without calls is the
// turn's, and stored with its end.
func (t *turn) think(ctx context.Context) error {
	request, err := t.view(ctx)
	if err != nil {
		return err
	}
	reply, err := t.Model.Complete(ctx, request, t.sink.piece)
	if err != nil {
		return err
	}
	if problem := validReply(reply); problem != nil {
		return host.Fail("agent.think", problem, nil)
	}
	t.answer.Steps++
	t.answer.Usage.Input += reply.Usage.Input
	t.answer.Usage.Cached += reply.Usage.Cached
	t.answer.Usage.Output += reply.Usage.Output
	t.seen.Meter = t.seen.Meter.Observe(window.RequestTokens(request), reply.Usage)
	t.say(reply.Message())
	if t.next() == over {
		return nil
	}
	return t.save(ctx)
}

// validReply refuses an answer that is none, or more than can be done. It is
// not stored, so that the same input asks again.
func validReply(r model.Reply) *abi.Problem {
	switch {
	case len(r.Calls) > MaxCalls:
		return abi.NewProblem(abi.ModelRejected, "the model asks for %d calls at once; at most %d are run", len(r.Calls), MaxCalls)
	case len(r.Calls) == 0 && strings.TrimSpace(r.Text) == "" && r.Finish == model.FinishFilter:
		return abi.NewProblem(abi.ModelRejected, "the model's content filter took the whole answer")
	case len(r.Calls) == 0 && strings.TrimSpace(r.Text) == "":
		return abi.NewProblem(abi.ModelInterrupted, "the model gave an empty answer")
	}
	return nil
}

// end stores the turn's answer with its input, so that a redelivery gets it.
func (t *turn) end(ctx context.Context, reason Reason) (Answer, error) {
	t.answer.Reason = reason
	switch reason {
	case TooLong:
		problem := abi.NewProblem(abi.OverBudget, "the turn took %d steps without an answer", t.Steps)
		t.sink.notice(problem, t.session.Locale)
		t.say(t.lastWords(abi.OverBudget))
	case Circled: // the call that was cut off has told the user
		t.say(t.lastWords(abi.Circling))
	}
	t.answer.Text = t.messages[len(t.messages)-1].Text
	topics, err := t.cutTopics(ctx)
	if err == nil {
		t.answer.Pending, err = stillOpen(ctx, t.Store, t.ref, t.waiting())
	}
	if err == nil {
		err = t.finish(ctx, topics...)
	}
	if err != nil {
		return t.fail(err)
	}
	t.sink.emit(host.Event{Kind: host.EventTurnEnd, Reason: string(reason)})
	return t.answer, nil
}

// lastWords is the answer of a turn that ended without one of the model's.
func (t *turn) lastWords(why abi.Code) model.Message {
	return model.Message{Role: model.RoleAssistant, Text: abi.RowOf(why).User(t.session.Locale)}
}
