package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
)

// function makes a host function of one answer.
func function(name string, result []byte, problem *abi.Problem) []sandbox.Function {
	return []sandbox.Function{{Name: name, Call: func(context.Context, [][]byte) ([]byte, *abi.Problem) { return result, problem }}}
}

func TestHostFunctionsAnswerTheGuest(t *testing.T) {
	m := probe(t, abi.Limits{})
	for _, tt := range []struct {
		name      string
		functions []sandbox.Function
		want      string
	}{
		{"nothing", function(abi.FuncKVGet, nil, nil), "nothing"},
		{"an empty block", function(abi.FuncKVGet, []byte{}, nil), "block "},
		{"a block", function(abi.FuncKVGet, []byte("the value 值"), nil), "block the value 值"},
		{"a large block", function(abi.FuncKVGet, bytes.Repeat([]byte("v"), 1<<20), nil), "block " + strings.Repeat("v", 1<<20)},
		{"a problem", function(abi.FuncKVGet, []byte("ignored"), abi.NewProblem(abi.NotFound, "no such key").WithCandidates("kex")), `problem {"code":3004,"message":"no such key","candidates":["kex"]}`},
		{"not granted", function(abi.FuncKVPut, nil, nil), `problem {"code":4010,"message":"sluice_kv_get is not granted; declare its capability in skill.yaml"}`},
		{"the first of a name", slices.Concat(function(abi.FuncKVGet, []byte("1"), nil), function(abi.FuncKVGet, []byte("2"), nil)), "block 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(t, m, sandbox.Request{Export: "get", Input: []byte("key"), Functions: tt.functions}); got != tt.want {
				t.Errorf("the guest got %.200q, want %.200q", got, tt.want)
			}
		})
	}
}

func TestHostFunctionsGetTheGuestsBytes(t *testing.T) {
	m := probe(t, abi.Limits{})
	var seen [][][]byte
	keep := func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
		seen = append(seen, args)
		return nil, nil
	}
	functions := []sandbox.Function{{Name: abi.FuncKVGet, Call: keep}, {Name: abi.FuncKVPut, Call: keep}}
	for _, key := range []string{"", "key", "价格\x00\n../x"} {
		run(t, m, sandbox.Request{Export: "get", Input: []byte(key), Functions: functions})
	}
	run(t, m, sandbox.Request{Export: "put_empty", Functions: functions})
	want := [][][]byte{{{}}, {[]byte("key")}, {[]byte("价格\x00\n../x")}, {[]byte("key"), {}}}
	if !slices.EqualFunc(seen, want, func(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }) {
		t.Errorf("host functions got %q, want %q", seen, want)
	}
	for _, args := range seen {
		for _, arg := range args {
			if arg == nil {
				t.Errorf("an empty argument is nil in %q", args)
			}
		}
	}
}

func TestABadHandleIsToldToTheGuestAndNobodyElse(t *testing.T) {
	m := probe(t, abi.Limits{})
	called := false
	functions := []sandbox.Function{{Name: abi.FuncKVGet, Call: func(context.Context, [][]byte) ([]byte, *abi.Problem) { called = true; return nil, nil }}}
	for _, handle := range []string{"1", "76", "78", "1000000", "4294967295", "4294967296", "4294967373", "18446744073709551615"} {
		got := run(t, m, sandbox.Request{Export: "get_bad", Input: []byte(handle), Functions: functions})
		if !strings.HasPrefix(got, `problem {"code":4009,"message":"it called sluice_kv_get with `+handle+",") {
			t.Errorf("the handle %s gave %q", handle, got)
		}
	}
	if got := run(t, m, sandbox.Request{Export: "get_freed", Functions: functions}); !strings.HasPrefix(got, `problem {"code":4009,`) {
		t.Errorf("a freed handle gave %q", got)
	}
	if called {
		t.Error("the host function was called with a bad handle")
	}
}

// Every function of the contract links with its own arity.
func TestEveryHostFunctionLinks(t *testing.T) {
	m := newModule()
	arity := abi.HostFuncs()
	names := slices.Sorted(maps.Keys(arity))
	var body []byte
	for i, name := range names {
		m.imported(abi.NamespaceHost, name, bytes.Repeat([]byte{i64t}, arity[name]), []byte{i64t})
		for range arity[name] {
			body = append(body, i64c(0)...)
		}
		body = slices.Concat(body, callf(uint32(i)), drop)
	}
	var functions []sandbox.Function
	var calls []string
	for _, name := range names {
		functions = append(functions, sandbox.Function{Name: name, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
			if calls = append(calls, name); len(args) != arity[name] {
				t.Errorf("%s got %d arguments, want %d", name, len(args), arity[name])
			}
			return nil, nil
		}})
	}
	loaded := load(t, m.export("run", body, i32c(0)), abi.Limits{})
	run(t, loaded, sandbox.Request{Export: "run", Functions: functions})
	if !slices.Equal(calls, names) || !slices.Equal(loaded.Imports(), names) {
		t.Errorf("called %v, imported %v; want %v", calls, loaded.Imports(), names)
	}
}

func TestHostCallsAreHeldToTheirQuota(t *testing.T) {
	m := probe(t, abi.Limits{})
	res := m.Call(context.Background(), sandbox.Request{Export: "host_storm", Functions: function(abi.FuncKVGet, nil, nil)})
	wantProblem(t, res, abi.QuotaReached, "10000 host calls")
	if res.Usage.HostCalls != abi.HostCalls {
		t.Errorf("%d host calls are counted", res.Usage.HostCalls)
	}
	res = m.Call(context.Background(), sandbox.Request{Export: "moves", Functions: function(abi.FuncKVGet, make([]byte, 4<<20), nil)})
	wantProblem(t, res, abi.QuotaReached, "one call may move 268435456")
}

func TestAHostFunctionThatPanicsIsTheHostsFault(t *testing.T) {
	m := probe(t, abi.Limits{})
	functions := []sandbox.Function{{Name: abi.FuncKVGet, Call: func(context.Context, [][]byte) ([]byte, *abi.Problem) { panic(errors.New("the store's secret")) }}}
	res := m.Call(context.Background(), sandbox.Request{Export: "get", Functions: functions})
	wantProblem(t, res, abi.HostBug, abi.FuncKVGet)
	if strings.Contains(res.Problem.Message, "secret") {
		t.Errorf("the message tells %q", res.Problem.Message)
	}
	if len(res.Logs) != 1 || res.Logs[0].Level != sandbox.LevelHost || !strings.Contains(res.Logs[0].Text, "the store's secret") || !strings.Contains(res.Logs[0].Text, "functions_test.go") {
		t.Errorf("logs are %.300q, want the panic and its stack", res.Logs)
	}
}

func TestAHostFunctionEndsWithItsCall(t *testing.T) {
	m := probe(t, abi.Limits{})
	waiting := make(chan struct{}, 1)
	functions := []sandbox.Function{{Name: abi.FuncKVGet, Call: func(ctx context.Context, _ [][]byte) ([]byte, *abi.Problem) {
		waiting <- struct{}{}
		<-ctx.Done()
		return []byte("too late"), nil
	}}}
	// On a slow machine a short deadline passes before the guest gets so far.
	for reached, deadline := false, 50*time.Millisecond; !reached; deadline *= 2 {
		res := m.Call(context.Background(), sandbox.Request{Export: "get", Functions: functions, Deadline: deadline})
		wantProblem(t, res, abi.Deadline)
		reached = res.Usage.HostCalls == 1
	}
	<-waiting

	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-waiting; cancel() }()
	wantProblem(t, m.Call(ctx, sandbox.Request{Export: "get", Functions: functions}), abi.Cancelled)
}
