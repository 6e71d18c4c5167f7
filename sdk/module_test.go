//go:build !race

package sdk_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// These tests build skills with the standard toolchain and run them under the
// reference host of the Extism ABI, by wazero's interpreter: it is quick to
// start, and these modules do little.

func TestASkillWithoutHostFunctionsImportsNone(t *testing.T) {
	m := compile(t, build(t, "./testdata/plain"))
	if got := hostImports(t, m); got != nil {
		t.Errorf("it imports %v of the host, want nothing", got)
	}
	exports := m.ExportedFunctions()
	for _, name := range []string{abi.ExportABI, abi.ExportDescribe, abi.ExportInvoke} {
		f := exports[name]
		if f == nil || len(f.ParamTypes()) != 0 || !slices.Equal(f.ResultTypes(), []api.ValueType{api.ValueTypeI32}) {
			t.Errorf("the export %s is %v, want one that is () -> i32", name, f)
		}
	}
	if exports["_initialize"] == nil {
		t.Error("it is no reactor: the export _initialize is missing")
	}
}

func TestASkillOfTheShopImportsWhatItUses(t *testing.T) {
	m := compile(t, build(t, "../skills/shop/pricing"))
	if got, want := hostImports(t, m), []string{abi.FuncKVGet, abi.FuncKVPut, abi.FuncKVScan}; !slices.Equal(got, want) {
		t.Errorf("it imports %v of the host, want %v", got, want)
	}
}

// hostImports gives the sorted names of what a module imports of the host's
// own namespace, and checks the types against the contract.
func hostImports(t *testing.T, m wazero.CompiledModule) (names []string) {
	t.Helper()
	for _, f := range m.ImportedFunctions() {
		namespace, name, _ := f.Import()
		if namespace != abi.NamespaceHost {
			if namespace != abi.NamespaceExtism && namespace != "wasi_snapshot_preview1" {
				t.Errorf("it imports %s of %s", name, namespace)
			}
			continue
		}
		names = append(names, name)
		i64s := slices.Repeat([]api.ValueType{api.ValueTypeI64}, abi.HostFuncs()[name])
		if !slices.Equal(f.ParamTypes(), i64s) || !slices.Equal(f.ResultTypes(), []api.ValueType{api.ValueTypeI64}) {
			t.Errorf("%s is %v -> %v, want %v -> i64", name, f.ParamTypes(), f.ResultTypes(), i64s)
		}
	}
	slices.Sort(names)
	return names
}

func TestAModuleAnswersAsTheSameCodeDoesNatively(t *testing.T) {
	file := build(t, "./testdata/probe/module")
	if got, want := hostImports(t, compile(t, file)), []string{abi.FuncKVDelete, abi.FuncKVGet, abi.FuncKVPut, abi.FuncKVScan}; !slices.Equal(got, want) {
		t.Errorf("it imports %v of the host, want %v", got, want)
	}
	g := load(t, file)
	for _, tt := range probeCases() {
		t.Run(tt.name, func(t *testing.T) {
			s := newShelf()
			code, reply, err := g.call(t, s, abi.ExportInvoke, tt.invocation)
			if code != 0 || err != nil || string(reply) != tt.reply {
				t.Errorf("exit %d, error %v, reply\n%.400s\nwant\n%s", code, err, reply, tt.reply)
			}
			if !strings.Contains(s.log.String(), tt.log) {
				t.Errorf("log %q, want a part %q", s.log.String(), tt.log)
			}
		})
	}
	for _, tt := range reduceCases() {
		t.Run(tt.name, func(t *testing.T) {
			s := newShelf()
			code, output, err := g.call(t, s, abi.ExportReduce, tt.input)
			var p abi.Problem
			if err != nil && json.Unmarshal([]byte(err.Error()), &p) != nil {
				t.Fatal(err)
			}
			if (code == 0) != (tt.code == 0) || string(output) != tt.output || p.Code != tt.code || !strings.Contains(s.log.String(), tt.log) {
				t.Errorf("exit %d, output %s, %v, log %q; want %s, code %d", code, output, err, s.log.String(), tt.output, tt.code)
			}
		})
	}
	want, err := sdk.Describe()
	if err != nil {
		t.Fatal(err)
	}
	if code, got, err := g.call(t, newShelf(), abi.ExportDescribe, ""); code != 0 || err != nil || string(got) != string(want) {
		t.Errorf("exit %d, error %v, manifest\n%s\nwant\n%s", code, err, got, want)
	}
	if code, _, _ := g.call(t, newShelf(), abi.ExportABI, ""); code != abi.Version {
		t.Errorf("%s gives %d, want %d", abi.ExportABI, code, abi.Version)
	}
}

func TestABrokenSkillLoadsAndSaysWhatIsWrong(t *testing.T) {
	g := load(t, build(t, "./testdata/broken"))
	code, _, err := g.call(t, newShelf(), abi.ExportDescribe, "")
	var p abi.Problem
	if code == 0 || err == nil || json.Unmarshal([]byte(err.Error()), &p) != nil || p.Code != abi.InvalidManifest {
		t.Fatalf("exit %d, error %v; want an invalid manifest", code, err)
	}
	for _, part := range []string{"twice", "contains itself", `"Test"`, "semantic version"} {
		if !strings.Contains(p.Message, part) {
			t.Errorf("the message %q does not tell about %s", p.Message, part)
		}
	}
}

func TestASkillMovesWholeBlocksUnlessItIsForAnyHost(t *testing.T) {
	var imports []string
	for _, f := range compile(t, buildTagged(t, "./testdata/plain", "")).ImportedFunctions() {
		if namespace, name, _ := f.Import(); namespace == abi.NamespaceHost {
			imports = append(imports, name)
		} else if strings.HasPrefix(name, "load_") || strings.HasPrefix(name, "store_") {
			t.Errorf("it moves words, too, by %s", name)
		}
	}
	slices.Sort(imports)
	if !slices.Equal(imports, abi.BlockFuncs()) {
		t.Errorf("it imports %v, want %v", imports, abi.BlockFuncs())
	}
}

// build makes a module for any host of Extism and gives its file.
func build(t *testing.T, source string) string { return buildTagged(t, source, "anyhost") }

// buildTagged makes a module as an author does, with a build tag.
func buildTagged(t *testing.T, source, tag string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "skill.wasm")
	cmd := exec.Command("go", "build", "-tags="+tag, "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", file, source)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", source, err, text)
	}
	return file
}

func compile(t *testing.T, file string) wazero.CompiledModule {
	t.Helper()
	code, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { r.Close(ctx) })
	m, err := r.CompileModule(ctx, code)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A guest is a compiled module; every call has an instance of its own.
type guest struct{ plugin *extism.CompiledPlugin }

// shelfKey finds the store of a call in its context.
type shelfKey struct{}

func load(t *testing.T, file string) guest {
	t.Helper()
	ctx := context.Background()
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmFile{Path: file}}}
	config := extism.PluginConfig{EnableWasi: true, RuntimeConfig: wazero.NewRuntimeConfigInterpreter()}
	plugin, err := extism.NewCompiledPlugin(ctx, manifest, config, hostFunctions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plugin.Close(ctx) })
	return guest{plugin}
}

func (g guest) call(t *testing.T, s *shelf, export, input string) (uint32, []byte, error) {
	t.Helper()
	ctx := context.WithValue(context.Background(), shelfKey{}, s)
	extism.SetLogLevel(extism.LogLevelInfo)
	instance, err := g.plugin.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: wazero.NewModuleConfig().WithStderr(io.Discard)})
	if err != nil {
		t.Fatal(err)
	}
	defer instance.Close(ctx)
	instance.SetLogger(func(_ extism.LogLevel, line string) { s.Log(line) })
	return instance.CallWithContext(ctx, export, []byte(input))
}

// hostFunctions serve the store of a call's context by the ABI.
func hostFunctions() []extism.HostFunction {
	serve := func(name string, run func(s *shelf, params []string) ([]byte, error)) extism.HostFunction {
		i64s := slices.Repeat([]extism.ValueType{extism.ValueTypeI64}, abi.HostFuncs()[name])
		return extism.NewHostFunctionWithStack(name, func(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
			var params []string
			for _, handle := range stack[:len(i64s)] {
				params = append(params, read(p, handle))
			}
			block, err := run(ctx.Value(shelfKey{}).(*shelf), params)
			stack[0] = result(p, block, err)
		}, i64s, []extism.ValueType{extism.ValueTypeI64})
	}
	return []extism.HostFunction{
		serve(abi.FuncKVGet, func(s *shelf, params []string) ([]byte, error) {
			value, _, err := s.KVGet(params[0])
			return value, err
		}),
		serve(abi.FuncKVPut, func(s *shelf, params []string) ([]byte, error) {
			return nil, s.KVPut(params[0], []byte(params[1]))
		}),
		serve(abi.FuncKVDelete, func(s *shelf, params []string) ([]byte, error) { return nil, s.KVDelete(params[0]) }),
		serve(abi.FuncKVScan, func(s *shelf, params []string) ([]byte, error) {
			var q abi.ScanQuery
			if err := json.Unmarshal([]byte(params[0]), &q); err != nil {
				return nil, err
			}
			page, err := s.KVScan(q)
			return page.Encode(), err
		}),
	}
}

func read(p *extism.CurrentPlugin, handle uint64) string {
	text, err := p.ReadString(handle)
	if err != nil {
		panic(err)
	}
	return text
}

// result gives what a host function returns: 0 for nothing, the handle of a
// block, or the negated handle of a problem.
func result(p *extism.CurrentPlugin, block []byte, err error) uint64 {
	sign := int64(1)
	if err != nil {
		sign = -1
		if block, err = json.Marshal(err); err != nil {
			panic(err)
		}
	}
	if len(block) == 0 {
		return 0
	}
	handle, err := p.WriteBytes(block)
	if err != nil {
		panic(err)
	}
	return uint64(sign * int64(handle))
}
