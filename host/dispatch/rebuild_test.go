package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/state/statetest"
)

func (g *gate) rebuild() (Rebuilt, error) {
	return g.d.Rebuild(context.Background(), g.set, session)
}

// wantRebuilt rebuilds the session and compares every key with what is stored,
// past the comparison of Rebuild itself.
func (g *gate) wantRebuilt() Rebuilt {
	g.t.Helper()
	r, err := g.rebuild()
	if err != nil || r.Difference != nil || len(r.Missing) > 0 {
		g.t.Fatalf("the rebuilt state is %+v, %v; difference %v", r, err, r.Difference)
	}
	stored, err := g.store.ListState(context.Background(), session, "", "", 0)
	if err != nil || len(stored) != len(r.Keys) {
		g.t.Fatalf("%d keys are stored, %d rebuilt, %v", len(stored), len(r.Keys), err)
	}
	for i, v := range stored {
		if k := r.Keys[i]; k.Key != v.Key || k.Version != v.Version || string(k.Data) != string(v.Data) {
			g.t.Errorf("stored is %s %d %s, rebuilt %s %d %s", v.Key, v.Version, v.Data, k.Key, k.Version, k.Data)
		}
	}
	return r
}

func TestASessionWithoutRecordsHasNoState(t *testing.T) {
	if r := newGate(t).wantRebuilt(); r.Records != 0 || r.LastSeq != 0 || r.Session != session {
		t.Errorf("it is %+v", r)
	}
}

// TestEveryHistoryIsRebuilt: two replicas do whatever calls can do, at once, with
// failures, conflicts and retries, on a database that locks as a whole and on one
// that locks rows, and every state follows from the records.
func TestEveryHistoryIsRebuilt(t *testing.T) {
	server := statetest.Start(t)
	seeds := uint64(5)
	if underRace {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			g := newGate(t, quick)
			if seed%2 == 1 {
				g.path = server.Database(t)
				g.store = openStore(t, g.path, state.Options{})
				g.d.Store = g.store
			}
			other := New(Config{Config: g.d.Config.Config, Sleep: g.d.Sleep})
			other.Store = openStore(t, g.path, state.Options{})
			var both sync.WaitGroup
			var ended [2]map[string]int
			for i, d := range []*Dispatcher{g.d, other} {
				both.Go(func() { ended[i] = history(t, d, g, rand.New(rand.NewPCG(seed, uint64(i))), 40) })
			}
			both.Wait()
			r := g.wantRebuilt()
			if r.Records < 20 {
				t.Errorf("only %d of 80 steps changed state", r.Records)
			}
			t.Logf("%d records, %d keys; ends %v %v", r.Records, len(r.Keys), ended[0], ended[1])
		})
	}
}

// history takes random steps and counts how they end.
func history(t *testing.T, d *Dispatcher, g *gate, r *rand.Rand, steps int) map[string]int {
	ended := map[string]int{}
	keys := []string{"goal", "rate", "score.total", "score.extra", "score.last"}
	values := []string{`1`, `null`, `{"text":"t"}`, `{"text":null,"n":[1,{"a":null}]}`, `"<&>"`, `12345678901234567890`, `[]`, `{"a":{"b":{"c":1.50}}}`}
	tools := []struct{ tool, args string }{
		{"act", `{"add":1,"note":"a"}`}, {"act", `{"add":7,"note":"<b>"}`}, {"act_late", `{"add":2}`}, {"act_late", `{"how":"nothing"}`},
		{"act", `{"how":"clear"}`}, {"act", `{"how":"panic"}`}, {"act", `{"how":"undeclared"}`}, {"act", `{"how":"refuse"}`},
		{"set_goal", `{"text":"sell <more>"}`}, {"set_goal", `{"text":"elsewhere"}`}, {"emphasise", `{}`}, {"emphasise", `{}`}, {"misbehave", `{"how":"flaky"}`},
	}
	for range steps {
		if r.IntN(3) == 0 {
			patch := map[string]json.RawMessage{}
			for range 1 + r.IntN(3) {
				patch[keys[r.IntN(len(keys))]] = json.RawMessage(values[r.IntN(len(values))])
			}
			err := d.SetState(context.Background(), session, patch)
			ended["set "+fmt.Sprint(err == nil)]++
			if err != nil && host.ProblemOf(err).Code != abi.StoreConflict {
				t.Error(err)
			}
			continue
		}
		pick := tools[r.IntN(len(tools))]
		o := d.Do(context.Background(), g.catalog, call(pick.tool, pick.args))
		ended[string(o.Status)]++
		ended["retries"] += o.Attempts - 1
	}
	return ended
}

func TestAChangePastTheRecordsIsFound(t *testing.T) {
	for _, tt := range []struct {
		name, damage string
		key, what    string
		seq          bool // of a record
	}{
		{"a stored value", `UPDATE agent_session SET value = CAST('9' AS BLOB) WHERE state_key = 'score.total'`, "score.total", "the stored value", true},
		{"a stored version", `UPDATE agent_session SET version = 9 WHERE state_key = 'score.total'`, "score.total", "the stored version", true},
		{"a stored value is gone", `DELETE FROM agent_session WHERE state_key = 'goal'`, "goal", "the stored value", true},
		{"a declared key that no record has", `INSERT INTO agent_session SELECT tenant_id, user_id, session_id, 'score.own', version, deleted, updated_at, value FROM agent_session WHERE state_key = 'goal'`, "score.own", "the stored value", false},
		{"an action", `UPDATE audit_record SET detail = CAST(replace(CAST(detail AS TEXT), '"action":{"add":2', '"action":{"add":5') AS BLOB)`, "score.total", "the value", true},
		{"a patch", `UPDATE audit_record SET detail = CAST(replace(CAST(detail AS TEXT), '"patch":{"goal":{"text":"a"', '"patch":{"goal":{"text":"b"') AS BLOB)`, "goal", "the value", true},
		{"a record is gone", `DELETE FROM audit_record WHERE seq = (SELECT min(seq) FROM audit_record WHERE kind = 'state')`, "rate", "the version before", true},
		{"a record cannot be read", `UPDATE audit_record SET detail = CAST('{"transition":7}' AS BLOB) WHERE kind = 'state'`, "", "the record", true},
		{"a reducer that refuses", `UPDATE audit_record SET detail = CAST(replace(CAST(detail AS TEXT), '"action":{"add":2', '"action":{"how":"refuse","add":2') AS BLOB)`, "", "the reducer's answer", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t)
			g.put("rate", "7")
			for _, c := range []struct{ tool, args string }{{"set_goal", `{"text":"a"}`}, {"act", `{"add":1}`}, {"act", `{"add":2}`}} {
				if o := g.do(c.tool, c.args); !o.OK() {
					t.Fatal(o.Problem)
				}
			}
			g.wantRebuilt()
			g.damage(tt.damage)
			r, err := g.rebuild()
			if err != nil || r.Difference == nil {
				t.Fatalf("nothing was found in %+v, %v", r, err)
			}
			if d := r.Difference; d.Key != tt.key || d.What != tt.what || (d.Seq > 0) != tt.seq || d.Wanted == d.Got {
				t.Errorf("found was %v", d)
			}
			t.Log(r.Difference)
		})
	}
}

// TestWhatTheHostKeepsIsNotRebuilt: messages and their like are no state of
// skills.
func TestWhatTheHostKeepsIsNotRebuilt(t *testing.T) {
	g := newGate(t)
	g.put("rate", "7")
	if o := g.do("act", `{"add":1}`); !o.OK() {
		t.Fatal(o.Problem)
	}
	if err := g.store.SaveState(context.Background(), session, state.Change{Key: "message/1", Data: []byte(`"hi"`)}); err != nil {
		t.Fatal(err)
	}
	if r, err := g.rebuild(); err != nil || r.Difference != nil {
		t.Errorf("it is %+v, %v", r, err)
	}
}

func TestALongHistoryIsReadInPages(t *testing.T) {
	g := newGate(t)
	for i := range 2*rebuildPage + 10 {
		g.put("score.total", fmt.Sprint(i))
	}
	if r := g.wantRebuilt(); r.Records != 2*rebuildPage+10 || r.Keys[0].Version != int64(r.Records) {
		t.Errorf("it is %+v", r)
	}
}

func TestOldReleasesRebuildWhatTheyMade(t *testing.T) {
	g := newGate(t)
	if o := g.do("act", `{"add":1}`); !o.OK() {
		t.Fatal(o.Problem)
	}
	g.load(version("2.0.0"))
	g.catalog, _ = g.set.Catalog(context.Background(), nil)
	if o := g.do("act", `{"add":1}`); !o.OK() || o.Release != "test.guest@2.0.0" {
		t.Fatal(o.Release, o.Problem)
	}
	g.wantRebuilt()

	newer := release.NewSet(sandboxtest.Shared(t), nil)
	t.Cleanup(func() { newer.Close(context.Background()) })
	_, err := g.d.Rebuild(context.Background(), newer, session)
	if err == nil || host.ProblemOf(err).Code != abi.NotFound || !strings.Contains(err.Error(), "test.guest@1.0.0") {
		t.Errorf("without the release of an action it ends with %v", err)
	}
}

func TestARebuildSaysWhichReleasesItMissed(t *testing.T) {
	g := newGate(t)
	if o := g.do("set_goal", `{"text":"a"}`); !o.OK() {
		t.Fatal(o.Problem)
	}
	empty := release.NewSet(sandboxtest.Shared(t), nil)
	t.Cleanup(func() { empty.Close(context.Background()) })
	r, err := g.d.Rebuild(context.Background(), empty, session)
	if err != nil || r.Difference != nil || len(r.Missing) != 1 || r.Missing[0] != "test.guest@1.0.0" || len(r.Keys) != 1 {
		t.Errorf("it is %+v, %v", r, err)
	}
}

// TestASessionInUseIsLookedAtAgain: a change that was kept between the records
// and the comparison is no difference.
func TestASessionInUseIsLookedAtAgain(t *testing.T) {
	g := newGate(t)
	g.put("score.total", "1")
	g.damage(`UPDATE agent_session SET value = CAST('2' AS BLOB)`)
	looks := 0
	g.onSleep = func() {
		if looks++; looks == 2 {
			g.damage(`UPDATE agent_session SET value = CAST('1' AS BLOB)`)
		}
	}
	if r, err := g.rebuild(); err != nil || r.Difference != nil || looks != 2 {
		t.Errorf("it is %+v, %v after %d looks", r, err, looks+1)
	}
}

func TestARebuildEndsWithItsCaller(t *testing.T) {
	g := newGate(t)
	g.put("rate", "7")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := g.d.Rebuild(ctx, g.set, session); !errors.Is(err, context.Canceled) && host.ProblemOf(err).Code != abi.Cancelled {
		t.Errorf("it ends with %v", err)
	}
}
