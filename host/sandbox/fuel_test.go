package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

const quoteInput = `{"tool":"quote","args":{"sku":"1001","quantity":12,"price":8.5,"currency":"CNY"}}`

func fuelOf(t testing.TB, m *sandbox.Module, export, input string) int64 {
	t.Helper()
	res := m.Call(context.Background(), sandbox.Request{Export: export, Input: []byte(input)})
	if res.Problem != nil {
		t.Fatal(res.Problem)
	}
	return res.Usage.Fuel
}

func quote(t testing.TB) *sandbox.Module {
	t.Helper()
	return sandboxtest.Load(t, sandboxtest.Build(t, "host/sandbox/testdata/quote"), patient(abi.Limits{}))
}

// A thousand calls, several at once, with others in between that leave other
// things behind and others that fail.
func TestIdenticalCallsUseTheSameFuel(t *testing.T) {
	m := quote(t)
	want := fuelOf(t, m, "quote", quoteInput)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 250 {
				if got := fuelOf(t, m, "quote", quoteInput); got != want {
					t.Errorf("call %d used %d, the first %d", i, got, want)
					return
				}
				switch (i + worker) % 3 {
				case 0:
					fuelOf(t, m, "quote", strings.Replace(quoteInput, "1001", strings.Repeat("long", i), 1))
				case 1:
					m.Call(context.Background(), sandbox.Request{Export: "quote", Input: []byte("not JSON")})
				}
			}
		})
	}
	wg.Wait()
}

func TestFuelDoesNotDependOnTheSlices(t *testing.T) {
	wasm := sandboxtest.Build(t, "host/sandbox/testdata/quote")
	want := fuelOf(t, quote(t), "quote", quoteInput)
	for _, slice := range []int64{1, 7, 1000, 1 << 40} {
		s := sandboxtest.New(t)
		sandbox.OnlySlice(s, slice)
		m, err := s.Load(context.Background(), wasm, patient(abi.Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		if got := fuelOf(t, m, "quote", quoteInput); got != want {
			t.Errorf("in slices of %d it used %d, else %d", slice, got, want)
		}
		// A limit holds to the unit, too.
		for _, tt := range []struct {
			limit int64
			code  abi.Code
		}{{want, 0}, {want - 1, abi.OutOfFuel}, {want / 2, abi.OutOfFuel}, {1, abi.OutOfFuel}} {
			limited, err := s.Load(context.Background(), wasm, patient(abi.Limits{Fuel: tt.limit}))
			if err != nil {
				t.Fatal(err)
			}
			res := limited.Call(context.Background(), sandbox.Request{Export: "quote", Input: []byte(quoteInput)})
			if tt.code == 0 && res.Problem != nil {
				t.Errorf("a limit of what it needs: %v", res.Problem)
			} else if tt.code != 0 {
				wantProblem(t, res, tt.code, fmt.Sprintf("limits.fuel allows %d", tt.limit), fmt.Sprintf("it used %d units", res.Usage.Fuel))
				if res.Usage.Fuel <= tt.limit {
					t.Errorf("it ran out after %d of %d", res.Usage.Fuel, tt.limit)
				}
			}
		}
	}
}

// The guest is stopped at the same place whatever the slices are.
func TestRunningOutOfFuelIsTheSameEverywhere(t *testing.T) {
	var want int64
	for _, slice := range []int64{1, 13, 1 << 20} {
		s := newSandbox(t, sandbox.Config{})
		sandbox.OnlySlice(s, slice)
		m, err := s.Load(context.Background(), newModule().export("run", loop(i32c(1), drop, branch(0)), i32c(0)).bytes(), patient(abi.Limits{Fuel: 12345}))
		if err != nil {
			t.Fatal(err)
		}
		res := m.Call(context.Background(), sandbox.Request{Export: "run"})
		wantProblem(t, res, abi.OutOfFuel)
		if want == 0 {
			want = res.Usage.Fuel
		}
		if res.Usage.Fuel != want {
			t.Errorf("in slices of %d it used %d, else %d", slice, res.Usage.Fuel, want)
		}
	}
}

// TestFuelIsTheSameInAnotherProcess runs itself.
func TestFuelIsTheSameInAnotherProcess(t *testing.T) {
	const asked = "SLUICE_TEST_TELL_FUEL"
	fuel := fuelOf(t, quote(t), "quote", quoteInput)
	if os.Getenv(asked) != "" {
		fmt.Printf("fuel=%d\n", fuel)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), asked+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	told := regexp.MustCompile(`fuel=(\d+)`).FindSubmatch(out)
	if told == nil || string(told[1]) != fmt.Sprint(fuel) {
		t.Errorf("another process used %s, this one %d", out, fuel)
	}
}

func TestFuelOfAFailureIsToldToo(t *testing.T) {
	m := newModule()
	m.export("trap", i32c(0), i32load, i32c(0), i32div)
	m.export("spin", loopForever, i32c(0))
	loaded := load(t, m, abi.Limits{Fuel: 5000})
	for export, least := range map[string]int64{"trap": 1, "spin": 5001} {
		if res := loaded.Call(context.Background(), sandbox.Request{Export: export}); res.Usage.Fuel < least {
			t.Errorf("%s used %d (%v)", export, res.Usage.Fuel, res.Problem)
		}
	}
}
