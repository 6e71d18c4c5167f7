package main

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
)

func (p *program) auditReplayCommand() *cobra.Command {
	r := &replays{program: p, counts: map[dispatch.ReplayVerdict]int{}}
	var all bool
	c := &cobra.Command{
		Use: "replay [CALL...]", Short: "Run recorded calls again, and compare bytes, fuel and host calls",
		Long: `Replay runs the release of a recorded call on the recorded input. What the skill asks the host for is
answered from the recording alone: nothing is read elsewhere, nothing is sent and nothing is written.
It must give the same bytes with the same fuel, and the record must tell what it gave; else replay says
at which host call it parted, or what is not the same.

  same     the same host calls, bytes and fuel
  part     the same as far as it can be compared; what cannot be is said, such as a deadline
  nothing  there is nothing to run: it was refused, or its host calls were not kept
  lost     the release, the recording or the record is gone or damaged
  parted   it is not the same

It fails if a call parted or is lost. Releases come from --registry.`,
		Example: `  sluice audit replay call_5a0c… --registry ./registry.git
  sluice audit replay --session s1 --registry ./registry.git
  sluice audit replay --all --tenant acme --registry ./registry.git --json`,
		RunE: func(c *cobra.Command, args []string) error {
			if chosen := len(args) > 0; chosen == (all || r.ref.Session != "") || all && r.ref.Session != "" {
				return fmt.Errorf("%w: name calls, or a --session, or --all of the tenant", errUsage)
			}
			return p.withHome(c.Context(), func(h *hall) error { return r.run(c.Context(), h, args) })
		},
	}
	ownerFlags(c, &r.ref)
	c.Flags().StringVar((*string)(&r.ref.Session), "session", "", "all calls of this session of the user")
	c.Flags().BoolVar(&all, "all", false, "all calls of the tenant")
	c.Flags().StringVar(&r.locale, "locale", "", "language of what is printed, such as en or zh-CN")
	return c
}

// A replays is one run of the command.
type replays struct {
	*program
	ref    host.SessionRef
	locale string

	replayer *dispatch.Replayer
	counts   map[dispatch.ReplayVerdict]int
	done     map[host.CallID]bool
	failed   int // calls that could not be run to their end
	told     time.Time
}

// run replays the named calls, or all of the session or the tenant.
func (r *replays) run(ctx context.Context, h *hall, calls []string) error {
	r.replayer, r.done, r.told = h.dispatch.Replayer(h.releases), map[host.CallID]bool{}, time.Now()
	for _, call := range calls {
		if err := r.replay(ctx, host.CallID(call), len(calls) == 1); err != nil {
			return err
		}
	}
	if len(calls) == 0 {
		if err := r.replayAll(ctx, h); err != nil {
			return err
		}
	}
	r.tellCounts()
	if r.failed+r.counts[dispatch.ReplayParted]+r.counts[dispatch.ReplayLost] > 0 {
		return errRefused
	}
	return nil
}

func (r *replays) replayAll(ctx context.Context, h *hall) error {
	ref := r.ref
	if ref.Session == "" {
		ref.User = ""
	}
	for after := int64(0); ; {
		calls, next, err := h.dispatch.ReplayCalls(ctx, ref, after)
		if err != nil || next == 0 {
			return err
		}
		for _, call := range calls {
			if err := r.replay(ctx, call, false); err != nil {
				return err
			}
		}
		after = next
	}
}

// replay replays one call. Among several, one that fails does not stop the others.
func (r *replays) replay(ctx context.Context, call host.CallID, alone bool) error {
	if r.done[call] {
		return nil
	}
	r.done[call] = true
	replayed, err := r.replayer.Replay(ctx, r.ref.Tenant, call)
	switch {
	case err != nil && (alone || ctx.Err() != nil):
		return err
	case err != nil:
		r.failed++
		r.tell(fmt.Errorf("%s: %w", call, err))
		return nil
	}
	r.counts[replayed.Verdict]++
	r.tellReplayed(replayed, alone)
	if now := time.Now(); !alone && now.Sub(r.told) > time.Second {
		r.told = now
		fmt.Fprintf(r.stderr, "… %d\n", len(r.done))
	}
	return nil
}

// tellReplayed prints one call; among several, only what is not the same.
func (r *replays) tellReplayed(replayed dispatch.Replayed, alone bool) {
	s := speakIn(r.locale)
	switch {
	case r.json:
		r.print(replayed)
		return
	case !alone && replayed.Verdict == dispatch.ReplaySame:
		return
	}
	fmt.Fprintf(r.stdout, "%s %s %s %s\n", s.replayVerdict(replayed.Verdict), replayed.Call, replayed.Tool, replayed.Release)
	if replayed.Finding != nil {
		fmt.Fprintf(r.stdout, "  %s\n", s.finding(*replayed.Finding))
	}
	if alone {
		for _, run := range replayed.Runs {
			r.tellRun(s, run)
		}
	}
}

// shownBytes is how much of an input and an output a person is shown; --json has
// all of it.
const shownBytes = 2000

func (r *replays) tellRun(s speaker, run dispatch.ReplayedRun) {
	fmt.Fprint(r.stdout, s.pick("  run %d: %s, %d host calls\n", "  第 %d 次运行：%s，%d 次宿主调用\n", run.Attempt, s.replayVerdict(run.Verdict), run.HostCalls))
	if run.Got == nil {
		return
	}
	fmt.Fprint(r.stdout, s.pick("    fuel %d, memory %s, output sha256 %s\n", "    燃料 %d，内存 %s，输出 sha256 %s\n", run.Got.Fuel, run.Got.Memory, run.Got.SHA256))
	if reducer := run.Got.Reducer; reducer != nil {
		fmt.Fprint(r.stdout, s.pick("    reducer: fuel %d, output sha256 %s\n", "    归约器：燃料 %d，输出 sha256 %s\n", reducer.Fuel, reducer.SHA256))
	}
	fmt.Fprintf(r.stdout, "    → %s\n    ← %s\n", shown(run.Input), shown(run.Output))
	for _, l := range run.Logs {
		fmt.Fprintf(r.stdout, "    %s: %s\n", l.Level, shown([]byte(l.Text)))
	}
}

// shown gives text that a guest wrote on one line.
func shown(text []byte) string {
	line := plain(string(text))
	if len(line) <= shownBytes {
		return line
	}
	end := shownBytes
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end] + "…"
}

// plain takes from a text what a terminal does not show but obeys: a record's
// words could move the cursor and forge other records.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}

func (r *replays) tellCounts() {
	if r.json || len(r.done) == 1 {
		return
	}
	s := speakIn(r.locale)
	parts := []string{}
	for _, v := range []dispatch.ReplayVerdict{dispatch.ReplaySame, dispatch.ReplayPart, dispatch.ReplayNothing, dispatch.ReplayLost, dispatch.ReplayParted} {
		if n := r.counts[v]; n > 0 {
			parts = append(parts, fmt.Sprint(n, " ", s.replayVerdict(v)))
		}
	}
	if r.failed > 0 {
		parts = append(parts, s.pick("%d stopped", "%d 中断", r.failed))
	}
	fmt.Fprint(r.stdout, s.pick("%d calls: %s\n", "%d 次调用：%s\n", len(r.done), strings.Join(parts, ", ")))
}
