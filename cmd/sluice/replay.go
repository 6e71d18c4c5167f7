package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/eval"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/registry"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

const replayBase = host.TenantID("airline")

func (p *program) replayCommand() *cobra.Command {
	var source string
	var workers int
	c := &cobra.Command{
		Use: "replay DIR", Short: "Play the recorded airline conversations through the host and compare every result", Args: cobra.ExactArgs(1),
		Long: `Replay publishes the airline skill to a git registry of its own, loads it from there, imports the
data base of DIR into the skill's kv, and plays every recorded conversation and every task's gold actions
on a copy-on-write view of its own. It fails unless all results and all final states equal the recorded ones.`,
		Example: "  sluice replay ../shared/data/tau-airline\n  sluice replay ../shared/data/tau-airline --json",
		RunE: func(c *cobra.Command, args []string) error {
			folder, err := os.MkdirTemp("", "sluice-replay-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(folder)
			return p.replay(c.Context(), folder, source, args[0], workers)
		},
	}
	c.Flags().StringVar(&source, "skill", "skills/airline", "source folder of the airline skill")
	c.Flags().IntVar(&workers, "workers", 2, "cases at once")
	return c
}

func (p *program) replay(ctx context.Context, folder, source, data string, workers int) error {
	start := time.Now()
	cases, err := recordedCases(data)
	if err != nil {
		return err
	}
	repository := filepath.Join(folder, "registry.git")
	h, err := p.open(ctx, folder, repository)
	if err != nil {
		return err
	}
	defer h.close(ctx)
	if err := p.publishFrom(ctx, h, repository, source); err != nil {
		return err
	}
	if err := p.loadAll(ctx, h); err != nil {
		return err
	}
	// What was recorded had no gate: whoever was asked said yes, and circles
	// were gone round to their end.
	h.dispatch.Breaker = dispatch.BreakerReports
	h.dispatch.Approver = func(context.Context, dispatch.Question) bool { return true }
	namespace := h.releases.Current()[0].Skill.Capabilities.KV.Namespace
	err = p.step("importing the data base", func() error {
		entries, err := airdb.Entries(os.DirFS(data))
		if err != nil {
			return err
		}
		return h.store.Import(ctx, replayBase, namespace, entries)
	})
	if err != nil {
		return err
	}
	cfg := eval.Config{
		Store: h.store, Releases: h.releases, Dispatch: h.dispatch,
		Base: replayBase, Namespace: namespace, Compare: airline{}, Workers: workers,
	}
	var results []eval.Result
	err = p.step(fmt.Sprintf("playing %d cases", len(cases)), func() (err error) {
		results, err = eval.Run(ctx, cfg, cases, p.progressOf(len(cases)))
		return err
	})
	if err != nil {
		return err
	}
	return p.tellReplay(results, time.Since(start))
}

// publishFrom builds skills from source and publishes them to a registry.
func (p *program) publishFrom(ctx context.Context, h *hall, repository string, sources ...string) error {
	for _, source := range sources {
		out, err := os.MkdirTemp("", "sluice-build-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(out)
		if _, err := p.buildSkill(ctx, h.sandbox, source, out); err != nil {
			return err
		}
		if _, err := registry.Publish(ctx, repository, out, registry.PublishOptions{Create: true}); err != nil {
			return err
		}
	}
	return nil
}

// progressOf says every few seconds how far a replay is.
func (p *program) progressOf(total int) func(eval.Result) {
	done, last := 0, time.Now()
	return func(eval.Result) {
		done++
		if time.Since(last) > 2*time.Second {
			last = time.Now()
			fmt.Fprintf(p.stderr, "… %d of %d\n", done, total)
		}
	}
}

// airline compares with the recorded form of the airline's data.
type airline struct{}

var _ eval.Comparer = airline{}

// SameResult compares an outcome with a recorded tool result.
func (airline) SameResult(recorded string, o host.Outcome) error {
	return airdb.SameResult(recorded, o.Data, o.Problem)
}

// SameFinal compares the changed entries with recorded final_changes.
func (airline) SameFinal(recorded json.RawMessage, changes []state.KVChange, original func(string) ([]byte, bool)) error {
	list := make([]airdb.Change, len(changes))
	for i, c := range changes {
		list[i] = airdb.Change{Key: c.Key, Value: c.Value, Deleted: c.Deleted}
	}
	return airdb.SameFinal(recorded, list, original)
}

// recordedCases reads the conversations and the gold actions of a data folder.
func recordedCases(data string) ([]eval.Case, error) {
	f, err := os.Open(filepath.Join(data, "runs.jsonl"))
	if err != nil {
		return nil, host.Fail("replay", abi.NewProblem(abi.NotFound, "%s holds no recorded conversations", data).
			WithHint("give the folder with runs.jsonl, tasks.jsonl and the data base"), err)
	}
	defer f.Close()
	runs, err := model.ParseRuns(f)
	if err != nil {
		return nil, fmt.Errorf("runs.jsonl: %w", err)
	}
	var cases []eval.Case
	for _, r := range runs {
		cases = append(cases, eval.Case{Name: fmt.Sprintf("run-%02d-%d", r.TaskID, r.Trial), Messages: r.Messages, Final: r.FinalChanges})
	}
	tasks, err := os.Open(filepath.Join(data, "tasks.jsonl"))
	if err != nil {
		return nil, err
	}
	defer tasks.Close()
	for d := json.NewDecoder(tasks); d.More(); {
		var t goldTask
		if err := d.Decode(&t); err != nil {
			return nil, fmt.Errorf("tasks.jsonl: %w", err)
		}
		cases = append(cases, t.asCase())
	}
	return cases, nil
}

// A goldTask is one line of tasks.jsonl, as far as a replay needs it.
type goldTask struct {
	TaskID  int `json:"task_id"`
	Actions []struct {
		Name   string          `json:"name"`
		Args   json.RawMessage `json:"args"`
		Result string          `json:"result"`
	} `json:"actions"`
	FinalChanges json.RawMessage `json:"final_changes"`
}

func (t goldTask) asCase() eval.Case {
	c := eval.Case{Name: fmt.Sprintf("gold-%02d", t.TaskID), Actions: []eval.Action{}, Final: t.FinalChanges}
	for _, a := range t.Actions {
		c.Actions = append(c.Actions, eval.Action{Tool: a.Name, Args: a.Args, Result: a.Result})
	}
	return c
}

// tellReplay prints the table and fails if anything differs.
func (p *program) tellReplay(results []eval.Result, elapsed time.Duration) error {
	runs, gold := sums{name: "recorded conversations"}, sums{name: "gold actions"}
	for _, r := range results {
		if len(r.Name) > 3 && r.Name[:4] == "gold" {
			gold.add(r)
		} else {
			runs.add(r)
		}
	}
	if p.json {
		p.print(map[string]any{"results": results, "seconds": elapsed.Seconds(), "ok": runs.ok() && gold.ok()})
	} else {
		for _, r := range results {
			for _, fault := range r.Faults {
				fmt.Fprintf(p.stdout, "%s: %s\n", r.Name, fault)
			}
		}
		w := newTable(p.stdout, tabwriter.AlignRight)
		fmt.Fprintln(w, "\tcases\tresults equal\tfinal states equal\tproblems as recorded\tin the sandbox\t")
		for _, s := range []sums{runs, gold} {
			fmt.Fprintf(w, "%s\t%d\t%d/%d\t%d/%d\t%d\t%.1f s\t\n", s.name, s.cases, s.same, s.calls, s.final, s.cases, s.problems, s.sandbox.Seconds())
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "%.1f s in all\n", elapsed.Seconds())
	}
	if !runs.ok() || !gold.ok() {
		if !p.json {
			fmt.Fprintln(p.stderr, "sluice: the replay differs from the recording")
		}
		return errRefused
	}
	return nil
}

// sums adds up the results of one kind of case.
type sums struct {
	name                                string
	cases, calls, same, final, problems int
	sandbox                             time.Duration
}

func (s *sums) add(r eval.Result) {
	s.cases++
	s.calls += r.Calls
	s.same += r.Same
	s.problems += r.Problems
	s.sandbox += r.Sandbox
	if r.FinalOK && len(r.Faults) == 0 {
		s.final++
	}
}

func (s *sums) ok() bool { return s.same == s.calls && s.final == s.cases }
