package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// events gives what calls tell of their users, by the policy's observations.
func events(seen []Observation, calls []done) []memory.Event {
	var list []memory.Event
	for _, c := range calls {
		for _, o := range seen {
			if e, ok := o.event(c); ok {
				list = append(list, e)
			}
		}
	}
	return list
}

func (o Observation) event(c done) (memory.Event, bool) {
	if o.Tool != c.tool {
		return memory.Event{}, false
	}
	e := memory.Event{ID: memory.ID(string(c.call) + "/" + o.Topic), Tenant: c.session.Tenant, User: c.session.User, Session: c.session.Session, Live: c.live, Time: c.at,
		Topic: o.Topic, Unit: o.Unit, Domain: o.Domain, Scene: o.Scene}
	if o.Entity != "" {
		e.Entity = word(c.args[o.Entity])
	}
	if o.Word != "" {
		e.Word = word(c.args[o.Word])
		return e, e.Word != ""
	}
	var number float64
	if json.Unmarshal(c.args[o.Number], &number) != nil {
		return memory.Event{}, false
	}
	e.Value = &number
	return e, true
}

func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// sessionEnded keeps what was done in a session, what it shows of the user, and
// what that means for what the user said.
func (r *Recall) sessionEnded(ctx context.Context, ref host.SessionRef) error {
	r.free(ctx, ref, r.take(ref))
	r.heardToEnd(ctx, ref)
	r.dropUsed(ref)
	calls, err := r.calls(ctx, passage{tenant: ref.Tenant, session: ref})
	if err == nil {
		calls, err = r.remembered(ctx, calls)
	}
	if err != nil || len(calls) == 0 {
		return err
	}
	return r.consolidate(ctx, ownerOf(ref), trajectory(ref, calls), calls)
}

// consolidate keeps the habits of a session or a live alone, reconciles, and then keeps
// what was done in it. It may be repeated.
func (r *Recall) consolidate(ctx context.Context, o keeper.Owner, path memory.Node, calls []done) error {
	once := r.Habits
	once.Lives, once.MinLives = 1, 1
	habits := memory.Habits(once, events(r.Settings(o.Tenant).Seen, calls), r.Now().UTC())
	if err := r.keep(ctx, o, habits); err != nil {
		return err
	}
	return r.keepPath(ctx, o, path, calls)
}

// keepPath keeps what was done in a session or a live, last of all: where it is, the rest
// is, too. What was purged meanwhile is forgotten again: the purge may have looked before
// it was kept.
func (r *Recall) keepPath(ctx context.Context, o keeper.Owner, path memory.Node, calls []done) error {
	if _, err := r.Keeper.Renew(ctx, o, []memory.Node{path}); err != nil {
		return err
	}
	if err := r.onePath(ctx, o, path); err != nil {
		return err
	}
	last := map[host.SessionRef]done{}
	for _, c := range calls {
		last[c.session] = c
	}
	for ref, c := range last {
		if err := r.forgetPurged(ctx, ref, c, calls); err != nil {
			return err
		}
	}
	return nil
}

// onePath has the newest trajectory of a session, or of a live, take the place of what
// was kept of it when it ended before.
func (r *Recall) onePath(ctx context.Context, o keeper.Owner, path memory.Node) error {
	list, err := r.Keeper.Newest(ctx, o, memory.Behaviour, memory.Profile)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(n memory.Node) bool { return !isTrajectory(n) || scopeOf(n) != scopeOf(path) })
	for i := 1; i < len(list); i++ {
		if _, err := r.Keeper.Supersede(ctx, o, list[i].ID, list[0]); err != nil && codeOf(err) != abi.BadValue { // another end did it
			return err
		}
	}
	return nil
}

// hasPath reports whether a trajectory is kept already, with the same calls up to the
// same last one.
func (r *Recall) hasPath(ctx context.Context, o keeper.Owner, path memory.Node) (bool, error) {
	list, err := r.Keeper.Newest(ctx, o, memory.Behaviour, memory.Profile)
	return slices.ContainsFunc(list, func(n memory.Node) bool {
		return isTrajectory(n) && scopeOf(n) == scopeOf(path) && n.At.Equal(path.At) && n.Text == path.Text
	}), err
}

// A scope is what a trajectory is of: a session, or a live over all its sessions.
type scope struct {
	session host.SessionID
	live    host.LiveID
}

func scopeOf(n memory.Node) scope {
	if n.Source.Session != "" {
		return scope{session: n.Source.Session}
	}
	return scope{live: n.Source.Live}
}

// forgetPurged forgets what was made of calls of a session, if it was purged after the last
// one. A call that the log does not tell any more may have been erased by itself.
func (r *Recall) forgetPurged(ctx context.Context, ref host.SessionRef, last done, calls []done) error {
	if gone, err := r.purgedSince(ctx, ref, last.end, time.Time{}); err != nil || !gone {
		return err
	}
	return r.forgetMade(ctx, ref, slices.DeleteFunc(slices.Clone(calls), func(c done) bool { return c.session != ref }))
}

// endWait is how long the end of a session waits for the model that hears: what was said
// last is kept then, also where the process ends with the session.
const endWait = sessionTime / 3

// heardToEnd waits for the hearing of a session's words.
func (r *Recall) heardToEnd(ctx context.Context, ref host.SessionRef) {
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	r.background.await(ctx, hearingIn(ref))
}

// remembered leaves out what was done before its user had everything forgotten.
func (r *Recall) remembered(ctx context.Context, calls []done) ([]done, error) {
	until := map[keeper.Owner]time.Time{}
	for _, c := range calls {
		o := ownerOf(c.session)
		if _, known := until[o]; known || o.User == "" {
			continue
		}
		at, err := r.Keeper.ForgottenUntil(ctx, o)
		if err != nil {
			return nil, err
		}
		until[o] = at
	}
	return slices.DeleteFunc(calls, func(c done) bool { return !c.at.After(until[ownerOf(c.session)]) }), nil
}

// keep keeps nodes of an owner and reconciles.
func (r *Recall) keep(ctx context.Context, o keeper.Owner, nodes []memory.Node) error {
	for some := range slices.Chunk(nodes, keeper.MaxRenew) {
		if _, err := r.Keeper.Renew(ctx, o, some); err != nil {
			return err
		}
	}
	_, err := r.Keeper.Reconcile(ctx, o, r.Reconcile)
	return err
}

// maxTrajectory bounds the calls that a trajectory names.
const maxTrajectory = 40

// trajectory is a session in one memory: which tools were used, in order.
func trajectory(ref host.SessionRef, calls []done) memory.Node {
	n := pathOf(fmt.Sprintf("Session %s", ref.Session), calls)
	n.Source.Session = ref.Session
	return n
}

// liveTrajectory is what one user did in a live, in one memory, whatever sessions it
// took.
func liveTrajectory(live host.LiveID, calls []done) memory.Node {
	return pathOf(fmt.Sprintf("Live %s", live), calls)
}

func pathOf(what string, calls []done) memory.Node {
	var steps []string
	for _, c := range calls[max(0, len(calls)-maxTrajectory):] {
		if n := len(steps); n == 0 || steps[n-1] != c.tool {
			steps = append(steps, c.tool)
		}
	}
	last := calls[len(calls)-1]
	return memory.Node{Layer: memory.Behaviour, Kind: memory.Profile, Freshness: memory.Slow, Trust: memory.FactTrust, At: last.at, Scene: sceneOf(last.live),
		Text:   fmt.Sprintf("%s on %s: %d calls done: %s", what, last.at.UTC().Format(time.DateOnly), len(calls), strings.Join(steps, ", ")),
		Source: memory.Source{Live: last.live}}
}

// liveScene is the scene of whatever belongs to a live, as a policy's points and
// observations name it.
const liveScene = "live"

// sceneOf gives the scene of a session by the live that it belongs to. Of a session
// that belongs to none the host knows no scene.
func sceneOf(live host.LiveID) string {
	if live == "" {
		return ""
	}
	return liveScene
}

// isTrajectory tells trajectories from all else that is remembered.
func isTrajectory(n memory.Node) bool {
	return n.Layer == memory.Behaviour && n.Kind == memory.Profile && n.Claim == nil
}

// ofLive tells the trajectories of lives from those of single sessions of them.
func ofLive(n memory.Node) bool { return isTrajectory(n) && n.Source.Session == "" }

// happened keeps what was done in a live when it ends. Habits of several lives, which
// take the whole log and which a job looks for, too, are looked for in the background.
func (r *Recall) happened(ctx context.Context, e host.BusinessEvent) error {
	if e.Kind != "live.end" {
		return nil
	}
	tenant := e.Session.Tenant
	err := r.liveEnded(ctx, tenant, e.Live)
	r.background.run(fmt.Sprintf("live %q %q", tenant, e.Live), backgroundTime, func(ctx context.Context) error { return r.Observe(ctx, tenant) })
	return err
}

// liveEnded keeps of each user what was done in a live since it began, over all sessions
// of it, and what that shows. It may be repeated. What fails for one user keeps no other
// one from it.
func (r *Recall) liveEnded(ctx context.Context, tenant host.TenantID, live host.LiveID) error {
	if live == "" {
		return nil
	}
	about, began, err := r.Store.Live(ctx, tenant, live)
	if err != nil || !began {
		return err
	}
	calls, err := r.calls(ctx, passage{tenant: tenant, live: live, since: about.StartedAt})
	if err == nil {
		calls, err = r.remembered(ctx, calls)
	}
	if err != nil {
		return err
	}
	by := map[host.UserID][]done{}
	for _, c := range calls {
		by[c.session.User] = append(by[c.session.User], c)
	}
	var errs []error
	for _, user := range slices.Sorted(maps.Keys(by)) {
		if user != "" {
			errs = append(errs, r.userLiveEnded(ctx, keeper.Owner{Tenant: tenant, User: user}, live, by[user]))
		}
	}
	return errors.Join(errs...)
}

// userLiveEnded keeps what one user did in a live. Where that is kept from an earlier
// telling, which broke off at another user, it is not worked out again: so a live of many
// users gets to its end.
func (r *Recall) userLiveEnded(ctx context.Context, o keeper.Owner, live host.LiveID, calls []done) error {
	path := liveTrajectory(live, calls)
	kept, err := r.hasPath(ctx, o, path)
	switch {
	case err != nil:
		return err
	case kept:
		return r.keepPath(ctx, o, path, calls)
	}
	return r.consolidate(ctx, o, path, calls)
}

// Observe reads a tenant's log for habits of its users (L3), and reconciles each
// user's with what they said. It is safe to repeat: the same log gives the same. What
// fails for one user keeps no other one from it.
func (r *Recall) Observe(ctx context.Context, tenant host.TenantID) error {
	seen := r.Settings(tenant).Seen
	if len(seen) == 0 {
		return nil
	}
	now := r.Now().UTC()
	p := passage{tenant: tenant, tools: map[string]bool{}}
	for _, o := range seen {
		p.tools[o.Tool] = true
	}
	if r.Habits.Days > 0 {
		p.since = now.AddDate(0, 0, -r.Habits.Days)
	}
	calls, err := r.calls(ctx, p)
	if err == nil {
		calls, err = r.remembered(ctx, calls)
	}
	if err != nil {
		return err
	}
	byUser := map[host.UserID][]memory.Node{}
	for _, n := range memory.Habits(r.Habits, events(seen, calls), now) {
		byUser[n.User] = append(byUser[n.User], n)
	}
	var failed host.Failures
	for _, user := range slices.Sorted(maps.Keys(byUser)) {
		failed.Add(r.keep(ctx, keeper.Owner{Tenant: tenant, User: user}, byUser[user]))
	}
	return failed.Err()
}
