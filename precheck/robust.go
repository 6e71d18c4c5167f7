package precheck

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
)

// robustRules call the module itself, past the gate: what a gate would stop must
// not break it either.
func robustRules() []Rule {
	return []Rule{{
		ID: "any-input", Severity: Failure, Title: "No arguments make the module trap",
		Reason: "A trap is told to the user as a fault of the shop's, and costs the instance.",
		Mend:   "Answer what does not make sense with a problem of the class 4xxx; the SDK does so for what does not decode.",
		check:  (*examination).takesAnyInput,
	}, {
		ID: "hostile-host", Severity: Failure, Title: "Host functions that fail or answer junk make the module answer a problem",
		Reason: "Stores are away at times, and other hosts answer anything.",
		Mend:   "Check what a host function gives before it is used, and pass its problem on.",
		check:  (*examination).standsHostility,
	}, {
		ID: "growth", Severity: Warning, Title: "Fuel grows in proportion to the input",
		Reason: "What is quadratic is quick in examples, and runs out of fuel in public.",
		Mend:   "Look for a loop in a loop over the input, such as adding to a text piece by piece.",
		check:  (*examination).growsInProportion,
	}}
}

// How many arguments are made for each tool, and out of how many tries: some
// schemas are hard to hit.
const (
	wantedInputs = 200
	triedInputs  = 4000
	inputSeed    = 7
)

// takesAnyInput calls every tool with arguments that fit its schema and with
// some that do not.
func (x *examination) takesAnyInput(ctx context.Context) {
	x.eachTool(func(at string, t *manifest.Tool) {
		g := newGenerator(t.Input, inputSeed)
		var fit, unfit int
		for range triedInputs {
			if ctx.Err() != nil || fit >= wantedInputs && unfit >= wantedInputs {
				break
			}
			args, good := x.arguments(g, t, fit < wantedInputs)
			if good && fit >= wantedInputs || !good && unfit >= wantedInputs {
				continue
			}
			if good {
				fit++
			} else {
				unfit++
			}
			if fault := x.breaks(ctx, t, args, nil); fault != "" {
				x.inTool(t.Name, at, "%s of %s: %s", t.Name, short(args), fault)
				return
			}
		}
		if fit < wantedInputs {
			x.figure("inputs", "%s: %d that fit its schema, %d that do not; its schema is hard to hit", t.Name, fit, unfit)
		}
	})
}

// arguments makes some, from the schema or from an example, and says whether
// they fit.
func (x *examination) arguments(g *generator, t *manifest.Tool, wantGood bool) (args json.RawMessage, good bool) {
	made, _ := g.arguments().(map[string]any)
	if len(t.Examples) > 0 && g.IntN(2) == 0 {
		var example map[string]any
		if json.Unmarshal(t.Examples[g.IntN(len(t.Examples))].Args, &example) == nil {
			for name, value := range made {
				if g.IntN(3) == 0 {
					example[name] = value
				}
			}
			made = example
		}
	}
	var value any = made
	if !wantGood || g.IntN(2) == 0 {
		value = g.spoil(made)
	}
	args, err := json.Marshal(value)
	if err != nil {
		args = json.RawMessage("{}")
	}
	return args, len(t.CheckArgs(args)) == 0
}

// breaks calls a tool past the gate, with host functions as given, and says how
// the module broke, or nothing.
func (x *examination) breaks(ctx context.Context, t *manifest.Tool, args json.RawMessage, functions []sandbox.Function) string {
	result := x.invoke(ctx, t, args, functions)
	if p := result.Problem; p != nil {
		if p.Code.Class() == abi.ClassBroken || p.Code == abi.OutOfFuel || p.Code == abi.OutOfMemory {
			return fmt.Sprintf("%d, %s", p.Code, p.Message)
		}
		return ""
	}
	var reply abi.Reply
	d := json.NewDecoder(bytes.NewReader(result.Output))
	if err := d.Decode(&reply); err != nil {
		return "it answers with something that is not an envelope: " + short(result.Output)
	}
	if _, err := d.Token(); err != io.EOF || reply.OK == (reply.Problem != nil) {
		return "it answers with something that is not one envelope: " + short(result.Output)
	}
	if !reply.OK && !reply.Problem.Code.OfSkill() {
		return fmt.Sprintf("it answers with code %d, which is not a skill's to give", reply.Problem.Code)
	}
	return ""
}

func (x *examination) invoke(ctx context.Context, t *manifest.Tool, args json.RawMessage, functions []sandbox.Function) sandbox.Result {
	input, err := json.Marshal(abi.Invocation{ABI: abi.Version, Tool: t.Name, Args: args,
		Call: abi.CallInfo{ID: "call_trial", Key: "key_trial", Attempt: 1, Now: trialNow, Tenant: "trial", Locale: "zh-CN"}})
	if err != nil {
		return sandbox.Result{Problem: abi.NewProblem(abi.HostBug, "the invocation does not marshal: %v", err)}
	}
	if functions == nil {
		functions = x.hostile(func([][]byte) ([]byte, *abi.Problem) { return nil, nil })
	}
	return x.limited.Call(ctx, sandbox.Request{Export: abi.ExportInvoke, Input: input, Functions: functions, Now: trialNow})
}

// hostile gives every granted host function one answer.
func (x *examination) hostile(answer func(args [][]byte) ([]byte, *abi.Problem)) []sandbox.Function {
	var functions []sandbox.Function
	for _, name := range release.Granted(x.skill.Capabilities) {
		functions = append(functions, sandbox.Function{Name: name, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) { return answer(args) }})
	}
	return functions
}

// hostilities are the answers that host functions give.
func hostilities() []struct {
	name   string
	answer func([][]byte) ([]byte, *abi.Problem)
} {
	always := func(b []byte, p *abi.Problem) func([][]byte) ([]byte, *abi.Problem) {
		return func([][]byte) ([]byte, *abi.Problem) { return b, p }
	}
	return []struct {
		name   string
		answer func([][]byte) ([]byte, *abi.Problem)
	}{
		{"nothing", always(nil, nil)},
		{"an empty answer", always([]byte{}, nil)},
		{"a refusal", always(nil, abi.NewProblem(abi.NotAllowed, "not here"))},
		{"a failure", always(nil, abi.NewProblem(abi.Unavailable, "the store is away"))},
		{"a time-out", always(nil, abi.NewProblem(abi.Deadline, "the store did not answer in time"))},
		{"junk", always([]byte("\x00\xff{]"), nil)},
		{"a number", always([]byte("17"), nil)},
		{"null", always([]byte("null"), nil)},
		{"deep JSON", always([]byte(strings.Repeat("[", 10_000)), nil)},
		{"a list of nothing", always([]byte(`{"entries":[null],"status":-1,"body":null,"headers":null}`), nil)},
		{"its own words", func(args [][]byte) ([]byte, *abi.Problem) {
			if len(args) == 0 {
				return nil, nil
			}
			return args[len(args)-1], nil
		}},
	}
}

func (x *examination) standsHostility(ctx context.Context) {
	x.eachTool(func(at string, t *manifest.Tool) {
		for _, h := range hostilities() {
			for _, e := range t.Examples {
				if ctx.Err() != nil {
					return
				}
				if fault := x.breaks(ctx, t, e.Args, x.hostile(h.answer)); fault != "" {
					x.inTool(t.Name, at, "%s, where host functions give %s: %s", t.Name, h.name, fault)
					return
				}
			}
		}
	})
}

// Sizes at which fuel is measured, in bytes of one argument; and how steep the
// growth between the two largest may be: 1 is linear, 2 quadratic.
const (
	smallGrowth = 4 << 10
	largeGrowth = 64 << 10
	steepGrowth = 1.5
)

func (x *examination) growsInProportion(ctx context.Context) {
	x.eachTool(func(at string, t *manifest.Tool) {
		var args map[string]any
		if len(t.Examples) == 0 || json.Unmarshal(t.Examples[0].Args, &args) != nil {
			return
		}
		most, of := 0.0, ""
		for _, name := range sortedKeys(args) {
			steep, ok := steepness(x.grown(ctx, t, args, name))
			if ok && steep > most {
				most, of = steep, name
			}
			if ok && steep >= steepGrowth {
				x.inTool(t.Name, at+".input", "the fuel of %s is %s in the size of %s: it grows with the power %.1f", t.Name, growthName(steep), name, steep)
			}
		}
		if of != "" {
			x.figure("growth", "the fuel of %s is %s in the size of %s (power %.1f)", t.Name, growthName(most), of, most)
		}
	})
}

// grown calls a tool with more and more of one argument, as far as its schema and its
// limits let it.
func (x *examination) grown(ctx context.Context, t *manifest.Tool, args map[string]any, name string) []point {
	var points []point
	for size := smallGrowth; size <= largeGrowth; size *= 2 {
		larger, ok := grow(args, name, size)
		if !ok || len(t.CheckArgs(larger)) > 0 || ctx.Err() != nil {
			break
		}
		result := x.invoke(ctx, t, larger, nil)
		points = append(points, point{float64(len(larger)), float64(result.Usage.Fuel)})
		if result.Problem != nil {
			break
		}
	}
	return points
}

// growthName is what a power of growth is called. A row of points shows a little less
// than the power, since what every call costs fades slowly.
func growthName(power float64) string {
	switch {
	case power < steepGrowth:
		return "linear"
	case power < 2.5:
		return "quadratic"
	case power < 3.5:
		return "cubic"
	}
	return "steeper than cubic"
}

// grow makes one text or list of the arguments about size bytes large.
func grow(args map[string]any, name string, size int) (json.RawMessage, bool) {
	copied := map[string]any{}
	for n, v := range args {
		copied[n] = v
	}
	switch v := args[name].(type) {
	case string:
		if v == "" {
			v = "a"
		}
		copied[name] = strings.Repeat(v, size/len(v)+1)[:size]
	case []any:
		if len(v) == 0 {
			return nil, false
		}
		one, _ := json.Marshal(v)
		copied[name] = slices.Repeat(v, size/len(one)+1)
	default:
		return nil, false
	}
	b, err := json.Marshal(copied)
	return b, err == nil
}

// A point is what an input of some bytes costs.
type point struct{ bytes, fuel float64 }

// steepness is the power of the bytes with which the fuel grows at the end of a
// row of points; what every call costs is the first one's, and does not count.
func steepness(points []point) (float64, bool) {
	if len(points) < 4 {
		return 0, false
	}
	a, b, c := points[0], points[len(points)-2], points[len(points)-1]
	lower, upper := b.fuel-a.fuel, c.fuel-a.fuel
	if lower <= 0 || upper <= 0 || upper < 0.1*c.fuel {
		return 0, false
	}
	return math.Log(upper/lower) / math.Log((c.bytes-a.bytes)/(b.bytes-a.bytes)), true
}
