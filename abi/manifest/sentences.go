package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// Sentences says, one line each, what a skill with these capabilities may touch,
// for people who decide whether it may. Without any it is empty. What a skill
// may do more than another one has a line that the other one lacks.
func Sentences(c abi.Capabilities) []string {
	var lines []string
	say := func(on bool, format string, args ...any) {
		if on {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	for _, h := range c.HTTP {
		methods := strings.Join(slices.Sorted(slices.Values(h.Methods)), ", ")
		for _, path := range h.Paths {
			say(methods != "", "egress to %s%s: %s", h.Host, path, methods)
		}
		if h.Auth != nil {
			say(true, "the secret %s, sent to %s", h.Auth.Secret, h.Host)
		}
	}
	if c.KV != nil {
		say(true, "the kv namespace %s", c.KV.Namespace)
	}
	if c.State != nil {
		for _, key := range c.State.Reads {
			say(true, "reading the state %s", key)
		}
		for _, key := range c.State.Writes {
			say(true, "writing the state %s", key)
		}
	}
	if c.Memory != nil {
		for _, kind := range c.Memory.Recall {
			say(true, "recalling memories of the kind %v", kind)
		}
		for _, kind := range c.Memory.Remember {
			say(true, "remembering what is of the kind %v", kind)
		}
	}
	say(c.Blob != "", "reading blobs of the session")
	say(c.Blob == abi.AccessWrite, "writing blobs of the session")
	say(c.Files != "", "reading the session's files")
	say(c.Files == abi.AccessWrite, "writing the session's files")
	say(c.Clock, "the host's clock")
	say(c.Random, "random numbers of the host's")
	say(c.Progress, "telling the user of progress")
	return lines
}
