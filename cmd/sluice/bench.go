package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/toolchain"
)

const (
	benchCallsMost  = 1_000_000
	benchWarmUp     = 20
	benchFreshCalls = 20 // of a fresh instance each, which takes long
)

func (p *program) skillBenchCommand() *cobra.Command {
	var args string
	var calls int
	c := &cobra.Command{
		Use: "bench FILE.wasm TOOL", Short: "Measure one tool in the sandbox, without the gate: latency, fuel, memory", Args: cobra.ExactArgs(2),
		Long: `Calls one tool over and over in the sandbox, with the arguments and the store of its
first example; then, for comparison, with a fresh instance for each call, and in Extism's
own host for Go, with fresh instances and with one for all calls. What it writes goes into
a store in memory that is thrown away.`,
		Example: "  sluice skill bench dist/skill.wasm quote\n  sluice skill bench dist/skill.wasm quote --args '{\"sku\":\"1001\"}' --calls 5000",
		RunE: func(c *cobra.Command, positional []string) error {
			if calls < 1 || calls > benchCallsMost {
				return fmt.Errorf("%w: --calls must be in 1 to %d", errUsage, benchCallsMost)
			}
			wasm, err := toolchain.ReadBounded(positional[0], int64(abi.ModuleBytesCeiling))
			if err != nil {
				return err
			}
			return p.withHall(c.Context(), func(h *hall) error {
				skill, err := toolchain.Describe(c.Context(), h.sandbox, wasm)
				if err != nil {
					return err
				}
				t, err := trialOf(skill, positional[1], args)
				if err != nil {
					return err
				}
				return p.bench(c.Context(), h.sandbox, wasm, skill.Limits, t, calls)
			})
		},
	}
	c.Flags().StringVar(&args, "args", "", "arguments as JSON (default: those of the tool's first example)")
	c.Flags().IntVar(&calls, "calls", 1000, "how many calls")
	return c
}

// A trial is one call that is made over and over.
type trial struct {
	tool  string
	input []byte
	kv    map[string]json.RawMessage // what the store holds before each call
}

func trialOf(skill *manifest.Skill, name, args string) (trial, error) {
	i := slices.IndexFunc(skill.Tools, func(t *manifest.Tool) bool { return t.Name == name })
	if i < 0 {
		return trial{}, host.Fail("bench", abi.NewProblem(abi.UnknownTool, "%s has no tool %q", skill.Name, name), nil)
	}
	var example abi.Example
	if examples := skill.Tools[i].Examples; len(examples) > 0 {
		example = examples[0]
	}
	if args != "" {
		example.Args = json.RawMessage(args)
	}
	if !json.Valid(example.Args) {
		return trial{}, fmt.Errorf("%w: %s has no example; give --args as JSON", errUsage, name)
	}
	input, err := json.Marshal(abi.Invocation{
		ABI: abi.Version, Tool: name, Args: example.Args, State: example.State,
		Call: abi.CallInfo{ID: "call_bench", Key: "bench", Attempt: 1, Now: time.Unix(0, 0).UTC(), Tenant: "bench"},
	})
	return trial{name, input, example.KV}, err
}

func (t trial) request() sandbox.Request {
	kv := maps.Clone(t.kv)
	if kv == nil {
		kv = map[string]json.RawMessage{}
	}
	function := func(name string, f func(args [][]byte) []byte) sandbox.Function {
		return sandbox.Function{Name: name, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) { return f(args), nil }}
	}
	return sandbox.Request{Export: abi.ExportInvoke, Input: t.input, Functions: []sandbox.Function{
		function(abi.FuncKVGet, func(args [][]byte) []byte { return kv[string(args[0])] }),
		function(abi.FuncKVPut, func(args [][]byte) []byte { kv[string(args[0])] = args[1]; return nil }),
		function(abi.FuncKVDelete, func(args [][]byte) []byte { delete(kv, string(args[0])); return nil }),
		function(abi.FuncKVScan, func(args [][]byte) []byte { return scanned(kv, args[0]) }),
	}}
}

// scanned gives all entries of a prefix in one page: an example holds few.
func scanned(kv map[string]json.RawMessage, query []byte) []byte {
	var q abi.ScanQuery
	_ = json.Unmarshal(query, &q) // what cannot be read asks for everything
	var page abi.Page
	for _, key := range slices.Sorted(maps.Keys(kv)) {
		if strings.HasPrefix(key, q.Prefix) && key > q.After {
			page.Entries = append(page.Entries, abi.Entry{Key: key, Value: kv[key]})
		}
	}
	return page.Encode()
}

// A measured is what many calls of a trial gave.
type measured struct {
	Calls      int           `json:"calls"`
	P50        time.Duration `json:"p50"`
	P95        time.Duration `json:"p95"`
	P99        time.Duration `json:"p99"`
	Fuel       int64         `json:"fuel,omitempty"`        // of one call; the reference host counts none
	FuelValues int           `json:"fuel_values,omitempty"` // 1 where every call used the same
	PeakMemory abi.Size      `json:"peak_memory,omitempty"`
	HostCalls  int           `json:"host_calls,omitempty"` // of one call
	Answer     string        `json:"answer"`

	took []time.Duration
}

func (p *program) bench(ctx context.Context, slots *sandbox.Sandbox, wasm []byte, limits abi.Limits, t trial, calls int) error {
	ours, err := measure(ctx, slots, wasm, limits, t, calls)
	if err != nil {
		return err
	}
	fresh, err := sandbox.New(sandbox.Config{CacheDir: p.compileCache(), Fresh: true})
	if err != nil {
		return err
	}
	defer fresh.Close(context.WithoutCancel(ctx))
	each, err := measure(ctx, fresh, wasm, limits, t, min(calls, benchFreshCalls))
	if err != nil {
		return err
	}
	peers, noPeer := p.benchPeer(ctx, wasm, limits, t, calls)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if p.json {
		result := map[string]any{"tool": t.tool, "restored": ours, "fresh": each}
		if noPeer == nil {
			result["reference_fresh"], result["reference_reused"] = peers[0], peers[1]
		} else {
			result["reference"] = noPeer.Error()
		}
		p.print(result)
		return nil
	}
	w := p.stdout
	fmt.Fprintf(w, "%s: %.120s\n%d calls, each in an instance that was restored: p50 %v, p95 %v, p99 %v\n", t.tool, ours.Answer, ours.Calls, ours.P50, ours.P95, ours.P99)
	plot(w, ours.took)
	fmt.Fprintf(w, "fuel %d (%d value%s in all calls), %v of memory, %d host calls\n", ours.Fuel, ours.FuelValues, plural(ours.FuelValues), ours.PeakMemory, ours.HostCalls)
	beside := func(m measured, how string) {
		fmt.Fprintf(w, "%d calls, %s: p50 %v, %.1f times as long\n", m.Calls, how, m.P50, float64(m.P50)/float64(ours.P50))
	}
	beside(each, "each in a fresh instance")
	if noPeer != nil {
		fmt.Fprintf(w, "no comparison with the reference host: %v\n", noPeer)
		return nil
	}
	beside(peers[0], "each in a fresh instance of the reference host")
	beside(peers[1], "all in one instance of the reference host, which keeps what the calls leave")
	if peers[0].Answer != ours.Answer {
		fmt.Fprintf(w, "note: the reference host's guest answers otherwise: %.300s\n", peers[0].Answer)
	}
	return nil
}

// benchPeer measures the reference host: fresh instances, and one that is used
// for all calls. An error says why there is nothing to compare with.
func (p *program) benchPeer(ctx context.Context, wasm []byte, limits abi.Limits, t trial, calls int) (both [2]measured, err error) {
	info, err := rewrite.Inspect(wasm)
	if err != nil {
		return both, err
	}
	for _, im := range info.Imports {
		if slices.Contains(abi.BlockFuncs(), im.Name) {
			return both, errors.New("it cannot copy blocks for a guest; build the skill with GOFLAGS=-tags=anyhost to compare")
		}
	}
	err = p.step("measuring the reference host", func() error {
		peer, err := newPeer(ctx, wasm, limits, t)
		if err != nil {
			return err
		}
		defer peer.close(ctx)
		if both[0], err = peer.measure(ctx, min(calls, benchFreshCalls), false); err != nil {
			return err
		}
		both[1], err = peer.measure(ctx, calls, true)
		return err
	})
	return both, err
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func measure(ctx context.Context, s *sandbox.Sandbox, wasm []byte, limits abi.Limits, t trial, calls int) (measured, error) {
	module, err := s.Load(ctx, wasm, limits)
	if err != nil {
		return measured{}, err
	}
	defer module.Close(context.WithoutCancel(ctx))
	m, fuel := measured{Calls: calls}, map[int64]bool{}
	for i := range calls + min(calls, benchWarmUp) {
		request, began := t.request(), time.Now()
		res := module.Call(ctx, request)
		took := time.Since(began)
		if res.Problem != nil {
			return measured{}, host.Fail("bench", res.Problem, nil)
		}
		if i < min(calls, benchWarmUp) {
			continue
		}
		m.took = append(m.took, took)
		fuel[res.Usage.Fuel] = true
		m.Fuel, m.HostCalls, m.Answer = res.Usage.Fuel, res.Usage.HostCalls, string(res.Output)
		m.PeakMemory = max(m.PeakMemory, res.Usage.PeakMemory)
	}
	m.FuelValues = len(fuel)
	m.percentiles()
	return m, nil
}

func (m *measured) percentiles() {
	slices.Sort(m.took)
	at := func(percent int) time.Duration {
		return m.took[(len(m.took)-1)*percent/100].Round(100 * time.Nanosecond)
	}
	m.P50, m.P95, m.P99 = at(50), at(95), at(99)
}

// plot draws how many calls took how long, a line for each quarter more.
func plot(w interface{ Write([]byte) (int, error) }, sorted []time.Duration) {
	const width, step = 50, 1.25
	lowest := float64(max(sorted[0], time.Microsecond))
	counts := map[int]int{}
	most, last := 0, 0
	for _, d := range sorted {
		bin := max(0, int(math.Log(float64(d)/lowest)/math.Log(step)))
		counts[bin]++
		most, last = max(most, counts[bin]), max(last, bin)
	}
	for bin := range last + 1 {
		from := time.Duration(lowest * math.Pow(step, float64(bin)))
		if n := counts[bin]; n > 0 {
			fmt.Fprintf(w, "%10v  %s %d\n", from.Round(max(from/100, 1)), strings.Repeat("█", max(1, n*width/most)), n)
		}
	}
}
