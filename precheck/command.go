package precheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/registry"
)

// Exit codes of the command.
const (
	Passed      = 0
	HasFindings = 1
	CouldNotRun = 2
)

// A program is one run of the command.
type program struct {
	stdout, stderr io.Writer
	format, output string
	config, cache  string
	against        string
	rebuild        bool
	failures       int
}

// Run runs the command `precheck` with its arguments and gives its exit code.
// It ends early, with CouldNotRun, if the context does.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p := &program{stdout: stdout, stderr: stderr}
	c := p.command()
	c.SetArgs(args)
	c.SetOut(stdout)
	c.SetErr(stderr)
	if err := c.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(stderr, "precheck: %v\n", err)
		var failed *host.Error
		if errors.As(err, &failed) && failed.Problem.Hint != "" {
			fmt.Fprintf(stderr, "hint: %s\n", failed.Problem.Hint)
		}
		return CouldNotRun
	}
	if p.failures > 0 {
		return HasFindings
	}
	return Passed
}

func (p *program) command() *cobra.Command {
	c := &cobra.Command{
		Use: "precheck [DIR|FILE.wasm|REPO@REF[:DIR]]...", Short: "Judge skills before they are reviewed and released",
		Long: `Judges each skill by rules on its binary and its manifest. A folder with source is built,
as ` + "`sluice skill build`" + ` does and in a folder of its own, and the skill.yaml that is committed
in it must be that of the build. A folder without has skill.yaml and the module; a module alone
is judged by what it says of itself. Without arguments the folder is the current one.

A repository is named by a path or an address with http, https, ssh or file, and is taken
as a branch, a tag, a commit in full or HEAD has it: its root, or the folder behind a colon.

A finding can be waived for a while in precheck.yaml beside skill.yaml, or in the file that
--config names: rule, tool, reason, until.

It exits with 0 if every skill passes, 1 if one does not, and 2 if something could not be
judged, such as source that does not compile. Nothing is fetched but what you name. A module
runs in a sandbox only; what a compiler runs of the source, such as a build script in Rust,
runs as you.`,
		Example:       "  precheck .\n  precheck dist\n  precheck https://git.example.com/shop/skills.git@main:pricing --rebuild\n  precheck dist --format sarif --output precheck.sarif\n  precheck explain imports",
		Args:          cobra.ArbitraryArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, args []string) error { return p.judge(c.Context(), args) },
	}
	c.Flags().StringVar(&p.format, "format", "text", "form of the report: "+strings.Join(Formats(), ", "))
	c.Flags().StringVarP(&p.output, "output", "o", "", "file for the report (default: standard output)")
	c.Flags().StringVar(&p.config, "config", "", "file of waivers (default: "+ConfigFile+" in each skill's folder)")
	c.Flags().StringVar(&p.against, "against", "", "registry whose last release of each skill, and other skills, it is compared with")
	c.Flags().BoolVar(&p.rebuild, "rebuild", false, "build the source again, from a clean checkout of its commit, and compare")
	c.Flags().StringVar(&p.cache, "cache", "", "folder for compiled modules (default: the user's cache)")
	c.AddCommand(p.rulesCommand(), p.explainCommand())
	return c
}

func (p *program) judge(ctx context.Context, names []string) (err error) {
	if len(names) == 0 {
		names = []string{"."}
	}
	out := p.stdout
	if p.output != "" {
		f, failed := os.Create(p.output)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	report, err := NewReport(p.format, out)
	if err != nil {
		return err
	}
	cache, err := p.cacheFolder()
	if err != nil {
		return err
	}
	sb, err := sandbox.New(sandbox.Config{CacheDir: cache, ModuleBytes: abi.ModuleBytesCeiling})
	if err != nil {
		return err
	}
	defer sb.Close(context.WithoutCancel(ctx))
	cfg := Config{Sandbox: sb, PeerCache: filepath.Join(cache, "peer"), Now: time.Now}
	if p.against != "" {
		if err := p.compareWith(ctx, &cfg, cache); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := p.judgeOne(ctx, cfg, name, report); err != nil {
			return errors.Join(err, report.Close())
		}
	}
	return report.Close()
}

func (p *program) judgeOne(ctx context.Context, cfg Config, name string, report Report) (err error) {
	subject, folder, done, err := p.open(ctx, cfg.Sandbox, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	config := p.config
	if config == "" {
		config = filepath.Join(folder, ConfigFile)
	}
	if p.config != "" || subject.ManifestFile != "" || subject.Source {
		if cfg.Waivers, err = ReadWaivers(config); err != nil {
			return err
		}
	}
	var lost error
	verdict, err := Check(ctx, cfg, subject, func(m Message) {
		lost = errors.Join(lost, report.Tell(m))
	})
	p.failures += verdict.Failures
	return errors.Join(err, lost)
}

// open opens a subject on this machine, or in a repository at a reference. Its folder is
// there until done is called.
func (p *program) open(ctx context.Context, sb *sandbox.Sandbox, name string) (s Subject, folder string, done func() error, err error) {
	r, ok := revisionOf(name)
	if _, absent := os.Stat(name); !ok || absent == nil {
		s, err = Open(ctx, sb, name)
		if err == nil && p.rebuild {
			err = s.buildsAgain(func() (Rebuild, error) { return rebuildOf(sb, name) })
		}
		return s, name, func() error { return nil }, err
	}
	c, err := checkOut(ctx, r)
	if err != nil {
		return s, "", nil, err
	}
	folder = filepath.Join(c.tree(), filepath.FromSlash(r.dir))
	s, err = Open(ctx, sb, folder)
	if err == nil && p.rebuild {
		err = s.buildsAgain(func() (Rebuild, error) { return rebuildAt(sb, r), nil })
	}
	if err != nil {
		return s, "", nil, errors.Join(err, c.close())
	}
	s.Name = shown(name)
	if s.ManifestFile != "" {
		s.ManifestFile = path.Join(r.dir, manifestFile)
	}
	return s, folder, c.close, nil
}

// compareWith has skills compared with what a registry has.
func (p *program) compareWith(ctx context.Context, cfg *Config, cache string) error {
	r, err := registry.Open(registry.Config{URL: p.against, CacheDir: filepath.Join(cache, "releases")})
	if err != nil {
		return err
	}
	versions, err := r.List(ctx, "")
	if err != nil {
		return err
	}
	newest := map[string]registry.Version{}
	for _, v := range versions {
		if last, ok := newest[v.Skill]; !ok || semver.Compare("v"+v.Version, "v"+last.Version) > 0 {
			newest[v.Skill] = v
		}
	}
	for _, skill := range slices.Sorted(maps.Keys(newest)) {
		release, err := r.Fetch(ctx, newest[skill])
		if err != nil {
			fmt.Fprintf(p.stderr, "precheck: %s is not looked at for names that are too near: %v\n", newest[skill], err)
			continue
		}
		cfg.Others = append(cfg.Others, release.Skill)
	}
	cfg.Last = func(ctx context.Context, skill string) (*Previous, error) {
		v, ok := newest[skill]
		if !ok {
			return nil, nil
		}
		release, err := r.Fetch(ctx, v)
		if err != nil {
			return nil, err
		}
		return &Previous{release.Skill, release.Module}, nil
	}
	return nil
}

func (p *program) cacheFolder() (string, error) {
	if p.cache != "" {
		return p.cache, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for compiled modules: %w; name one with --cache", err)
	}
	return filepath.Join(user, "sluice", "precheck"), nil
}

func (p *program) rulesCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "rules", Short: "List the rules", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return json.NewEncoder(p.stdout).Encode(append(Rules(), ofWaivers()))
			}
			t := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
			for _, r := range append(Rules(), ofWaivers()) {
				fmt.Fprintf(t, "%s\t%s\t%s\n", r.ID, r.Severity, r.Title)
			}
			return t.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "for machines")
	return c
}

func (p *program) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "explain RULE", Short: "Say why a rule is there, and how to keep it", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, ok := RuleOf(args[0])
			if w := ofWaivers(); !ok && args[0] == w.ID {
				r, ok = w, true
			}
			if !ok {
				return fmt.Errorf("there is no rule %q; see `precheck rules`", args[0])
			}
			fmt.Fprintf(p.stdout, "%s (%s)\n%s.\n\nWhy: %s\nTo mend: %s\n", r.ID, r.Severity, r.Title, r.Reason, r.Mend)
			return nil
		},
	}
}
