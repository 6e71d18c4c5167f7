package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func testPool(cfg PoolConfig) *pool {
	return newPool(cfg.withDefaults(0))
}

// taken asks for a slot, for a tenant that has none, and reports whether it
// was served at once.
func taken(p *pool, c *code, bytes abi.Size) (*waiter, bool) {
	return takenBy(p, host.TenantID(fmt.Sprint("t", len(p.tenants), "-", p.bytes)), c, bytes)
}

func takenBy(p *pool, tenant host.TenantID, c *code, bytes abi.Size) (*waiter, bool) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // who has to wait gives up
	w := &waiter{code: c, tenant: tenant, bytes: bytes}
	return w, p.take(ctx, w) == nil
}

// queued asks for a slot and waits.
func queued(t *testing.T, p *pool, c *code, bytes abi.Size) (*waiter, chan error) {
	t.Helper()
	return queuedBy(t, p, host.TenantID(fmt.Sprint("waits ", len(p.waiting))), c, bytes)
}

func queuedBy(t *testing.T, p *pool, tenant host.TenantID, c *code, bytes abi.Size) (*waiter, chan error) {
	t.Helper()
	w, served := &waiter{code: c, tenant: tenant, bytes: bytes}, make(chan error, 1)
	p.mu.Lock()
	before := len(p.waiting)
	p.mu.Unlock()
	go func() { served <- p.take(context.Background(), w) }()
	waitFor(t, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.waiting) == before+1 })
	return w, served
}

func idleSlot(c *code, bytes uint64) *slot {
	return &slot{code: c, memory: linearMemory{size: bytes, space: &space{}}}
}

func TestThePoolIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg   PoolConfig
		bytes abi.Size
		want  int
	}{
		"by slots":  {PoolConfig{Slots: 5, PerModule: 9}, 1, 5},
		"by module": {PoolConfig{Slots: 50, PerModule: 3}, 1, 3},
		"by bytes":  {PoolConfig{Slots: 50, PerModule: 50, Bytes: 7 * abi.MiB}, abi.MiB, 7},
	} {
		p, c := testPool(tt.cfg), &code{}
		got := 0
		for range 60 {
			if _, ok := taken(p, c, tt.bytes); ok {
				got++
			}
		}
		if got != tt.want || len(p.waiting) != 0 {
			t.Errorf("%s: %d ran at once, %d wait; want %d", name, got, len(p.waiting), tt.want)
		}
	}
}

// A tenant whose calls are long does not keep the others out: of slots, of
// bytes, and of one module that all use.
func TestATenantHasAtMostHalfOfThePool(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg   PoolConfig
		bytes abi.Size
		want  int
	}{
		"of the slots":       {PoolConfig{Slots: 7, PerModule: 90}, 1, 3},
		"of a module":        {PoolConfig{Slots: 50, PerModule: 8}, 1, 4},
		"of the bytes":       {PoolConfig{Slots: 50, PerModule: 90, Bytes: 7 * abi.MiB}, abi.MiB, 3},
		"one call, but that": {PoolConfig{Slots: 50, PerModule: 90, Bytes: 7 * abi.MiB}, 5 * abi.MiB, 1},
	} {
		p, c := testPool(tt.cfg), &code{}
		var running []*waiter
		for range 60 {
			if w, ok := takenBy(p, "busy", c, tt.bytes); ok {
				running = append(running, w)
			}
		}
		if len(running) != tt.want {
			t.Errorf("%s: one tenant runs %d, want %d", name, len(running), tt.want)
		}
		if _, ok := takenBy(p, "other", c, 1); !ok {
			t.Errorf("%s: another tenant finds no room", name)
		}
		p.give(running[0], nil)
		if _, ok := takenBy(p, "busy", c, tt.bytes); !ok {
			t.Errorf("%s: the room that was given back is not had again", name)
		}
	}
}

// Of two tenants that wait, the one that runs less is next, though it came
// later and its module runs more.
func TestTheTenantThatRunsLeastGoesFirst(t *testing.T) {
	p, a, b := testPool(PoolConfig{Slots: 4, PerModule: 40}), &code{}, &code{}
	first, _ := takenBy(p, "busy", a, 1)
	var others []*waiter
	for _, tenant := range []host.TenantID{"one", "two", "three"} {
		w, _ := takenBy(p, tenant, b, 1)
		others = append(others, w)
	}
	busy, busyServed := queuedBy(t, p, "busy", a, 1)
	_, newServed := queuedBy(t, p, "new", b, 1)
	p.give(others[0], nil)
	if err := <-newServed; err != nil || busy.done {
		t.Fatalf("the tenant without a call got %v, the busy one is served: %v", err, busy.done)
	}
	p.give(first, nil)
	if err := <-busyServed; err != nil {
		t.Error(err)
	}
}

func TestIdleSlotsAreUsedAgainAndMakeWay(t *testing.T) {
	p, a, b := testPool(PoolConfig{Slots: 2, PerModule: 2}), &code{}, &code{}
	w, _ := taken(p, a, 1)
	s := idleSlot(a, 64)
	p.give(w, s)
	if w, ok := taken(p, a, 1); !ok || w.slot != s {
		t.Error("the idle slot was not used again")
	} else {
		p.give(w, s)
	}
	first, _ := taken(p, b, 1)
	second, ok := taken(p, b, 1)
	if !ok || first.slot != nil || second.slot != nil {
		t.Fatal("an idle slot of another module kept a call out")
	}
	if p.slots != 2 || len(p.idle) != 0 || p.bytes != 2 {
		t.Errorf("%d slots, %d idle, %d bytes", p.slots, len(p.idle), p.bytes)
	}
	p.give(first, nil)
	p.give(second, nil)
	if p.slots != 0 || p.bytes != 0 || a.running != 0 || b.running != 0 {
		t.Errorf("%d slots, %d bytes, %d and %d running are left", p.slots, p.bytes, a.running, b.running)
	}
}

// A module that floods does not keep another out, and who came first goes first.
func TestTheModuleThatRunsLeastGoesFirst(t *testing.T) {
	p, flood, other := testPool(PoolConfig{Slots: 3, PerModule: 3}), &code{}, &code{}
	var running []*waiter
	for range 3 {
		w, _ := taken(p, flood, 1)
		running = append(running, w)
	}
	var floods []*waiter
	var floodServed []chan error
	for range 3 {
		w, served := queued(t, p, flood, 1)
		floods, floodServed = append(floods, w), append(floodServed, served)
	}
	last, served := queued(t, p, other, 1)
	p.give(running[0], nil)
	if err := <-served; err != nil || !last.done {
		t.Errorf("the other module got %v", err)
	}
	for i, over := range []*waiter{running[1], running[2], last} {
		p.give(over, nil)
		if err := <-floodServed[i]; err != nil || !floods[i].done {
			t.Errorf("flood %d got %v", i, err)
		}
	}
}

// Small calls do not pass a large one for ever.
func TestALargeCallGetsItsTurn(t *testing.T) {
	p := testPool(PoolConfig{Slots: 10, PerModule: 10, Bytes: 10 * abi.MiB})
	small, large := &code{}, &code{}
	var running []*waiter
	for range 6 {
		w, _ := taken(p, small, abi.MiB)
		running = append(running, w)
	}
	w, served := queued(t, p, large, 8*abi.MiB)
	if _, ok := taken(p, small, abi.MiB); ok {
		t.Error("a small one passed")
	}
	for _, r := range running {
		p.give(r, nil)
	}
	if err := <-served; err != nil || w.code.running != 1 {
		t.Error(err)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	p, c := testPool(PoolConfig{PerModule: 1}), &code{}
	w, _ := taken(p, c, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if err := p.take(ctx, &waiter{code: c, bytes: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it gave %v", err)
	}
	if len(p.waiting) != 0 {
		t.Error("it still waits")
	}
	p.give(w, nil)
	p.waiting = make([]*waiter, maxWaiting)
	var problem *abi.Problem
	if err := p.take(ctx, &waiter{code: c}); !errors.As(err, &problem) || problem.Code != abi.SystemFailure {
		t.Errorf("with %d waiting it gave %v", maxWaiting, err)
	}
}

func TestIdleSlotsAreGivenUpAfterATime(t *testing.T) {
	s, err := New(Config{Audit: true, Pool: PoolConfig{Idle: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	m := mustLoad(t, s, tinyModule(0), abi.Limits{})
	for range 3 {
		if res := m.Call(context.Background(), Request{Export: "run"}); res.Problem != nil {
			t.Fatal(res.Problem)
		}
		waitFor(t, func() bool {
			s.pool.mu.Lock()
			defer s.pool.mu.Unlock()
			return s.pool.slots == 0 && s.pool.bytes == 0 && s.pool.sweeper == nil
		})
	}
}

// Calls of several modules with a pool that is far too small for them.
func TestASmallPoolServesEverybody(t *testing.T) {
	s, err := New(Config{Audit: true, Pool: PoolConfig{Slots: 2, PerModule: 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	var modules []*Module
	for i := range byte(5) {
		modules = append(modules, mustLoad(t, s, tinyModule(i), abi.Limits{Deadline: abi.Duration(time.Minute)}))
	}
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			for round := range 50 {
				if res := modules[(worker+round)%5].Call(context.Background(), Request{Export: "run"}); res.Problem != nil {
					t.Error(res.Problem)
				}
			}
		})
	}
	wg.Wait()
	if s.pool.slots > 2 || s.pool.slots != len(s.pool.idle) || len(s.pool.waiting) > 0 {
		t.Errorf("%d slots, %d idle, %d waiting are left", s.pool.slots, len(s.pool.idle), len(s.pool.waiting))
	}
}

// A call that waits is one that runs: its deadline and its caller count.
func TestACallThatWaitsEndsByItsDeadline(t *testing.T) {
	s, err := New(Config{Pool: PoolConfig{PerModule: 1}})
	if err != nil {
		t.Fatal(err)
	}
	m := mustLoad(t, s, tinyModule(0), abi.Limits{Deadline: abi.Duration(time.Minute)})
	release, result := blockedCall(t, m)
	res := m.Call(context.Background(), Request{Export: "run", Deadline: 5 * time.Millisecond})
	if res.Problem == nil || res.Problem.Code != abi.Deadline {
		t.Errorf("it gave %v", res.Problem)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(5*time.Millisecond, cancel)
	if res := m.Call(ctx, Request{Export: "run"}); res.Problem == nil || res.Problem.Code != abi.Cancelled {
		t.Errorf("it gave %v", res.Problem)
	}
	close(release)
	if res := <-result; res.Problem != nil {
		t.Error(res.Problem)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestAPoolThatCannotBeIsRefused(t *testing.T) {
	for _, cfg := range []PoolConfig{{Slots: -1}, {PerModule: -1}, {Bytes: -1}, {Idle: -1}} {
		if _, err := New(Config{Pool: cfg}); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
	// However small, it holds the largest call.
	if got := (PoolConfig{Bytes: 1}).withDefaults(abi.GiB).Bytes; got <= abi.GiB {
		t.Errorf("a pool of a byte has %v", got)
	}
}
