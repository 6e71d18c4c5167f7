// Command warm compiles modules into a folder of compiled code, so that tests
// under the race detector find them there: for sandboxes, or for another host
// on the same engine.
//
//	warm slots|peer CACHE-DIR MODULE.wasm...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/tetratelabs/wazero"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "warm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 3 {
		return errors.New("use: warm slots|peer CACHE-DIR MODULE.wasm...")
	}
	for _, file := range args[2:] {
		wasm, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if args[0] == "peer" {
			err = errors.Join(compile(ctx, args[1], wasm, true), compile(ctx, args[1], wasm, false))
		} else {
			err = load(ctx, sandbox.Config{CacheDir: args[1], ModuleBytes: abi.ModuleBytesCeiling}, wasm)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func load(ctx context.Context, cfg sandbox.Config, wasm []byte) error {
	s, err := sandbox.New(cfg)
	if err != nil {
		return err
	}
	if _, err := s.Load(ctx, wasm, abi.CeilingLimits()); err != nil {
		return err
	}
	return s.Close(ctx)
}

// compile has the engine compile a module as it is, if it can.
func compile(ctx context.Context, dir string, wasm []byte, deadline bool) error {
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "peer"))
	if err != nil {
		return err
	}
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(cache).WithCloseOnContextDone(deadline))
	_, _ = r.CompileModule(ctx, wasm) // what it refuses is for the peer to say
	return errors.Join(r.Close(ctx), cache.Close(ctx))
}
