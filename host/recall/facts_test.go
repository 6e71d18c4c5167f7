package recall

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// A run may end between a call and the next question: one call of an answer is done,
// another one waits for the user's approval. The run that follows has the words alone.
func TestAFactOfAnEarlierRunIsKeptAsOfItsCall(t *testing.T) {
	r := newRig(t, shop)
	ended := func(call host.CallID, tool, detail string) host.Outcome {
		t.Helper()
		must(t, r.store.Record(t.Context(), host.Record{Session: session(1), Call: call, Kind: host.RecordOutcome, Tool: tool, Release: "shop@1.0.0", Detail: json.RawMessage(detail)}))
		return host.Outcome{Call: call, Tool: "shop_" + tool, Status: host.Done, Preview: "{...}"}
	}
	told := []host.Outcome{
		ended("c1", "look", `{"status":"done","data":{"sku":"1001","price":89}}`),
		ended("c2", "other", `{"status":"done","data":{"sku":"1002","price":7}}`),
		ended("c3", "look", `{"erased":true}`), // which the user had forgotten
		ended("c4", "look", `{"status":"failed","data":{"sku":"1004","price":7}}`),
	}
	seen := time.Now()
	r.pass(3 * time.Hour)
	r.say(1, "look")
	for range 2 {
		r.asked(1, "look", told...)
	}
	facts := r.have(keeper.Page{Layers: []memory.Layer{memory.Fact}})
	if len(facts) != 1 || facts[0].Entity != "1001" || facts[0].Source.Call != "c1" || facts[0].At.After(seen) || facts[0].Verified != 0 {
		t.Errorf("facts %+v", facts)
	}
}
