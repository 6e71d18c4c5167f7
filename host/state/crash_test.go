package state

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/host"
)

// buildCrash builds the program that is killed. It is a plain build also where
// the test is not.
func buildCrash(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "crash")
	out, err := exec.Command("go", "build", "-o", program, "./testdata/crash").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// runCrash runs the program, kills it after so many confirmed calls if that is
// not 0, and gives the calls that were confirmed.
func runCrash(t *testing.T, program, store, name string, calls, killAfter int) (confirmed []string) {
	cmd := exec.Command(program, store, name, "6", strconv.Itoa(calls))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() { // to the end: what was printed before the kill is confirmed too
		if call, ok := strings.CutPrefix(lines.Text(), "done "); ok {
			confirmed = append(confirmed, call)
		}
		if len(confirmed) == killAfter {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil && killAfter == 0 {
		t.Error(err)
	}
	return confirmed
}

func TestAKilledProcessLeavesEveryCallWhollyThereOrNotAtAll(t *testing.T) {
	program := buildCrash(t)
	onBoth(t, func(t *testing.T, d database) {
		path := d.fresh(t)
		rng := rand.New(rand.NewPCG(7, 7))
		confirmed := map[string]bool{}
		for round := range 12 {
			for _, call := range runCrash(t, program, path, fmt.Sprint("r", round), 10_000, 1+rng.IntN(150)) {
				confirmed[call] = true
			}
			s, err := Open(t.Context(), path, Options{})
			must(t, err)
			checkWhole(t, s, confirmed)
			must(t, s.Close())
			if t.Failed() {
				t.Fatalf("after kill %d", round+1)
			}
		}
	})
}

func TestTwoProcessesOnOneFileLoseNothing(t *testing.T) {
	program := buildCrash(t)
	onBoth(t, func(t *testing.T, d database) {
		path := d.fresh(t)
		confirmed := map[string]bool{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for p := range 2 {
			wg.Go(func() {
				calls := runCrash(t, program, path, fmt.Sprint("p", p), 25, 0)
				mu.Lock()
				defer mu.Unlock()
				for _, call := range calls {
					confirmed[call] = true
				}
			})
		}
		wg.Wait()
		if len(confirmed) != 2*6*25 {
			t.Errorf("%d of %d calls were confirmed", len(confirmed), 2*6*25)
		}
		checkWhole(t, openAt(t, path, Options{}), confirmed)
	})
}

// A trace is what a call left in one part of the store.
type trace struct{ intent, outcome, claimed, done, kv, state int }

// checkWhole looks through all parts of the store, each with a statement of
// its own, and fails unless every call is whole: only begun, or done in every
// part, and done if it was confirmed.
func checkWhole(t *testing.T, s *Store, confirmed map[string]bool) {
	t.Helper()
	traces := map[string]*trace{}
	read := func(count func(tr *trace) *int, query string) {
		t.Helper()
		rows, err := s.reads.Query(query)
		must(t, err)
		defer rows.Close()
		for rows.Next() {
			var call, outcome string
			must(t, rows.Scan(&call, &outcome))
			if outcome != "" && outcome != strconv.Quote(call) {
				t.Errorf("call %s has outcome %s", call, outcome)
			}
			if traces[call] == nil {
				traces[call] = &trace{}
			}
			*count(traces[call])++
		}
		must(t, rows.Err())
	}
	read(func(tr *trace) *int { return &tr.intent }, "SELECT call_id, '' FROM audit_record WHERE kind = 'intent'")
	read(func(tr *trace) *int { return &tr.outcome }, "SELECT call_id, '' FROM audit_record WHERE kind = 'outcome'")
	read(func(tr *trace) *int { return &tr.claimed }, "SELECT call_id, '' FROM agent_claim")
	read(func(tr *trace) *int { return &tr.done }, "SELECT call_id, outcome FROM agent_claim WHERE done = 1")
	read(func(tr *trace) *int { return &tr.kv }, "SELECT SUBSTR(kv_key, 6), '' FROM kv WHERE kv_key LIKE 'call/%'")
	read(func(tr *trace) *int { return &tr.state }, "SELECT session_id, '' FROM agent_session WHERE state_key = 'last' AND version = 1")

	begun, done := trace{intent: 1, claimed: 1}, trace{1, 1, 1, 1, 1, 1}
	count := 0
	for call, tr := range traces {
		if *tr == done {
			count++
		}
		if *tr != done && (*tr != begun || confirmed[call]) {
			t.Errorf("call %s (confirmed: %v) left %+v", call, confirmed[call], *tr)
		}
	}
	for call := range confirmed {
		if traces[call] == nil {
			t.Errorf("call %s was confirmed and left nothing", call)
		}
	}
	// A kill may come before anything was done.
	if counter := cmp.Or(contents(t, s.View("shop", "n"))["counter"], "0"); counter != strconv.Itoa(count) {
		t.Errorf("%d calls are done and %s were counted", count, counter)
	}
	if !s.dialect.rowLocks {
		var verdict string
		must(t, s.reads.QueryRow("PRAGMA integrity_check").Scan(&verdict))
		if verdict != "ok" {
			t.Errorf("integrity_check: %s", verdict)
		}
	}
	if records, err := s.Records(t.Context(), "shop", RecordFilter{Kinds: []host.RecordKind{host.RecordIntent}}); err != nil || len(records) == 0 && len(traces) > 0 {
		t.Errorf("%d intents are read, %v", len(records), err)
	}
}
