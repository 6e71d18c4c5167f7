package main

import (
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// capabilitiesOf says in sentences what a skill may touch.
func capabilitiesOf(c abi.Capabilities) []string {
	var lines []string
	for _, h := range c.HTTP {
		line := fmt.Sprintf("http: %s %s %s", strings.Join(h.Methods, ","), h.Host, strings.Join(h.Paths, " "))
		if h.Auth != nil {
			line += ", with secret " + h.Auth.Secret
		}
		lines = append(lines, line)
	}
	if c.KV != nil {
		lines = append(lines, "kv: namespace "+c.KV.Namespace)
	}
	if c.State != nil {
		lines = append(lines, fmt.Sprintf("state: reads %s; writes %s", strings.Join(c.State.Reads, ", "), strings.Join(c.State.Writes, ", ")))
	}
	if c.Memory != nil {
		lines = append(lines, fmt.Sprintf("memory: recalls %s; remembers %s", strings.Join(c.Memory.Recall, ", "), strings.Join(c.Memory.Remember, ", ")))
	}
	for _, flag := range []struct {
		on   bool
		text string
	}{
		{c.Blob != "", "blob: " + string(c.Blob)}, {c.Files != "", "files: " + string(c.Files)},
		{c.Clock, "the clock"}, {c.Random, "randomness"}, {c.Progress, "progress reports"},
	} {
		if flag.on {
			lines = append(lines, flag.text)
		}
	}
	if len(lines) == 0 {
		return []string{"nothing"}
	}
	return lines
}

// pointsOf names the points at which a policy module is asked.
func pointsOf(points []abi.HookPoint) string {
	names := make([]string, len(points))
	for i, p := range points {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}
