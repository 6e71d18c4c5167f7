package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

func patchOf(key, part string) map[string]json.RawMessage {
	return map[string]json.RawMessage{key: json.RawMessage(part)}
}

func TestSetStateMergesAndIsOnRecord(t *testing.T) {
	g := newGate(t)
	g.put("goal", `{"text":"a","by":"noon"}`, "score.total", "1")
	g.put("goal", `{"by":null,"of":"x"}`, "score.total", "null", "score.none", "null")
	if g.goal() != `{"of":"x","text":"a"}` || g.value("score.total") != "" {
		t.Errorf("the goal is %s, the total %q", g.goal(), g.value("score.total"))
	}
	records, err := g.store.Records(context.Background(), session.Tenant, state.RecordFilter{Session: session, Kinds: []host.RecordKind{host.RecordState}})
	if err != nil || len(records) != 2 {
		t.Fatalf("there are %d records, %v", len(records), err)
	}
	g.wantRebuilt()
}

func TestSetStateRefusesWhatCannotBeKept(t *testing.T) {
	g := newGate(t)
	many := map[string]json.RawMessage{}
	for i := range state.MaxKeys + 1 {
		many[fmt.Sprint("k", i)] = json.RawMessage("1")
	}
	for name, tt := range map[string]struct {
		patch map[string]json.RawMessage
		code  abi.Code
	}{
		"too many keys":  {many, abi.BadValue},
		"no JSON":        {patchOf("goal", "{"), abi.BadValue},
		"nothing at all": {map[string]json.RawMessage{"goal": nil}, abi.BadValue},
		"no key":         {patchOf("", "1"), abi.BadValue},
		"too long":       {patchOf("goal", `"`+strings.Repeat("x", int(abi.ValueBytes))+`"`), abi.QuotaReached},
	} {
		t.Run(name, func(t *testing.T) {
			if err := g.d.SetState(context.Background(), session, tt.patch); err == nil || host.ProblemOf(err).Code != tt.code {
				t.Errorf("it ends with %v, want code %d", err, tt.code)
			}
		})
	}
	if g.goal() != "" {
		t.Errorf("the goal is %s", g.goal())
	}
}

func TestSetStateWaitsForOthers(t *testing.T) {
	g := newGate(t)
	var waiting sync.WaitGroup
	var mu sync.Mutex
	set := 0
	for i := range 4 {
		waiting.Go(func() {
			for range 5 {
				err := g.d.SetState(context.Background(), session, patchOf("goal", fmt.Sprintf(`{"by%d":1}`, i)))
				if err != nil && host.ProblemOf(err).Code != abi.StoreConflict {
					t.Error(err)
				}
				if err == nil {
					mu.Lock()
					set++
					mu.Unlock()
				}
			}
		})
	}
	waiting.Wait()
	if r := g.wantRebuilt(); r.Records != set {
		t.Errorf("%d were set and %d are on record", set, r.Records)
	}
}

func TestSetStateKeepsToTheLease(t *testing.T) {
	g := newGate(t)
	ctx := context.Background()
	fence, err := g.store.Lease(ctx, session, "replica", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.d.SetState(ctx, session, patchOf("goal", `1`)); err == nil || host.ProblemOf(err).Code != abi.Busy {
		t.Errorf("while somebody has the lease it ends with %v", err)
	}
	if err := g.d.SetStateUnder(ctx, session, fence, patchOf("goal", `2`)); err != nil || g.goal() != "2" {
		t.Errorf("for the holder it ends with %v, the goal is %s", err, g.goal())
	}
}
