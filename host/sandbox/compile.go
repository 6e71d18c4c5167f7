package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

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

	running int // slots that serve a call; guarded by pool.mu

	err        error    // why there is no code; then the rest is nil
	outline    outline  // without the imports
	imports    []string // of abi.NamespaceHost, sorted
	note                // how it was prepared
	image      *image   // what its memory is before every call; nil if it has none or is not frozen
	mostMemory uint64   // that any call may have, in bytes
	cache      wazero.CompilationCache
	runtime    wazero.Runtime
	compiled   wazero.CompiledModule
	kernel     wazero.CompiledModule
	exports    map[string]api.FunctionDefinition
}

// memoryBytes is the size of the memory before every call.
func (c *code) memoryBytes() uint64 {
	if c.image == nil {
		return 0
	}
	return uint64(len(c.image.bytes))
}

// fits says why the module cannot start within its limits, or nil.
func (c *code) fits(l abi.Limits) *abi.Problem {
	if p := c.outline.fits(l); p != nil {
		return p
	}
	if used := c.memoryBytes(); used > uint64(l.Memory) {
		return abi.NewProblem(abi.OutOfMemory, "the module has %d bytes of memory after its start; limits.memory allows %d (%v)", used, int64(l.Memory), l.Memory)
	}
	return nil
}

// prepare fills a code. It is called once, and not by who waits for it: those
// may give up without spoiling it for the others. ctx ends when nobody waits.
func (s *Sandbox) prepare(ctx context.Context, c *code, wasm []byte) {
	defer close(c.done)
	if c.err = s.inspect(c, wasm); c.err != nil || s.recall(ctx, c) {
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
	began := time.Now()
	p, err := s.rewrite(ctx, wasm, c.outline)
	if err != nil {
		c.err = fail(host.ProblemOf(err), err)
		return
	}
	p.Took = time.Since(began)
	if s.compileAside(ctx, c, p) {
		return
	}
	// Without the disk, so that what fails now is the module's own fault.
	if err := s.compile(ctx, c, p, wazero.NewCompilationCache()); err != nil {
		c.err = unusable(err)
	}
}

// recall takes the prepared module and its machine code from the disk, if they
// are there and whole.
func (s *Sandbox) recall(ctx context.Context, c *code) bool {
	dir, ok := s.disk.find(s.keyOf(c.digest))
	if !ok {
		return false
	}
	p, err := readPrepared(dir)
	if err != nil || s.compileIn(ctx, c, p, dir) != nil {
		return false
	}
	s.disk.reseal(dir)
	return true
}

// compileAside compiles and leaves the prepared module and its machine code on
// the disk, if that can be written.
func (s *Sandbox) compileAside(ctx context.Context, c *code, p *prepared) bool {
	dir, ok := s.disk.aside()
	if !ok {
		return false
	}
	if p.write(dir) != nil || s.compileIn(ctx, c, p, dir) != nil {
		s.disk.drop(dir)
		return false
	}
	s.disk.keep(dir, s.keyOf(c.digest))
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
	c.imports = slices.DeleteFunc(outline.namesFrom(abi.NamespaceHost), func(name string) bool {
		return slices.Contains(abi.BlockFuncs(), name)
	})
	outline.imports = nil // they are parts of the bytes
	c.outline = outline
	return nil
}

// compileIn compiles with the machine code of a folder, or leaves it there.
func (s *Sandbox) compileIn(ctx context.Context, c *code, p *prepared, dir string) error {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	return s.compile(ctx, c, p, cache)
}

// compile has the engine compile a prepared module. A panic of the engine is
// an error: it is bounded to this goroutine, because the engine is not asked to
// use several.
func (s *Sandbox) compile(ctx context.Context, c *code, p *prepared, cache wazero.CompilationCache) (err error) {
	engine := wazero.NewRuntimeConfig()
	if s.interpret {
		engine = wazero.NewRuntimeConfigInterpreter()
	}
	r := wazero.NewRuntimeWithConfig(ctx, engine.WithCompilationCache(cache).WithDebugInfoEnabled(false))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the engine fails on it: %v\n%s", r, debug.Stack())
		}
		if err != nil {
			err = errors.Join(err, r.Close(ctx), cache.Close(ctx))
		}
	}()
	kernel, err := exportAll(ctx, r)
	if err != nil {
		return err
	}
	compiled, err := r.CompileModule(ctx, p.wasm)
	if err != nil {
		return err
	}
	var im *image
	if len(p.image) > 0 {
		if im, err = newImage(p.image); err != nil {
			return err
		}
	}
	c.note, c.image, c.mostMemory = p.note, im, uint64(s.cfg.Ceiling.Memory)
	c.exports = compiled.ExportedFunctions()
	c.cache, c.runtime, c.compiled, c.kernel = cache, r, compiled, kernel
	return nil
}

// exportAll gives a runtime everything that a guest may import; of Extism's ABI
// every slot has an instance of its own, of the kernel that comes of it.
func exportAll(ctx context.Context, r wazero.Runtime) (kernel wazero.CompiledModule, err error) {
	if _, err := wasi_snapshot_preview1.NewBuilder(r).Instantiate(watched(ctx)); err != nil {
		return nil, err
	}
	if err := export(ctx, r, nativeModule, abi.NamespaceExtism, extismFuncs()); err != nil {
		return nil, err
	}
	if err := export(ctx, r, abi.NamespaceHost, abi.NamespaceHost, userFuncs()); err != nil {
		return nil, err
	}
	if err := exportFuel(ctx, r); err != nil {
		return nil, err
	}
	return r.CompileModule(ctx, kernelModule(extismFuncs()))
}

func fail(p *abi.Problem, cause error) error { return host.Fail("sandbox.Load", p, cause) }

// close frees the machine code and the image. Nothing runs in it any more.
func (c *code) close(ctx context.Context) error {
	if c.runtime == nil {
		return nil
	}
	err := errors.Join(c.runtime.Close(ctx), c.cache.Close(ctx))
	if c.image != nil {
		err = errors.Join(err, c.image.close())
	}
	if err != nil {
		return fmt.Errorf("closing module %s: %w", c.digest, err)
	}
	return nil
}
