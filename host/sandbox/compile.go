package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// A code is a module made ready to run: shared by all Modules of the same
// bytes, closed with the last of them.
type code struct {
	digest string
	done   chan struct{} // closed when the fields below are set
	cancel context.CancelFunc
	users  int // guarded by Sandbox.mu

	err      error    // why there is no code; then the rest is nil
	outline  outline  // without the imports
	imports  []string // of abi.NamespaceHost, sorted
	cache    wazero.CompilationCache
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	exports  map[string]api.FunctionDefinition
}

// prepare fills a code. It is called once, and not by who waits for it: those
// may give up without spoiling it for the others. ctx ends when nobody waits.
func (s *Sandbox) prepare(ctx context.Context, c *code, wasm []byte) {
	defer close(c.done)
	if c.err = s.inspect(c, wasm); c.err != nil || s.recall(ctx, c, wasm) {
		return
	}
	// Few at a time: compiling takes many times the memory of the module.
	select {
	case s.compiling <- struct{}{}:
		defer func() { <-s.compiling }()
	case <-ctx.Done():
		c.err = fail(host.ProblemOf(ctx.Err()), ctx.Err())
		return
	}
	if s.compileAside(ctx, c, wasm) {
		return
	}
	// Without the disk, so that what fails now is the module's own fault.
	if err := s.compile(ctx, c, wasm, wazero.NewCompilationCache()); err != nil {
		c.err = fail(abi.NewProblem(abi.CorruptModule, "the module cannot be used: %v", explain(err)), err)
	}
}

// recall takes the machine code from the disk, if it is there and whole.
func (s *Sandbox) recall(ctx context.Context, c *code, wasm []byte) bool {
	dir, ok := s.disk.find(c.digest)
	if !ok || s.compileIn(ctx, c, wasm, dir) != nil {
		return false
	}
	s.disk.reseal(dir)
	return true
}

// compileAside compiles and leaves the machine code on the disk, if that can
// be written.
func (s *Sandbox) compileAside(ctx context.Context, c *code, wasm []byte) bool {
	dir, ok := s.disk.aside()
	if !ok {
		return false
	}
	if s.compileIn(ctx, c, wasm, dir) != nil {
		s.disk.drop(dir)
		return false
	}
	s.disk.keep(dir, c.digest)
	return true
}

func (s *Sandbox) inspect(c *code, wasm []byte) error {
	outline, err := readOutline(wasm)
	if err != nil {
		return fail(abi.NewProblem(abi.CorruptModule, "the module cannot be used: %v", err), nil)
	}
	if p := s.offer.refuse(outline.imports); p != nil {
		return fail(p, nil)
	}
	c.imports = outline.namesFrom(abi.NamespaceHost)
	outline.imports = nil // they are parts of the bytes
	c.outline = outline
	return nil
}

// compileIn compiles with the machine code of a folder, or leaves it there.
func (s *Sandbox) compileIn(ctx context.Context, c *code, wasm []byte, dir string) error {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	return s.compile(ctx, c, wasm, cache)
}

// compile has the engine read, validate and compile a module. A panic of the
// engine is an error: it is bounded to this goroutine, because the engine is
// not asked to use several.
func (s *Sandbox) compile(ctx context.Context, c *code, wasm []byte, cache wazero.CompilationCache) (err error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().
		WithCompilationCache(cache).
		WithCloseOnContextDone(true).
		WithDebugInfoEnabled(false))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine fails on it: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			err = errors.Join(err, r.Close(ctx), cache.Close(ctx))
		}
	}()
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return err
	}
	if err := export(ctx, r, abi.NamespaceExtism, extismFuncs()); err != nil {
		return err
	}
	if err := export(ctx, r, abi.NamespaceHost, userFuncs()); err != nil {
		return err
	}
	compiled, err := r.CompileModule(ctx, wasm)
	if err != nil {
		return err
	}
	c.exports = compiled.ExportedFunctions()
	c.cache, c.runtime, c.compiled = cache, r, compiled
	return nil
}

func fail(p *abi.Problem, cause error) error { return host.Fail("sandbox.Load", p, cause) }

// close frees the machine code. Nothing runs in it any more.
func (c *code) close(ctx context.Context) error {
	if c.runtime == nil {
		return nil
	}
	if err := errors.Join(c.runtime.Close(ctx), c.cache.Close(ctx)); err != nil {
		return fmt.Errorf("closing module %s: %w", c.digest, err)
	}
	return nil
}
