package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/toolchain"
	"github.com/sluicehq/sluice/precheck"
)

// throughExamples is the last of precheck's rules that a test runs.
const throughExamples = "examples"

func (p *program) skillTestCommand() *cobra.Command {
	return &cobra.Command{
		Use: "test DIR", Short: "Run a skill's own tests, and its examples through the gate and the sandbox", Args: cobra.ExactArgs(1),
		Long: `Runs the tests that the skill in DIR has in Go, natively. Then it builds the skill in a
folder of its own and runs every example as a host would; precheck runs the same, and more.`,
		Example: "  sluice skill test .",
		RunE: func(c *cobra.Command, args []string) error {
			return p.withHall(c.Context(), func(h *hall) error { return p.testSkill(c.Context(), h, args[0]) })
		},
	}
}

func (p *program) testSkill(ctx context.Context, h *hall, dir string) error {
	source, err := toolchain.HasSource(dir)
	if err != nil {
		return err
	}
	if source {
		if _, err := toolchain.Test(ctx, dir, p.stderr); err != nil {
			return err
		}
	}
	return p.tryExamples(ctx, h, dir)
}

// tryExamples judges a skill by precheck's rules up to its examples.
func (p *program) tryExamples(ctx context.Context, h *hall, dir string) error {
	var subject precheck.Subject
	err := p.step("building "+dir, func() (err error) {
		subject, err = precheck.Open(ctx, h.sandbox, dir)
		return err
	})
	if err != nil {
		return err
	}
	subject.Manifest, subject.Invalid, subject.ManifestFile, subject.Source = nil, nil, "", false // what is written there is for precheck to judge
	format := "text"
	if p.json {
		format = "json"
	}
	report, err := precheck.NewReport(format, p.stdout)
	if err != nil {
		return err
	}
	var lost error
	verdict, err := precheck.Check(ctx, precheck.Config{Sandbox: h.sandbox, Now: time.Now, Through: throughExamples}, subject, func(m precheck.Message) {
		lost = errors.Join(lost, report.Tell(m))
	})
	if err := errors.Join(err, lost, report.Close()); err != nil {
		return err
	}
	if !verdict.Passes() {
		return errRefused
	}
	return nil
}

// watchEvery is how often a folder is looked at: sooner than somebody looks up from
// the editor, and too seldom to be noticed by the machine.
const watchEvery = 300 * time.Millisecond

// watchedFiles bounds the files of a skill that is watched.
const watchedFiles = 10_000

func (p *program) skillWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "watch DIR", Short: "Rebuild a skill and run its examples after every change", Args: cobra.ExactArgs(1),
		Long: `Builds the skill in DIR and runs its examples, as sluice skill test does without the native
tests, now and whenever a file of it is saved. Ctrl-C ends it.`,
		Example: "  sluice skill watch .",
		RunE: func(c *cobra.Command, args []string) error {
			return p.withHall(c.Context(), func(h *hall) error { return p.watchSkill(c.Context(), h, args[0]) })
		},
	}
}

func (p *program) watchSkill(ctx context.Context, h *hall, dir string) error {
	seen, err := stamps(dir)
	if err != nil {
		return err
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if err := p.tryExamples(ctx, h, dir); err != nil && !errors.Is(err, errRefused) && ctx.Err() == nil {
			p.tell(err)
		}
		for changed := []string(nil); len(changed) == 0; {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-tick.C:
			}
			now, err := stamps(dir)
			if err != nil {
				return err
			}
			if changed = differing(seen, now); len(changed) > 0 {
				fmt.Fprintf(p.stdout, "\nchanged: %s\n", strings.Join(changed, ", "))
			}
			seen = now
		}
	}
}

// stamps gives the time and the size of each file of a skill, by its path. What a
// build writes, and what begins with a dot, is none.
func stamps(dir string) (map[string]string, error) {
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != dir: // saved by another name, between two looks
			return nil
		case err != nil:
			return err
		case path != dir && ignored(d):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(found) == watchedFiles {
			return host.Fail("skill.watch", abi.NewProblem(abi.InputLimit, "%s has more than %d files", dir, watchedFiles).WithHint("give the folder of one skill"), nil)
		}
		relative, err := filepath.Rel(dir, path)
		found[relative] = fmt.Sprint(info.ModTime().UnixNano(), info.Size())
		return err
	})
	return found, err
}

func ignored(d fs.DirEntry) bool {
	name := d.Name()
	return strings.HasPrefix(name, ".") || d.IsDir() && (name == "node_modules" || name == "target") ||
		slices.Contains([]string{toolchain.ModuleFile, toolchain.ManifestFile, "Cargo.lock", "go.sum"}, name)
}

// differing names what was added, changed or taken away.
func differing(before, after map[string]string) (changed []string) {
	for path := range maps.Keys(before) {
		if after[path] != before[path] {
			changed = append(changed, path)
		}
	}
	for path := range maps.Keys(after) {
		if before[path] == "" {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	return changed
}
