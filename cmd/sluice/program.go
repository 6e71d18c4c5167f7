package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/sandbox"
)

// Exit codes, as `sluice help` tells them.
const (
	exitOK          = 0
	exitFailed      = 1   // the work failed or was refused
	exitUsage       = 2   // the command line is wrong
	exitInterrupted = 130 // Ctrl-C
)

// A program is one run of the command: where it reads and writes, and the
// flags that every command has.
type program struct {
	env            func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer

	home     string
	registry string
	store    string // path or URL; empty for a file of the home
	blobs    string // URL; empty for a folder of the home
	json     bool
	policy   string // a file; empty for no red lines
	alerts   string // a URL; empty for the log alone
	auditKey string // a file; empty for one of the home
	limits   agent.Limits
	claims   agent.Claims
	model    modelFlags
	egress   egressFlags
	memory   memoryFlags
	engine   sandbox.Config // what the command line sets of it
}

// errUsage marks an error in the command line itself.
var errUsage = errors.New("usage")

// errRefused ends a command whose output has told the problem already.
var errRefused = errors.New("refused")

func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errRefused):
		return exitFailed
	}
	p.tell(err)
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case !started, errors.Is(err, errUsage):
		return exitUsage
	}
	return exitFailed
}

// tell prints an error for somebody who is in the middle of something else:
// what happened, to what, and on a line of its own what to do now.
func (p *program) tell(err error) {
	var failed *host.Error
	if p.json {
		problem := host.ProblemOf(err)
		if !errors.As(err, &failed) {
			problem = abi.NewProblem(abi.SystemFailure, "%v", err)
		}
		p.print(map[string]any{"problem": problem})
		return
	}
	hint := ""
	if errors.As(err, &failed) {
		hint = failed.Problem.Hint
	}
	fmt.Fprintf(p.stderr, "sluice: %s\n", told(err))
	if hint != "" {
		fmt.Fprintf(p.stderr, "hint: %s\n", hint)
	}
}

// told gives what an error and its causes say, each thing once. A problem passes through
// several packages, each of which may say it again with its own operation before it: the
// operations and the codes are for the log.
func told(err error) string {
	var text, more string
	var inner *host.Error
	var problem *abi.Problem
	switch e := err.(type) {
	case nil:
		return ""
	case *host.Error:
		text, more = e.Problem.Message, told(e.Cause)
	case *abi.Problem:
		return e.Message
	default:
		text = err.Error()
		if errors.As(err, &inner) {
			text = strings.Replace(text, inner.Error(), told(inner), 1)
		} else if errors.As(err, &problem) {
			text = strings.Replace(text, problem.Error(), problem.Message, 1)
		}
	}
	switch {
	case strings.Contains(text, more):
		return text
	case strings.HasPrefix(more, text):
		return more
	}
	return text + ": " + more
}

// print writes a value as one line of JSON.
func (p *program) print(v any) {
	e := json.NewEncoder(p.stdout)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		fmt.Fprintf(p.stderr, "sluice: writing the result: %v\n", err)
	}
}

// step does work that may take a while. After a second it says what is going
// on, and at the end how long it took.
func (p *program) step(label string, work func() error) error {
	start := time.Now()
	said := make(chan struct{})
	slow := time.AfterFunc(time.Second, func() {
		defer close(said)
		fmt.Fprintf(p.stderr, "… %s\n", label)
	})
	err := work()
	if !slow.Stop() {
		<-said
		fmt.Fprintf(p.stderr, "… %s: %.1f s\n", label, time.Since(start).Seconds())
	}
	return err
}

func (p *program) root() *cobra.Command {
	p.limits = agent.DefaultLimits() // flags change some
	root := &cobra.Command{
		Use:   "sluice",
		Short: "A skill platform for AI agents: sandboxed skills behind a gate",
		Long: `Sluice runs business skills, which are WebAssembly modules from a git registry, for
AI agents: in a sandbox, behind a gate, with evidence of everything that was done.

Exit codes: 0 done, 1 the work failed or was refused, 2 wrong usage, 130 interrupted.
With --json, results and problems are JSON on standard output; progress stays on standard error.`,
		Example: `  sluice demo
  sluice skill build skills/shop/pricing
  sluice registry publish skills/shop/pricing --to ./registry.git --create
  sluice chat --registry ./registry.git
  sluice serve --registry ./registry.git`,
		SilenceErrors: true, SilenceUsage: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&p.home, "home", p.defaultHome(), "folder of the store and the caches (SLUICE_HOME; compiled code in SLUICE_COMPILED, if set)")
	flags.StringVar(&p.store, "store", p.env("SLUICE_STORE"), "where sessions are kept: a path, or mysql://user@host/database?password_env=NAME for several hosts together (SLUICE_STORE; default: sluice.db in the home)")
	flags.StringVar(&p.blobs, "blobs", p.env("SLUICE_BLOBS"), "where large data is kept: a folder or a URL such as s3://bucket?region=eu-central-1 (SLUICE_BLOBS; default: blobs in the home)")
	flags.StringVar(&p.registry, "registry", p.env("SLUICE_REGISTRY"), "the skill registry: a git repository by path or URL (SLUICE_REGISTRY)")
	flags.BoolVar(&p.json, "json", false, "machine-readable results")
	flags.StringVar(&p.policy, "policy", "", "policy.yaml: the red lines that no skill may cross, the policy modules that judge calls and answers, the linters, the private addresses that are opened, and what is remembered (default: none)")
	flags.StringVar(&p.auditKey, "audit-key", p.env("SLUICE_AUDIT_KEY"), "file of the keys that sign the audit log, the same on all hosts of one store (SLUICE_AUDIT_KEY; default: audit/key in the home, made when it is needed)")
	flags.Lookup("audit-key").DefValue = ""
	p.model.register(flags, p.env)
	p.egress.register(flags, p.env)
	p.memory.register(flags, p.env)
	for _, name := range []string{"store", "registry", "blobs", "model-url", "egress-proxy", "memory-index", "embedder"} {
		flags.Lookup(name).DefValue = "" // a URL of the environment may hold a password, and help shows defaults
	}
	root.AddCommand(p.demoCommand(), p.skillCommand(), p.registryCommand(), p.chatCommand(), p.sessionCommand(), p.auditCommand(), p.approvalsCommand(), p.replayCommand(), p.memoryCommand(), p.serveCommand(), p.jobsCommand(), p.versionCommand())
	return root
}

func (p *program) defaultHome() string {
	if home := p.env("SLUICE_HOME"); home != "" {
		return home
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return ".sluice"
	}
	return filepath.Join(config, "sluice")
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  sluice version\n  sluice version --json",
		RunE: func(*cobra.Command, []string) error {
			v := versionOf()
			if p.json {
				p.print(map[string]any{"version": v, "abi": abi.Version})
				return nil
			}
			fmt.Fprintf(p.stdout, "sluice %s, contract %d\n", v, abi.Version)
			return nil
		},
	}
}

// versionOf gives the module version that the binary was built from.
func versionOf() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
