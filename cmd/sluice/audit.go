package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/audit"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/toolchain"
)

// An auditor is one run of the command: whose log, and in which language people
// are spoken to.
type auditor struct {
	*program
	tenant host.TenantID
	locale string
}

func (p *program) auditCommand() *cobra.Command {
	a := &auditor{program: p}
	c := &cobra.Command{
		Use: "audit", Short: "See what was done, prove it, and check that nothing was changed",
		Long: `Every call leaves records in the store, in the transaction of what it did. While a host serves, they are
sealed soon after, as a rule within a second; sluice jobs tells how far it is behind. Sealed is hashed into
a tree of which only the host can sign the root. Whoever keeps a checkpoint elsewhere can show later that no record was changed, removed, added or put elsewhere.`,
		Example: `  sluice audit list --since 24h --kind refusal
  sluice audit show call_0006…
  sluice audit checkpoint > kept.txt
  sluice audit verify --checkpoint kept.txt
  sluice audit export --proofs ./published && sluice audit verify ./published --key "$(sluice audit key)"`,
	}
	flags := c.PersistentFlags()
	flags.StringVar((*string)(&a.tenant), "tenant", "local", "the tenant")
	flags.StringVar(&a.locale, "locale", "", "language of what is printed, such as en or zh-CN")
	c.AddCommand(a.listCommand(), a.showCommand(), a.verifyCommand(), a.proveCommand(), a.checkpointCommand(), a.keyCommand(),
		a.exportCommand(), a.eraseCommand(), a.rotateCommand(), p.auditReplayCommand(), p.auditRateCommand())
	return c
}

// onLog runs work on the store alone.
func (a *auditor) onLog(ctx context.Context, work func(*audit.Sequencer) error) error {
	store, err := state.Open(ctx, cmp.Or(a.store, storeIn(a.home)), state.Options{})
	if err != nil {
		return err
	}
	return errors.Join(work(a.sequencer(store)), store.Close())
}

// A selection says which records are wanted; the store knows some of it.
type selection struct {
	state.RecordFilter
	kinds []string
	tool  string
	since time.Duration
	limit int
}

func (s *selection) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar((*string)(&s.Session.User), "user", "", "only this user's")
	f.StringVar((*string)(&s.Session.Session), "session", "", "only this session's")
	f.StringVar((*string)(&s.Call), "call", "", "only this call's")
	f.StringSliceVar(&s.kinds, "kind", nil, "only of these kinds, such as intent, outcome, refusal, question")
	f.StringVar(&s.tool, "tool", "", "only of this tool")
	f.DurationVar(&s.since, "since", 0, "only of so long ago and later, such as 24h")
	f.Int64Var(&s.AfterSeq, "after", 0, "only those that follow on this number")
	f.IntVar(&s.limit, "limit", 0, "the newest so many of them (default: all)")
}

// each gives the records that are wanted, in their order.
func (s *selection) each(ctx context.Context, store *state.Store, tenant host.TenantID, take func(host.Record) error) error {
	filter := s.RecordFilter
	for _, kind := range s.kinds {
		filter.Kinds = append(filter.Kinds, host.RecordKind(kind))
	}
	if filter.Call == "" {
		upTo, err := store.SettledSeq(ctx, tenant)
		if err != nil || upTo == 0 {
			return err
		}
		filter.UpToSeq = upTo
	}
	from := time.Time{}
	if s.since > 0 {
		from = time.Now().Add(-s.since)
	}
	if !from.IsZero() && filter.Call == "" {
		after, err := seqBefore(ctx, store, tenant, filter, from)
		if err != nil {
			return err
		}
		filter.AfterSeq = after
	}
	if s.limit <= 0 {
		return s.walk(ctx, store, tenant, filter, from, take)
	}
	newest, err := s.newest(ctx, store, tenant, filter, from)
	for i := 0; err == nil && i < len(newest); i++ {
		err = take(newest[i])
	}
	return err
}

func (s *selection) walk(ctx context.Context, store *state.Store, tenant host.TenantID, filter state.RecordFilter, from time.Time, take func(host.Record) error) error {
	for {
		page, err := store.Records(ctx, tenant, filter)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			if s.tool != "" && r.Tool != s.tool || r.Time.Before(from) {
				continue
			}
			if err := take(r); err != nil {
				return err
			}
		}
		filter.AfterSeq = page[len(page)-1].Seq
	}
}

// firstSpan is how many seqs at the end of the log are looked at first; then it is
// twice as many before them, and so on, since other tenants have seqs in between.
const firstSpan = 2000

// newest gives the last records of a walk, and reads from the end what that takes.
func (s *selection) newest(ctx context.Context, store *state.Store, tenant host.TenantID, filter state.RecordFilter, from time.Time) (found []host.Record, err error) {
	after, span := filter.AfterSeq, int64(firstSpan)
	if filter.UpToSeq == 0 { // a call's, which are few
		filter.UpToSeq, span = math.MaxInt64, math.MaxInt64
	}
	for len(found) < s.limit && filter.UpToSeq > after && err == nil {
		filter.AfterSeq = max(after, filter.UpToSeq-span)
		var part []host.Record
		err = s.walk(ctx, store, tenant, filter, from, func(r host.Record) error {
			if part = append(part, r); len(part) > s.limit {
				part = part[1:]
			}
			return nil
		})
		found = append(part, found...)
		filter.UpToSeq, span = filter.AfterSeq, 2*min(span, math.MaxInt64/2)
	}
	return found[max(0, len(found)-s.limit):], err
}

// timeSlack is how far the times of records may be out of their order: the store's
// clock may have been put back.
const timeSlack = time.Hour

// seqBefore gives a seq before all records since a time, and not long before.
func seqBefore(ctx context.Context, store *state.Store, tenant host.TenantID, filter state.RecordFilter, from time.Time) (int64, error) {
	for span := int64(firstSpan); filter.UpToSeq-span > filter.AfterSeq; span *= 2 {
		at, found, err := store.FirstRecordAfter(ctx, tenant, filter.UpToSeq-span)
		if err != nil {
			return 0, err
		}
		if found && at.Before(from.Add(-timeSlack)) {
			return filter.UpToSeq - span, nil
		}
	}
	return filter.AfterSeq, nil
}

func (a *auditor) listCommand() *cobra.Command {
	var s selection
	c := &cobra.Command{
		Use: "list", Short: "List the tenant's records, the oldest first", Args: cobra.NoArgs,
		Example: "  sluice audit list --limit 50\n  sluice audit list --session s1 --kind outcome --json\n  sluice audit list --tenant sluice/host --kind release",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.onLog(c.Context(), func(q *audit.Sequencer) error { return a.list(c.Context(), q, &s) })
		},
	}
	s.register(c)
	return c
}

func (a *auditor) list(ctx context.Context, q *audit.Sequencer, s *selection) error {
	w := newTable(a.stdout, 0)
	say := speakIn(a.locale)
	row := func(r host.Record) error {
		if a.json {
			a.print(r)
			return nil
		}
		_, err := fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Seq, when(r.Time), plain(string(r.Kind)), plain(r.Tool), plain(string(r.Session.Session)), plain(string(r.Call)), say.recordInShort(r))
		return err
	}
	if !a.json {
		fmt.Fprintln(w, "SEQ\tTIME\tKIND\tTOOL\tSESSION\tCALL\t")
	}
	return errors.Join(s.each(ctx, q.Store, a.tenant, row), w.Flush())
}

func (a *auditor) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show CALL", Short: "Show what happened in one call, step by step", Args: cobra.ExactArgs(1),
		Example: "  sluice audit show call_0006…\n  sluice audit show call_0006… --locale zh-CN",
		RunE: func(c *cobra.Command, args []string) error {
			return a.onLog(c.Context(), func(q *audit.Sequencer) error { return a.show(c.Context(), q, host.CallID(args[0])) })
		},
	}
}

func (a *auditor) show(ctx context.Context, q *audit.Sequencer, call host.CallID) error {
	s := selection{RecordFilter: state.RecordFilter{Call: call}}
	say := speakIn(a.locale)
	var first time.Time
	err := s.each(ctx, q.Store, a.tenant, func(r host.Record) error {
		if a.json {
			a.print(r)
		} else {
			if first.IsZero() {
				fmt.Fprint(a.stdout, say.callHead(r))
			}
			fmt.Fprint(a.stdout, say.recordAtLength(r, r.Time.Sub(cmp.Or(first, r.Time))))
		}
		first = cmp.Or(first, r.Time)
		return nil
	})
	if err == nil && first.IsZero() {
		return host.Fail("audit.show", abi.NewProblem(abi.NotFound, "the audit log has no call %s", call).WithHint("sluice audit list names them; an erased call is not found by its id"), nil)
	}
	return err
}

func (a *auditor) checkpointCommand() *cobra.Command {
	return &cobra.Command{
		Use: "checkpoint", Short: "Print the newest signed checkpoint, to be kept elsewhere", Args: cobra.NoArgs,
		Long:    `A checkpoint that is kept where the host cannot change it shows later whether the log was cut or made again.`,
		Example: "  sluice audit checkpoint > kept.txt",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.onLog(c.Context(), func(q *audit.Sequencer) error {
				if _, err := q.Seal(c.Context(), a.tenant); err != nil {
					return err
				}
				signed, err := q.Checkpoint(c.Context(), a.tenant)
				if err == nil && signed == nil {
					err = host.Fail("audit.checkpoint", abi.NewProblem(abi.NotFound, "tenant %s has no audit log yet", a.tenant).WithHint("there is one after its first call"), nil)
				}
				_, wrote := a.stdout.Write(signed)
				return errors.Join(err, wrote)
			})
		},
	}
}

func (a *auditor) keyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "key", Short: "Print the public keys of this host, the newest first", Args: cobra.NoArgs,
		Example: "  sluice audit key",
		RunE: func(*cobra.Command, []string) error {
			q := a.sequencer(nil)
			if _, err := q.Keys.Newest(); err != nil {
				return err
			}
			keys, err := q.Keys.Publics()
			fmt.Fprintln(a.stdout, strings.Join(keys, "\n"))
			return err
		},
	}
}

func (a *auditor) proveCommand() *cobra.Command {
	var since, out string
	c := &cobra.Command{
		Use: "prove SEQ|CALL", Short: "Write a proof that records are in the log, which can be checked anywhere", Args: cobra.MaximumNArgs(1),
		Long: `A proof is one line of JSON for each log that has records of the call: they, their way to the root, and the
signed checkpoint. With --since it proves that the log is a continuation of what it was at that checkpoint.`,
		Example: "  sluice audit prove 42 --out proof.json\n  sluice audit prove --since kept.txt --out growth.json\n  sluice audit verify --proof proof.json --key KEY",
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == (since != "") {
				return fmt.Errorf("%w: name a record or a call, or a checkpoint with --since", errUsage)
			}
			return a.onLog(c.Context(), func(q *audit.Sequencer) error {
				proofs, err := a.proofs(c.Context(), q, append(args, "")[0], since)
				if err != nil {
					return err
				}
				return a.writeTo(out, func(w io.Writer) error {
					for _, p := range proofs {
						if err := json.NewEncoder(w).Encode(p); err != nil {
							return err
						}
					}
					return nil
				})
			})
		},
	}
	c.Flags().StringVar(&since, "since", "", "file of an earlier checkpoint")
	c.Flags().StringVar(&out, "out", "", "file to write (default: standard output)")
	return c
}

func (a *auditor) proofs(ctx context.Context, q *audit.Sequencer, of, since string) ([]audit.Proof, error) {
	if _, err := q.Seal(ctx, a.tenant); err != nil {
		return nil, err
	}
	if since != "" {
		earlier, err := toolchain.ReadBounded(since, maxAuditFile)
		if err != nil {
			return nil, err
		}
		p, err := q.ProveSince(ctx, a.tenant, earlier)
		return []audit.Proof{p}, err
	}
	if seq, err := strconv.ParseInt(of, 10, 64); err == nil {
		return q.Prove(ctx, a.tenant, "", seq)
	}
	return q.Prove(ctx, a.tenant, host.CallID(of), 0)
}

// writeTo writes to a file of this user's own, or to standard output. A file that
// is there keeps what it has until all is written, and then has mode 0600 too.
func (p *program) writeTo(path string, write func(io.Writer) error) error {
	if path == "" {
		return write(p.stdout)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // such as a pipe
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	if file, err := filepath.EvalSymlinks(path); err == nil {
		path = file
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".sluice-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func erasureFlags(c *cobra.Command, by, why *string) {
	c.Flags().StringVar(by, "by", "", "who wants the erasure; it is on record")
	c.Flags().StringVar(why, "why", "", "why; it is on record")
}

func (a *auditor) eraseCommand() *cobra.Command {
	var yes bool
	var req audit.EraseRequest
	c := &cobra.Command{
		Use: "erase", Short: "Remove the payload of a user's records; the proof that they were there stays", Args: cobra.NoArgs,
		Long: `Erase removes from records who it was and what was said and done, and the salt without which nobody can
find out from the digest what it was. That there was a record, when, of which kind and of which release
stays, and who had it erased is a record too. Use session purge --erase to remove the session with it.`,
		Example: "  sluice audit erase --user mia --by privacy@shop.example --why 'request 17' --yes",
		RunE: func(c *cobra.Command, _ []string) error {
			if !yes || req.By == "" || req.Of.User == "" {
				return fmt.Errorf("%w: an erasure cannot be taken back and is on record; name --user and --by, and say --yes", errUsage)
			}
			req.Of.Tenant = a.tenant
			return a.onLog(c.Context(), func(q *audit.Sequencer) error {
				n, err := q.Erase(c.Context(), req)
				fmt.Fprintf(a.stderr, "%d records were erased\n", n)
				return err
			})
		},
	}
	c.Flags().StringVar((*string)(&req.Of.User), "user", "", "whose records")
	c.Flags().StringVar((*string)(&req.Of.Session), "session", "", "only those of this session")
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	erasureFlags(c, &req.By, &req.Why)
	return c
}

func (a *auditor) rotateCommand() *cobra.Command {
	var newKey bool
	c := &cobra.Command{
		Use: "rotate", Short: "Close the tenant's log and begin the next one", Args: cobra.NoArgs,
		Long: `The old log's last entry names the new one and its key, and the new one's first entry the old one's last
checkpoint; verify follows them. With --new-key a new key is put in front of the key file first: hosts that
do not share the file need the new one before they can seal again.`,
		Example: "  sluice audit rotate --new-key",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.onLog(c.Context(), func(q *audit.Sequencer) error {
				rotate := q.Rotate
				if newKey {
					rotate = q.RotateToNewKey
				}
				log, err := rotate(c.Context(), a.tenant)
				if err == nil {
					fmt.Fprintf(a.stderr, "log %d of %s has begun, signed with %s\n", log.No, a.tenant, log.Key)
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&newKey, "new-key", false, "sign the next log with a new key")
	return c
}
