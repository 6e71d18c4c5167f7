//go:build unix

package eval

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/registry"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// TestEveryRecordedAirlineCallReplaysToTheByte: with all host calls on record,
// each call of the recorded conversations runs again with the same bytes and the
// same fuel, and so does each fact that the gate asked for.
func TestEveryRecordedAirlineCallReplaysToTheByte(t *testing.T) {
	ctx := context.Background()
	cfg, cases := airlineConfig(t), recordedRuns(t)
	if raced {
		cases = cases[:4] // two for each worker
	}
	results, err := Run(ctx, cfg, cases, nil)
	if err != nil {
		t.Fatal(err)
	}
	recorded := 0
	for _, r := range results {
		if recorded += r.Calls; !r.OK() {
			t.Fatalf("%s was not as recorded: %v", r.Name, r.Faults)
		}
	}
	began, calls, hostCalls, instructions := time.Now(), 0, 0, int64(0)
	for i, c := range cases {
		ref := host.SessionRef{Tenant: host.TenantID(fmt.Sprintf("%s/%03d", cfg.Base, i)), User: "replay", Session: host.SessionID(c.Name)}
		for _, replayed := range replayAll(t, cfg, ref) {
			if replayed.Verdict != dispatch.ReplaySame {
				t.Errorf("%s: %s of %s is %s: %v", ref.Session, replayed.Tool, replayed.Call, replayed.Verdict, replayed.Finding)
				continue
			}
			run := replayed.Runs[len(replayed.Runs)-1]
			calls, hostCalls, instructions = calls+1, hostCalls+run.HostCalls, instructions+run.Got.Fuel
		}
	}
	t.Logf("%d of %d calls with %d host calls and %d units of fuel replayed in %v", calls, recorded, hostCalls, instructions, time.Since(began).Round(time.Millisecond))
	if calls < recorded || !raced && recorded != 572 {
		t.Errorf("%d calls were replayed, %d are recorded", calls, recorded)
	}
}

// replayAll replays the calls of a session.
func replayAll(t *testing.T, cfg Config, ref host.SessionRef) (all []dispatch.Replayed) {
	t.Helper()
	replayer := cfg.Dispatch.Replayer(cfg.Releases)
	for after := int64(0); ; {
		calls, next, err := cfg.Dispatch.ReplayCalls(t.Context(), ref, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range calls {
			replayed, err := replayer.Replay(t.Context(), ref.Tenant, id)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, replayed)
		}
		if after = next; next == 0 {
			return all
		}
	}
}

// airlineConfig is a host with the airline's skill and data, which records all
// host calls. What was recorded had no gate: whoever is asked says yes, and
// circles are gone round to their end.
func airlineConfig(t *testing.T) Config {
	t.Helper()
	ctx := context.Background()
	data := airlineData(t)
	cfg := newConfig(t)
	wasm := sandboxtest.Build(t, "skills/airline")
	sandboxtest.Load(t, wasm, abi.Limits{})
	skill := sandboxtest.Describe(t, sandboxtest.Shared(t), wasm)
	if _, err := cfg.Releases.Load(ctx, &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(ctx, filepath.Join(t.TempDir(), "blobs"), blob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() })
	cfg.Dispatch.Blobs, cfg.Dispatch.RecordReads, cfg.Dispatch.Breaker = blobs, true, dispatch.BreakerReports
	cfg.Dispatch.Approver = func(context.Context, dispatch.Question) bool { return true }
	entries, err := airdb.Entries(os.DirFS(data))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Base, cfg.Namespace, cfg.Compare = "airline", skill.Capabilities.KV.Namespace, airlineForm{}
	if err := cfg.Store.Import(ctx, cfg.Base, cfg.Namespace, entries); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func recordedRuns(t *testing.T) (cases []Case) {
	t.Helper()
	f, err := os.Open(filepath.Join(airlineData(t), "runs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runs, err := model.ParseRuns(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		cases = append(cases, Case{Name: fmt.Sprintf("run-%02d-%d", r.TaskID, r.Trial), Messages: r.Messages, Final: r.FinalChanges})
	}
	return cases
}
