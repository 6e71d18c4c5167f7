// Command sluice is the skill platform's one binary: it builds, publishes and
// runs skills, and serves the host. See `sluice help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(Main()) }

// Main runs the command with the process's own arguments and streams, and
// gives its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := &program{env: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	return p.run(ctx, os.Args[1:])
}
