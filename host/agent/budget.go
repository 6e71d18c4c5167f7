package agent

import (
	"context"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
)

// Defaults of Limits, in tokens: output, and input that no cache had.
const (
	DefaultSteps         = 40 // of a task: one that needs more has gone astray
	DefaultTaskTokens    = 100_000
	DefaultSessionTokens = 1_000_000
	DefaultLiveTokens    = 5_000_000
)

// Limits are what the work of a tenant may use. Zero means zero; what is not
// bounded is host.Unbounded.
type Limits struct {
	Task    host.Amount // one user input with all its resumes
	Session host.Amount // all its inputs
	Live    host.Amount // all sessions of a live together
}

// DefaultLimits are those of a tenant that has none of its own.
func DefaultLimits() Limits {
	limits := Limits{host.NoBound(), host.NoBound(), host.NoBound()}
	limits.Task.Steps, limits.Task.Tokens = DefaultSteps, DefaultTaskTokens
	limits.Session.Tokens, limits.Live.Tokens = DefaultSessionTokens, DefaultLiveTokens
	return limits
}

// A Price is what a model costs, in millionths of the account's currency for a
// million tokens. The zero Price counts no money.
type Price struct {
	Input  int64 // that the vendor did not take from its cache
	Cached int64
	Output int64
}

// maxUsage bounds what one answer is believed to have used, in tokens: more
// than any model takes, and no product with a price runs over.
const maxUsage = 100 * window.MaxWindow

// cost gives what an answer used. Money is rounded up.
func (p Price) cost(u model.Usage) host.Amount {
	input := int64(min(max(u.Input, 0), maxUsage))
	cached := min(int64(max(u.Cached, 0)), input)
	output := int64(min(max(u.Output, 0), maxUsage))
	money := (input-cached)*p.Input + cached*p.Cached + output*p.Output
	return host.Amount{Tokens: input - cached + output, Money: (money + 999_999) / 1_000_000}
}

// usage gives what an answer used. Of a model that does not count it is an
// estimate: the answer, and what was said since the one before it, which no
// cache can have had.
func usage(asked model.Request, reply model.Reply) model.Usage {
	if reply.Usage.Input > 0 || reply.Usage.Output > 0 {
		return reply.Usage
	}
	fresh := asked.Messages
	for i, m := range slices.Backward(fresh) {
		if m.Role == model.RoleAssistant {
			fresh = fresh[i+1:]
			break
		}
	}
	return model.Usage{
		Input:  window.RequestTokens(model.Request{Messages: fresh}),
		Output: window.RequestTokens(model.Request{Messages: []model.Message{reply.Message()}}),
	}
}

// spend counts what was used. The next save stores it.
func (t *turn) spend(a host.Amount) {
	t.input.Used = host.Budget{Used: t.input.Used}.Spend(a).Used
	t.meta.Used = host.Budget{Used: t.meta.Used}.Spend(a).Used
	t.inputChanged = true
}

// limits gives what the turn's tenant may use.
func (t *turn) limits() Limits {
	if t.Limits == nil {
		return DefaultLimits()
	}
	return t.Limits(t.ref.Tenant)
}

// budgets gives those of the task, the session and the live, as they are used
// now. A task that is part of another one has no more than it was given.
func (t *turn) budgets() []host.Budget {
	limits := t.limits()
	if t.input.Limit != nil {
		limits.Task = host.Budget{Limit: limits.Task}.Child("task", *t.input.Limit).Limit
	}
	task := host.Budget{Of: "task", Limit: limits.Task, Used: t.input.Used}
	task.Used.Steps = max(task.Used.Steps, int64(t.steps())) // of an input from before they were counted
	list := []host.Budget{task, {Of: "session", Limit: limits.Session, Used: t.meta.Used}}
	if t.session.Live != "" {
		list = append(list, host.Budget{Of: "live", Limit: limits.Live, Used: t.elsewhere}.Spend(t.meta.Used))
	}
	return list
}

// budgetsOf gives the budgets that a call meets: the calls before it in the
// same answer are counted, though they may be running still.
func (t *turn) budgetsOf(c openCall) []host.Budget {
	list := t.budgets()
	if open := t.open(); len(open) > 0 {
		for i := range list {
			list[i] = list[i].Spend(host.Amount{Calls: int64(c.index - open[0].index)})
		}
	}
	return list
}

// spare gives the problem of the first budget that has no room for one more
// answer of the model. How much an answer takes is known afterwards only, so
// that a budget is passed by one answer at most.
func (t *turn) spare() *abi.Problem {
	want := host.Amount{Steps: 1, Tokens: 1}
	if t.Price != (Price{}) {
		want.Money = 1
	}
	for _, b := range t.budgets() {
		if _, problem := b.Take(want); problem != nil {
			return problem
		}
	}
	return nil
}

// countCalls counts the calls that were not refused for want of a budget.
func (t *turn) countCalls(outcomes []host.Outcome) {
	calls := int64(0)
	for _, o := range outcomes {
		if o.Problem == nil || o.Problem.Code != abi.OverBudget {
			calls++
		}
	}
	if calls > 0 {
		t.spend(host.Amount{Calls: calls})
	}
}

// A liveUsedValue is the state under keyLiveUsed.
type liveUsedValue struct {
	Used host.Amount `json:"used"`
}

// liveRef is where the sessions of a live keep what each has used: a session
// that nobody talks in.
func liveRef(tenant host.TenantID, live host.LiveID) host.SessionRef {
	return host.SessionRef{Tenant: tenant, User: "agent/lives", Session: host.SessionID(live)}
}

// maxLiveSessions bounds the sessions of a live that are added up.
const maxLiveSessions = 100_000

// addUpLive adds up what the other sessions of the live had used when their
// last turns ended. What their running turns use is not in it: together those
// can pass the live's budget by what their own budgets let them use.
func (t *turn) addUpLive(ctx context.Context) error {
	t.elsewhere = host.Amount{}
	if t.session.Live == "" {
		return nil
	}
	sum := host.Budget{}
	for after, seen := "", 0; seen < maxLiveSessions; {
		page, err := t.Store.ListState(ctx, liveRef(t.ref.Tenant, t.session.Live), keyLiveUsed, after, 0)
		if err != nil || len(page) == 0 {
			t.elsewhere = sum.Used
			return err
		}
		for _, v := range page {
			after = v.Key
			if v.Key == liveUsedKey(t.ref) {
				continue
			}
			one, err := liveUsedForm().decode(v.Key, v.Data)
			if err != nil {
				return err
			}
			sum = sum.Spend(one.Used)
		}
		seen += len(page)
	}
	t.elsewhere = sum.Used
	return nil
}

// maxLiveTries bounds how often a session's total is written again after
// another turn of it was in between.
const maxLiveTries = 3

// tellLive keeps what the session has used under its live, in a row that only
// this session writes. It is a whole total and only grows, so a turn that
// cannot write it leaves it to the next one.
func (t *turn) tellLive(ctx context.Context) {
	if t.session.Live == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	var err error
	for try := 0; try < maxLiveTries; try++ {
		if err = t.tryTellLive(ctx); err == nil || host.ProblemOf(err).Code != abi.StoreConflict {
			break
		}
	}
	if err != nil {
		t.Dispatch.Log.Warn("what a session has used is not counted for its live yet", "session", t.ref.String(), "live", t.session.Live, "error", err)
	}
}

func (t *turn) tryTellLive(ctx context.Context) error {
	ref, key := liveRef(t.ref.Tenant, t.session.Live), liveUsedKey(t.ref)
	values, err := t.Store.LoadState(ctx, ref, key)
	if err != nil {
		return err
	}
	told, version, err := read(liveUsedForm(), values, key)
	if err != nil || told.Used == t.meta.Used || told.Used.Tokens > t.meta.Used.Tokens {
		return err
	}
	return t.Store.SaveState(ctx, ref, state.Change{Key: key, Version: version, Data: liveUsedForm().encode(liveUsedValue{t.meta.Used})})
}
