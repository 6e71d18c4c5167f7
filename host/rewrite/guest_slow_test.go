//go:build !race

package rewrite_test

import (
	"testing"

	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
)

func TestFrozenGoGuestGivesWhatTheOriginalGives(t *testing.T) {
	wasm := goGuest(t)
	ctx := t.Context()
	out, image, e := frozen(t, wasm)
	both := metered(t, out, rewrite.MeterOptions{})
	t.Logf("original %d, frozen %d, frozen and metered %d; image of %d pages, %d globals", len(wasm), len(out), len(both), len(image.Memory)>>16, len(e.Globals))
	plain := start(t, ctx, wazero.NewRuntimeConfigCompiler(), wasm, 0, 0)
	i := begins(t, wazero.NewRuntimeConfigCompiler(), both, image, e)
	for _, name := range workloads() {
		want, err := plain.ExportedFunction(name).Call(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got, err := i.ExportedFunction(name).Call(ctx)
		if err != nil || got[0] != want[0] {
			t.Errorf("%s gives %v, %v; want %v", name, got, err, want)
		}
	}
}

func workloads() []string { return []string{"json", "sort", "sha256", "regexp", "spin"} }

func TestFuelOfGoIsThatOfTheOracleInEverySlice(t *testing.T) {
	wasm := goGuest(t)
	oracle, err := rewrite.Oracle(wasm)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	names := []string{"json", "regexp"}
	var want []int64
	o := start(t, ctx, wazero.NewRuntimeConfigCompiler(), oracle, 0, 0)
	before := int64(0)
	for _, name := range names {
		if _, err := o.ExportedFunction(name).Call(ctx); err != nil {
			t.Fatal(err)
		}
		now := -oracleLeft(o.Module)
		want = append(want, now-before)
		before = now
	}
	out := metered(t, wasm, rewrite.MeterOptions{})
	for _, slice := range []int64{unlimited, 1009, 1_000_000} {
		i := start(t, ctx, wazero.NewRuntimeConfigCompiler(), out, slice, 1<<62)
		before := int64(0) // the oracle, too, counts the start into the first call
		for n, name := range names {
			if _, err := i.ExportedFunction(name).Call(ctx); err != nil {
				t.Fatal(err)
			}
			now := i.used()
			if now-before != want[n] {
				t.Errorf("slices of %d: %s used %d, the oracle says %d", slice, name, now-before, want[n])
			}
			before = now
		}
	}
}
