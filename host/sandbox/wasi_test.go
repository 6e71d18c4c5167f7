package sandbox_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
)

func TestAGuestSeesNothingOfTheHost(t *testing.T) {
	t.Setenv("SLUICE_SECRET", "do not tell")
	got := run(t, probe(t, abi.Limits{}), sandbox.Request{Export: "world"})
	want := `{"args":[],"create":true,"env":[],"file":true,"root":true,"stdin":"","stdin_error":"\u003cnil\u003e"}`
	if got != want {
		t.Errorf("the guest sees %s, want %s", got, want)
	}
}

func TestTheClockStandsAndSleepMovesIt(t *testing.T) {
	m := probe(t, abi.Limits{})
	now := time.Date(2026, 11, 30, 8, 15, 0, 123_000_000, time.UTC)
	for input, slept := range map[string]time.Duration{"0s": 0, "1ms": time.Millisecond, "1h": time.Hour, "87600h": 87600 * time.Hour} {
		start, end, elapsed := times(t, m, sandbox.Request{Input: []byte(input), Now: now})
		if !start.Equal(now) || !end.Equal(now.Add(slept)) || elapsed != slept {
			t.Errorf("sleeping %s went from %v to %v in %v", input, start, end, elapsed)
		}
	}
	if start, _, _ := times(t, m, sandbox.Request{Input: []byte("1s")}); !start.Equal(time.Unix(0, 0)) {
		t.Errorf("without a time the clock stands at %v, want 1970", start)
	}
}

func TestTheClockRunsWhereItIsGranted(t *testing.T) {
	m := probe(t, abi.Limits{})
	before := time.Now()
	start, end, elapsed := times(t, m, sandbox.Request{Input: []byte("20ms"), Now: time.Unix(0, 0), Clock: true})
	after := time.Now()
	if start.Before(before) || end.After(after) || elapsed < 20*time.Millisecond || end.Sub(start) < 20*time.Millisecond {
		t.Errorf("the guest's clock went from %v to %v, %v apart; the host's from %v to %v", start, end, elapsed, before, after)
	}
}

func times(t *testing.T, m *sandbox.Module, req sandbox.Request) (start, end time.Time, elapsed time.Duration) {
	t.Helper()
	req.Export = "times"
	if err := json.Unmarshal([]byte(run(t, m, req)), &[]any{&start, &end, &elapsed}); err != nil {
		t.Fatal(err)
	}
	return start, end, elapsed
}

// A sleep by WASI itself, with a time-out beyond every deadline, on a clock and
// on standard input.
func TestWaitingDoesNotOutliveTheDeadline(t *testing.T) {
	for name, kind := range map[string]byte{"a clock": 0, "standard input": 1} {
		for _, clock := range []bool{false, true} {
			m := newModule()
			poll := m.imported("wasi_snapshot_preview1", "poll_oneoff", []byte{i32t, i32t, i32t, i32t}, []byte{i32t})
			m.data = make([]byte, 48)
			m.data[8] = kind
			m.data[16+13] = 0x7f // of a clock: some years
			wait := [][]byte{i32c(0), i32c(1000), i32c(1), i32c(2000), callf(poll), drop}
			body := append([][]byte{loop(append(wait, branch(0))...)}, i32c(0))
			if kind == 1 {
				body = append(wait, loopForever, i32c(0)) // an empty standard input is ready at once
			}
			m.export("run", body...)
			t.Log(name, clock) // a failure here is a test that never ends
			res := load(t, m, abi.Limits{}).Call(context.Background(), sandbox.Request{Export: "run", Deadline: 50 * time.Millisecond, Clock: clock})
			wantProblem(t, res, abi.Deadline)
		}
	}
}

func TestRandomIsSeeded(t *testing.T) {
	m := probe(t, abi.Limits{})
	randoms := func(req sandbox.Request) string { req.Export = "randoms"; return run(t, m, req) }
	zero := randoms(sandbox.Request{})
	if again := randoms(sandbox.Request{Now: time.Now()}); again != zero {
		t.Errorf("the same seed gave %s and %s", zero, again)
	}
	// ChaCha8 with this seed, so that a recorded call replays for ever.
	if want := `["d9877ece6d368aac1a6f419ec627c76b",`; zero[:len(want)] != want {
		t.Errorf("the seed of zeros gave %s, want it to begin %s", zero, want)
	}
	if other := randoms(sandbox.Request{Seed: [32]byte{1}}); other == zero {
		t.Error("another seed gave the same")
	}
	if a, b := randoms(sandbox.Request{Random: true}), randoms(sandbox.Request{Random: true}); a == b || a == zero {
		t.Errorf("granted random gave %s and %s", a, b)
	}
}
