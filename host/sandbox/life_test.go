package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/tetratelabs/wazero"
)

// tinyModule exports run() -> i32, which calls sluice_kv_get(0) and returns 0.
// Different numbers give different modules.
func tinyModule(number byte) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" +
		"\x01\x0a\x02\x60\x01\x7e\x01\x7e\x60\x00\x01\x7f" +
		"\x02\x22\x01\x10extism:host/user\x0dsluice_kv_get\x00\x00" +
		"\x03\x02\x01\x01" +
		"\x07\x07\x01\x03run\x00\x01" +
		"\x0a\x0b\x01\x09\x00\x42\x00\x10\x00\x1a\x41\x00\x0b" +
		"\x00\x02\x01" + string(number))
}

func testSandbox(t *testing.T, dir string) *Sandbox {
	t.Helper()
	s, err := New(Config{CacheDir: dir, Audit: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustLoad(t *testing.T, s *Sandbox, wasm []byte, limits abi.Limits) *Module {
	t.Helper()
	m, err := s.Load(context.Background(), wasm, limits)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManyLoadsOfTheSameBytesCompileOnce(t *testing.T) {
	s := testSandbox(t, t.TempDir())
	var wg sync.WaitGroup
	modules := make([]*Module, 32)
	for i := range modules {
		wg.Go(func() {
			m, err := s.Load(context.Background(), tinyModule(0), abi.Limits{Input: abi.Size(i + 1)})
			if err != nil {
				t.Error(err)
			}
			modules[i] = m
		})
	}
	wg.Wait()
	for i, m := range modules {
		if m.code != modules[0].code {
			t.Fatalf("load %d has code of its own", i)
		}
		if m.Limits().Input != abi.Size(i+1) {
			t.Errorf("load %d has the limits of another: %+v", i, m.Limits())
		}
	}
	// The code stays until the last one is closed, and is made anew after.
	first := modules[0].code
	for _, m := range modules[1:] {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if res := modules[0].Call(context.Background(), Request{Export: "run"}); res.Problem != nil {
		t.Error(res.Problem)
	}
	if err := modules[0].Close(context.Background()); err != nil {
		t.Error(err)
	}
	if len(s.codes) != 0 || len(s.modules) != 0 {
		t.Errorf("%d codes and %d modules are left", len(s.codes), len(s.modules))
	}
	if again := mustLoad(t, s, tinyModule(0), abi.Limits{}); again.code == first {
		t.Error("closed code was given again")
	}
}

// Loads and closes of a few modules, mixed, over one cache folder and two
// sandboxes, as two processes would do.
func TestLoadsAndClosesMix(t *testing.T) {
	dir := t.TempDir()
	sandboxes := []*Sandbox{testSandbox(t, dir), testSandbox(t, dir)}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for round := range 12 {
				m, err := sandboxes[worker%2].Load(context.Background(), tinyModule(byte((worker+round)%3)), abi.Limits{})
				if err != nil {
					t.Error(err)
					return
				}
				if res := m.Call(context.Background(), Request{Export: "run"}); res.Problem != nil {
					t.Error(res.Problem)
				}
				if err := m.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range sandboxes {
		if len(s.codes) != 0 {
			t.Errorf("%d codes are left", len(s.codes))
		}
	}
	for i := range byte(3) {
		if _, ok := (codeCache{dir}).find(sandboxes[0].keyOf(host.Digest(tinyModule(i)))); !ok {
			t.Errorf("module %d is not whole in the cache", i)
		}
	}
	left, err := fs.Glob(os.DirFS(dir), asidePrefix+"*")
	if err != nil || len(left) != 0 {
		t.Errorf("folders %v are left (%v)", left, err)
	}
}

func TestGivingUpALoadDoesNotSpoilItForOthers(t *testing.T) {
	s := testSandbox(t, "")
	s.compiling = make(chan struct{}, 1)
	s.compiling <- struct{}{} // another compilation is running
	ctx, cancel := context.WithCancel(context.Background())
	impatient, patient := make(chan error, 1), make(chan error, 1)
	go func() { _, err := s.Load(ctx, tinyModule(0), abi.Limits{}); impatient <- err }()
	waitFor(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.codes) == 1 })
	go func() { _, err := s.Load(context.Background(), tinyModule(0), abi.Limits{}); patient <- err }()
	waitFor(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.codes[host.Digest(tinyModule(0))].users == 2
	})
	cancel()
	if err := <-impatient; host.ProblemOf(err).Code != abi.Cancelled {
		t.Errorf("the one that gave up got %v", err)
	}
	<-s.compiling
	if err := <-patient; err != nil {
		t.Errorf("the other got %v", err)
	}
}

func TestALoadThatNobodyWaitsForStops(t *testing.T) {
	s := testSandbox(t, "")
	s.compiling = make(chan struct{}) // others, which never end, are compiling
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := s.Load(ctx, tinyModule(0), abi.Limits{})
	if p := host.ProblemOf(err); p.Code != abi.Deadline {
		t.Errorf("Load gave %v", err)
	}
	waitFor(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.codes) == 0 })
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatal("it did not happen")
}

// blockedCall starts a call that ends when release is closed.
func blockedCall(t *testing.T, m *Module) (release chan struct{}, result chan Result) {
	t.Helper()
	release, result = make(chan struct{}), make(chan Result, 1)
	inside := make(chan struct{})
	block := Function{Name: abi.FuncKVGet, Call: func(context.Context, [][]byte) ([]byte, *abi.Problem) {
		close(inside)
		<-release
		return nil, nil
	}}
	go func() { result <- m.Call(context.Background(), Request{Export: "run", Functions: []Function{block}}) }()
	<-inside
	return release, result
}

func TestCloseWaitsForRunningCalls(t *testing.T) {
	s := testSandbox(t, "")
	m := mustLoad(t, s, tinyModule(0), abi.Limits{Deadline: abi.Duration(time.Minute)})
	release, result := blockedCall(t, m)

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := m.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close gave %v while a call was running", err)
	}
	if res := m.Call(context.Background(), Request{Export: "run"}); res.Problem == nil || res.Problem.Code != abi.SystemFailure {
		t.Errorf("a call after Close gave %v", res.Problem)
	}
	if len(s.codes) != 1 {
		t.Error("the code is gone while a call runs in it")
	}
	close(release)
	if res := <-result; res.Problem != nil {
		t.Errorf("the running call ended with %v", res.Problem)
	}
	for range 2 {
		if err := m.Close(context.Background()); err != nil {
			t.Errorf("Close gave %v", err)
		}
	}
	if len(s.codes) != 0 {
		t.Error("the code is still there")
	}
}

func TestClosingTheSandboxClosesItsModules(t *testing.T) {
	s := testSandbox(t, "")
	a, b := mustLoad(t, s, tinyModule(1), abi.Limits{}), mustLoad(t, s, tinyModule(2), abi.Limits{})
	if err := a.Close(context.Background()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if res := b.Call(context.Background(), Request{Export: "run"}); res.Problem == nil {
		t.Error("a module of a closed sandbox runs")
	}
	if _, err := s.Load(context.Background(), tinyModule(0), abi.Limits{}); host.ProblemOf(err).Code != abi.SystemFailure {
		t.Errorf("loading in a closed sandbox gave %v", err)
	}
	if len(s.codes) != 0 || len(s.modules) != 0 {
		t.Errorf("%d codes and %d modules are left", len(s.codes), len(s.modules))
	}
}

// The bugs of the engine and of this package end a call and not the process.
func TestAPanicOfTheHostEndsOnlyTheCall(t *testing.T) {
	m := mustLoad(t, testSandbox(t, ""), tinyModule(0), abi.Limits{})
	m.code.runtime = nil // whatever the reason
	res := m.Call(context.Background(), Request{Export: "run"})
	if res.Problem == nil || res.Problem.Code != abi.HostBug || len(res.Logs) == 0 || !strings.Contains(res.Logs[0].Text, "call.go") {
		t.Errorf("it gave %v and %.200q", res.Problem, fmt.Sprint(res.Logs))
	}
}

func TestAPanicOfTheEngineRefusesTheModule(t *testing.T) {
	s := testSandbox(t, "")
	err := s.compile(context.Background(), nil, &prepared{wasm: tinyModule(0)}, wazero.NewCompilationCache()) // nil, whatever the reason
	if err == nil || !strings.Contains(err.Error(), "the engine fails on it") || strings.Contains(explain(err).Error(), "\n") {
		t.Errorf("compile gave %v", err)
	}
}
