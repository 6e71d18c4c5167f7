package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/toolchain"
)

func (p *program) skillInspectCommand() *cobra.Command {
	return &cobra.Command{
		Use: "inspect FILE.wasm", Short: "Say what a module is, what it asks of the host, and what the host makes of it", Args: cobra.ExactArgs(1),
		Example: "  sluice skill inspect dist/skill.wasm\n  sluice skill inspect dist/skill.wasm --json",
		RunE: func(c *cobra.Command, args []string) error {
			wasm, err := toolchain.ReadBounded(args[0], int64(abi.ModuleBytesCeiling))
			if err != nil {
				return err
			}
			info, err := rewrite.Inspect(wasm)
			if err != nil {
				return err
			}
			return p.withHall(c.Context(), func(h *hall) error {
				module, err := h.sandbox.Load(c.Context(), wasm, abi.CeilingLimits())
				if err != nil {
					return err
				}
				defer module.Close(context.WithoutCancel(c.Context()))
				return p.tellModule(info, module)
			})
		},
	}
}

func (p *program) tellModule(info *rewrite.Info, module *sandbox.Module) error {
	prepared := module.Info()
	if p.json {
		p.print(map[string]any{"module": info, "prepared": prepared, "digest": module.Digest()})
		return nil
	}
	t := newTable(p.stdout, 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t"+format+"\n", append([]any{name}, args...)...)
	}
	row("module", "%d bytes, sha256 %s", info.Bytes, module.Digest())
	for _, s := range info.Sections {
		row("", "%d bytes of %s", s.Bytes, s.Name)
	}
	row("code", "%d functions, the largest of %d bytes; %d locals, %d nested blocks at most", info.Functions, info.LargestFunction, info.MostLocals, info.DeepestNesting)
	if len(info.Features) > 0 {
		row("features", "%s", strings.Join(info.Features, ", "))
	}
	if m := info.Memory; m != nil {
		row("memory", "%v at the start", abi.Size(m.Least)*abi.PageBytes)
	}
	for _, line := range byNamespace(info.Imports) {
		row("imports", "%s", line)
	}
	row("exports", "%s", strings.Join(callable(info.Exports), ", "))
	row("metering", "%d charges; checks at %d loops, %d entries and %d places in long code; %d functions count their depth",
		info.Charges, info.LoopChecks, info.EntryChecks, info.OtherChecks, info.DepthChecks)
	if prepared.Frozen {
		row("freezing", "frozen after a start of %d units of fuel; %v of memory; restored by %s", prepared.StartFuel, prepared.Memory, prepared.Restoring)
	} else {
		row("freezing", "not frozen, so that every call starts a fresh instance: %s", prepared.Refusal)
	}
	return t.Flush()
}

func byNamespace(imports []rewrite.Import) []string {
	var lines []string
	names := map[string][]string{}
	for _, im := range imports {
		names[im.Module] = append(names[im.Module], im.Name)
	}
	for namespace, list := range names {
		slices.Sort(list)
		lines = append(lines, namespace+": "+strings.Join(slices.Compact(list), ", "))
	}
	slices.Sort(lines)
	return lines
}

func callable(exports []rewrite.Export) []string {
	var names []string
	for _, e := range exports {
		if e.Kind == "function" {
			names = append(names, e.Name)
		}
	}
	return names
}
