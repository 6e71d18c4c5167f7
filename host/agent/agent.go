package agent

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/factcheck"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
)

// Defaults of Config, and bounds.
const (
	DefaultParallel = 8                // reads of one answer at once
	DefaultBatch    = 90 * time.Second // for the calls of one answer together
	MaxInputBytes   = 64 << 10         // of one user input: more is an upload
	MaxCalls        = 64               // of one answer: the ceiling of parallel calls
	DefaultLease    = 30 * time.Second // so long a session rests after its replica died, and a store may be away for two thirds of it
	DefaultPatience = 30 * time.Second // with the model, until its user is told that it takes longer
	DefaultWait     = 5 * time.Second  // for another turn of the session: most are over by then, and nobody likes to wait longer for a no
)

// Config is what an Agent works with. Store, Releases, Dispatch and Model are
// required.
type Config struct {
	Store    *state.Store
	Releases *release.Set
	Dispatch *dispatch.Dispatcher
	Model    model.Provider

	// Limits gives what a tenant's work may use; those of DefaultLimits by
	// default. It is asked again and again, from several goroutines.
	Limits     func(host.TenantID) Limits
	Price      Price // of Model; zero counts no money
	SmallPrice Price // of Small

	Claims   Claims        // what becomes of an answer that claims too much; ClaimsStop by default
	Patience time.Duration // without a piece of an answer, until the user is told so; less than 0 is endless
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
	if cfg.Claims == "" {
		cfg.Claims = ClaimsStop
	}
	if cfg.Patience == 0 {
		cfg.Patience = DefaultPatience
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
	Locale string    // BCP 47
	Mode   host.Mode // of a new session; SetMode changes it
}

// An Input is one delivery of the user's words. A redelivery has the same ID.
type Input struct {
	ID   host.InputID
	Text string

	// Limit bounds what the task may use, if it is a part of another one: what
	// that one has left, by host.Budget.Child. It never gives more than Limits.
	Limit *host.Amount

	question *state.Approval // whose answer it is; nil for the user's words
	stored   bool            // the words are as they lie in the store, with what they name
}

// A Reason says why a turn ended.
type Reason string

// Reasons.
const (
	Answered   Reason = host.TurnAnswered
	TooLong    Reason = "steps"      // the task's ceiling of steps was reached
	Spent      Reason = "budget"     // the task, the session or the live has used up what it may use
	Refused    Reason = "refused"    // a guard would not let the model be asked, or answer
	Unbacked   Reason = "unbacked"   // the answer claims what nothing on record shows; its place has a request to confirm
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
	defer t.Dispatch.Flush(context.WithoutCancel(ctx), s.Ref) // a turn that goes on reads what its calls became
	if err := t.begin(ctx, in); err != nil {
		return Answer{}, t.reason(err)
	}
	if t.input.Answer != nil {
		return t.again(ctx)
	}
	t.sink.emit(host.Event{Kind: host.EventTurnStart, Text: in.Text})
	for _, problem := range t.untold {
		t.tell(problem)
	}
	t.tellMissing()
	if err := t.addUpLive(ctx); err != nil {
		return t.fail(ctx, err)
	}
	return t.run(ctx)
}

func validInput(s Session, in Input) *abi.Problem {
	if err := s.Ref.Valid(); err != nil {
		return abi.NewProblem(abi.BadValue, "%v", err)
	}
	if err := (host.SessionRef{Tenant: "-", User: "-", Session: host.SessionID(in.ID)}).Valid(); err != nil {
		return abi.NewProblem(abi.BadValue, "the input's id cannot be used: give 1 to %d printable bytes", host.MaxIDBytes)
	}
	if problem := ValidMode(s.Mode); problem != nil {
		return problem
	}
	if isAnswer(in.ID) && in.question == nil {
		return abi.NewProblem(abi.BadValue, "the input's id cannot be used: those that begin with %s are answers to questions", answerPrefix)
	}
	if in.Text == "" || len(in.Text) > MaxInputBytes && !in.stored {
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

	checkpoint string              // of the session's files, if the task has one
	elsewhere  host.Amount         // that other sessions of the live have used
	refused    *abi.Problem        // by a guard: the turn ends
	instead    string              // the guard's words for the user, in the place of the last answer
	unbacked   []factcheck.Finding // in the last answer
	told       window.Layers       // what the last answer was asked with
	recalled   []abi.Memory        // of the hooks, for the next answer
	remarks    []string            // likewise
	toldLater  atomic.Bool         // that it takes long
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
			return t.end(ctx, stop{reason: Answered})
		case ctx.Err() != nil:
			err = host.Fail("agent.Turn", nil, context.Cause(ctx))
		case next == act:
			err = t.act(ctx)
		default:
			if s := t.stopped(); s.reason != "" {
				return t.end(ctx, s)
			}
			err = t.think(ctx)
		}
		if err != nil {
			return t.fail(ctx, err)
		}
	}
}

// fail is the end of a turn that is broken off.
func (t *turn) fail(ctx context.Context, err error) (Answer, error) {
	err = t.reason(err)
	t.trouble(ctx, host.ProblemOf(err))
	t.tellLive(ctx)
	return t.answer, err
}

// reason says why a turn is broken off. Whatever one says whose session was
// taken over, or may have been, that is the reason.
func (t *turn) reason(err error) error {
	if lost := t.lease.isLost(); lost != nil {
		return lost
	}
	return err
}

// A stop is why a turn ends without an answer of the model's.
type stop struct {
	reason Reason
	code   abi.Code     // whose words the user is left with
	tell   *abi.Problem // what nobody was told of yet
	words  string       // in the place of those of a code
}

// stopped says whether the turn is to end before the model is asked again.
func (t *turn) stopped() stop {
	switch {
	case t.refused != nil && t.unbacked != nil:
		return stop{reason: Unbacked, tell: t.refused, words: t.confirmation()}
	case t.refused != nil && t.instead != "":
		return stop{reason: Refused, tell: t.refused, words: t.instead}
	case t.refused != nil:
		return stop{reason: Refused, code: t.refused.Code, tell: t.refused}
	case t.cutOff(abi.Circling): // the call has told the user, and dispatch the hooks
		return stop{reason: Circled, code: abi.Circling}
	}
	problem := t.spare()
	switch {
	case problem != nil && t.budgets()[0].Left().Steps == 0:
		return stop{reason: TooLong, code: problem.Code, tell: problem}
	case problem != nil:
		return stop{reason: Spent, code: problem.Code, tell: problem}
	case t.cutOff(abi.OverBudget):
		return stop{reason: Spent, code: abi.OverBudget}
	}
	return stop{}
}

// maxAsks is how often the model is asked for one answer: once more with what a
// guard, or the check of claims, has against the first one.
const maxAsks = 2

// think asks the model and stores its answer. An answer without calls is the
// turn's, and stored with its end. An answer that a guard refuses is not stored,
// only what it used; the second one in a row ends the turn.
func (t *turn) think(ctx context.Context) error {
	var notes []string
	for try := 1; ; try++ {
		t.unbacked = nil
		reply, err := t.ask(ctx, notes)
		if err != nil || t.refused != nil {
			return err
		}
		objection, err := t.judge(ctx, reply)
		if err == nil && objection == nil {
			objection, err = t.checkClaims(ctx, reply, len(notes))
		}
		if err != nil {
			return err
		}
		if objection == nil {
			return t.keep(ctx, reply)
		}
		if err := t.save(ctx); err != nil {
			return err
		}
		recovery := abi.RowOf(objection.Code).Recovery
		if try == maxAsks || recovery != abi.TellModel && recovery != abi.Repair {
			return t.refusedBy(ctx, objection)
		}
		if t.spare() != nil {
			return nil // the turn ends with that
		}
		notes = objected(reply, objection)
	}
}

// ask asks the model once, with notes for this answer alone, and counts what it
// used. Pieces of an answer that is judged are not shown before it was.
func (t *turn) ask(ctx context.Context, notes []string) (model.Reply, error) {
	if err := t.recall(ctx, notes); err != nil || t.refused != nil {
		return model.Reply{}, err
	}
	request, err := t.view(ctx)
	if err != nil {
		return model.Reply{}, err
	}
	heard := t.bePatient()
	defer heard()
	show := func(e model.Event) { heard(); t.sink.piece(e) }
	if t.withholds() {
		show = func(model.Event) {}
	}
	reply, err := t.Model.Complete(ctx, request, show)
	if err != nil {
		return reply, err
	}
	t.bill(request, reply)
	problem := validReply(reply)
	if problem == nil {
		return reply, nil
	}
	if err := t.save(ctx); err != nil { // what it used counts all the same
		return reply, err
	}
	return reply, host.Fail("agent.think", problem, nil)
}

// bill counts an answer in the turn and in the budgets.
func (t *turn) bill(request model.Request, reply model.Reply) {
	t.answer.Steps++
	t.answer.Usage.Input += reply.Usage.Input
	t.answer.Usage.Cached += reply.Usage.Cached
	t.answer.Usage.Output += reply.Usage.Output
	t.seen.Meter = t.seen.Meter.Observe(window.RequestTokens(request), reply.Usage)
	t.spend(host.Amount{Steps: 1})
	t.spend(t.Price.cost(usage(request, reply)))
}

// keep shows an answer that was withheld until now, and stores it.
func (t *turn) keep(ctx context.Context, reply model.Reply) error {
	if t.withholds() {
		t.sink.piece(model.Event{Text: reply.Text})
	}
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
func (t *turn) end(ctx context.Context, s stop) (Answer, error) {
	t.answer.Reason = s.reason
	switch {
	case s.words != "": // they tell the user more than a notice would
		t.Dispatch.Report(ctx, host.Trouble{Session: t.ref, Problem: s.tell})
		t.sink.piece(model.Event{Text: s.words})
		t.say(model.Message{Role: model.RoleAssistant, Text: s.words, ByHost: true})
	case s.tell != nil:
		t.trouble(ctx, s.tell)
	}
	if s.code != 0 {
		t.say(t.lastWords(s.code))
	}
	t.answer.Text = t.messages[len(t.messages)-1].Text
	if err := t.endFiles(ctx, s.reason); err != nil {
		return t.fail(ctx, err)
	}
	topics, err := t.cutTopics(ctx)
	if err == nil {
		err = t.Dispatch.Flush(ctx, t.ref) // whoever reads the answer finds what it rests on
	}
	if err == nil {
		t.answer.Pending, err = stillOpen(ctx, t.Store, t.ref, t.waiting())
	}
	if err == nil {
		t.windUp(ctx, s.reason)
		err = t.finish(ctx, topics...)
	}
	if err != nil {
		return t.fail(ctx, err)
	}
	t.sink.emit(host.Event{Kind: host.EventTurnEnd, Reason: string(s.reason)})
	t.tellEnd(ctx, s.reason)
	return t.answer, nil
}

// windUp does what is to be done while the session is still the turn's, for the
// reason that the turn ends with. What it does is done again, and must come to
// the same, if the end cannot be stored and the turn goes on.
func (t *turn) windUp(ctx context.Context, reason Reason) {
	t.tellLive(ctx)
	if reason != Answered {
		t.Dispatch.Log.InfoContext(ctx, "a turn ended without an answer of the model", "session", t.ref.String(), "input", t.inputID, "reason", reason)
	}
}

// lastWords is the answer of a turn that ended without one of the model's.
func (t *turn) lastWords(why abi.Code) model.Message {
	return model.Message{Role: model.RoleAssistant, Text: abi.RowOf(why).User(t.session.Locale)}
}
