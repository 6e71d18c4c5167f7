package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Config says where compiled code is kept and what no module may exceed.
type Config struct {
	// CacheDir is the folder of compiled code, which only the host may write.
	// It is made if it is missing; "" keeps the code in memory only.
	CacheDir string
	// ModuleBytes is the size of the largest module; 0 is
	// abi.ModuleBytesDefault, and it is at most abi.ModuleBytesCeiling.
	ModuleBytes abi.Size
	// Ceiling is what no module's limits may exceed. A zero field is that of
	// abi.CeilingLimits, and none may exceed it.
	Ceiling abi.Limits
	Pool    PoolConfig
	// Cores is how many guests run at once; 0 is GOMAXPROCS. While others wait
	// the guests of one tenant have at most half of them, rounded up. A guest
	// that waits for a host function has none.
	Cores int
	// Budget is what the guests of one tenant may use; by default all they can.
	Budget TenantBudget
	// Audit compares the whole memory with its image after every call. It is
	// for tests: it takes longer than most calls. A difference is abi.HostBug.
	Audit bool
	// Fresh gives every call a fresh instance, which starts anew, also of
	// modules that can be frozen. It is for comparisons: a call takes many times
	// as long.
	Fresh bool
}

// PoolConfig bounds the instances of all modules together. A zero field is the
// default.
type PoolConfig struct {
	// Slots is how many there may be, idle ones included; 0 is 64. The calls of
	// one tenant have at most half of them, and of Bytes.
	Slots int
	// PerModule is how many calls of one module may run at once, and twice of
	// how many of one tenant; 0 is four times GOMAXPROCS, and at least 16, since
	// a call may wait for its host functions.
	PerModule int
	// Bytes is the memory of all: with its limit for one that runs, with what
	// it has for an idle one; 0 is 2 GiB. It is at least what one call at the
	// ceiling may have: twice Ceiling.Memory, since its blocks count, too.
	Bytes abi.Size
	// Idle is after what time without a call one is given up; 0 is a minute.
	Idle time.Duration
}

func (p PoolConfig) withDefaults(ceiling abi.Size) PoolConfig {
	d := PoolConfig{Slots: 64, PerModule: max(16, 4*runtime.GOMAXPROCS(0)), Bytes: 2 * abi.GiB, Idle: time.Minute}
	return PoolConfig{
		Slots: cmp.Or(p.Slots, d.Slots), PerModule: cmp.Or(p.PerModule, d.PerModule),
		Bytes: max(cmp.Or(p.Bytes, d.Bytes), ceiling+slotOverhead), Idle: cmp.Or(p.Idle, d.Idle),
	}
}

// A Sandbox loads modules. One per process is enough; it is safe for
// concurrent use.
type Sandbox struct {
	cfg       Config
	disk      codeCache
	offer     offer
	compiling chan struct{} // holds the running compilations
	pool      *pool
	cores     *cores
	tracker   *tracker

	interpret bool  // no machine code is made
	slice     int64 // fuel that a guest gets at a time
	startFuel int64 // that a start may use if it is to be frozen

	mu      sync.Mutex
	closed  bool             // guarded by mu
	codes   map[string]*code // by digest; guarded by mu
	modules map[*Module]bool // guarded by mu
}

// New makes a sandbox. It fails, with abi.BadValue, for a setting above its
// ceiling, and where CacheDir cannot be made or read. A cache that is lost
// later makes loading slower and nothing else.
func New(cfg Config) (*Sandbox, error) {
	ceiling := abi.CeilingLimits()
	cfg.ModuleBytes = orSize(cfg.ModuleBytes, abi.ModuleBytesDefault)
	cfg.Ceiling = cfg.Ceiling.WithDefaults(ceiling)
	over := cfg.Ceiling.Exceeds(ceiling)
	if cfg.ModuleBytes < 0 || cfg.ModuleBytes > abi.ModuleBytesCeiling {
		over = append(over, fmt.Sprintf("module size: %v is not in 1 to %v", cfg.ModuleBytes, abi.ModuleBytesCeiling))
	}
	if cfg.Ceiling.Memory < abi.PageBytes {
		over = append(over, fmt.Sprintf("memory: %v is less than one page of %v", cfg.Ceiling.Memory, abi.PageBytes))
	}
	if cfg.Cores < 0 || cfg.Budget.Rate < 0 || cfg.Budget.Burst < 0 {
		over = append(over, "cores or budget: a bound is negative")
	}
	if p := cfg.Pool; min(p.Slots, p.PerModule) < 0 || p.Bytes < 0 || p.Idle < 0 {
		over = append(over, "pool: a bound is negative")
	}
	if len(over) > 0 {
		return nil, host.Fail("sandbox.New", abi.NewProblem(abi.BadValue, "the sandbox cannot be set up so: %s", strings.Join(over, "; ")), nil)
	}
	disk, err := openCache(cfg.CacheDir)
	if err != nil {
		return nil, host.Fail("sandbox.New", abi.NewProblem(abi.BadValue, "the folder of compiled code cannot be used; give one that can be made and read, or none"), err)
	}
	offer, err := newOffer(context.Background())
	if err != nil {
		return nil, host.Fail("sandbox.New", abi.NewProblem(abi.HostBug, "the engine does not start"), err)
	}
	tracker, err := newTracker()
	if err != nil {
		return nil, host.Fail("sandbox.New", abi.NewProblem(abi.SystemFailure, "guests' memory cannot be had from the system"), err)
	}
	cfg.Pool = cfg.Pool.withDefaults(cfg.Ceiling.Memory + kernelBytes(cfg.Ceiling))
	return &Sandbox{
		cfg: cfg, disk: disk, offer: offer, tracker: tracker, pool: newPool(cfg.Pool), cores: newCores(cmp.Or(cfg.Cores, runtime.GOMAXPROCS(0)), cfg.Budget),
		slice: sliceFuel, startFuel: startFuel, compiling: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		codes: map[string]*code{}, modules: map[*Module]bool{},
	}, nil
}

// Interpreter gives another sandbox with the same settings, to be closed by itself,
// that makes no machine code and keeps nothing on the disk. It loads a module in a
// third of the time, every call begins on a fresh instance, and takes some ten
// times as long: it is for modules that are asked one thing, such as what they are.
func (s *Sandbox) Interpreter() (*Sandbox, error) {
	cfg := s.cfg
	cfg.CacheDir, cfg.Fresh = "", true
	i, err := New(cfg)
	if err != nil {
		return nil, err
	}
	i.interpret = true
	return i, nil
}

func orSize(v, d abi.Size) abi.Size {
	if v == 0 {
		return d
	}
	return v
}

// Load makes a module ready to be called. Bytes that are already loaded, or
// are being loaded, are not compiled again. The bytes must not be changed, even
// after ctx ended; they are not kept.
//
// Zero limits are the defaults, and the ceiling wins over both; memory is
// rounded up to whole pages. An error carries a problem:
//
//	abi.ModuleTooLarge  larger than Config.ModuleBytes
//	abi.CorruptModule   not WebAssembly, cut off, invalid, or of a feature that is not run
//	abi.UnknownImport   it imports what the host does not have: all of it is named
//	abi.OutOfMemory     it starts with more memory than its limit
//	abi.BadValue        limits that cannot be: negative, or memory of less than a page
//	abi.Deadline        the deadline of ctx passed before the module was ready
//	abi.Cancelled       ctx was cancelled before the module was ready
//	abi.SystemFailure   the sandbox is closed
//
// A module that was loaded must be closed. Loading is safe to repeat.
func (s *Sandbox) Load(ctx context.Context, wasm []byte, limits abi.Limits) (*Module, error) {
	if len(wasm) > int(s.cfg.ModuleBytes) {
		return nil, fail(abi.NewProblem(abi.ModuleTooLarge, "the module has %d bytes and may have %d (%v); leave out what it does not need, or raise the host's setting",
			len(wasm), int(s.cfg.ModuleBytes), s.cfg.ModuleBytes), nil)
	}
	limits, p := s.effective(limits)
	if p != nil {
		return nil, fail(p, nil)
	}
	c, err := s.acquire(ctx, wasm)
	if err != nil {
		return nil, err
	}
	if p := c.fits(limits); p != nil {
		return nil, errors.Join(fail(p, nil), s.release(ctx, c))
	}
	m := newModule(s, c, limits)
	s.mu.Lock()
	closed := s.closed
	s.modules[m] = true
	s.mu.Unlock()
	if closed {
		return nil, errors.Join(fail(sandboxClosed(), nil), m.Close(context.WithoutCancel(ctx)))
	}
	return m, nil
}

func sandboxClosed() *abi.Problem { return abi.NewProblem(abi.SystemFailure, "the sandbox is closed") }

// effective gives the limits that hold for a module.
func (s *Sandbox) effective(l abi.Limits) (abi.Limits, *abi.Problem) {
	const most = math.MaxInt64
	l = l.WithDefaults(abi.DefaultLimits())
	if wrong := l.Exceeds(abi.Limits{Fuel: most, Memory: most, Deadline: most, Input: most, Output: most, Logs: most}); len(wrong) > 0 {
		return l, abi.NewProblem(abi.BadValue, "limits.%s; leave it out for the default", strings.Join(wrong, "; limits."))
	}
	if l.Memory < abi.PageBytes {
		return l, abi.NewProblem(abi.BadValue, "limits.memory is %v, less than one page of %v; a Go skill needs about 4MiB", l.Memory, abi.PageBytes)
	}
	c := s.cfg.Ceiling
	pages := min((min(l.Memory, c.Memory)+abi.PageBytes-1)/abi.PageBytes, c.Memory/abi.PageBytes)
	return abi.Limits{
		Fuel: min(l.Fuel, c.Fuel), Memory: pages * abi.PageBytes, Deadline: min(l.Deadline, c.Deadline),
		Input: min(l.Input, c.Input), Output: min(l.Output, c.Output), Logs: min(l.Logs, c.Logs),
	}, nil
}

// acquire gives the code of a module, which the caller must release. Whoever
// is first has it made; the others wait.
func (s *Sandbox) acquire(ctx context.Context, wasm []byte) (*code, error) {
	digest := host.Digest(wasm)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, fail(sandboxClosed(), nil)
	}
	c := s.codes[digest]
	if c == nil {
		making, cancel := context.WithCancel(context.WithoutCancel(ctx))
		c = &code{digest: digest, done: make(chan struct{}), cancel: cancel}
		s.codes[digest] = c
		go s.prepare(making, c, wasm)
	}
	c.users++
	s.mu.Unlock()

	select {
	case <-c.done:
	case <-ctx.Done():
		go s.release(ctx, c) // which waits for the making to stop; nothing was made, so nothing fails
		return nil, fail(host.ProblemOf(ctx.Err()), ctx.Err())
	}
	if c.err != nil {
		return nil, errors.Join(c.err, s.release(ctx, c))
	}
	return c, nil
}

// release gives a code back. The last one closes it, and stops its making.
func (s *Sandbox) release(ctx context.Context, c *code) error {
	s.mu.Lock()
	c.users--
	last := c.users == 0
	if last {
		delete(s.codes, c.digest)
	}
	s.mu.Unlock()
	if !last {
		return nil
	}
	c.cancel()
	<-c.done
	s.pool.drop(c)
	return c.close(context.WithoutCancel(ctx))
}

// Close closes every module and refuses new ones. It waits for running calls
// as Module.Close does. It may be repeated.
func (s *Sandbox) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	open := make([]*Module, 0, len(s.modules))
	for m := range s.modules {
		open = append(open, m)
	}
	s.mu.Unlock()
	var err error
	for _, m := range open {
		err = errors.Join(err, m.Close(ctx))
	}
	if err == nil {
		err = s.tracker.close()
	}
	return err
}

// forget gives the code of a closed module back.
func (s *Sandbox) forget(m *Module) error {
	s.mu.Lock()
	delete(s.modules, m)
	s.mu.Unlock()
	return s.release(context.Background(), m.code)
}
