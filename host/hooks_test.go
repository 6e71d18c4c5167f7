package host

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

func hooks(t *testing.T, list ...Hook) *Hooks {
	t.Helper()
	h, err := NewHooks(list...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func pre(name string, observer bool, do func(context.Context, ToolCall) (Opinion, error)) Hook {
	return Hook{Name: name, Observer: observer, Time: time.Minute, PreToolCall: do}
}

// ways are how a hook can behave.
var ways = map[string]func(context.Context, ToolCall) (Opinion, error){
	"fails":  func(context.Context, ToolCall) (Opinion, error) { return Opinion{}, errors.New("told to") },
	"panics": func(context.Context, ToolCall) (Opinion, error) { panic("told to") },
	"slow":   func(ctx context.Context, _ ToolCall) (Opinion, error) { <-ctx.Done(); return Opinion{}, nil },
	"deaf":   func(context.Context, ToolCall) (Opinion, error) { select {} },
}

func TestAGuardFailsClosedAndAnObserverOpen(t *testing.T) {
	for name, way := range ways {
		for _, observer := range []bool{false, true} {
			one := pre("one", observer, way)
			if name == "slow" || name == "deaf" {
				one.Time = 50 * time.Millisecond
			}
			got := hooks(t, one).PreToolCall(context.Background(), ToolCall{})
			if len(got) != 1 || got[0].Hook != "one" || !strings.Contains(got[0].Note, "failed") && !strings.Contains(got[0].Note, "would have refused") {
				t.Fatalf("%s: rulings are %+v", name, got)
			}
			if refused := got[0].Problem != nil; refused == observer {
				t.Errorf("%s, observer %v: refused %v", name, observer, refused)
			}
			if !observer && got[0].Problem.Code != abi.Unavailable {
				t.Errorf("%s: refused with %v", name, got[0].Problem)
			}
		}
	}
}

func TestHooksAreAskedInOrderAndAllOfThem(t *testing.T) {
	says := func(o Opinion) func(context.Context, ToolCall) (Opinion, error) {
		return func(context.Context, ToolCall) (Opinion, error) { return o, nil }
	}
	no := abi.NewProblem(abi.NotAllowed, "no")
	got := hooks(t,
		pre("c", false, says(Opinion{Problem: no})), Hook{Name: "elsewhere"}, pre("silent", false, says(Opinion{})),
		pre("a", false, says(Opinion{Tier: abi.HardGate, Say: "why"})), pre("b", true, says(Opinion{Tier: abi.Block, Problem: no})),
	).PreToolCall(context.Background(), ToolCall{})
	want := []Ruling{{"c", Opinion{Problem: no}}, {"silent", Opinion{}}, {"a", Opinion{Tier: abi.HardGate, Say: "why"}}, {"b", Opinion{Note: "would have refused: no"}}}
	if len(got) != len(want) {
		t.Fatalf("rulings are %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("ruling %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestAHookThatNeverEndsDoesNotPileUp(t *testing.T) {
	stuck := make(chan struct{})
	defer close(stuck)
	runs := 0
	h := hooks(t, Hook{Name: "deaf", Time: time.Nanosecond, OnAlert: func(context.Context, Alert) error { <-stuck; return nil }})
	for range maxHookRuns + 10 {
		if len(h.Alert(context.Background(), Alert{})) != 1 {
			t.Fatal("a hook that does not answer is no error")
		}
		runs++
	}
	if n := h.list[0].running.Load(); n > maxHookRuns {
		t.Errorf("%d of %d runs are under way", n, runs)
	}
}

func TestEveryPointOfALifeIsTold(t *testing.T) {
	var told []string
	note := func(point string) error { told = append(told, point); return nil }
	h := hooks(t, Hook{
		Name: "all",
		PreReasoning: func(context.Context, Reasoning) (Injection, error) {
			return Injection{Text: "see"}, note("pre reasoning")
		},
		PreToolCall:   func(context.Context, ToolCall) (Opinion, error) { return Opinion{}, note("pre call") },
		PostToolCall:  func(context.Context, ToolCall, Reply) (Opinion, error) { return Opinion{}, note("post call") },
		PostReasoning: func(context.Context, Reasoning) (Opinion, error) { return Opinion{}, note("post reasoning") },
		OnTurnEnd:     func(context.Context, TurnEnd) error { return note("turn end") },
		OnSessionEnd:  func(context.Context, SessionRef) error { return note("session end") },
		OnEvent:       func(context.Context, BusinessEvent) error { return note("event") },
		OnProblem:     func(context.Context, Trouble) error { return note("problem") },
		OnAlert:       func(context.Context, Alert) error { return note("alert") },
	})
	ctx := context.Background()
	if in, err := h.PreReasoning(ctx, Reasoning{}); err != nil || len(in) != 1 || in[0].Text != "see" {
		t.Errorf("injections are %+v, %v", in, err)
	}
	h.PreToolCall(ctx, ToolCall{})
	h.PostToolCall(ctx, ToolCall{}, Reply{})
	h.PostReasoning(ctx, Reasoning{})
	h.TurnEnd(ctx, TurnEnd{})
	h.SessionEnd(ctx, SessionRef{})
	h.Event(ctx, BusinessEvent{})
	h.Problem(ctx, Trouble{})
	h.Alert(ctx, Alert{})
	if got := strings.Join(told, ", "); got != "pre reasoning, pre call, post call, post reasoning, turn end, session end, event, problem, alert" {
		t.Errorf("told %s", got)
	}
	if in, err := (*Hooks)(nil).PreReasoning(ctx, Reasoning{}); in != nil || err != nil {
		t.Error("no hooks inject something")
	}
}

func TestAGuardThatFailsBeforeReasoningStopsIt(t *testing.T) {
	bad := func(context.Context, Reasoning) (Injection, error) { return Injection{}, errors.New("told to") }
	if _, err := hooks(t, Hook{Name: "g", PreReasoning: bad}).PreReasoning(context.Background(), Reasoning{}); ProblemOf(err).Code != abi.Unavailable {
		t.Errorf("the error is %v", err)
	}
	if in, err := hooks(t, Hook{Name: "o", Observer: true, PreReasoning: bad}).PreReasoning(context.Background(), Reasoning{}); err != nil || len(in) != 1 || in[0].Note == "" {
		t.Errorf("it gave %+v, %v", in, err)
	}
}

func TestHooksHaveNamesOfTheirOwn(t *testing.T) {
	for name, list := range map[string][]Hook{"none": {{}}, "twice": {{Name: "a"}, {Name: "a"}}, "too many": make([]Hook, MaxHooks+1)} {
		if _, err := NewHooks(list...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRatesAlertOnceForEachWindow(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		count int
		at    []int // seconds
		want  []int // indices of at that alert
	}{
		{"below", 3, []int{0, 1}, nil},
		{"reached", 3, []int{0, 1, 2}, []int{2}},
		{"too slow", 3, []int{0, 30, 61, 92}, nil},
		{"slides", 3, []int{0, 50, 70, 80}, []int{3}},
		{"quiet for the rest of the window", 3, []int{0, 1, 2, 3, 4, 30, 61, 62, 63}, []int{2, 7}},
		{"each", 1, []int{0, 100}, []int{0, 1}},
		{"never", 0, []int{0, 0, 0}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRates(map[AlertKind]Threshold{AlertLoops: {tt.count, time.Minute}})
			var got []int
			for i, s := range tt.at {
				at := start.Add(time.Duration(s) * time.Second)
				r.Observe("acme", AlertFailures, at) // another kind counts for nothing
				for range 5 {
					r.Observe("globex", AlertLoops, at) // and so does another tenant
				}
				if due := r.Observe("acme", AlertLoops, at); len(due) > 0 && due[0].Tenant == "acme" {
					got = append(got, i)
				}
			}
			if len(got) != len(tt.want) {
				t.Fatalf("alerts at %v, want %v", got, tt.want)
			}
			for i := range got {
				if got[i] != tt.want[i] {
					t.Fatalf("alerts at %v, want %v", got, tt.want)
				}
			}
		})
	}
}

// TestAGuardSaysItselfWhyTheModelIsNotAsked: its own problem is the refusal, and
// what others injected before stays known.
func TestAGuardSaysItselfWhyTheModelIsNotAsked(t *testing.T) {
	no := abi.NewProblem(abi.NotAllowed, "not here")
	h := hooks(t,
		Hook{Name: "memory", PreReasoning: func(context.Context, Reasoning) (Injection, error) { return Injection{Text: "x", Note: "found"}, nil }},
		Hook{Name: "guard", PreReasoning: func(context.Context, Reasoning) (Injection, error) {
			return Injection{}, Fail("guard", no, nil)
		}},
		Hook{Name: "never asked", PreReasoning: func(context.Context, Reasoning) (Injection, error) { panic("it was") }},
	)
	in, err := h.PreReasoning(context.Background(), Reasoning{})
	if ProblemOf(err) != no || len(in) != 1 || in[0].Note != "hook memory: found" {
		t.Errorf("injections are %+v, %v", in, err)
	}
}

func TestOnlyGuardsHoldAnswersBack(t *testing.T) {
	judge := func(context.Context, Reasoning) (Opinion, error) { return Opinion{}, nil }
	for _, tt := range []struct {
		hook Hook
		want bool
	}{{Hook{Name: "a", PostReasoning: judge}, true}, {Hook{Name: "a", Observer: true, PostReasoning: judge}, false}, {Hook{Name: "a"}, false}} {
		if got := hooks(t, tt.hook).GuardsAnswers("acme"); got != tt.want {
			t.Errorf("%+v: %v", tt.hook, got)
		}
	}
	if (*Hooks)(nil).GuardsAnswers("acme") {
		t.Error("no hooks hold an answer back")
	}
}

// A purge is told in the place of the end to who can drop what it keeps.
func TestAPurgeIsNotTakenForAnEnd(t *testing.T) {
	var told []string
	note := func(what string, err error) func(context.Context, SessionRef) error {
		return func(context.Context, SessionRef) error { told = append(told, what); return err }
	}
	h := hooks(t,
		Hook{Name: "keeps", OnSessionEnd: note("keeps end", nil), OnPurge: note("keeps purge", errors.New("away"))},
		Hook{Name: "counts", OnSessionEnd: note("counts end", errors.New("odd"))})
	for _, tt := range []struct {
		ends bool
		want string
		errs int
	}{{true, "keeps purge, counts end", 1}, {false, "keeps purge", 0}} {
		told = nil
		left, errs := h.Purge(context.Background(), SessionRef{}, tt.ends)
		if got := strings.Join(told, ", "); got != tt.want || len(left) != 1 || len(errs) != tt.errs {
			t.Errorf("told %s; left %v, errors %v", got, left, errs)
		}
	}
}

func TestAHookThatTellsWhomItIsAboutIsAskedAboutThemAlone(t *testing.T) {
	about := TenantID("acme")
	h := hooks(t, Hook{Name: "a", About: func(t TenantID) bool { return t == about },
		PostReasoning: func(context.Context, Reasoning) (Opinion, error) { return Opinion{Note: "judged"}, nil }})
	if !h.GuardsAnswers("acme") || h.GuardsAnswers("globex") {
		t.Error("it is asked about others")
	}
	about = "globex"
	if n := len(h.PostReasoning(context.Background(), Reasoning{Session: SessionRef{Tenant: "acme"}})); n != 0 {
		t.Errorf("%d rulings about another tenant", n)
	}
}

// TestEachHookHasACopyOfTheCall: what one changes in place is neither the next
// one's nor the gate's.
func TestEachHookHasACopyOfTheCall(t *testing.T) {
	var seen []string
	spoil := func(_ context.Context, c ToolCall) (Opinion, error) {
		seen = append(seen, string(c.Args)+" "+string(c.State["a"])+" "+c.Targets[0]+" "+c.Call.Recent[0].Tool)
		c.Args[0], c.State["a"][0], c.Targets[0], c.Call.Recent[0].Tool = 'x', 'x', "x", "x"
		delete(c.State, "a")
		return Opinion{}, nil
	}
	hooks, err := NewHooks(Hook{Name: "one", PreToolCall: spoil}, Hook{Name: "two", PreToolCall: spoil,
		PostToolCall: func(ctx context.Context, c ToolCall, r Reply) (Opinion, error) {
			r.Data[0] = 'x'
			return spoil(ctx, c)
		}})
	if err != nil {
		t.Fatal(err)
	}
	c := ToolCall{Args: json.RawMessage(`{}`), State: map[string]json.RawMessage{"a": json.RawMessage(`1`)}, Targets: []string{"t"}, Call: Call{Recent: []Past{{Tool: "u"}}}}
	reply := Reply{Data: json.RawMessage(`2`)}
	hooks.PreToolCall(context.Background(), c)
	hooks.PostToolCall(context.Background(), c, reply)
	spoil(context.Background(), c.own())
	if string(reply.Data) != "2" || len(seen) != 4 {
		t.Errorf("the reply is %s, seen were %q", reply.Data, seen)
	}
	for _, s := range seen {
		if s != "{} 1 t u" {
			t.Errorf("a hook saw %q", s)
		}
	}
}

// TestEachHookHasACopyOfWhatItIsTold: what one does with it, also one that is left
// behind, nobody else sees.
func TestEachHookHasACopyOfWhatItIsTold(t *testing.T) {
	spoil := func(r Reasoning) {
		o := &r.Outcomes[0]
		r.Calls[0], o.Data[0], o.Problem.Message, o.Problem.Candidates[0], o.Findings[0], o.Repairs[0], o.Blob.ID = "x", 'x', "x", "x", "x", "x", "x"
	}
	h := hooks(t, Hook{
		Name: "spoils",
		PreReasoning: func(_ context.Context, r Reasoning) (Injection, error) {
			spoil(r)
			return Injection{}, nil
		},
		PostReasoning: func(_ context.Context, r Reasoning) (Opinion, error) {
			spoil(r)
			return Opinion{}, nil
		},
		OnEvent:   func(_ context.Context, e BusinessEvent) error { e.Data[0] = 'x'; return nil },
		OnProblem: func(_ context.Context, tr Trouble) error { tr.Problem.Message = "x"; return nil },
	})
	ctx := context.Background()
	made := func() Reasoning {
		return Reasoning{Calls: []string{"order"}, Outcomes: []Outcome{{
			Data: []byte("1"), Findings: []string{"f"}, Repairs: []string{"r"}, Blob: &BlobRef{ID: "b"}, Problem: abi.NewProblem(abi.NotFound, "no").WithCandidates("pen"),
		}}}
	}
	r := made()
	if _, err := h.PreReasoning(ctx, r); err != nil {
		t.Fatal(err)
	}
	h.PostReasoning(ctx, r)
	if !reflect.DeepEqual(r, made()) {
		t.Errorf("it is %+v", r)
	}
	event, trouble := BusinessEvent{Data: []byte("1")}, Trouble{Problem: abi.NewProblem(abi.NotFound, "no")}
	if errs := append(h.Event(ctx, event), h.Problem(ctx, trouble)...); len(errs) > 0 || string(event.Data) != "1" || trouble.Problem.Message != "no" {
		t.Errorf("they are %s and %v, %v", event.Data, trouble.Problem, errs)
	}
}

// TestACopyIsMadeBeforeTheHookHasTime: whoever asks may go on with what it has
// while a hook that was left behind begins.
func TestACopyIsMadeBeforeTheHookHasTime(t *testing.T) {
	seen := make(chan string)
	begin := make(chan struct{})
	h := hooks(t, Hook{Name: "slow", Observer: true, Time: time.Millisecond, PostReasoning: func(_ context.Context, r Reasoning) (Opinion, error) {
		<-begin
		seen <- r.Calls[0]
		return Opinion{}, nil
	}})
	r := Reasoning{Calls: []string{"order"}}
	h.PostReasoning(context.Background(), r)
	r.Calls[0] = "other"
	close(begin)
	if got := <-seen; got != "order" {
		t.Errorf("it sees %q", got)
	}
}
