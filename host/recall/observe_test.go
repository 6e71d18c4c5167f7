package recall

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
)

// The calls of observed tools come in the order of their ends, whichever way records name
// their tools, and whatever stands between them.
func TestTheCallsOfObservedToolsAreFoundAmongAllOthers(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	put := func(n int, call, release, tool string, kind host.RecordKind, detail string) {
		must(t, r.store.Record(ctx, host.Record{Session: session(n), Call: host.CallID(call), Kind: kind, Release: release, Tool: tool, Detail: json.RawMessage(detail)}))
	}
	begins := func(n int, call, release, tool string) {
		put(n, call, release, tool, host.RecordIntent, `{"args":{}}`)
	}
	ends := func(n int, call, release, tool string, status host.Status) {
		put(n, call, release, tool, host.RecordOutcome, fmt.Sprintf(`{"status":%q}`, status))
	}
	purges := func(n int) {
		put(n, "", "", "", host.RecordEvent, fmt.Sprintf(`{"event":%q}`, host.EventPurge))
	}
	begins(1, "slow", "shop@1.0.0", "open")
	begins(2, "purged before it ended", "", "shop.open")
	begins(3, "purged", "", "shop.open")
	begins(1, "quick", "", "shop.open")
	ends(1, "quick", "", "shop.open", host.Done)
	ends(3, "purged", "", "shop.open", host.Done)
	begins(1, "another skill's", "bank@1.0.0", "open")
	ends(1, "another skill's", "bank@1.0.0", "open", host.Done)
	purges(2)
	purges(3)
	ends(2, "purged before it ended", "", "shop.open", host.Done)
	begins(3, "later", "", "shop.open")
	for i := range 3 * streamPage { // several pages, of what is observed and of what is not
		r.does(4, []string{"shop.close", "shop.open"}[i%2], `{"minutes":3}`, host.Failed)
	}
	ends(3, "later", "", "shop.open", host.Done)
	ends(1, "slow", "shop@1.0.0", "open", host.Done)
	begins(1, "under way", "shop@1.0.0", "open")
	for _, p := range []passage{{tenant: "shop", tools: map[string]bool{"shop.open": true}}, {tenant: "shop"}} {
		calls, err := r.calls(ctx, p)
		must(t, err)
		var got []host.CallID
		for _, c := range calls {
			if c.tool == "shop.open" {
				got = append(got, c.call)
			}
		}
		if want := []host.CallID{"quick", "later", "slow"}; !slices.Equal(got, want) {
			t.Errorf("of the tools %v: %q, want %q", p.tools, got, want)
		}
	}
}

// BenchmarkCalls finds the calls that habits are made of in a log of 300,000 records of one tenant, of which
// observed tools have some.
func BenchmarkCalls(b *testing.B) {
	const calls, users, batch = 150_000, 50, 125
	for _, every := range []int{100, 10, 1} {
		b.Run(fmt.Sprintf("one-call-in-%d-is-observed", every), func(b *testing.B) {
			r := newRig(b, shop)
			for at := 0; at < calls; at += batch {
				var records []host.Record
				for i := at; i < at+batch; i++ {
					ref := host.SessionRef{Tenant: "shop", User: host.UserID(fmt.Sprint("u", i%users)), Session: host.SessionID(fmt.Sprint("s", i/1000, "-", i%users))}
					call, tool := host.CallID(fmt.Sprint("c", i)), "look"
					if i/users%every == 0 {
						tool = "open"
					}
					records = append(records,
						host.Record{Session: ref, Call: call, Kind: host.RecordIntent, Release: "shop@1.0.0", Tool: tool, Detail: fmt.Appendf(nil, `{"args":{"minutes":%d,"note":"a call has an argument or two"},"live":""}`, i%7)},
						host.Record{Session: ref, Call: call, Kind: host.RecordOutcome, Release: "shop@1.0.0", Tool: tool, Detail: []byte(`{"status":"done","data":{"sku":"1001","title":"a silk scarf, hand rolled","price":89,"stock":12}}`)})
				}
				must(b, r.store.Record(b.Context(), records...))
			}
			p := passage{tenant: "shop", tools: map[string]bool{"shop.open": true}, since: time.Now().AddDate(0, 0, -90)}
			for b.Loop() {
				found, err := r.calls(b.Context(), p)
				must(b, err)
				b.ReportMetric(float64(len(found)), "calls")
			}
		})
	}
}
