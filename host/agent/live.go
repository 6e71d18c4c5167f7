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
// comes again changes nothing. A live that has ended is Conflict.
func (a *Agent) StartLive(ctx context.Context, tenant host.TenantID, live host.LiveID, detail json.RawMessage) (first bool, err error) {
	if detail == nil {
		detail = json.RawMessage("{}")
	}
	return a.Store.StartLive(ctx, tenant, live, detail, liveRecord(tenant, liveEvent{liveStarted, live, detail}))
}

// EndLive ends a live of a tenant, and records that. It reports whether this
// delivery was the first. A live that never began is NotFound.
func (a *Agent) EndLive(ctx context.Context, tenant host.TenantID, live host.LiveID) (first bool, err error) {
	return a.Store.EndLive(ctx, tenant, live, liveRecord(tenant, liveEvent{Event: liveEnded, Live: live}))
}

func liveRecord(tenant host.TenantID, e liveEvent) host.Record {
	detail, err := json.Marshal(e)
	if err != nil {
		panic("BUG: a live's event does not marshal: " + err.Error())
	}
	return host.Record{Session: host.SessionRef{Tenant: tenant}, Kind: host.RecordEvent, Detail: detail}
}
