package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
)

// newSandbox makes a sandbox without a disk.
func newSandbox(t testing.TB, cfg sandbox.Config) *sandbox.Sandbox {
	t.Helper()
	cfg.Audit = true
	return newSandboxAs(t, cfg)
}

func newSandboxAs(t testing.TB, cfg sandbox.Config) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func load(t testing.TB, m *module, limits abi.Limits) *sandbox.Module {
	t.Helper()
	s := newSandbox(t, sandbox.Config{})
	sandbox.OnlyStartFuel(s, 1_000_000) // in the interpreter, more takes long
	loaded, err := s.Load(context.Background(), m.bytes(), patient(limits))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestLoadRefusesWhatCannotRun(t *testing.T) {
	ok := newModule().export("run", i32c(0)).bytes()
	section := func(id byte, content ...byte) []byte {
		m := newModule()
		m.extra = append([]byte{id}, vector(content)...)
		return m.bytes()
	}
	body := func(code ...byte) []byte { return newModule().export("run", code, i32c(0)).bytes() }
	memory := func(flags ...byte) []byte {
		m := newModule()
		m.pages, m.extra = -1, append([]byte{5}, vector(append([]byte{1}, flags...))...)
		return m.bytes()
	}
	imports := func(namespaceAndName ...string) []byte {
		m := newModule()
		for _, n := range namespaceAndName {
			namespace, name, _ := strings.Cut(n, "|")
			m.imported(namespace, name, nil, nil)
		}
		return m.export("run", i32c(0)).bytes()
	}
	raw := func(name string, description ...byte) []byte {
		m := newModule()
		m.importedRaw("env", name, description...)
		return m.bytes()
	}
	many := make([]string, 100)
	for i := range many {
		many[i] = "env|f" + strings.Repeat("x", i)
	}
	for _, tt := range []struct {
		name string
		wasm []byte
		code abi.Code
		want []string
	}{
		{"nothing", nil, abi.CorruptModule, []string{"not WebAssembly"}},
		{"text", []byte("#!/bin/sh\necho hello\n"), abi.CorruptModule, []string{"not WebAssembly"}},
		{"header only cut", ok[:6], abi.CorruptModule, []string{"not WebAssembly"}},
		{"cut in a section", ok[:len(ok)-3], abi.CorruptModule, []string{"ends in the middle"}},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), abi.CorruptModule, []string{"component", "wasm32-wasip1"}},
		{"version 2", []byte("\x00asm\x02\x00\x00\x00"), abi.CorruptModule, []string{"version 2"}},
		{"stack left over", body(0x41, 1), abi.CorruptModule, []string{"cannot be used"}},
		{"unknown opcode", body(0xff), abi.CorruptModule, []string{"cannot be used"}},
		{"atomics", body(0xfe, 0x03, 0x00), abi.CorruptModule, []string{"threads", "-matomics"}},
		{"tail call", body(0x12, 0x00), abi.CorruptModule, []string{"tail calls", "-mno-tail-call"}},
		{"throw", body(0x08, 0x00), abi.CorruptModule, []string{"exception handling", "panic=abort"}},
		{"try_table", body(0x1f, 0x40, 0x00, 0x0b), abi.CorruptModule, []string{"exception handling"}},
		{"call_ref", body(0x14, 0x00), abi.CorruptModule, []string{"typed function references"}},
		{"extended constants", section(6, 1, i32t, 0, 0x41, 1, 0x41, 1, 0x6a, 0x0b), abi.CorruptModule, []string{"extended constant", "-mno-extended-const"}},
		{"shared memory", memory(3, 1, 1), abi.CorruptModule, []string{"threads", "-pthread"}},
		{"64-bit memory", memory(4, 1), abi.CorruptModule, []string{"64-bit memory", "wasm32"}},
		{"two memories", section(5, 2, 0, 1, 0, 1), abi.CorruptModule, []string{"several memories"}},
		{"GC type", []byte("\x00asm\x01\x00\x00\x00\x01\x03\x01\x5f\x00"), abi.CorruptModule, []string{"garbage collected"}},
		{"unknown import", imports("env|now"), abi.UnknownImport, []string{"env.now", "extism:host/env"}},
		{"an import with control characters", imports("env|a\n\x1b[2J"), abi.UnknownImport, []string{"env.a??[2J"}},
		{"all unknown imports", imports("a|one", "extism:host/user|sluice_kv_steal", "b|two"), abi.UnknownImport, []string{"a.one", "extism:host/user.sluice_kv_steal", "b.two"}},
		{"a hundred unknown imports", imports(many...), abi.UnknownImport, []string{"env.f,", "and 60 more"}},
		{"js", imports("gojs|runtime.wasmExit"), abi.UnknownImport, []string{"GOOS=wasip1"}},
		{"browser", imports("wbg|__wbindgen_throw"), abi.UnknownImport, []string{"wasm-bindgen"}},
		{"preview 2", imports("wasi:cli/run@0.2.0|run"), abi.UnknownImport, []string{"wasip1"}},
		{"known import of another type", imports("extism:host/env|alloc"), abi.UnknownImport, []string{"extism:host/env.alloc as () -> ()", "(it is (i64) -> (i64))"}},
		{"imported memory", raw("memory", 2, 0, 1), abi.UnknownImport, []string{"env.memory (a memory)"}},
		{"imported global", raw("sp", 3, i32t, 1), abi.UnknownImport, []string{"env.sp (a global)"}},
		{"imported table", raw("t", 1, 0x70, 0, 1), abi.UnknownImport, []string{"env.t (a table)"}},
		{"old WASI", imports("wasi_unstable|fd_write"), abi.UnknownImport, []string{"wasi_snapshot_preview1"}},
		{"typed table", section(4, 1, 0x63, 0x70, 0, 1), abi.CorruptModule, []string{"typed function references"}},
		{"import of two parameters", func() []byte {
			m := newModule()
			m.imported(abi.NamespaceHost, abi.FuncKVPut, []byte{i64t, i32t}, []byte{i64t})
			return m.bytes()
		}(), abi.UnknownImport, []string{"as (i64, i32) -> (i64) (it is (i64, i64) -> (i64))"}},
		{"imported tag", raw("t", 4, 0, 0), abi.CorruptModule, []string{"exception handling"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := newSandbox(t, sandbox.Config{}).Load(context.Background(), tt.wasm, abi.Limits{})
			if err == nil {
				t.Fatalf("Load gave %v, want a problem", m)
			}
			p := problemOf(t, err)
			if p.Code != tt.code {
				t.Errorf("Load gave %v, want code %d", err, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(p.Message, want) {
					t.Errorf("Load gave %q, want %q in it", p.Message, want)
				}
			}
			if len(p.Message) > 8<<10 {
				t.Errorf("the message has %d bytes", len(p.Message))
			}
		})
	}
}

// The engine makes room for as many things as a module says that it has. A
// module of a few bytes must not take the memory of the host.
func TestLoadRefusesCountsThatAreNotThere(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	custom := func(content ...byte) []byte {
		return slices.Concat([]byte{0}, vector(append(vector([]byte("name")), content...)))
	}
	for name, section := range map[string][]byte{
		"types":                      append([]byte{1}, vector(huge)...),
		"parameters":                 append([]byte{1}, vector(append([]byte{1, 0x60}, huge...))...),
		"imports":                    append([]byte{2}, vector(huge)...),
		"the name of an import":      append([]byte{2}, vector(append([]byte{1}, huge...))...),
		"functions":                  append([]byte{3}, vector(huge)...),
		"tables":                     append([]byte{4}, vector(huge)...),
		"memories":                   append([]byte{5}, vector(huge)...),
		"globals":                    append([]byte{6}, vector(huge)...),
		"exports":                    append([]byte{7}, vector(huge)...),
		"the name of an export":      append([]byte{7}, vector(append([]byte{1}, huge...))...),
		"element segments":           append([]byte{9}, vector(huge)...),
		"items of a segment":         append([]byte{9}, vector(append([]byte{1, 0, 0x41, 0, 0x0b}, huge...))...),
		"expressions of a segment":   append([]byte{9}, vector(append([]byte{1, 5, 0x70}, huge...))...),
		"bodies":                     append([]byte{10}, vector(huge)...),
		"the length of a body":       append([]byte{10}, vector(append([]byte{1}, huge...))...),
		"groups of locals":           append([]byte{10}, vector(append([]byte{1, 6}, huge...))...),
		"locals":                     append([]byte{10}, vector(slices.Concat([]byte{1, 8, 1}, huge, []byte{i32t, 0x0b}))...),
		"data segments":              append([]byte{11}, vector(huge)...),
		"the bytes of a segment":     append([]byte{11}, vector(append([]byte{1, 1}, huge...))...),
		"the name of a section":      append([]byte{0}, vector(huge)...),
		"the name of the module":     custom(append([]byte{0, 5}, huge...)...),
		"names of functions":         custom(append([]byte{1, 5}, huge...)...),
		"the name of a function":     custom(append([]byte{1, 7, 1, 0}, huge...)...),
		"functions with local names": custom(append([]byte{2, 5}, huge...)...),
		"names of locals":            custom(append([]byte{2, 7, 1, 0}, huge...)...),
		"names after names":          custom(append([]byte{1, 2, 0, 0}, append([]byte{1, 5}, huge...)...)...),
	} {
		wasm := append([]byte("\x00asm\x01\x00\x00\x00"), section...)
		if _, err := newSandbox(t, sandbox.Config{}).Load(context.Background(), wasm, abi.Limits{}); err == nil || problemOf(t, err).Code != abi.CorruptModule {
			t.Errorf("%s: %v, want a corrupt module", name, err)
		}
	}
}

func problemOf(t *testing.T, err error) *abi.Problem {
	t.Helper()
	var failed *host.Error
	if !errors.As(err, &failed) {
		t.Fatalf("%v carries no problem", err)
	}
	return failed.Problem
}

func TestLoadRefusesEveryCutModule(t *testing.T) {
	m := newModule()
	f := m.abi()
	wasm := m.export("run", i64c(8), callf(f.alloc), drop, i32c(0)).bytes()
	s := newSandbox(t, sandbox.Config{})
	for n := range wasm {
		loaded, err := s.Load(context.Background(), wasm[:n], abi.Limits{})
		if err != nil {
			if p := problemOf(t, err); p.Code != abi.CorruptModule {
				t.Errorf("the first %d bytes: %v", n, err)
			}
		} else if loaded.Has("run") {
			t.Errorf("the first %d of %d bytes loaded with all exports", n, len(wasm))
		}
	}
}

func TestLoadRefusesRandomBytes(t *testing.T) {
	s := newSandbox(t, sandbox.Config{})
	random := rand.NewChaCha8([32]byte{1})
	for n := range 200 {
		b := make([]byte, n*37)
		_, _ = random.Read(b)
		if n%2 == 0 && n > 0 {
			copy(b, "\x00asm\x01\x00\x00\x00")
		}
		if _, err := s.Load(context.Background(), b, abi.Limits{}); err == nil || problemOf(t, err).Code.Class() != abi.ClassBroken {
			t.Errorf("%d random bytes gave %v", len(b), err)
		}
	}
}

func TestLoadRefusesAModuleThatIsTooLargeBeforeReadingIt(t *testing.T) {
	huge := make([]byte, 200<<20)
	copy(huge, "\x00asm\x01\x00\x00\x00")
	began := time.Now()
	_, err := newSandbox(t, sandbox.Config{}).Load(context.Background(), huge, abi.Limits{})
	if p := problemOf(t, err); p.Code != abi.ModuleTooLarge || !strings.Contains(p.Message, "209715200") || !strings.Contains(p.Message, "16MiB") {
		t.Errorf("200 MB gave %v", err)
	}
	t.Logf("refused after %v", time.Since(began))

	wasm := newModule().export("run", i32c(0)).bytes()
	size := abi.Size(len(wasm))
	if _, err := newSandbox(t, sandbox.Config{ModuleBytes: size}).Load(context.Background(), wasm, abi.Limits{}); err != nil {
		t.Errorf("a module of exactly the allowed size: %v", err)
	}
	_, err = newSandbox(t, sandbox.Config{ModuleBytes: size - 1}).Load(context.Background(), wasm, abi.Limits{})
	if err == nil || problemOf(t, err).Code != abi.ModuleTooLarge {
		t.Errorf("a module one byte above the allowed size: %v", err)
	}
}

func TestNewRefusesWhatIsAboveTheCeiling(t *testing.T) {
	file := t.TempDir() + "/file"
	writeFile(t, file, "x")
	for name, cfg := range map[string]sandbox.Config{
		"module size":       {ModuleBytes: abi.ModuleBytesCeiling + 1},
		"negative size":     {ModuleBytes: -1},
		"memory":            {Ceiling: abi.Limits{Memory: abi.CeilingLimits().Memory + 1}},
		"less than a page":  {Ceiling: abi.Limits{Memory: abi.PageBytes - 1}},
		"negative deadline": {Ceiling: abi.Limits{Deadline: -1}},
		"cache is a file":   {CacheDir: file},
	} {
		if _, err := sandbox.New(cfg); err == nil || problemOf(t, err).Code != abi.BadValue {
			t.Errorf("%s: New gave %v, want a bad value", name, err)
		}
	}
}

func TestLimitsAreDefaultsUnderTheCeiling(t *testing.T) {
	wasm := newModule().export("run", i32c(0)).bytes()
	d, c := abi.DefaultLimits(), abi.CeilingLimits()
	small := abi.Limits{Fuel: 10, Memory: 3*abi.PageBytes + 1, Deadline: abi.Duration(time.Second), Input: 5, Output: 6, Logs: 7}
	for _, tt := range []struct {
		name            string
		ceiling, limits abi.Limits
		want            abi.Limits
	}{
		{"none", abi.Limits{}, abi.Limits{}, d},
		{"above every ceiling", abi.Limits{}, abi.Limits{Fuel: c.Fuel + 1, Memory: c.Memory * 2, Deadline: c.Deadline * 2, Input: c.Input + 1, Output: c.Output + 1, Logs: c.Logs + 1}, c},
		{"as large as can be written", abi.Limits{}, abi.Limits{Memory: 1<<63 - 1, Output: 1<<63 - 1}, abi.Limits{Memory: c.Memory, Output: c.Output}.WithDefaults(d)},
		{"the host's ceiling over the default", small, abi.Limits{}, abi.Limits{Fuel: 10, Memory: 3 * abi.PageBytes, Deadline: small.Deadline, Input: 5, Output: 6, Logs: 7}},
		{"part of a page is a page", abi.Limits{}, abi.Limits{Memory: 100_000}, abi.Limits{Memory: 2 * abi.PageBytes}.WithDefaults(d)},
		{"one page", abi.Limits{}, abi.Limits{Memory: abi.PageBytes}, abi.Limits{Memory: abi.PageBytes}.WithDefaults(d)},
	} {
		m, err := newSandbox(t, sandbox.Config{Ceiling: tt.ceiling}).Load(context.Background(), wasm, tt.limits)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Limits(); got != tt.want {
			t.Errorf("%s: limits are %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestLoadRefusesLimitsThatCannotBe(t *testing.T) {
	wasm := newModule().export("run", i32c(0)).bytes()
	large := newModule().export("run", i32c(0))
	large.pages = 40
	tables := newModule().export("run", i32c(0))
	tables.pages, tables.extra = -1, append([]byte{4}, vector(append([]byte{1, 0x70, 0}, uleb(9_000_000)...))...)
	s := newSandbox(t, sandbox.Config{})
	for _, tt := range []struct {
		name   string
		wasm   []byte
		limits abi.Limits
		code   abi.Code
		want   string
	}{
		{"less than a page", wasm, abi.Limits{Memory: 65535}, abi.BadValue, "less than one page of 64KiB"},
		{"negative memory", wasm, abi.Limits{Memory: -1}, abi.BadValue, "limits.memory: -1 is negative"},
		{"negative deadline", wasm, abi.Limits{Deadline: -1}, abi.BadValue, "limits.deadline"},
		{"starts larger than its limit", large.bytes(), abi.Limits{Memory: 2 * abi.MiB}, abi.OutOfMemory, "starts with 2621440 bytes"},
		{"starts with a huge table", tables.bytes(), abi.Limits{}, abi.OutOfMemory, "memory and tables"},
	} {
		_, err := s.Load(context.Background(), tt.wasm, tt.limits)
		if err == nil {
			t.Errorf("%s: it loaded", tt.name)
			continue
		}
		if p := problemOf(t, err); p.Code != tt.code || !strings.Contains(p.Message, tt.want) {
			t.Errorf("%s: %v, want code %d and %q", tt.name, err, tt.code, tt.want)
		}
	}
}

func TestModuleTellsWhatItIs(t *testing.T) {
	m := newModule()
	for _, name := range []string{"sluice_kv_put", "sluice_http", "sluice_kv_put"} {
		m.imported(abi.NamespaceHost, name, []byte{i64t, i64t}, []byte{i64t})
	}
	m.abi()
	m.exportAs("with_parameter", m.function([]byte{i32t}, []byte{i32t}, 0, i32c(0)))
	m.exportAs("void", m.function(nil, nil, 0))
	m.exportAs("long", m.function(nil, []byte{i64t}, 0, i64c(0)))
	m.export("run", i32c(0))
	loaded := load(t, m, abi.Limits{})
	if got := strings.Join(loaded.Imports(), " "); got != "sluice_http sluice_kv_put" {
		t.Errorf("Imports gave %q", got)
	}
	if loaded.Digest() != host.Digest(m.bytes()) {
		t.Errorf("Digest gave %q", loaded.Digest())
	}
	for export, want := range map[string]bool{"run": true, "with_parameter": false, "void": false, "long": false, "memory": false, "": false} {
		if loaded.Has(export) != want {
			t.Errorf("Has(%q) gave %v", export, !want)
		}
		if res := loaded.Call(context.Background(), sandbox.Request{Export: export}); want == (res.Problem != nil) || !want && res.Problem.Code != abi.MissingExport {
			t.Errorf("calling %q gave %v", export, res.Problem)
		}
	}
}

func FuzzLoadNeverPanics(f *testing.F) {
	m := newModule()
	a := m.abi()
	f.Add(m.export("run", i64c(8), callf(a.alloc), drop, i32c(0)).bytes())
	f.Add([]byte("\x00asm\x0d\x00\x01\x00"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x01\x03\x01\x5f\x00"))
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	s := newSandbox(f, sandbox.Config{})
	f.Fuzz(func(t *testing.T, wasm []byte) {
		loaded, err := s.Load(t.Context(), wasm, abi.Limits{Memory: abi.PageBytes})
		if err != nil {
			problemOf(t, err)
			return
		}
		res := loaded.Call(t.Context(), sandbox.Request{Export: "run", Deadline: 100 * time.Millisecond})
		if res.Problem != nil && res.Problem.Code == abi.HostBug {
			t.Errorf("the host failed: %v %v", res.Problem, res.Logs)
		}
		if err := loaded.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
