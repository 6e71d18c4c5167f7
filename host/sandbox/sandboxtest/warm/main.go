// Command warm compiles modules into a folder of compiled code, so that tests
// under the race detector find them there.
//
//	warm CACHE-DIR MODULE.wasm...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "warm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return errors.New("use: warm CACHE-DIR MODULE.wasm...")
	}
	s, err := sandbox.New(sandbox.Config{CacheDir: args[0], ModuleBytes: abi.ModuleBytesCeiling})
	if err != nil {
		return err
	}
	for _, file := range args[1:] {
		wasm, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := s.Load(ctx, wasm, abi.CeilingLimits()); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return s.Close(ctx)
}
