package agent

import (
	"context"
	"encoding/json"

	"github.com/sluicehq/sluice/host"
)

// Business events of a live, as records name them.
const (
	liveStarted = "live.start"
	liveEnded   = "live.end"
)

// A liveEvent is the detail of a RecordEvent.
type liveEvent struct {
	Event  string          `json:"event"`
	Live   host.LiveID     `json:"live"`
	Detail json.RawMessage `json:"detail,omitempty"`
}

// StartLive begins a live of a tenant, with what the business says of it, and
// records that. It reports whether this delivery was the first; a start that
// comes again changes nothing. A live that has ended is Conflict. The hooks are
// told once, after the store has it: where the process dies in between, the
// record is all that tells of it.
func (a *Agent) StartLive(ctx context.Context, tenant host.TenantID, live host.LiveID, detail json.RawMessage) (first bool, err error) {
	if detail == nil {
		detail = json.RawMessage("{}")
	}
	e := liveEvent{liveStarted, live, detail}
	first, err = a.Store.StartLive(ctx, tenant, live, detail, liveRecord(tenant, e))
	if first {
		a.tellEvent(ctx, tenant, e)
	}
	return first, err
}

// EndLive ends a live of a tenant, and records that. It reports whether this
// delivery was the first, and tells the hooks after the store has it: where one fails,
// or the process dies in between, TellOwed tells them again. A live that never began is
// NotFound.
func (a *Agent) EndLive(ctx context.Context, tenant host.TenantID, live host.LiveID) (first bool, err error) {
	owed, first, err := a.Store.EndLive(ctx, tenant, live, owedFirst, liveRecord(tenant, liveEvent{Event: liveEnded, Live: live}))
	if first {
		a.tellNow(ctx, owed)
	}
	return first, err
}

func (a *Agent) tellEvent(ctx context.Context, tenant host.TenantID, e liveEvent) {
	ref := host.SessionRef{Tenant: tenant}
	a.Dispatch.Complain(ref, a.Dispatch.Hooks.Event(context.WithoutCancel(ctx), host.BusinessEvent{
		Session: ref, Live: e.Live, Kind: e.Event, Time: a.Now().UTC(), Data: e.Detail,
	}))
}

func liveRecord(tenant host.TenantID, e liveEvent) host.Record {
	detail, err := json.Marshal(e)
	if err != nil {
		panic("BUG: a live's event does not marshal: " + err.Error())
	}
	return host.Record{Session: host.SessionRef{Tenant: tenant}, Kind: host.RecordEvent, Detail: detail}
}
