//go:build !race

package rewrite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// suiteDir finds the WebAssembly specification's suite in wazero's module.
func suiteDir(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatalf("finding wazero's module: %v", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
	if _, err := os.Stat(filepath.Join(dir, "v2", "testdata")); err != nil {
		t.Skipf("this copy of wazero does not carry the specification's suite: %v", err)
	}
	return dir
}

type script struct {
	name, dir string
	Commands  []command `json:"commands"`
}

type command struct {
	Type       string  `json:"type"`
	Line       int     `json:"line"`
	Name       string  `json:"name"`
	Filename   string  `json:"filename"`
	As         string  `json:"as"`
	Action     action  `json:"action"`
	Expected   []value `json:"expected"`
	ModuleType string  `json:"module_type"`
	Text       string  `json:"text"`
}

type action struct {
	Type   string  `json:"type"`
	Field  string  `json:"field"`
	Module string  `json:"module"`
	Args   []value `json:"args"`
}

type value struct {
	Type  string `json:"type"`
	Lane  string `json:"lane_type"`
	Value any    `json:"value"`
}

func scripts(t testing.TB, dir string) []script {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s (%v)", dir, err)
	}
	var all []script
	for _, file := range files {
		s := script{name: strings.TrimSuffix(filepath.Base(file), ".json"), dir: filepath.Dir(file)}
		raw, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(raw, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// lanes gives a value's parts with their widths in bits.
func (v value) lanes() (texts []string, width int) {
	kind := v.Type
	if v.Type == "v128" {
		kind = v.Lane
	}
	width = map[string]int{"i8": 8, "i16": 16, "i32": 32, "f32": 32}[kind]
	if width == 0 {
		width = 64
	}
	switch x := v.Value.(type) {
	case string:
		texts = []string{x}
	case []any:
		for _, lane := range x {
			texts = append(texts, lane.(string))
		}
	default:
		texts = []string{"null"}
	}
	return texts, width
}

func bits(text string, width int, reference bool) uint64 {
	if text == "null" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		panic(err)
	}
	if reference { // 0 is null to wazero
		n++
	}
	if width == 64 {
		return n
	}
	return n & (1<<width - 1)
}

// words gives a value as wazero takes it.
func (v value) words() []uint64 {
	texts, width := v.lanes()
	out := make([]uint64, (len(texts)*width+63)/64)
	for i, text := range texts {
		out[i*width/64] |= bits(text, width, v.Type == "externref") << (i * width % 64)
	}
	return out
}

// matches compares a result with what is expected of it.
func (v value) matches(got []uint64) bool {
	if v.Value == nil {
		return true // any reference
	}
	texts, width := v.lanes()
	for i, text := range texts {
		lane := got[i*width/64] >> (i * width % 64)
		if width < 64 {
			lane &= 1<<width - 1
		}
		if strings.HasPrefix(text, "nan:") {
			if width == 32 && !math.IsNaN(float64(math.Float32frombits(uint32(lane)))) || width == 64 && !math.IsNaN(math.Float64frombits(lane)) {
				return false
			}
		} else if lane != bits(text, width, v.Type == "externref") {
			return false
		}
	}
	return true
}

// A transformation is how a suite's modules are changed before they run.
type transformation struct {
	apply func(wasm []byte) ([]byte, error)
	meter *meter                       // nil if nothing is imported
	left  func(m api.Module) (i int64) // fuel that an instance has left
}

// A player plays scripts.
type player struct {
	t         *testing.T
	ctx       context.Context
	config    wazero.RuntimeConfig
	how       transformation
	runtime   wazero.Runtime
	plain     wazero.Runtime // validates originals
	instances []api.Module
	named     map[string]api.Module
	last      api.Module
	played    int
	used      map[string]int64 // fuel of each command that did not trap
}

// suites gives the versions of the suite with the features that each is about.
func suites() map[string]api.CoreFeatures {
	return map[string]api.CoreFeatures{"v1": api.CoreFeaturesV1, "v2": api.CoreFeaturesV2}
}

func play(t *testing.T, all []script, config wazero.RuntimeConfig, features api.CoreFeatures, how transformation) (used map[string]int64, commands int) {
	ctx := t.Context()
	config = config.WithCoreFeatures(features)
	plain := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	defer plain.Close(ctx)
	used = map[string]int64{}
	for _, s := range all {
		p := &player{t: t, ctx: ctx, config: config, how: how, plain: plain, named: map[string]api.Module{}, used: used}
		p.play(s)
		commands += p.played
	}
	return used, commands
}

func (p *player) play(s script) {
	p.runtime = wazero.NewRuntimeWithConfig(p.ctx, p.config)
	defer p.runtime.Close(p.ctx)
	if p.how.meter != nil {
		if err := p.how.meter.instantiate(p.ctx, p.runtime); err != nil {
			p.t.Fatal(err)
		}
	}
	host, err := os.ReadFile(filepath.Join(s.dir, "..", "..", "testdata", "spectest.wasm"))
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.runtime.InstantiateWithConfig(p.ctx, host, wazero.NewModuleConfig()); err != nil {
		p.t.Fatal(err)
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		before := p.total()
		as := ""
		if i+1 < len(s.Commands) && s.Commands[i+1].Type == "register" {
			as = s.Commands[i+1].As
		}
		counted, err := p.command(s, c, as)
		p.played++
		if err != nil {
			p.t.Errorf("%s.wast:%d: %s %s: %v", s.name, c.Line, c.Type, c.Action.Field, err)
		}
		if counted {
			p.used[fmt.Sprintf("%s:%d:%d", s.name, i, c.Line)] = p.total() - before
		}
	}
}

func (p *player) total() int64 {
	var sum int64
	if p.how.meter != nil {
		sum = p.how.meter.granted
	}
	for _, m := range p.instances {
		sum -= p.how.left(m)
	}
	return sum
}

func (p *player) command(s script, c *command, as string) (counted bool, err error) {
	switch c.Type {
	case "module":
		m, err := p.instantiate(s, c, as)
		if err != nil {
			return false, err
		}
		p.last = m
		if c.Name != "" {
			p.named[c.Name] = m
		}
		return true, nil
	case "action", "assert_return":
		return true, p.returns(c)
	case "assert_trap", "assert_exhaustion":
		return false, p.traps(c)
	case "assert_malformed", "assert_invalid", "assert_unlinkable", "assert_uninstantiable":
		if c.ModuleType == "text" {
			return false, nil
		}
		_, err := p.instantiate(s, c, "")
		if c.Text == "out of bounds table access" {
			return false, err // an instance nevertheless, to wazero
		}
		if err == nil {
			return false, fmt.Errorf("%s was accepted", c.Filename)
		}
	}
	return false, nil
}

var errInvalid = errors.New("invalid")

func (p *player) instantiate(s script, c *command, as string) (api.Module, error) {
	wasm, err := os.ReadFile(filepath.Join(s.dir, c.Filename))
	if err != nil {
		p.t.Fatal(err)
	}
	compiled, err := p.plain.CompileModule(p.ctx, wasm)
	if err != nil {
		p.how.apply(wasm) // must only not panic
		return nil, errors.Join(errInvalid, err)
	}
	compiled.Close(p.ctx)
	if wasm, err = p.how.apply(wasm); err != nil {
		return nil, err
	}
	m, err := p.runtime.InstantiateWithConfig(p.ctx, wasm, wazero.NewModuleConfig().WithName(as).WithStartFunctions())
	if err == nil {
		p.instances = append(p.instances, m)
	}
	return m, err
}

func (p *player) module(c *command) api.Module {
	if c.Action.Module != "" {
		return p.named[c.Action.Module]
	}
	return p.last
}

func (p *player) invoke(c *command) ([]uint64, error) {
	var args []uint64
	for _, v := range c.Action.Args {
		args = append(args, v.words()...)
	}
	f := p.module(c).ExportedFunction(c.Action.Field)
	if f == nil {
		return nil, fmt.Errorf("no export %q", c.Action.Field)
	}
	return f.Call(p.ctx, args...)
}

func (p *player) returns(c *command) error {
	var got []uint64
	if c.Action.Type == "get" {
		got = []uint64{p.module(c).ExportedGlobal(c.Action.Field).Get()}
	} else {
		var err error
		if got, err = p.invoke(c); err != nil {
			return err
		}
	}
	for _, v := range c.Expected {
		n := 1
		if v.Type == "v128" {
			n = 2
		}
		if len(got) < n || !v.matches(got[:n]) {
			return fmt.Errorf("got %x, want %v", got, c.Expected)
		}
		got = got[n:]
	}
	return nil
}

func (p *player) traps(c *command) error {
	_, err := p.invoke(c)
	if p.how.meter != nil {
		for _, m := range p.instances {
			resetDepth(m)
		}
	}
	if err == nil {
		return fmt.Errorf("did not trap with %q", c.Text)
	}
	want := c.Text
	switch {
	case c.Type == "assert_exhaustion":
		if errors.Is(err, tooDeep{}) {
			return nil
		}
		want = "stack overflow"
	case c.Text == "undefined element", c.Text == "undefined", c.Text == "out of bounds table access", strings.HasPrefix(c.Text, "uninitialized"):
		want = "invalid table access"
	case c.Text == "indirect call":
		want = "indirect call type mismatch"
	}
	if !strings.Contains(err.Error(), want) {
		return fmt.Errorf("trapped with %q, want %q", strings.SplitN(err.Error(), "\n", 2)[0], want)
	}
	return nil
}

func identity(wasm []byte) ([]byte, error) {
	out, err := rewrite.Identity(wasm)
	if err != nil {
		return nil, err
	}
	again, err := rewrite.Identity(out)
	if err == nil && string(again) != string(out) {
		err = errors.New("what was written is not read and written the same")
	}
	return out, err
}

func nothingLeft(api.Module) int64 { return 0 }

func TestSuiteIsReadAndWrittenWithoutAChange(t *testing.T) {
	dir := suiteDir(t)
	for version, features := range suites() {
		all := scripts(t, filepath.Join(dir, version))
		_, n := play(t, all, wazero.NewRuntimeConfigInterpreter(), features, transformation{apply: identity, left: nothingLeft})
		t.Logf("%s: %d commands", version, n)
	}
}

// TestSuiteRunsMeteredWithTheFuelOfTheOracle is the proof that metering changes
// nothing but the fuel, and that the fuel is exact.
func TestSuiteRunsMeteredWithTheFuelOfTheOracle(t *testing.T) {
	dir := suiteDir(t)
	for version, features := range suites() {
		all := scripts(t, filepath.Join(dir, version))
		if testing.Short() {
			all = all[:len(all)/4]
		}
		want, _ := play(t, all, wazero.NewRuntimeConfigCompiler(), features, transformation{apply: rewrite.Oracle, left: oracleLeft})
		for _, e := range engines() {
			for _, slice := range []int64{unlimited, 1, 7, 1000} {
				t.Run(fmt.Sprintf("%s, %s, slices of %d", version, e.name, slice), func(t *testing.T) {
					meter := &meter{slice: slice, limit: 1 << 62}
					apply := func(wasm []byte) ([]byte, error) { return rewrite.Meter(wasm, rewrite.MeterOptions{}) }
					got, n := play(t, all, e.config(), features, transformation{apply: apply, meter: meter, left: left})
					different := compareFuel(t, got, want)
					t.Logf("%d commands, %d refills; fuel compared %d times, %d different", n, meter.refills, len(want), different)
				})
			}
		}
	}
}

func compareFuel(t *testing.T, got, want map[string]int64) (different int) {
	t.Helper()
	for at, fuel := range want {
		if got[at] == fuel {
			continue
		}
		if different++; different < 20 {
			t.Errorf("%s used %d, the oracle says %d", at, got[at], fuel)
		}
	}
	return different
}
