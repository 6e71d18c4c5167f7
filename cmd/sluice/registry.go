package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/registry"
)

func (p *program) registryCommand() *cobra.Command {
	c := &cobra.Command{Use: "registry", Short: "Publish releases and look at what is published"}
	c.AddCommand(p.publishCommand(), p.listCommand(), p.showCommand())
	return c
}

func (p *program) publishCommand() *cobra.Command {
	var to, message string
	var create bool
	c := &cobra.Command{
		Use: "publish DIR", Short: "Publish the built skill in DIR as the tag NAME/vVERSION", Args: cobra.ExactArgs(1),
		Long: `Publish reads skill.yaml and the module beside it, writes the module's sha256 and size into
the published skill.yaml, and makes the tag. A release never changes: a version that is published is refused.`,
		Example: "  sluice registry publish dist --to ./registry.git --create\n  sluice registry publish dist --to https://git.example.com/skills.git",
		RunE: func(c *cobra.Command, args []string) error {
			if to == "" {
				to = p.registry
			}
			if to == "" {
				return fmt.Errorf("%w: say where to with --to PATH|URL", errUsage)
			}
			var v registry.Version
			err := p.step("publishing", func() (err error) {
				v, err = registry.Publish(c.Context(), to, args[0], registry.PublishOptions{Message: message, Create: create})
				return err
			})
			if err != nil {
				return err
			}
			if p.json {
				p.print(v)
				return nil
			}
			fmt.Fprintf(p.stdout, "published %s\n", v)
			return nil
		},
	}
	c.Flags().StringVar(&to, "to", "", "the registry: path or URL of a git repository (default: --registry)")
	c.Flags().StringVarP(&message, "message", "m", "", "message of the release")
	c.Flags().BoolVar(&create, "create", false, "make the repository if the path does not exist")
	return c
}

func (p *program) openRegistry() (*registry.Registry, error) {
	if p.registry == "" {
		return nil, fmt.Errorf("%w: no registry is given; use --registry PATH or SLUICE_REGISTRY", errUsage)
	}
	return registry.Open(registry.Config{URL: p.registry, CacheDir: filepath.Join(p.home, "releases")})
}

func (p *program) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list [SKILL]", Short: "List the published releases", Args: cobra.MaximumNArgs(1),
		Example: "  sluice registry list --registry ./registry.git\n  sluice registry list shop.pricing --json",
		RunE: func(c *cobra.Command, args []string) error {
			r, err := p.openRegistry()
			if err != nil {
				return err
			}
			var versions []registry.Version
			err = p.step("listing", func() (err error) {
				versions, err = r.List(c.Context(), strings.Join(args, ""))
				return err
			})
			if err != nil {
				return err
			}
			if p.json {
				p.print(versions)
				return nil
			}
			w := newTable(p.stdout, 0)
			fmt.Fprintln(w, "SKILL\tVERSION\tCOMMIT")
			for _, v := range versions {
				fmt.Fprintf(w, "%s\t%s\t%.12s\n", v.Skill, v.Version, v.Commit)
			}
			return w.Flush()
		},
	}
}

func (p *program) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show SKILL[@VERSION]", Short: "Show one release: what it may touch and its tools", Args: cobra.ExactArgs(1),
		Example: "  sluice registry show shop.pricing --registry ./registry.git\n  sluice registry show shop.pricing@^1.2",
		RunE: func(c *cobra.Command, args []string) error {
			skill, constraint, _ := strings.Cut(args[0], "@")
			release, err := p.fetch(c.Context(), skill, constraint)
			if err != nil {
				return err
			}
			if p.json {
				p.print(release.Skill.Manifest)
				return nil
			}
			return p.tellRelease(release)
		},
	}
}

func (p *program) fetch(ctx context.Context, skill, constraint string) (*registry.Release, error) {
	r, err := p.openRegistry()
	if err != nil {
		return nil, err
	}
	var release *registry.Release
	err = p.step("fetching "+skill, func() error {
		v, err := r.Resolve(ctx, skill, constraint)
		if err != nil {
			return err
		}
		release, err = r.Fetch(ctx, v)
		return err
	})
	return release, err
}

func (p *program) tellRelease(r *registry.Release) error {
	m := r.Skill.Manifest
	fmt.Fprintf(p.stdout, "%s %s\n%s\n\nsha256 %s, %d bytes\n", m.Name, m.Version, m.Summary, r.SHA256, len(r.Module))
	fmt.Fprintln(p.stdout, "\nmay touch:")
	touches := manifest.Sentences(m.Capabilities)
	if len(touches) == 0 {
		touches = []string{"nothing"}
	}
	for _, line := range touches {
		fmt.Fprintln(p.stdout, "  "+line)
	}
	if len(m.Hooks) > 0 {
		fmt.Fprintf(p.stdout, "\na policy module, asked at:\n  %s\n", pointsOf(m.Hooks))
		return nil
	}
	fmt.Fprintln(p.stdout, "\ntools:")
	w := newTable(p.stdout, 0)
	for _, t := range m.Tools {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", t.Name, t.Effect, t.Risk, t.Summary)
	}
	return w.Flush()
}

// pointsOf names the points at which a policy module is asked.
func pointsOf(points []abi.HookPoint) string {
	names := make([]string, len(points))
	for i, p := range points {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}
