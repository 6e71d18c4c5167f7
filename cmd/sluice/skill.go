package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/toolchain"
	"github.com/sluicehq/sluice/registry"
)

func (p *program) skillCommand() *cobra.Command {
	c := &cobra.Command{Use: "skill", Short: "Begin, build, test, run, inspect and measure skills"}
	c.AddCommand(p.skillNewCommand(), p.skillBuildCommand(), p.skillTestCommand(), p.skillWatchCommand(), p.skillRunCommand(), p.skillInspectCommand(), p.skillBenchCommand())
	return c
}

func (p *program) skillBuildCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "build DIR", Short: "Build a skill in Go, Rust, AssemblyScript or C: skill.wasm, and skill.yaml from its code", Args: cobra.ExactArgs(1),
		Long: `Compiles the skill in DIR, asks the module what it is (its export sluice_describe), checks
that, and writes skill.wasm and skill.yaml. What lies in DIR tells the language:

  *.go               Go, with the package sdk      needs Go 1.26 or newer
  Cargo.toml         Rust, a library of cdylib     needs cargo and rustc with ` + toolchain.RustTarget + `
  assembly/index.ts  AssemblyScript                needs Node, and DIR/node_modules from npm ci --ignore-scripts
  *.c                C over wasi-libc              needs clang, lld, wasi-libc and compiler-rt for wasm32

Only these compilers run. Nothing is downloaded: a crate or a package that is missing is
yours to fetch first. Where several Rusts are installed, the first on the PATH that has the
target is taken. AssemblyScript takes its options from DIR/asconfig.json if there is one.
skills/polyglot has one skill in each language to begin from.

A skill in Go copies its payloads by two functions that only this host has. With
GOFLAGS=-tags=anyhost it does without, and runs in any host of Extism's plug-ins.`,
		Example: "  sluice skill build skills/shop/pricing\n  sluice skill build skills/polyglot/rust --out dist\n  sluice skill build . --out dist",
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				out = args[0]
			}
			if err := os.MkdirAll(out, 0o755); err != nil {
				return err
			}
			return p.withHall(c.Context(), func(h *hall) error {
				skill, err := p.buildSkill(c.Context(), h.sandbox, args[0], out)
				if err != nil {
					return err
				}
				return p.tellBuilt(skill.Manifest, out)
			})
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "folder for the two files (default: DIR)")
	return c
}

func (p *program) tellBuilt(m abi.Manifest, out string) error {
	info, err := os.Stat(filepath.Join(out, toolchain.ModuleFile))
	if err != nil {
		return err
	}
	if p.json {
		told := map[string]any{"skill": m.Name, "version": m.Version, "tools": len(m.Tools), "module": filepath.Join(out, toolchain.ModuleFile), "size": info.Size()}
		if len(m.Hooks) > 0 {
			told["hooks"] = m.Hooks
		}
		p.print(told)
		return nil
	}
	what := fmt.Sprintf("%d tools", len(m.Tools))
	if len(m.Hooks) > 0 {
		what = "policy module, asked at " + pointsOf(m.Hooks)
	}
	fmt.Fprintf(p.stdout, "%s %s: %s, %.1f MB, %s\n", m.Name, m.Version, what, float64(info.Size())/1e6, filepath.Join(out, toolchain.ModuleFile))
	return nil
}

func (p *program) skillRunCommand() *cobra.Command {
	var args, seed string
	c := &cobra.Command{
		Use: "run DIR TOOL", Short: "Run one tool of a skill through the gate and the sandbox, on a store of its own", Args: cobra.ExactArgs(2),
		Example: `  sluice skill run skills/shop/pricing quote --args '{"sku":"1001"}' --seed products.json
  sluice skill run dist set_price --args '{"sku":"1001","price":89,"currency":"CNY"}' --json`,
		RunE: func(c *cobra.Command, positional []string) error {
			return p.withHall(c.Context(), func(h *hall) error {
				outcome, err := p.runTool(c.Context(), h, positional[0], positional[1], args, seed)
				if err != nil {
					return err
				}
				return p.tellOutcome(outcome)
			})
		},
	}
	c.Flags().StringVar(&args, "args", "{}", "the arguments as JSON")
	c.Flags().StringVar(&seed, "seed", "", "a JSON file {key: value} that fills the skill's kv namespace first")
	return c
}

func (p *program) runTool(ctx context.Context, h *hall, dir, tool, args, seed string) (host.Outcome, error) {
	skill, wasm, err := p.loadDir(ctx, h.sandbox, dir)
	if err != nil {
		return host.Outcome{}, err
	}
	fetched := &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}
	if _, err := h.releases.Load(ctx, fetched); err != nil {
		return host.Outcome{}, err
	}
	ref := host.SessionRef{Tenant: "local", User: "local", Session: "run"}
	if seed != "" {
		if skill.Capabilities.KV == nil {
			return host.Outcome{}, fmt.Errorf("%w: --seed needs a skill with the kv capability", errUsage)
		}
		if err := importSeed(ctx, h, ref.Tenant, skill.Capabilities.KV.Namespace, seed); err != nil {
			return host.Outcome{}, err
		}
	}
	catalog, _ := h.releases.Catalog(ctx, release.Pins{})
	return h.dispatch.Do(ctx, catalog, host.Call{
		ID: host.CallID(host.NewID("call_")), Session: ref, Locale: "en", Tool: tool, Args: args, Input: 1,
	}), nil
}

// importSeed fills a kv namespace from a JSON object in a file.
func importSeed(ctx context.Context, h *hall, tenant host.TenantID, namespace, file string) error {
	b, err := toolchain.ReadBounded(file, int64(abi.CallWriteBytes))
	if err != nil {
		return err
	}
	if err := importJSON(ctx, h, tenant, namespace, b); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// importJSON fills a kv namespace from a JSON object of keys and values.
func importJSON(ctx context.Context, h *hall, tenant host.TenantID, namespace string, object []byte) error {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(object, &entries); err != nil {
		return fmt.Errorf("not a JSON object of keys and values: %w", err)
	}
	return h.store.Import(ctx, tenant, namespace, func(yield func(string, []byte) bool) {
		for key, value := range entries {
			if !yield(key, value) {
				return
			}
		}
	})
}

// tellOutcome prints how a call ended: its data, or its problem, which makes
// the command fail.
func (p *program) tellOutcome(o host.Outcome) error {
	if p.json {
		p.print(o)
	} else if o.OK() {
		fmt.Fprintf(p.stdout, "%s\n", o.Data)
		fmt.Fprintf(p.stderr, "%s: %s in the sandbox, %d host calls, %s of memory\n", o.Release, o.Usage.Elapsed.Round(10_000), o.Usage.HostCalls, o.Usage.PeakMemory)
	}
	if o.OK() {
		return nil
	}
	if !p.json {
		p.tell(host.Fail("skill.run", o.Problem, nil))
	}
	return errRefused
}

// withHall opens the host over a store of its own that is gone in the end.
func (p *program) withHall(ctx context.Context, work func(*hall) error) error {
	folder, err := os.MkdirTemp("", "sluice-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	h, err := p.open(ctx, folder, "")
	if err != nil {
		return err
	}
	defer h.close(ctx)
	return work(h)
}
