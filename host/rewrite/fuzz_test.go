package rewrite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
)

// FuzzAnyBytes gives whatever bytes to the reader: it must neither panic nor
// hang, and what it writes must be as valid as what it was given.
func FuzzAnyBytes(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Add([]byte("\x00asm\x0d\x00\x01\x00"))
	f.Add(withTable(100, nil).bytes())
	for seed := range 12 {
		f.Add(generate([]byte(strings.Repeat(fmt.Sprintf("seed %d ", seed*7919), 12))))
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if len(wasm) > 1<<16 {
			return
		}
		ctx := t.Context()
		r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(64))
		defer r.Close(ctx)
		_, invalid := r.CompileModule(ctx, wasm)
		info, err := rewrite.Inspect(wasm)
		metered, meterErr := rewrite.Meter(wasm, rewrite.MeterOptions{})
		exposed, _, exposeErr := rewrite.Expose(wasm)
		packed, packErr := rewrite.Pack(wasm)
		rewrite.Freeze(wasm, rewrite.Image{Memory: make([]byte, 1<<16)})
		if err == nil && meterErr != nil {
			t.Errorf("Inspect accepts what Meter refuses: %v", meterErr)
		}
		if err == nil && (info.Unfreezable == nil) != (exposeErr == nil) {
			t.Errorf("Inspect says %v, Expose %v", info.Unfreezable, exposeErr)
		}
		if err == nil && packErr != nil {
			t.Errorf("Inspect accepts what Pack refuses: %v", packErr)
		}
		if invalid != nil {
			return
		}
		for name, out := range map[string][]byte{"Meter": metered, "Expose": exposed, "Pack": packed} {
			if out == nil {
				continue
			}
			if _, err := r.CompileModule(ctx, out); err != nil {
				t.Errorf("%s made a valid module invalid: %v", name, err)
			}
		}
	})
}

// An outcome is what a call gave, as far as it must be the same however a
// module is run.
type outcome struct {
	result uint64
	trap   string
	memory string
}

// FuzzGeneratedModules runs modules that are valid by construction: plain and
// metered, in both engines and with several slices, and as the oracle counts.
func FuzzGeneratedModules(f *testing.F) {
	for seed := range 24 {
		f.Add([]byte(strings.Repeat(fmt.Sprintf("%d generated %d ", seed*104729, seed), 10+seed)))
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		if len(choices) > 4096 {
			return
		}
		wasm := generate(choices)
		if _, err := rewrite.Inspect(wasm); err != nil {
			t.Fatalf("a generated module is refused: %v", err)
		}
		const limit = 200_000
		metered, err := rewrite.Meter(wasm, rewrite.MeterOptions{Depth: 400})
		if err != nil {
			t.Fatal(err)
		}
		first, fuel := runGenerated(t, wazero.NewRuntimeConfigInterpreter(), metered, limit, limit)
		for _, e := range engines() {
			for _, slice := range []int64{1, 7, limit} {
				got, used := runGenerated(t, e.config(), metered, slice, limit)
				if got != first || used != fuel {
					t.Errorf("%s in slices of %d: %+v with %d fuel, before %+v with %d", e.name, slice, got, used, first, fuel)
				}
			}
			if first.trap == "out of fuel" || first.trap == "too deep" {
				continue // the plain module would not end
			}
			if got, _ := runGenerated(t, e.config(), wasm, 0, 0); got != first {
				t.Errorf("%s: plain gives %+v, metered %+v", e.name, got, first)
			}
		}
		if first.trap != "" {
			return
		}
		oracle, err := rewrite.Oracle(wasm)
		if err != nil {
			t.Fatal(err)
		}
		if want := oracleFuel(t, oracle); want != fuel {
			t.Errorf("used %d, the oracle says %d", fuel, want)
		}
	})
}

func runGenerated(t *testing.T, config wazero.RuntimeConfig, wasm []byte, slice, limit int64) (outcome, int64) {
	t.Helper()
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, config.WithMemoryLimitPages(16))
	defer r.Close(context.Background())
	m := &meter{slice: slice, limit: limit}
	if err := m.instantiate(ctx, r); err != nil {
		t.Fatal(err)
	}
	module, err := r.Instantiate(ctx, wasm)
	if err != nil {
		t.Fatalf("a generated module does not run: %v\n%x", err, wasm)
	}
	result, err := module.ExportedFunction("run").Call(ctx, 12345)
	var o outcome
	switch {
	case errors.Is(err, outOfFuel{}):
		return outcome{trap: "out of fuel"}, limit
	case errors.Is(err, tooDeep{}):
		return outcome{trap: "too deep"}, limit
	case err != nil:
		o.trap, _, _ = strings.Cut(err.Error(), "\n")
	default:
		o.result = result[0]
	}
	memory, _ := module.Memory().Read(0, module.Memory().Size())
	o.memory = string(slices.Clone(memory[:2048])) + fmt.Sprint(len(memory))
	return o, m.granted - left(module)
}

func oracleFuel(t *testing.T, wasm []byte) int64 {
	t.Helper()
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(16))
	defer r.Close(ctx)
	module, err := r.Instantiate(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := module.ExportedFunction("run").Call(ctx, 12345); err != nil {
		t.Fatal(err)
	}
	return -oracleLeft(module)
}
