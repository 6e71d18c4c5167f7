//go:build !race

package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// seededInputs is how many inputs every guest gets; the stress run gives more.
const seededInputs = 100

// A pair is one module, frozen and unfrozen. The frozen one's memory is
// compared with its image after every call: a difference is abi.HostBug.
type pair struct {
	box    *sandbox.Sandbox
	frozen *sandbox.Module
	fresh  *sandbox.Module
	reused int // calls that were served by a slot which had served before
}

func newPair(t *testing.T, wasm []byte, limits abi.Limits) *pair {
	t.Helper()
	load := func(cfg sandbox.Config) (*sandbox.Sandbox, *sandbox.Module) {
		cfg.CacheDir, cfg.Audit = sandboxtest.CacheDir(t), true
		s, err := sandbox.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		m, err := s.Load(t.Context(), wasm, patient(limits))
		if err != nil {
			t.Fatal(err)
		}
		return s, m
	}
	p := &pair{}
	p.box, p.frozen = load(sandbox.Config{})
	_, p.fresh = load(sandbox.Config{Fresh: true})
	if info := p.frozen.Info(); !info.Frozen {
		t.Fatalf("the guest is not frozen: %s", info.Refusal)
	}
	if p.fresh.Info().Frozen {
		t.Fatal("the guest that must not be frozen is")
	}
	return p
}

// same calls both with the same input and gives what the frozen one gave.
// functions makes the host functions of one call.
func (p *pair) same(t *testing.T, req sandbox.Request, functions func() []sandbox.Function) sandbox.Result {
	t.Helper()
	req.Functions = functions()
	got := p.frozen.Call(context.Background(), req)
	if sandbox.Served(p.box) > 0 {
		p.reused++
	}
	req.Functions = functions()
	want := p.fresh.Call(context.Background(), req)
	if got.Problem != nil && got.Problem.Code == abi.HostBug {
		t.Fatalf("%s of %q: %v %v", req.Export, req.Input, got.Problem, got.Logs)
	}
	if !reflect.DeepEqual(visible(got), visible(want)) {
		t.Fatalf("%s of %q gives\n%+v frozen, and\n%+v unfrozen", req.Export, req.Input, visible(got), visible(want))
	}
	return got
}

// visible is all of a result but its costs; an engine's stack of a trap, which
// tells the functions' indices; and the addresses in the last words of a guest,
// which abi.ExportWarm may move.
func visible(res sandbox.Result) sandbox.Result {
	res.Usage.Fuel, res.Usage.Elapsed, res.Usage.PeakMemory = 0, 0, 0
	res.Logs = slices.DeleteFunc(slices.Clone(res.Logs), func(l sandbox.Log) bool { return l.Level == sandbox.LevelHost })
	for i := range res.Logs {
		res.Logs[i].Text = address.ReplaceAllString(res.Logs[i].Text, "0x")
	}
	return res
}

var address = regexp.MustCompile("0x[0-9a-f]+")

// A fuelBook holds the fuel of every input, which must be one number whatever
// ran before.
type fuelBook map[string]int64

func (b fuelBook) check(t *testing.T, input []byte, fuel int64) {
	t.Helper()
	if before, ok := b[string(input)]; ok && before != fuel {
		t.Errorf("%.200q used %d of fuel, and %d before", input, fuel, before)
	}
	b[string(input)] = fuel
}

// tallies are the guests of testdata that do the same in three languages.
func tallies(t *testing.T) map[string][]byte {
	return map[string][]byte{
		"Go":             sandboxtest.Build(t, "host/sandbox/testdata/guest_go"),
		"C":              sandboxtest.BuildC(t, "host/sandbox/testdata/guest_c"),
		"AssemblyScript": sandboxtest.BuildAssemblyScript(t, "host/sandbox/testdata/guest_as"),
	}
}

func noFunctions() []sandbox.Function { return nil }

// Every result is also held against a tally that is made here: the frozen, the
// unfrozen and the languages could all be wrong in the same way.
func TestGuestsOfThreeLanguagesAreTheSameFrozen(t *testing.T) {
	guestsAreTheSameFrozen(t, seededInputs)
}

func guestsAreTheSameFrozen(t *testing.T, count int) {
	for language, wasm := range tallies(t) {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, wasm, abi.Limits{})
			random, fuel := rand.New(rand.NewPCG(11, 12)), fuelBook{}
			var inputs [][]byte
			for range count {
				input := tallyInput(random)
				inputs = append(inputs, input)
				res := p.same(t, sandbox.Request{Export: "tally", Input: input}, noFunctions)
				wantTally(t, input, res)
				fuel.check(t, input, res.Usage.Fuel)
			}
			random.Shuffle(len(inputs), func(i, j int) { inputs[i], inputs[j] = inputs[j], inputs[i] })
			for _, input := range inputs {
				res := p.frozen.Call(context.Background(), sandbox.Request{Export: "tally", Input: input})
				wantTally(t, input, res)
				fuel.check(t, input, res.Usage.Fuel)
			}
			t.Logf("%d of %d calls in slots that had served before; %v", p.reused, count, p.frozen.Info())
			if p.reused < count/2 {
				t.Error("too few calls were in a slot that had served before: little was shown")
			}
		})
	}
}

func TestFuelOfGuestsOfThreeLanguagesIsTheSameInEverySlice(t *testing.T) {
	for language, wasm := range tallies(t) {
		t.Run(language, func(t *testing.T) {
			fuel := fuelBook{}
			for _, slice := range []int64{1, 1009, 1_000_000} {
				s := sandboxtest.New(t)
				sandbox.OnlySlice(s, slice)
				m, err := s.Load(t.Context(), wasm, patient(abi.Limits{}))
				if err != nil {
					t.Fatal(err)
				}
				random := rand.New(rand.NewPCG(13, 14))
				for range 20 {
					input := tallyInput(random)
					fuel.check(t, input, m.Call(context.Background(), sandbox.Request{Export: "tally", Input: input}).Usage.Fuel)
				}
			}
		})
	}
}

// tallyInput makes fields that repeat, numbers with buffers of up to 63 KiB,
// and now and then what ends a call in the midst of its work.
func tallyInput(random *rand.Rand) []byte {
	var fields []string
	for range random.IntN(30) {
		switch n := random.IntN(1000); {
		case n < 5:
			fields = append(fields, "!")
		case n < 10:
			fields = append(fields, strings.Repeat("long", 17))
		case n < 300:
			fields = append(fields, fmt.Sprint(random.Uint64()>>random.IntN(64)))
		case n < 350:
			fields = append(fields, "")
		default:
			word := make([]byte, 1+random.IntN(64))
			for i := range word {
				word[i] = byte('#' + random.IntN(256-'#'))
			}
			fields = append(fields, string(word))
		}
	}
	return []byte(strings.Join(fields, " "))
}

// wantTally holds a result to what testdata/guest_go promises.
func wantTally(t *testing.T, input []byte, res sandbox.Result) {
	t.Helper()
	var sum, count uint64
	var fields [][]byte
	for field := range bytes.SplitSeq(input, []byte(" ")) {
		switch {
		case len(field) == 0:
			continue
		case len(field) > 64:
			wantProblem(t, res, abi.GuestExit, "a field is too long")
			return
		case string(field) == "!":
			if res.Problem == nil || res.Problem.Code != abi.Trap && res.Problem.Code != abi.GuestExit {
				t.Errorf("a trap gave %q %v", res.Output, res.Problem)
			}
			return
		}
		fields = append(fields, field)
		count++
		if len(bytes.Trim(field, "0123456789")) == 0 {
			sum += numberSum(field)
		}
	}
	if want := fmt.Sprintf("calls=1 fields=%d sum=%d digest=%016x", count, sum, digestOf(fields)); string(res.Output) != want || res.Problem != nil {
		t.Fatalf("tally of %q gives %q %v, want %q", input, res.Output, res.Problem, want)
	}
}

func numberSum(field []byte) uint64 {
	value := uint64(0)
	for _, b := range field {
		value = value*10 + uint64(b-'0')
	}
	sum := value
	for i := uint64(0); i < value%64*1024; i += 61 {
		sum += uint64(byte(i*7 + value))
	}
	return sum
}

func digestOf(fields [][]byte) uint64 {
	var table [256]uint64
	table[0] = 1
	for i := 1; i < len(table); i++ {
		table[i] = table[i-1]*6364136223846793005 + 1442695040888963407
	}
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for _, field := range slices.SortedFunc(slices.Values(fields), bytes.Compare) {
		for _, b := range field {
			h = (h^uint64(b))*prime + table[b]
		}
		h = h*prime ^ uint64(len(field))
	}
	return h
}
