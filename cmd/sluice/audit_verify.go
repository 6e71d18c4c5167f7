package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/host/audit"
	"github.com/sluicehq/sluice/host/audit/verify"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/toolchain"
)

// maxAuditFile bounds a checkpoint's or a key's file.
const maxAuditFile = 64 << 10

func (a *auditor) verifyCommand() *cobra.Command {
	var keys, checkpoints []string
	var proof string
	c := &cobra.Command{
		Use: "verify [DIR]", Short: "Check that nothing in the log was changed, removed, added or put elsewhere", Args: cobra.MaximumNArgs(1),
		Long: `Verify reads the store's log, or a folder that export --proofs wrote, and names the first thing that is
wrong; it exits with 1 then. Of the own store, the keys of this host count where no --key is given; of a
folder without a --key, those that it came with, which shows no more than that it was not damaged since.
A host that has its key can sign any history: only a checkpoint that was kept elsewhere shows that it is
still the same.`,
		Example: "  sluice audit verify --checkpoint kept.txt\n  sluice audit verify ./published --key KEY\n  sluice audit verify --proof proof.json --key key.txt",
		RunE: func(c *cobra.Command, args []string) error {
			opts, err := verifyOptions(keys, checkpoints)
			switch {
			case err != nil:
				return err
			case proof != "" && len(args) == 0:
				return a.verifyProofs(proof, opts.Keys)
			case proof != "":
				return fmt.Errorf("%w: give a folder or a proof", errUsage)
			case len(args) == 1:
				report, err := verify.Folder(os.DirFS(args[0]), opts)
				return errors.Join(err, a.tellReport(report, err))
			}
			return a.onLog(c.Context(), func(q *audit.Sequencer) error { return a.verifyStore(c.Context(), q, opts) })
		},
	}
	c.Flags().StringSliceVar(&keys, "key", nil, "a public key that you trust, or its file")
	c.Flags().StringSliceVar(&checkpoints, "checkpoint", nil, "file of a checkpoint that you have kept")
	c.Flags().StringVar(&proof, "proof", "", "file that prove wrote, to be checked in the place of a log")
	return c
}

// verifyOptions reads what the flags name.
func verifyOptions(keys, checkpoints []string) (opts verify.Options, err error) {
	for _, key := range keys {
		if !strings.Contains(key, "+") { // a key has two, and a file's name seldom any
			data, err := toolchain.ReadBounded(key, maxAuditFile)
			if err != nil {
				return opts, err
			}
			opts.Keys = append(opts.Keys, strings.Fields(string(data))...)
			continue
		}
		opts.Keys = append(opts.Keys, strings.Fields(key)...)
	}
	if len(keys) > 0 && len(opts.Keys) == 0 {
		return opts, fmt.Errorf("%w: --key names no key", errUsage)
	}
	for _, path := range checkpoints {
		data, err := toolchain.ReadBounded(path, maxAuditFile)
		if err != nil {
			return opts, err
		}
		opts.Checkpoints = append(opts.Checkpoints, data)
	}
	return opts, nil
}

// verifyStore publishes the store's log into a folder that is removed again: the
// verifier sees what everybody else would. An erasure that took place meanwhile
// looks like a loss until its record is sealed, so that such a finding must stand
// a second time.
func (a *auditor) verifyStore(ctx context.Context, q *audit.Sequencer, opts verify.Options) (err error) {
	if len(opts.Keys) == 0 {
		if opts.Keys, err = q.Keys.Publics(); err != nil {
			return err
		}
	}
	report, err := a.verifyOnce(ctx, q, opts)
	if err == nil && report.Finding != nil && report.Finding.Pending {
		report, err = a.verifyOnce(ctx, q, opts)
	}
	return errors.Join(err, a.tellReport(report, err))
}

func (a *auditor) verifyOnce(ctx context.Context, q *audit.Sequencer, opts verify.Options) (report verify.Report, err error) {
	if _, err := q.Seal(ctx, a.tenant); err != nil {
		fmt.Fprintf(a.stderr, "sluice: what is not sealed yet stays so: %v\n", err)
	}
	// In the home, which is this user's own: what is published is not masked.
	if err := os.MkdirAll(a.home, 0o700); err != nil {
		return report, err
	}
	dir, err := os.MkdirTemp(a.home, "audit-verify-")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if _, err := q.Publish(ctx, a.tenant, filepath.Join(dir, "log")); err != nil {
		return report, err
	}
	return verify.Folder(os.DirFS(filepath.Join(dir, "log")), opts)
}

func (a *auditor) tellReport(r verify.Report, failed error) error {
	if failed != nil {
		return nil // the failure is told
	}
	if a.json {
		a.print(r)
	} else {
		fmt.Fprint(a.stdout, speakIn(a.locale).report(r))
	}
	if r.Finding != nil {
		return errRefused
	}
	return nil
}

func (a *auditor) verifyProofs(path string, keys []string) error {
	data, err := toolchain.ReadBounded(path, verify.MaxProofBytes)
	if err != nil {
		return err
	}
	say := speakIn(a.locale)
	shown := 0
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		report, err := verify.Proof(line, keys)
		if err != nil {
			if a.json {
				a.print(map[string]any{"wrong": err.Error()})
			} else {
				fmt.Fprint(a.stdout, say.pick("WRONG: %s\n", "不通过：%s\n", plain(err.Error())))
			}
			return errRefused
		}
		if shown++; a.json {
			a.print(report)
		} else {
			fmt.Fprint(a.stdout, say.proof(report))
		}
	}
	if shown == 0 {
		return fmt.Errorf("%s has no proof", path)
	}
	return nil
}

func (a *auditor) exportCommand() *cobra.Command {
	var filter state.RecordFilter
	var proofs, out string
	c := &cobra.Command{
		Use: "export", Short: "Write the calls as JSON lines for training, or the log for others to verify", Args: cobra.NoArgs,
		Long: `Export writes one line for each call: arguments, verdict, outcome and cost, with names of users and sessions
that hold in this export alone. What a skill's schemas mark with x-sensitive: true is masked, and so is what
they do not describe, and all of a call whose release is not in the registry. With --proofs it writes the
whole log, unmasked, as audit verify reads it.`,
		Example: "  sluice audit export --registry ./registry.git --out calls.jsonl\n  sluice audit export --proofs ./published",
		RunE: func(c *cobra.Command, _ []string) error {
			if proofs != "" {
				return a.onLog(c.Context(), func(q *audit.Sequencer) error { return a.exportProofs(c.Context(), q, proofs) })
			}
			return a.withHome(c.Context(), func(h *hall) error {
				return a.writeTo(out, func(w io.Writer) error {
					n, err := a.sequencer(h.store).Training(c.Context(), filter, a.tenant, schemasOf(h.releases), w)
					fmt.Fprintf(a.stderr, "%d calls were written\n", n)
					return err
				})
			})
		},
	}
	f := c.Flags()
	f.StringVar((*string)(&filter.Session.User), "user", "", "only this user's")
	f.StringVar((*string)(&filter.Session.Session), "session", "", "only this session's")
	f.Int64Var(&filter.AfterSeq, "after", 0, "only what follows on this number")
	f.StringVar(&proofs, "proofs", "", "folder to write the log to; it must not be there yet")
	f.StringVar(&out, "out", "", "file to write (default: standard output)")
	return c
}

func (a *auditor) exportProofs(ctx context.Context, q *audit.Sequencer, dir string) error {
	if _, err := q.Seal(ctx, a.tenant); err != nil {
		return err
	}
	n, err := q.Publish(ctx, a.tenant, dir)
	if err == nil {
		fmt.Fprintf(a.stderr, "%d entries were written to %s, with all that they hold\n", n, dir)
	}
	return err
}

// schemasOf finds a tool's schemas in its release.
func schemasOf(releases *release.Set) audit.Schemas {
	return func(ctx context.Context, name, tool string) (input, output json.RawMessage, ok bool) {
		r, err := releases.Release(ctx, name)
		if err != nil {
			return nil, nil, false
		}
		t := r.Skill.Tool(tool)
		if t == nil {
			return nil, nil, false
		}
		return json.RawMessage(t.Input), json.RawMessage(t.Output), true
	}
}
