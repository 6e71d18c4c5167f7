package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/newskill"
)

func (p *program) skillNewCommand() *cobra.Command {
	var lang, dir string
	c := &cobra.Command{
		Use: "new NAME", Short: "Begin a skill that builds, tests and passes precheck as it stands", Args: cobra.ExactArgs(1),
		Long: `Lays a skill called NAME in a folder: a tool that reads and tools that write, with examples,
a guide for the model, and files for GitLab and GitHub that run precheck. Then it builds it
once, so that skill.yaml is there for the reviewer. NAME is of lower-case words joined by dots.

A skill in Go needs the go command and no network: the SDK lies beside it, in DIR/sluice. The
others need their compilers; see sluice skill build. A folder with files in it is refused.

Then:
  go test .              in Go: the examples and the tests, natively
  sluice skill watch .   the examples in the sandbox, again after every change
  precheck .             what a reviewer will see
  sluice registry publish . --to REGISTRY`,
		Example: "  sluice skill new shop.notes\n  sluice skill new shop.hold --lang rust --dir skills/hold",
		RunE: func(c *cobra.Command, args []string) error {
			if dir == "" {
				dir = args[0]
			}
			next, err := newskill.Write(args[0], lang, dir)
			if err != nil {
				return err
			}
			return p.firstBuild(c.Context(), args[0], dir, next)
		},
	}
	c.Flags().StringVar(&lang, "lang", "go", "language: "+strings.Join(newskill.Languages(), ", "))
	c.Flags().StringVar(&dir, "dir", "", "folder of the skill (default: ./NAME)")
	return c
}

// firstBuild builds a new skill, unless its author has to do something before or
// has no compiler yet, and says what comes next. The skill is there in any case.
func (p *program) firstBuild(ctx context.Context, name, dir string, next []string) error {
	if len(next) == 0 {
		err := p.withHall(ctx, func(h *hall) error {
			_, err := p.buildSkill(ctx, h.sandbox, dir, dir)
			return err
		})
		switch {
		case err != nil && host.ProblemOf(err).Code != abi.Unavailable:
			return err
		case err != nil:
			fmt.Fprintf(p.stderr, "not built yet: %s\nhint: %s\n", host.ProblemOf(err).Message, host.ProblemOf(err).Hint)
			next = []string{"sluice skill build ."}
		}
	} else {
		next = append(next, "sluice skill build .")
	}
	next = append(next, "sluice skill test .", "precheck .")
	if p.json {
		p.print(map[string]any{"skill": name, "dir": dir, "next": next})
		return nil
	}
	fmt.Fprintf(p.stdout, "%s is in %s. Next, there:\n", name, filepath.Clean(dir))
	for _, command := range next {
		fmt.Fprintf(p.stdout, "  %s\n", command)
	}
	return nil
}
