package sandbox_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
)

const (
	env  = "extism:host/env"
	wasi = "wasi_snapshot_preview1"

	secret = 0x5ec2e75ec2e75ec2
)

// Ways in which a call that planted a secret ends.
var endings = []string{"return", "fail", "trap", "loop", "loop slowly", "exit", "deep", "grow", "close stdout"}

// spy is a guest that plants a secret wherever a guest can write, and ends in
// every way; and one export each that looks for what others left.
func spy(pages int) *module {
	m := newModule()
	m.pages = pages
	alloc := m.imported(env, "alloc", []byte{i64t}, []byte{i64t})
	store := m.imported(env, "store_u64", []byte{i64t, i64t}, nil)
	load8 := m.imported(env, "load_u8", []byte{i64t}, []byte{i32t})
	varSet := m.imported(env, "var_set", []byte{i64t, i64t}, nil)
	varGet := m.imported(env, "var_get", []byte{i64t}, []byte{i64t})
	outputSet := m.imported(env, "output_set", []byte{i64t, i64t}, nil)
	errorSet := m.imported(env, "error_set", []byte{i64t}, nil)
	exit := m.imported(wasi, "proc_exit", []byte{i32t}, nil)
	closeFD := m.imported(wasi, "fd_close", []byte{i32t}, []byte{i32t})
	write := m.imported(wasi, "fd_write", []byte{i32t, i32t, i32t, i32t}, []byte{i32t})
	// Two globals: one that the guest exports, and one that it does not.
	m.extra = slices.Concat([]byte{6}, vector(slices.Concat([]byte{2}, []byte{i64t, 1}, i64c(0), end, []byte{i32t, 1}, i32c(0), end)))
	m.exports, m.nExports = slices.Concat(vector([]byte("state")), []byte{3, 0}), 1

	block := slices.Concat(i64c(8), callf(alloc), setG(0), getG(0), i64c(secret), callf(store))
	sow := m.function(nil, nil, 1,
		loop(get(0), i64c(secret), i64store, get(0), i32c(8), i32add, tee(0), memorySize, i32c(16), i32shl, i32ltU, brIf(0)),
		block, block, getG(0), i64c(20), i64sub, getG(0), callf(varSet), // name and value lie side by side
		i64c(secret), setG(0), i32c(0x5ec2e7), setG(1),
		block, getG(0), i64c(8), callf(outputSet), getG(0), callf(errorSet),
		i64c(secret), setG(0))
	deep := m.nImports + m.nFunctions
	m.function(nil, nil, 0, callf(deep))
	for name, ending := range map[string][]byte{
		"return": i32c(0), "fail": i32c(7), "trap": unreachable, "exit": slices.Concat(i32c(3), callf(exit), i32c(0)),
		"loop": slices.Concat(loopForever, i32c(0)), "loop slowly": slices.Concat(loop(i64c(1), callf(alloc), drop, branch(0)), i32c(0)),
		"deep": slices.Concat(callf(deep), i32c(0)), "grow": slices.Concat(i32c(1), memoryGrow, drop, callf(sow), i32c(0)),
		"close stdout": slices.Concat(i32c(1), callf(closeFD), drop, i32c(0)),
	} {
		m.export(name, callf(sow), ending)
	}
	found := func(what int32) []byte { return ifThen(i32c(what), []byte{0x0f}) }
	m.export("seek",
		memorySize, i32c(int32(pages)), i32ne, found(1),
		getG(0), i64eqz, i32eqz, found(2), getG(1), found(3),
		i32c(1), i32c(0), i32c(0), i32c(16), callf(write), found(4),
		loop(get(0), i64load, i64eqz, i32eqz, found(5), get(0), i32c(8), i32add, tee(0), memorySize, i32c(16), i32shl, i32ltU, brIf(0)),
		block, getG(0), callf(varGet), i64eqz, i32eqz, found(6), i32c(0))
	m.export("seek blocks",
		loop(get(0), i32c(100), i32add, i64extend, callf(load8), found(7), get(0), i32c(1), i32add, tee(0), i32c(2000), i32ltU, brIf(0)),
		i32c(0))
	return m
}

// Instructions of these guests.
var (
	i64store   = []byte{0x37, 3, 0}
	memorySize = []byte{0x3f, 0}
	i32shl     = []byte{0x74}
	i32ltU     = []byte{0x49}
	i32ne      = []byte{0x47}
	i64eqz     = []byte{0x50}
	i64sub     = []byte{0x7d}
)

func get(local uint32) []byte   { return append([]byte{0x20}, uleb(local)...) }
func tee(local uint32) []byte   { return append([]byte{0x22}, uleb(local)...) }
func getG(global uint32) []byte { return append([]byte{0x23}, uleb(global)...) }
func setG(global uint32) []byte { return append([]byte{0x24}, uleb(global)...) }
func brIf(depth uint32) []byte  { return append([]byte{0x0d}, uleb(depth)...) }

// A spy plants its secret and ends in every way, over and over, in two releases
// of two tenants at once; whoever looks in between finds nothing.
func nothingOfACallIsFoundByTheNext(t *testing.T, calls int) {
	s := newSandbox(t, sandbox.Config{})
	var modules []*sandbox.Module
	for _, pages := range []int{1, 3} {
		// The same bytes with little fuel and with much share their slots.
		for _, fuel := range []int64{1_000_000, abi.CeilingLimits().Fuel} {
			m, err := s.Load(context.Background(), spy(pages).bytes(), abi.Limits{Fuel: fuel, Memory: abi.MiB, Output: abi.MiB, Deadline: abi.CeilingLimits().Deadline})
			if err != nil {
				t.Fatal(err)
			}
			if info := m.Info(); !info.Frozen {
				t.Fatalf("it is not frozen: %s", info.Refusal)
			}
			modules = append(modules, m)
		}
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for range calls / 4 {
				m := modules[random.IntN(len(modules))]
				ending := endings[random.IntN(len(endings))]
				if (ending == "deep" || ending == "loop slowly") && random.IntN(20) > 0 {
					ending = "trap" // running out of stack or of blocks takes long
				}
				if random.IntN(2) == 0 {
					plant(t, m, ending, random)
				} else {
					seek(t, m, []string{"seek", "seek blocks"}[random.IntN(2)])
				}
			}
		})
	}
	wg.Wait()
}

func seek(t *testing.T, m *sandbox.Module, export string) {
	t.Helper()
	res := m.Call(context.Background(), sandbox.Request{Export: export})
	if res.Problem != nil || res.Exit != 0 || len(res.Logs) > 0 {
		t.Errorf("%s found something: exit %d, %v %v", export, res.Exit, res.Problem, res.Logs)
	}
}

func plant(t *testing.T, m *sandbox.Module, ending string, random *rand.Rand) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req := sandbox.Request{Export: ending}
	much := m.Limits().Fuel > 1_000_000
	var want []abi.Code
	switch ending {
	case "return", "fail", "close stdout", "grow":
		want = []abi.Code{abi.GuestExit} // all of them set an error text
	case "exit":
		want = []abi.Code{abi.GuestExit}
	case "trap", "deep":
		want = []abi.Code{abi.Trap}
	case "loop", "loop slowly":
		want = []abi.Code{abi.OutOfFuel, abi.OutOfMemory}
		if much && random.IntN(2) == 0 {
			req.Deadline, want = time.Millisecond, []abi.Code{abi.Deadline, abi.OutOfMemory}
		} else if much {
			time.AfterFunc(time.Millisecond, cancel)
			want = []abi.Code{abi.Cancelled, abi.OutOfMemory}
		}
	}
	res := m.Call(ctx, req)
	if res.Problem == nil || !slices.Contains(want, res.Problem.Code) {
		t.Errorf("%s ended with %v, want one of %v", ending, res.Problem, fmt.Sprint(want))
	}
}
