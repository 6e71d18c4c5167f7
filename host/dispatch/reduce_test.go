package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// quick gives the guest little fuel: one of its reducers never ends.
func quick(m *abi.Manifest) { m.Limits.Fuel = 50_000_000 }

// value gives a state key of the session, empty where it is not there.
func (g *gate) value(key string) string {
	g.t.Helper()
	values, err := g.store.LoadState(context.Background(), session, key)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(values[key].Data)
}

func (g *gate) put(pairs ...string) {
	g.t.Helper()
	patch := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		patch[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	if err := g.d.SetState(context.Background(), session, patch); err != nil {
		g.t.Fatal(err)
	}
}

func TestAnActionBecomesStateByTheReducer(t *testing.T) {
	g := newGate(t)
	g.put("rate", "7")
	for want, add := range map[string]int{"2": 2} {
		if o := g.do("act", fmt.Sprintf(`{"add":%d,"note":"a"}`, add)); !o.OK() || g.value("score.total") != want {
			t.Fatalf("the outcome is %+v with %v, the total %s", o, o.Problem, g.value("score.total"))
		}
	}
	o := g.do("act", `{"add":3,"note":"b"}`)
	if !o.OK() || g.value("score.total") != "5" || !strings.HasPrefix(g.value("score.last"), `"b 1970-01-01T00:00:00Z `) || !strings.HasSuffix(g.value("score.last"), ` 7"`) {
		t.Fatalf("the outcome is %+v with %v, the total %s after %s", o, o.Problem, g.value("score.total"), g.value("score.last"))
	}
	g.wantKinds(o.Call, host.RecordIntent, host.RecordOutcome, host.RecordCorrection) // the user's next words
	if o := g.do("act", `{"how":"clear"}`); !o.OK() || g.value("score.total")+g.value("score.last") != "" || g.value("rate") != "7" {
		t.Errorf("after the reducer removed them the keys are %s and %s, the outcome %v", g.value("score.total"), g.value("score.last"), o.Problem)
	}
	if o := g.do("act", `{"how":"nothing"}`); !o.OK() {
		t.Errorf("a reducer that changes nothing ends with %v", o.Problem)
	}
}

func TestWhatAReducerCostsCountsForItsCall(t *testing.T) {
	g := newGate(t)
	plain, acted := g.do("set_goal", `{"text":"x"}`), g.do("act", `{"add":1}`)
	if acted.Usage.Fuel < plain.Usage.Fuel*3/2 || acted.Usage.InputBytes == 0 {
		t.Errorf("a call with a reducer cost %+v, one without %+v", acted.Usage, plain.Usage)
	}
}

// TestAReducersFaultKeepsNothing: of the call, whatever else it did.
func TestAReducersFaultKeepsNothing(t *testing.T) {
	for _, tt := range []struct {
		tool, args string
		code       abi.Code
		says       string
	}{
		{"act", `{"how":"panic"}`, abi.Trap, "the reducer of test.guest@1.0.0: "},
		{"act", `{"how":"dirt"}`, abi.Trap, "the reducer of test.guest@1.0.0: "},
		{"act", `{"how":"loop"}`, abi.OutOfFuel, "the reducer of test.guest@1.0.0: "},
		{"act", `{"how":"refuse","add":4}`, abi.OutOfBounds, "no more than 4"},
		{"act", `{"how":"unavailable"}`, abi.Trap, "the reducer failed"},
		{"act", `{"how":"verdict"}`, abi.Trap, "the reducer failed"},
		{"act", `{"how":"error"}`, abi.Trap, "the reducer failed"},
		{"act", `{"how":"kv"}`, abi.NotGranted, "is not granted"},
		{"act", `{"how":"undeclared"}`, abi.NotGranted, `changes state key "secret"`},
		{"act", `{"how":"read only"}`, abi.NotGranted, `changes state key "rate"`},
		{"act", `{"how":"drop read only"}`, abi.NotGranted, `changes state key "rate"`},
		{"act", `{"how":"many"}`, abi.QuotaReached, "101 state keys"},
		{"act_as_a_read", `{"add":1}`, abi.NotGranted, "is a read and may not change state"},
		{"act_and_patch", `{"add":1}`, abi.BrokenContract, "both a state patch and an action"},
	} {
		t.Run(tt.tool+tt.args, func(t *testing.T) {
			g := newGate(t, quick)
			g.put("rate", "7", "score.total", "1")
			for range 2 { // the second time as the first: the key was not used up
				o := g.do(tt.tool, tt.args)
				wantProblem(t, o, host.Failed, tt.code)
				if !strings.Contains(o.Problem.Message, tt.says) || strings.Contains(o.Problem.Message, "secret of the code") {
					t.Errorf("the message is %q, want one with %q", o.Problem.Message, tt.says)
				}
				if o.Attempts != 1 {
					t.Errorf("it was tried %d times; the same gives the same", o.Attempts)
				}
			}
			if g.value("rate")+g.value("score.total")+g.value("secret")+g.stored("dirt") != "71" {
				t.Errorf("it left rate %s, total %s, secret %s, dirt %s", g.value("rate"), g.value("score.total"), g.value("secret"), g.stored("dirt"))
			}
		})
	}
}

func TestAnActionNeedsAReducer(t *testing.T) {
	g := newGate(t, func(m *abi.Manifest) { m.Reducer = false })
	o := g.do("act", `{"add":1}`)
	wantProblem(t, o, host.Failed, abi.BrokenContract)
	if !strings.Contains(o.Problem.Message, "test.guest@1.0.0 has no reducer") {
		t.Errorf("the message is %q", o.Problem.Message)
	}
}

func TestAnActionOfNullIsNone(t *testing.T) {
	g := newGate(t)
	f := g.until(call("act", `{"add":1}`), "run")
	f.reply.Action = json.RawMessage("null")
	if problem := f.verify(context.Background()); problem != nil {
		t.Fatal(problem)
	}
	if problem := f.reduce(context.Background()); problem != nil || f.changes != nil || f.moved != nil {
		t.Errorf("it changes %v by %v, %v", f.changes, f.moved, problem)
	}
}

// TestAReducerSeesTheStateAsItIsKept: what changes after the call began makes it
// run again, whether the call or its reducer read it.
func TestAReducerSeesTheStateAsItIsKept(t *testing.T) {
	for _, tt := range []struct {
		name     string
		change   []string
		attempts int
		total    string
	}{
		{"what it writes", []string{"score.total", "40"}, 2, "41"},
		{"what it only reads", []string{"rate", "8"}, 2, "11"},
		{"a key that was not there", []string{"score.other", "1"}, 2, "11"},
		{"a key that is gone", []string{"score.total", "null"}, 2, "1"},
		{"what it does not see", []string{"else", "1"}, 1, "11"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t)
			g.put("rate", "7", "score.total", "10")
			changer := New(Config{Config: g.d.Config.Config})
			g.between(func() {
				if err := changer.SetState(context.Background(), session, map[string]json.RawMessage{tt.change[0]: json.RawMessage(tt.change[1])}); err != nil {
					t.Error(err)
				}
			})
			o := g.do("act_late", `{"add":1}`)
			if !o.OK() || o.Attempts != tt.attempts || g.value("score.total") != tt.total {
				t.Errorf("the outcome is %+v with %v, the total %s; want %s after %d attempts", o, o.Problem, g.value("score.total"), tt.total, tt.attempts)
			}
			g.wantRebuilt()
		})
	}
}

// TestWhatAReducerSawMustBeThereWhenItsCallIsSettled, also where it changed
// something else.
func TestWhatAReducerSawMustBeThereWhenItsCallIsSettled(t *testing.T) {
	for key, value := range map[string]string{"rate": "8", "score.total": "2", "goal": `{"text":"new"}`} {
		t.Run(key, func(t *testing.T) {
			g := newGate(t)
			g.put("rate", "7", "score.total", "1")
			f := g.until(call("act", `{"add":1}`), "reduce")
			g.put(key, value)
			wantCode(t, f.settle(context.Background()), abi.StoreConflict)
		})
	}
}

func TestWhatAReducerSeesIsBounded(t *testing.T) {
	g := newGate(t)
	patch := map[string]json.RawMessage{}
	for i := range state.MaxKeys - 3 { // goal, rate and score.last are keys of their own
		patch[fmt.Sprint("score.k", i)] = json.RawMessage("1")
	}
	if err := g.d.SetState(context.Background(), session, patch); err != nil {
		t.Fatal(err)
	}
	if o := g.do("act", `{"add":1}`); o.OK() || o.Problem.Code != abi.QuotaReached {
		t.Errorf("with a key too many the outcome is %+v", o)
	}
	g.put("score.k0", "null", "score.k1", "null")
	if o := g.do("act", `{"add":1}`); !o.OK() {
		t.Errorf("with %d keys it ends with %v", state.MaxKeys, o.Problem)
	}
}

func TestTheBytesThatAReducerSeesAreBounded(t *testing.T) {
	g := newGate(t, func(m *abi.Manifest) { m.Capabilities.State.Reads = []string{"rate"} })
	for i := range 2 {
		g.put(fmt.Sprint("score.k", i), `"`+strings.Repeat("x", 33<<10)+`"`)
	}
	o := g.do("act", `{"add":1}`)
	wantProblem(t, o, host.Failed, abi.QuotaReached)
	if !strings.Contains(o.Problem.Message, "more than 64KiB") {
		t.Errorf("the message is %q", o.Problem.Message)
	}
}

// TestAReducerSeesWhatItsCallDoesNotRead: keys that are only written.
func TestAReducerSeesWhatItsCallDoesNotRead(t *testing.T) {
	g := newGate(t, func(m *abi.Manifest) { m.Capabilities.State.Reads = nil })
	g.put("rate", "7", "score.total", "4")
	if o := g.do("act", `{"add":1}`); !o.OK() || g.value("score.total") != "5" || !strings.HasSuffix(g.value("score.last"), ` "`) {
		t.Errorf("the outcome is %v, the total %s, the rate in %s", o.Problem, g.value("score.total"), g.value("score.last"))
	}
	g.wantRebuilt()
}

// TestEqualInputGivesEqualBytes: again, in another process, and whatever the
// clock and the call are.
func TestEqualInputGivesEqualBytes(t *testing.T) {
	g := newGate(t)
	want := g.reduceOnce()
	rounds := 100
	if underRace {
		rounds = 10
	}
	for range rounds {
		if got := g.reduceOnce(); got != want {
			t.Fatalf("the same gave %s, and then %s", want, got)
		}
	}
	child := exec.Command(os.Args[0], "-test.run=^TestPrintAReduction$", "-test.v")
	child.Env = append(os.Environ(), "PRINT_A_REDUCTION=1", "TZ=Asia/Shanghai")
	said, err := child.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(said, []byte("\n"+want+"\n")) {
		t.Errorf("another process says\n%s\nwant %s", said, want)
	}
}

func TestEqualCallsLeaveEqualState(t *testing.T) {
	var want string
	for i, now := range []time.Time{time.Unix(1, 0), time.Now(), time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)} {
		g := newGate(t)
		g.d.Now = func() time.Time { return now }
		g.put("rate", "7")
		if o := g.do("act", `{"add":1,"note":"x"}`); !o.OK() {
			t.Fatal(o.Problem)
		}
		if got := g.value("score.last"); i == 0 {
			want = got
		} else if got != want {
			t.Errorf("at %v the state is %s, and at first %s", now, got, want)
		}
	}
}

// TestPrintAReduction is run by another process for TestEqualInputGivesEqualBytes.
func TestPrintAReduction(t *testing.T) {
	if os.Getenv("PRINT_A_REDUCTION") == "" {
		t.Skip("only for another process")
	}
	fmt.Println("\n" + newGate(t).reduceOnce())
}

func (g *gate) reduceOnce() string {
	g.t.Helper()
	entry, problem := g.catalog.Resolve("act")
	if problem != nil {
		g.t.Fatal(problem)
	}
	seen := map[string]json.RawMessage{"score.total": json.RawMessage("41"), "rate": json.RawMessage(`{"b":1.50,"a":"<"}`), "score.old": json.RawMessage("[1, 2]")}
	values, _, problem := reduced(context.Background(), entry.Release, "acme", 0, seen, json.RawMessage(`{"add":1,"note":"x"}`))
	if problem != nil {
		g.t.Fatal(problem)
	}
	out, err := json.Marshal(values)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(out)
}

// reducing is a release that reads rate and writes score.*.
func reducing() *release.Release {
	return &release.Release{Skill: &manifest.Skill{Manifest: abi.Manifest{Name: "test.skill", Version: "1.0.0", Capabilities: abi.Capabilities{
		State: &abi.StateAccess{Reads: []string{"rate"}, Writes: []string{"score.*"}},
	}}}}
}

func TestWhatAReducerMayGive(t *testing.T) {
	seen := map[string]json.RawMessage{"rate": json.RawMessage(`{"b":1.50, "a":"<"}`), "score.total": json.RawMessage("1"), "score.list": json.RawMessage("[1, 2]")}
	for _, tt := range []struct {
		output, want string
		code         abi.Code
	}{
		{`{}`, `{}`, 0},
		{` {} `, `{}`, 0},
		{`{"score.total":2}`, `{"score.total":2}`, 0},
		{`{"score.total":1}`, `{}`, 0},
		{`{"score.total":1.0}`, `{"score.total":1.0}`, 0},
		{`{"score.list":[1,2]}`, `{}`, 0},
		{`{"score.total":null}`, `{"score.total":null}`, 0},
		{`{"score.none":null}`, `{}`, 0},
		{`{"score.new":{"b":1,"a":12345678901234567890}}`, `{"score.new":{"a":12345678901234567890,"b":1}}`, 0},
		{`{"score.total":2,"score.total":3}`, `{"score.total":3}`, 0},
		{`{"rate":{"a":"\u003c","b":1.50}}`, `{}`, 0},
		{`{"rate":{"a":"<","b":1.5}}`, ``, abi.NotGranted},
		{`{"rate":null}`, ``, abi.NotGranted},
		{`{"secret":1}`, ``, abi.NotGranted},
		{`{"score.total":2,"secret":1}`, ``, abi.NotGranted},
		{`{"score":1}`, ``, abi.NotGranted},
		{``, ``, abi.BrokenContract},
		{`null`, ``, abi.BrokenContract},
		{`[]`, ``, abi.BrokenContract},
		{`"x"`, ``, abi.BrokenContract},
		{`{"score.total":2`, ``, abi.BrokenContract},
		{`{"score.total":}`, ``, abi.BrokenContract},
		{`{} {}`, ``, abi.BrokenContract},
		{`{} x`, ``, abi.BrokenContract},
		{"{\"score.total\":\x00}", ``, abi.BrokenContract},
		{`{"score.total":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, ``, abi.BrokenContract},
	} {
		values, problem := newValues(reducing(), seen, []byte(tt.output))
		if tt.code != 0 {
			if problem == nil || problem.Code != tt.code {
				t.Errorf("%.60s ends with %v, want code %d", tt.output, problem, tt.code)
			}
			continue
		}
		if got, _ := json.Marshal(values); problem != nil || string(got) != tt.want {
			t.Errorf("%s changes %s, %v; want %s", tt.output, got, problem, tt.want)
		}
	}
}

func TestAValueOfAReducerIsBounded(t *testing.T) {
	m := transition{}
	_, problem := m.changes(nil, map[string]json.RawMessage{"score.total": make([]byte, abi.ValueBytes+1)})
	wantCode(t, problem, abi.QuotaReached)
}

// FuzzWhatAReducerGives: whatever it is, it is refused, or changes declared
// keys to values that can be stored, and says the same when it is read again.
func FuzzWhatAReducerGives(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `{"score.total":2,"score.a":null}`, `{"rate":7}`, `{"rate":8}`, `{"secret":{}}`, "{\"score.\xff\":\"\xff\"}", `{"score.a":1e400}`, `{"score.a":{"b":null}} `} {
		f.Add([]byte(seed))
	}
	seen := map[string]json.RawMessage{"rate": json.RawMessage(`7`), "score.total": json.RawMessage("1")}
	f.Fuzz(func(t *testing.T, output []byte) {
		values, problem := newValues(reducing(), seen, output)
		if (values == nil) == (problem == nil) {
			t.Fatalf("it gives %v and %v", values, problem)
		}
		for key, value := range values {
			if !strings.HasPrefix(key, "score.") || value != nil && !json.Valid(value) || string(value) == "null" {
				t.Errorf("it sets %q to %q", key, value)
			}
			if string(normal(value)) != string(value) {
				t.Errorf("%q is %q when it is read again", value, normal(value))
			}
		}
	})
}
