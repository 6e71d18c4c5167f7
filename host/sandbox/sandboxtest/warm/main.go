// Command warm compiles modules into a folder of compiled code, so that tests
// under the race detector find them there: for sandboxes, or for another host
// on the same engine. Or it has modules describe themselves.
//
//	warm slots|peer|describe CACHE-DIR MODULE.wasm...
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
		return errors.New("use: warm slots|peer|describe CACHE-DIR MODULE.wasm...")
	}
	for _, file := range args[2:] {
		wasm, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		switch args[0] {
		case "peer":
			err = errors.Join(compile(ctx, args[1], wasm, true), compile(ctx, args[1], wasm, false))
		case "describe":
			err = describe(ctx, wasm)
		default:
			err = load(ctx, args[1], wasm)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// load has a sandbox load a module, which leaves its machine code in the folder.
func load(ctx context.Context, dir string, wasm []byte) error {
	s, err := sandbox.New(sandbox.Config{CacheDir: dir, ModuleBytes: abi.ModuleBytesCeiling})
	if err != nil {
		return err
	}
	module, err := s.Load(ctx, wasm, abi.CeilingLimits())
	if err != nil {
		return errors.Join(err, s.Close(ctx))
	}
	return errors.Join(module.Close(ctx), s.Close(ctx))
}

// describe asks a module what it is, in an interpreter: who asks one thing needs no
// machine code.
func describe(ctx context.Context, wasm []byte) (err error) {
	settings, err := sandbox.New(sandbox.Config{ModuleBytes: abi.ModuleBytesCeiling})
	if err != nil {
		return err
	}
	s, err := settings.Interpreter()
	if err != nil {
		return errors.Join(err, settings.Close(ctx))
	}
	defer func() { err = errors.Join(err, s.Close(ctx), settings.Close(ctx)) }()
	module, err := s.Load(ctx, wasm, abi.CeilingLimits())
	if err != nil {
		return err
	}
	told := module.Call(ctx, sandbox.Request{Export: abi.ExportDescribe})
	if told.Problem != nil {
		return told.Problem
	}
	_, err = os.Stdout.Write(told.Output)
	return err
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
