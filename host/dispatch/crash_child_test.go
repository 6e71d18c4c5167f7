//go:build unix

package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/egress"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/registry"
)

// crashLife is the variable in which a process that is to be killed finds what
// it has to do. The test binary is that process, too.
const crashLife = "SLUICE_CRASH_LIFE"

func TestMain(m *testing.M) {
	if job := os.Getenv(crashLife); job != "" {
		if err := live(context.Background(), job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A life is what one process does until it is done or dies.
type life struct {
	Store, Blobs, Files, Cache, Module, Manifest string // on the disk
	Ledger                                       string // its address
	At                                           string // the boundary at which the process kills itself; empty for none
	Nth                                          int    // time that it comes there, from 1
	Sessions                                     [][]delivery
}

// A delivery is what a process needs of a call.
type delivery struct {
	ID         host.CallID
	Session    host.SessionRef
	Tool, Args string
	Input      int
}

// A told is a line about one outcome, when its caller has it.
type told struct {
	Session, Call int // indices in the life
	Outcome       host.Outcome
}

// The boundaries of Do at which a process kills itself: before the steps of
// Do, by their names; and these.
const (
	inClaim    = "inside the claim's transaction"
	beforeRun  = "after the claim"
	inRun      = "inside the run, after the effect"
	afterKeep  = "after blobs, files and memories"
	inSettle   = "inside the settlement's transaction"
	inRead     = "inside a batch of reads"
	beforeTold = "after the settlement, before the answer"
	afterTold  = "after the answer"
	inLedger   = "before the effect, inside the ledger" // the ledger kills it
	fromLedger = "after the effect, before its answer"  // likewise
	anyTime    = "at any time"                          // whoever started it kills it
)

func selfBoundaries() []string {
	return []string{
		"resolve", "check", "breaker", "hooks before", "gate", "claim", inClaim, beforeRun, "recheck", "run", inRun, "verify", "reduce",
		"hooks after", "spill", "settle", afterKeep, inSettle, inRead, "conclude", beforeTold, afterTold,
	}
}

// A mortal kills its own process at one boundary.
type mortal struct {
	life
	mu    sync.Mutex
	times int                  // that the boundary was reached; guarded by mu
	last  string               // boundary of any call; guarded by mu
	ran   map[host.CallID]bool // guarded by mu
}

func (m *mortal) reach(boundary string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reached(boundary)
}

func (m *mortal) reached(boundary string) {
	if boundary != m.At {
		return
	}
	if m.times++; m.times == m.Nth {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// trace is Config.Trace: what comes before a step.
func (m *mortal) trace(call host.CallID, step string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if step == "run" {
		m.ran[call] = true
	}
	if step == "hooks" {
		step = map[bool]string{false: "hooks before", true: "hooks after"}[m.ran[call]]
	}
	m.last = step
	m.reached(step)
}

// now is the clock of the store, which asks for it inside each transaction.
func (m *mortal) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch m.last {
	case "claim":
		m.reached(inClaim)
	case "settle":
		m.reached(inSettle)
	default:
		m.reached(inRead)
	}
	return time.Now()
}

// live does what the job in the named file says.
func live(ctx context.Context, job string) error {
	text, err := os.ReadFile(job)
	if err != nil {
		return err
	}
	m := &mortal{ran: map[host.CallID]bool{}}
	if err := json.Unmarshal(text, &m.life); err != nil {
		return err
	}
	d, catalog, err := m.open(ctx)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	failed := make(chan error, len(m.Sessions))
	var sessions sync.WaitGroup
	for i := range m.Sessions {
		sessions.Go(func() { failed <- m.session(ctx, d, catalog, i) })
	}
	sessions.Wait()
	for range m.Sessions {
		if err := <-failed; err != nil {
			return err
		}
	}
	if err := d.Flush(ctx); err != nil {
		return err
	}
	return d.Store.Close()
}

// open makes the whole gate, over what earlier lives have left.
func (m *mortal) open(ctx context.Context) (*Dispatcher, *release.Catalog, error) {
	cfg := Config{BatchReads: true, Trace: m.trace, Config: grant.Config{Remember: func(context.Context, host.CallRef, []abi.Memory) error {
		m.reach(afterKeep)
		return nil
	}}}
	var err error
	if cfg.Store, err = state.Open(ctx, m.Store, state.Options{Now: m.now}); err != nil {
		return nil, nil, err
	}
	if cfg.Blobs, err = blob.Open(ctx, m.Blobs, blob.Options{}); err != nil {
		return nil, nil, err
	}
	if cfg.Files, err = files.Open(m.Files); err != nil {
		return nil, nil, err
	}
	if cfg.Egress, err = egress.New(egress.Config{
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", m.Ledger)
		},
	}); err != nil {
		return nil, nil, err
	}
	catalog, err := m.catalog(ctx)
	return New(cfg), catalog, err
}

func (m *mortal) catalog(ctx context.Context) (*release.Catalog, error) {
	wasm, err := os.ReadFile(m.Module)
	if err != nil {
		return nil, err
	}
	var declared abi.Manifest
	if err := json.Unmarshal([]byte(m.Manifest), &declared); err != nil {
		return nil, err
	}
	skill, err := manifest.Compile(declared)
	if err != nil {
		return nil, err
	}
	sb, err := sandbox.New(sandbox.Config{CacheDir: m.Cache})
	if err != nil {
		return nil, err
	}
	set := release.NewSet(sb, nil)
	if _, err := set.Load(ctx, &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		return nil, err
	}
	catalog, _ := set.Catalog(ctx, nil)
	return catalog, nil
}

// session takes the session over and makes its calls, one after the other.
func (m *mortal) session(ctx context.Context, d *Dispatcher, catalog *release.Catalog, i int) error {
	if len(m.Sessions[i]) == 0 {
		return nil
	}
	fence, err := takeSession(ctx, d.Store, m.Sessions[i][0].Session)
	if err != nil {
		return err
	}
	for n, c := range m.Sessions[i] {
		o := d.Do(ctx, catalog, host.Call{
			ID: c.ID, Session: c.Session, Fence: fence, Tool: c.Tool, Args: c.Args, Input: c.Input,
			Notice: func(string) { m.reach(beforeRun) }, Progress: func(abi.ProgressReport) { m.reach(inRun) },
		})
		m.reach(beforeTold)
		o.Data = nil
		line, err := json.Marshal(told{i, n, o})
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", line) // one write: nobody sees half a line
		m.reach(afterTold)
	}
	return nil
}

// takeSession gives the session's next lease: the last one, of a process that
// was killed, is short.
func takeSession(ctx context.Context, store *state.Store, ref host.SessionRef) (host.Fence, error) {
	for {
		fence, err := store.Lease(ctx, ref, host.NewID("life_"), time.Millisecond)
		if err == nil || host.ProblemOf(err).Code != abi.Busy {
			return fence, err
		}
		time.Sleep(time.Millisecond)
	}
}
