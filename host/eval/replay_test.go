package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/registry"
)

// plain compares data as JSON, and the final state as an object of the changed
// keys.
type plain struct{}

var _ Comparer = plain{}

func (plain) SameResult(recorded string, o host.Outcome) error {
	got := string(o.Data)
	if o.Problem != nil {
		got = "problem " + fmt.Sprint(int(o.Problem.Code))
	}
	if got != recorded {
		return fmt.Errorf("it is %s, recorded is %s", got, recorded)
	}
	return nil
}

func (plain) SameFinal(recorded json.RawMessage, changes []state.KVChange, original func(string) ([]byte, bool)) error {
	final := map[string]string{}
	for _, c := range changes {
		was, _ := original(c.Key)
		final[c.Key] = string(was) + ">" + string(c.Value)
	}
	got, err := json.Marshal(final)
	if err == nil && string(got) != strings.ReplaceAll(string(recorded), ">", `\u003e`) {
		err = fmt.Errorf("it is %s, recorded is %s", got, recorded)
	}
	return err
}

func newConfig(t *testing.T) Config {
	t.Helper()
	ctx := context.Background()
	store, err := state.Open(ctx, filepath.Join(t.TempDir(), "store.db"), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	wasm := sandboxtest.Build(t, "host/dispatch/testdata/guest")
	sandboxtest.Load(t, wasm, abi.Limits{})
	set := release.NewSet(sandboxtest.Shared(t), nil)
	t.Cleanup(func() { set.Close(ctx) })
	if _, err := set.Load(ctx, &registry.Release{Skill: sandboxtest.Describe(t, sandboxtest.Shared(t), wasm), Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		t.Fatal(err)
	}
	err = store.Import(ctx, "base", "test", func(yield func(string, []byte) bool) { yield("total/pen", []byte("5")) })
	if err != nil {
		t.Fatal(err)
	}
	noSleep := func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return Config{
		Store: store, Releases: set, Dispatch: dispatch.New(dispatch.Config{Config: grant.Config{Store: store}, Sleep: noSleep}),
		Base: "base", Namespace: "test", Compare: plain{}, Workers: 2,
	}
}

func said(role, text string) model.Recorded { return model.Recorded{Role: role, Content: &text} }

// called gives the model's call and its recorded result.
func called(id, tool, args, result string) []model.Recorded {
	c := model.RecordedCall{ID: id}
	c.Function.Name, c.Function.Arguments = tool, args
	return []model.Recorded{
		{Role: "assistant", ToolCalls: []model.RecordedCall{c}},
		{Role: "tool", ToolCallID: id, Name: tool, Content: &result},
	}
}

func talk(parts ...[]model.Recorded) []model.Recorded {
	var all []model.Recorded
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func one(m model.Recorded) []model.Recorded { return []model.Recorded{m} }

// order is a conversation of two turns: a question, and a write.
func order(total, result string) []model.Recorded {
	return talk(
		one(said("user", "how many pens?")), called("a", "total", `{"item":"pen"}`, total), one(said("assistant", "some")),
		one(said("user", "two more")), called("b", "order", `{"item":"pen","count":2}`, result), one(said("assistant", "done")),
		one(said("user", "thanks")), // which nobody answers
	)
}

const (
	had  = `{"item":"pen","total":5}`
	has  = `{"item":"pen","total":7}`
	want = `{"total/pen":"5>7"}`
)

func run(t *testing.T, cfg Config, c Case) Result {
	t.Helper()
	results, err := Run(context.Background(), cfg, []Case{c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

func TestRecordedConversationComesOutAsRecorded(t *testing.T) {
	r := run(t, newConfig(t), Case{Name: "order", Messages: order(had, has), Final: json.RawMessage(want)})
	if !r.OK() || r.Calls != 2 || r.Same != 2 || r.Problems != 0 {
		t.Fatalf("result is %+v", r)
	}
	if r.Sandbox <= 0 || r.Elapsed <= 0 {
		t.Errorf("it took %s, %s of them in the sandbox", r.Elapsed, r.Sandbox)
	}
}

func TestDifferencesAreNoticed(t *testing.T) {
	long := talk(one(said("user", "go")), called("a", "total", `{"item":"pen"}`, had))
	for _, tt := range []struct {
		name    string
		c       Case
		same    int
		finalOK bool
		fault   string
	}{
		{"a result", Case{Messages: order(had, `{"item":"pen","total":8}`), Final: json.RawMessage(want)}, 1, true, "call 1, order: it is"},
		{"a problem for a result", Case{Actions: []Action{{"order", json.RawMessage(`{"item":"weapon","count":1}`), had}}, Final: json.RawMessage(`{}`)}, 0, true, "problem 4005"},
		{"the final state", Case{Messages: order(had, has), Final: json.RawMessage(`{"total/pen":"5>8"}`)}, 2, false, "final state: it is"},
		{"a write that was not recorded", Case{Messages: order(had, has), Final: json.RawMessage(`{}`)}, 2, false, "final state: it is"},
		{"a call without its result", Case{Messages: append(long[:2:2], called("b", "total", `{"item":"ink"}`, had)...), Final: json.RawMessage(`{}`)}, 1, true, "turn 0: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.Name = "case"
			r := run(t, newConfig(t), tt.c)
			if r.OK() || r.Same != tt.same || r.FinalOK != tt.finalOK || len(r.Faults) == 0 || !strings.Contains(r.Faults[0], tt.fault) {
				t.Errorf("result is %+v, want %d the same and a fault with %q", r, tt.same, tt.fault)
			}
		})
	}
}

func TestRecordingThatEndsInAResultIsWhole(t *testing.T) {
	messages := order(had, has)
	r := run(t, newConfig(t), Case{Name: "cut", Messages: messages[:7], Final: json.RawMessage(want)})
	if messages[6].Role != "tool" || !r.OK() || r.Same != 2 {
		t.Errorf("result is %+v", r)
	}
}

func TestRecordedProblemIsAResult(t *testing.T) {
	r := run(t, newConfig(t), Case{Name: "refused", Final: json.RawMessage(`{}`), Messages: talk(
		one(said("user", "order a ghost")), called("a", "order", `{"item":"ghost","count":1}`, "problem 3004"), one(said("assistant", "no")))})
	if !r.OK() || r.Problems != 1 {
		t.Errorf("result is %+v", r)
	}
}

func TestActionsRunOneByOne(t *testing.T) {
	r := run(t, newConfig(t), Case{Name: "gold", Final: json.RawMessage(want), Actions: []Action{
		{"total", json.RawMessage(`{"item":"pen"}`), had}, {"order", json.RawMessage(`{"item":"pen","count":2}`), has},
	}})
	if !r.OK() || r.Calls != 2 {
		t.Errorf("result is %+v", r)
	}
}

// TestCasesDoNotSeeEachOther: each has the data as they were imported.
func TestCasesDoNotSeeEachOther(t *testing.T) {
	var cases []Case
	for i := range 6 {
		cases = append(cases, Case{Name: fmt.Sprint("order", i), Messages: order(had, has), Final: json.RawMessage(want)})
	}
	told := 0
	results, err := Run(context.Background(), newConfig(t), cases, func(Result) { told++ })
	if err != nil || told != len(cases) {
		t.Fatal(err, told)
	}
	for i, r := range results {
		if !r.OK() || r.Name != cases[i].Name {
			t.Errorf("result %d is %+v", i, r)
		}
	}
}

func TestCancelledRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cfg := newConfig(t)
	cfg.Workers = 1
	cases := make([]Case, 20)
	for i := range cases {
		cases[i] = Case{Name: fmt.Sprint("order", i), Messages: order(had, has), Final: json.RawMessage(want)}
	}
	played := 0
	results, err := Run(ctx, cfg, cases, func(Result) {
		if played++; played == 2 {
			cancel()
		}
	})
	if err == nil || host.ProblemOf(err).Code != abi.Cancelled || played > 4 {
		t.Fatalf("error is %v after %d cases", err, played)
	}
	if !results[0].OK() || results[19].OK() || results[19].Name != "order19" {
		t.Errorf("results are %+v … %+v", results[0], results[19])
	}
}

func TestFaultsAreBounded(t *testing.T) {
	var messages []model.Recorded
	for i := range 20 {
		messages = append(messages, talk(one(said("user", fmt.Sprint("again ", i))), called(fmt.Sprint(i), "total", `{"item":"pen"}`, "wrong"), one(said("assistant", "ok")))...)
	}
	r := run(t, newConfig(t), Case{Name: "wrong", Messages: messages, Final: json.RawMessage(`{}`)})
	if r.Calls != 20 || r.Same != 0 || len(r.Faults) != maxFaults {
		t.Errorf("result is %+v", r)
	}
}
