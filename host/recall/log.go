package recall

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// maxLogRecords bounds what one run reads of a tenant's log or a session's: it is a
// hundred thousand calls. What is beyond it makes no habit.
const maxLogRecords = 500_000

// A done call is what the log tells of one: its arguments, once it ended well.
type done struct {
	call    host.CallID
	tool    string
	session host.SessionRef
	at      time.Time
	args    map[string]json.RawMessage
}

// calls reads the calls that were done, of a tenant or a session, since a time.
func (r *Recall) calls(ctx context.Context, tenant host.TenantID, session host.SessionRef, since time.Time) ([]done, error) {
	asked, list := map[host.CallID]done{}, []done(nil)
	filter := state.RecordFilter{Session: session, Kinds: []host.RecordKind{host.RecordIntent, host.RecordOutcome}}
	for read := 0; read < maxLogRecords; {
		records, err := r.Store.Records(ctx, tenant, filter)
		if err != nil || len(records) == 0 {
			return list, err
		}
		read += len(records)
		for _, record := range records {
			filter.AfterSeq = record.Seq
			if record.Time.Before(since) {
				continue
			}
			if record.Kind == host.RecordIntent {
				if d, ok := intended(record); ok {
					asked[record.Call] = d
				}
				continue
			}
			if d, ok := asked[record.Call]; ok && endedWell(record) {
				list = append(list, d)
				delete(asked, record.Call)
			}
		}
	}
	return list, nil
}

func intended(record host.Record) (done, bool) {
	var detail struct {
		Args map[string]json.RawMessage `json:"args"`
	}
	if json.Unmarshal(record.Detail, &detail) != nil || detail.Args == nil {
		return done{}, false // erased, or a call without arguments
	}
	return done{record.Call, fullName(record.Release, record.Tool), record.Session, record.Time, detail.Args}, true
}

// fullName gives skill.tool, as a policy names tools, for what a record or an outcome
// names by its release and the tool alone.
func fullName(release, tool string) string {
	skill, _, ok := strings.Cut(release, "@")
	if !ok {
		return tool
	}
	return skill + "." + tool
}

func endedWell(record host.Record) bool {
	var outcome struct {
		Status host.Status `json:"status"`
	}
	return json.Unmarshal(record.Detail, &outcome) == nil && outcome.Status == host.Done
}

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
	e := memory.Event{ID: memory.ID(string(c.call) + "/" + o.Topic), Tenant: c.session.Tenant, User: c.session.User, Session: c.session.Session, Time: c.at,
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
	calls, err := r.calls(ctx, ref.Tenant, ref, time.Time{})
	if err != nil || len(calls) == 0 {
		return err
	}
	nodes := []memory.Node{trajectory(ref, calls)}
	once := r.Habits
	once.Lives, once.MinLives = 1, 1
	nodes = append(nodes, memory.Habits(once, events(r.Settings(ref.Tenant).Seen, calls), r.Now().UTC())...)
	return r.keep(ctx, ownerOf(ref), nodes)
}

// keep keeps nodes of an owner and reconciles.
func (r *Recall) keep(ctx context.Context, o keeper.Owner, nodes []memory.Node) error {
	for _, n := range nodes {
		if err := r.renew(ctx, o, n); err != nil {
			return err
		}
	}
	_, err := r.Keeper.Reconcile(ctx, o, r.Reconcile)
	return err
}

// renew keeps a fact or a habit in the place of the older one about the same matter.
// The very same one again changes nothing.
func (r *Recall) renew(ctx context.Context, o keeper.Owner, n memory.Node) error {
	older, err := r.Keeper.List(ctx, o, keeper.Page{Layers: []memory.Layer{n.Layer}, Statuses: []memory.Status{memory.Active}, Entity: n.Entity})
	if err != nil {
		return err
	}
	for _, old := range older {
		if !memory.Renews(old, n) {
			continue
		}
		if old.At.Equal(n.At) && reflect.DeepEqual(old.Claim, n.Claim) {
			return nil
		}
		_, err := r.Keeper.Supersede(ctx, o, old.ID, n)
		return err
	}
	_, err = r.Keeper.Remember(ctx, o, []memory.Node{n})
	return err
}

// maxTrajectory bounds the calls that a trajectory names.
const maxTrajectory = 40

// trajectory is a session in one memory: which tools were used, in order.
func trajectory(ref host.SessionRef, calls []done) memory.Node {
	var steps []string
	for _, c := range calls[max(0, len(calls)-maxTrajectory):] {
		step := c.tool
		if n := len(steps); n > 0 && strings.HasPrefix(steps[n-1], step) {
			continue
		}
		steps = append(steps, step)
	}
	last := calls[len(calls)-1].at
	return memory.Node{Layer: memory.Behaviour, Kind: memory.Profile, Freshness: memory.Slow, Trust: memory.FactTrust, At: last,
		Text:   fmt.Sprintf("Session %s on %s: %d calls done: %s", ref.Session, last.UTC().Format(time.DateOnly), len(calls), strings.Join(steps, ", ")),
		Source: memory.Source{Session: ref.Session}}
}

// happened starts to look for habits when a live ends.
func (r *Recall) happened(ctx context.Context, e host.BusinessEvent) error {
	if e.Kind != "live.end" {
		return nil
	}
	return r.Observe(ctx, e.Session.Tenant)
}

// Observe reads a tenant's log for habits of its users (L3), and reconciles each
// user's with what they said. It is safe to repeat: the same log gives the same.
func (r *Recall) Observe(ctx context.Context, tenant host.TenantID) error {
	seen := r.Settings(tenant).Seen
	if len(seen) == 0 {
		return nil
	}
	now := r.Now().UTC()
	since := time.Time{}
	if r.Habits.Days > 0 {
		since = now.AddDate(0, 0, -r.Habits.Days)
	}
	calls, err := r.calls(ctx, tenant, host.SessionRef{}, since)
	if err != nil {
		return err
	}
	byUser := map[host.UserID][]memory.Node{}
	for _, n := range memory.Habits(r.Habits, events(seen, calls), now) {
		byUser[n.User] = append(byUser[n.User], n)
	}
	for user, nodes := range byUser {
		if err := r.keep(ctx, keeper.Owner{Tenant: tenant, User: user}, nodes); err != nil {
			return err
		}
	}
	return nil
}

// Tidy archives what is worth little, of every owner, and gives how many.
func (r *Recall) Tidy(ctx context.Context) (archived int, err error) {
	for after := (keeper.Owner{}); ; {
		owners, err := r.Keeper.Owners(ctx, after)
		if err != nil || len(owners) == 0 {
			return archived, err
		}
		for _, o := range owners {
			n, err := r.tidy(ctx, o)
			if archived += n; err != nil {
				return archived, err
			}
			after = o
		}
	}
}

func (r *Recall) tidy(ctx context.Context, o keeper.Owner) (archived int, err error) {
	for after := memory.ID(""); ; {
		page, err := r.Keeper.List(ctx, o, keeper.Page{After: after, Limit: keeper.MaxChange, Statuses: []memory.Status{memory.Active}})
		if err != nil || len(page) == 0 {
			return archived, err
		}
		after = page[len(page)-1].ID
		var gone []memory.ID
		for _, n := range page {
			if r.Forget.Judge(n, r.Now().UTC(), "").Archive {
				gone = append(gone, n.ID)
			}
		}
		if len(gone) == 0 {
			continue
		}
		taken, err := r.Keeper.Archive(ctx, o, gone, "job")
		if archived += len(taken); err != nil {
			return archived, err
		}
	}
}
