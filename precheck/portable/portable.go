package portable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
)

// longest bounds one call, whatever the module's own deadline: nothing counts fuel here.
const longest = 10 * time.Second

// A Peer is a module in the reference host. It is for one goroutine.
type Peer struct {
	plugin    *extism.CompiledPlugin
	cache     wazero.CompilationCache
	functions []sandbox.Function // of the call that runs
	memory    *memory            // the guest's, of the call that runs
}

// A Request is one call of an export. Its random bytes are always the same, and others
// than those of a call in our sandbox: nothing may rest on them.
type Request struct {
	Export    string
	Input     []byte
	Functions []sandbox.Function // those of the contract that are granted
	Now       time.Time          // where the guest's clock stands
}

// New compiles a module for the reference host. It takes seconds for megabytes, unless
// its machine code lies in the folder already; an empty name keeps it nowhere. The
// folder is made if it is missing, and what lies in it is run: only the user may write
// there. The error says why the reference host does not take the module.
func New(ctx context.Context, wasm []byte, limits abi.Limits, folder string) (p *Peer, err error) {
	p = &Peer{}
	defer rescue(&err)
	config := wazero.NewRuntimeConfig()
	if folder != "" {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		if p.cache, err = wazero.NewCompilationCacheWithDir(folder); err != nil {
			return nil, err
		}
		config = config.WithCompilationCache(p.cache)
	}
	limits = limits.WithDefaults(abi.DefaultLimits())
	manifest := extism.Manifest{
		Wasm:    []extism.Wasm{extism.WasmData{Data: wasm}},
		Timeout: uint64(min(time.Duration(limits.Deadline), longest).Milliseconds()),
		Memory:  &extism.ManifestMemory{MaxPages: uint32(limits.Memory / abi.PageBytes), MaxHttpResponseBytes: -1, MaxVarBytes: -1},
	}
	p.plugin, err = extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{EnableWasi: true, RuntimeConfig: config}, p.hostFunctions())
	if err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

// Close ends the peer.
func (p *Peer) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	if p.plugin != nil {
		errs = append(errs, p.plugin.Close(ctx))
	}
	if p.cache != nil {
		errs = append(errs, p.cache.Close(ctx))
	}
	return errors.Join(errs...)
}

// Call runs an export in an instance of its own and gives its output. An error says
// that the guest trapped, ended with something else than 0, or took too long.
func (p *Peer) Call(ctx context.Context, r Request) (output []byte, err error) {
	defer rescue(&err)
	p.functions, p.memory = r.Functions, nil
	// The last memory that an instance makes is the guest's: the kernel's comes first.
	making := experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, most uint64) experimental.LinearMemory {
		p.memory = &memory{most: most}
		return p.memory
	}))
	instance, err := p.plugin.Instance(making, extism.PluginInstanceConfig{ModuleConfig: wazero.NewModuleConfig().
		WithRandSource(rand.NewChaCha8([32]byte{1})).
		WithWalltime(func() (int64, int32) { return r.Now.Unix(), int32(r.Now.Nanosecond()) }, sys.ClockResolution(time.Microsecond)).
		WithNanotime(func() int64 { return r.Now.UnixNano() }, sys.ClockResolution(time.Microsecond))})
	if err != nil {
		return nil, err
	}
	defer instance.Close(context.WithoutCancel(ctx))
	instance.SetLogger(func(extism.LogLevel, string) {})
	exit, output, err := instance.CallWithContext(ctx, r.Export, r.Input)
	switch {
	case err != nil:
		return nil, err
	case exit != 0:
		return nil, fmt.Errorf("it returned %d", exit)
	}
	return slices.Clone(output), nil
}

// rescue makes an error of a panic: the reference host has some for guests that are
// not as it expects.
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the reference host panicked: %v", r)
	}
}

// A memory is the guest's, within a bound.
type memory struct {
	bytes []byte
	most  uint64
}

// Reallocate makes the memory larger; nil says that it may not be.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.most {
		return nil
	}
	if more := int(size) - len(m.bytes); more > 0 {
		m.bytes = append(m.bytes, make([]byte, more)...)
	}
	return m.bytes
}

// Free gives the memory up.
func (m *memory) Free() { m.bytes = nil }

// hostFunctions are those of the contract, and the block functions beside them.
func (p *Peer) hostFunctions() []extism.HostFunction {
	functions := Functions(func() []sandbox.Function { return p.functions })
	copying := []extism.ValueType{extism.ValueTypeI64, extism.ValueTypeI32, extism.ValueTypeI32}
	for _, name := range abi.BlockFuncs() {
		functions = append(functions, function(name, func(_ context.Context, guest *extism.CurrentPlugin, stack []uint64) {
			p.copyBlock(guest, name == abi.FuncBlockWrite, uint32(stack[0]), uint32(stack[1]), uint32(stack[2]))
		}, copying, nil))
	}
	return functions
}

// Functions are the contract's host functions as the reference host takes them, for who
// runs a module there in a way of their own. Each call of one is served by what is
// granted then; what is not is a problem of the guest's.
func Functions(granted func() []sandbox.Function) (functions []extism.HostFunction) {
	for name, n := range abi.HostFuncs() {
		functions = append(functions, function(name, func(ctx context.Context, guest *extism.CurrentPlugin, stack []uint64) {
			stack[0] = serve(ctx, guest, granted(), name, stack[:n])
		}, slices.Repeat([]extism.ValueType{extism.ValueTypeI64}, n), []extism.ValueType{extism.ValueTypeI64}))
	}
	return functions
}

func function(name string, call extism.HostFunctionStackCallback, params, results []extism.ValueType) extism.HostFunction {
	f := extism.NewHostFunctionWithStack(name, call, params, results)
	f.SetNamespace(abi.NamespaceHost)
	return f
}

// copyBlock copies between the kernel's memory and the guest's. What lies outside ends
// the guest.
func (p *Peer) copyBlock(guest *extism.CurrentPlugin, toBlock bool, block, at, n uint32) {
	kernel, ok := guest.Memory().Read(block, n)
	if !ok || p.memory == nil || uint64(at)+uint64(n) > uint64(len(p.memory.bytes)) {
		panic("a block is copied from or to where there is none")
	}
	own := p.memory.bytes[at : at+n]
	if toBlock {
		copy(kernel, own)
	} else {
		copy(own, kernel)
	}
}

// serve runs one host call and gives what the guest gets: the handle of a block, 0, or
// the negated handle of a problem.
func serve(ctx context.Context, guest *extism.CurrentPlugin, granted []sandbox.Function, name string, handles []uint64) uint64 {
	args := make([][]byte, len(handles))
	for i, h := range handles {
		b, err := guest.ReadBytes(h)
		if err != nil {
			panic(err) // which ends the guest
		}
		args[i] = slices.Clone(b) // the guest's memory may move
	}
	i := slices.IndexFunc(granted, func(f sandbox.Function) bool { return f.Name == name })
	if i < 0 {
		return -give(guest, encoded(abi.NewProblem(abi.NotGranted, "%s is not granted", name)))
	}
	result, problem := granted[i].Call(ctx, args)
	if problem != nil {
		return -give(guest, encoded(problem))
	}
	return give(guest, result)
}

func give(guest *extism.CurrentPlugin, b []byte) uint64 {
	if b == nil {
		return 0
	}
	h, err := guest.WriteBytes(b)
	if err != nil {
		panic(err)
	}
	return h
}

func encoded(p *abi.Problem) []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic("BUG: a problem does not encode: " + err.Error())
	}
	return b
}
