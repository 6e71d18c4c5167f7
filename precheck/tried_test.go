package precheck

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

// answering with input_length and kv_get beside what every answer needs.
var reading = append(slices.Clone(answering),
	imp{"extism:host/env", "input_length", ">l"},
	imp{userFunctions, abi.FuncKVGet, "l>l"})

const (
	callInputLength, callKVGet = 3, 4
	withKV                     = `"abi":1,"capabilities":{"kv":{"namespace":"prices"}}`
)

// invoking gives a module whose sluice_invoke begins with some instructions.
func invoking(manifest string, before ...byte) []byte {
	m := goodWith(manifest)
	m.imports = slices.Clone(reading)
	m.funcs[2].locals = 3
	m.funcs[2].body = append(before, saying(`{"ok":true,"data":1}`)...)
	return m.bytes()
}

// quadratic counts down from the input's length, and in it from a 64th of that.
func quadratic() []byte {
	return slices.Concat([]byte{0x10, callInputLength, 0x21, 1, 0x03, 0x40, 0x10, callInputLength, 0x42, 6, 0x88, 0x21, 2, 0x03, 0x40},
		[]byte{0x20, 2, 0x42, 1, 0x7d, 0x22, 2, 0x50, 0x45, 0x0d, 0, 0x0b},
		[]byte{0x20, 1, 0x42, 1, 0x7d, 0x22, 1, 0x50, 0x45, 0x0d, 0, 0x0b})
}

func TestAnExampleIsHeldToWhatItSays(t *testing.T) {
	kv := replaced(`"abi":1`, withKV)
	for name, c := range map[string]struct {
		module []byte
		want   []string
	}{
		"nothing":                              {invoking(kv), nil},
		"an example that gives something else": {remade(`"args":{"sku":"1001"}`, `"args":{"sku":"1001"},"returns":2`), []string{"examples failure"}},
		"an example that should be refused":    {remade(`"args":{"sku":"1001"}`, `"args":{"sku":"1001"},"problem":3101`), []string{"examples failure"}},
		"an example out of scope":              {remade(`"effect":"read"`, `"effect":"read","scope":"args.sku == '1002'"`), []string{"examples failure"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, all := judged(t, config(t), Subject{Name: name, Module: c.module})
			if !slices.Equal(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
			for _, m := range all {
				if m.Finding != nil {
					t.Logf("%s: %+v", m.Rule, *m.Finding)
				}
				if m.Kind == Figure {
					t.Logf("%s: %s", m.Text, m.Value)
				}
			}
		})
	}
}

func TestACallThatIsNotTheSameTwiceIsFound(t *testing.T) {
	x := &examination{Config: config(t), Subject: Subject{Name: "m", Module: good().bytes()}, tell: func(Message) {}, waived: map[int]bool{}}
	defer x.close(t.Context())
	for _, s := range stages()[:5] {
		for _, x.rule = range s.rules {
			x.rule.check(x, t.Context())
		}
	}
	tryOut(t.Context(), x)
	runs := x.tryExamples(t.Context())
	if len(runs) != 1 {
		t.Fatalf("%d examples ran", len(runs))
	}
	rule, _ := RuleOf("repeatable")
	for name, c := range map[string]struct {
		change func(*run)
		found  int
	}{
		"nothing":       {func(*run) {}, 0},
		"another byte":  {func(r *run) { r.outcome.Data = []byte("2") }, 1},
		"another fuel":  {func(r *run) { r.outcome.Usage.Fuel++ }, 1},
		"a problem now": {func(r *run) { r.outcome.Problem = abi.NewProblem(abi.NotAllowed, "no") }, 1},
	} {
		changed := slices.Clone(runs)
		c.change(&changed[0])
		x.rule, x.runs, x.verdict = rule, changed, Verdict{}
		rule.check(x, t.Context())
		if x.verdict.Failures != c.found {
			t.Errorf("%s: %d are found", name, x.verdict.Failures)
		}
	}
}

func TestArgumentsAreMadeThatFitAndThatDoNot(t *testing.T) {
	x := &examination{Config: config(t), Subject: Subject{Module: remade(`{"type":"string","description":"the product's number"}`,
		`{"type":"string","minLength":3,"maxLength":8},"n":{"type":"integer","minimum":5,"maximum":9},"how":{"enum":["a","b"]},"list":{"type":"array","items":{"$ref":"#/$defs/one"},"minItems":1}`)},
		tell: func(Message) {}, waived: map[int]bool{}}
	x.Module = remade(`"additionalProperties":false}`, `"additionalProperties":false,"$defs":{"one":{"type":"object","properties":{"x":{"type":["number","null"],"multipleOf":0.5}},"required":["x"]}}}`)
	defer x.close(t.Context())
	for _, s := range stages()[:3] {
		for _, x.rule = range s.rules {
			x.rule.check(x, t.Context())
		}
	}
	tool := x.skill.Tools[0]
	made := func() (all []string, fit int) {
		g := newGenerator(tool.Input, inputSeed)
		for range 1000 {
			args, good := x.arguments(g, tool, true)
			if good {
				fit++
			}
			all = append(all, string(args))
		}
		return all, fit
	}
	first, fit := made()
	if second, _ := made(); !slices.Equal(first, second) {
		t.Error("the same seed makes other arguments")
	}
	if fit < 200 || fit > 800 {
		t.Errorf("%d of 1000 fit", fit)
	}
}

func TestSteepnessIsThePowerOfTheSize(t *testing.T) {
	for power, fuel := range map[float64]func(n float64) float64{
		1: func(n float64) float64 { return 9000 + 12*n }, 2: func(n float64) float64 { return 9000 + n*n/64 }, 3: func(n float64) float64 { return n * n * n },
	} {
		var points []point
		for n := float64(smallGrowth); n <= largeGrowth; n *= 2 {
			points = append(points, point{n, fuel(n)})
		}
		got, ok := steepness(points)
		if !ok || math.Abs(got-power) > 0.3 {
			t.Errorf("%g counts as %g, %v", power, got, ok)
		}
	}
	if got, ok := steepness([]point{{1, 5}, {2, 5}, {4, 5}, {8, 5}}); ok {
		t.Errorf("nothing grows with the power %g", got)
	}
}

func FuzzArgumentsOfAnySchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, uint64(1))
	f.Add(`{"anyOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{"allOf":[{"$ref":"#"}]}}}`, uint64(2))
	f.Add(`{"type":"string","minLength":1e300,"maxLength":-1}`, uint64(3))
	f.Add(`{"type":"array","items":{"type":"array","items":{"$ref":"#/items"}},"minItems":-5}`, uint64(4))
	f.Add(`{"type":"number","minimum":1e308,"maximum":-1e308,"multipleOf":1e-300}`, uint64(5))
	f.Fuzz(func(t *testing.T, schema string, seed uint64) {
		g := newGenerator(json.RawMessage(schema), seed)
		_ = g.arguments()
		argumentDepth(json.RawMessage(schema))
	})
}
