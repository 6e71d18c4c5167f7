package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/shell"
)

// Each command has an example, and each example is one of its own that it would take: its
// flags exist with such values, and its arguments are as many as it wants.
func TestTheExamplesOfEachCommandAreTaken(t *testing.T) {
	newRoot := func() *cobra.Command {
		return (&program{env: func(string) string { return "" }}).root()
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if !c.Runnable() {
			return
		}
		own := 0
		for _, line := range examplesOf(c) {
			args, err := shell.Fields(line, func(string) string { return "" })
			if err != nil || len(args) == 0 || args[0] != "sluice" {
				continue // of another program
			}
			found, rest, err := newRoot().Find(args[1:])
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err == nil {
				err = found.ValidateRequiredFlags()
			}
			if err != nil {
				t.Errorf("%s: %s: %v", c.CommandPath(), line, err)
			} else if found.CommandPath() == c.CommandPath() {
				own++
			}
			if found != nil && found.Flags().Lookup("layer") != nil {
				s := choiceOf(found.Flags())
				if _, err := s.page(); err != nil {
					t.Errorf("%s: %s: %v", c.CommandPath(), line, err)
				}
			}
		}
		if own == 0 {
			t.Errorf("%s has no example", c.CommandPath())
		}
	}
	visit(newRoot())
}

// examplesOf gives the commands of a help's example, those of a pipe one by one, without
// notes and without the file that takes the output.
func examplesOf(c *cobra.Command) (lines []string) {
	for line := range strings.Lines(c.Example) {
		line, _, _ = strings.Cut(line, " #")
		line, _, _ = strings.Cut(line, " > ")
		for part := range strings.SplitSeq(line, " | ") {
			lines = append(lines, strings.TrimSpace(part))
		}
	}
	return lines
}

// choiceOf reads the flags that say which memories are wanted.
func choiceOf(flags *pflag.FlagSet) (s choice) {
	s.layers, _ = flags.GetStringSlice("layer")
	s.kinds, _ = flags.GetStringSlice("kind")
	s.statuses, _ = flags.GetStringSlice("status")
	s.asOf, _ = flags.GetString("as-of")
	s.limit, _ = flags.GetInt("limit")
	return s
}
