package rewrite_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

var guestOnce = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, "./testdata/guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return text, err
	}
	return os.ReadFile(out)
})

// goGuest builds the guest of testdata.
func goGuest(t testing.TB) []byte {
	t.Helper()
	wasm, err := guestOnce()
	if err != nil {
		t.Fatalf("building the guest: %v\n%s", err, wasm)
	}
	return wasm
}

// An instance is a guest with its meter.
type instance struct {
	api.Module
	meter *meter
}

// start instantiates a guest of WASI and runs its _initialize, if it has one.
func start(t testing.TB, ctx context.Context, config wazero.RuntimeConfig, wasm []byte, slice, limit int64) instance {
	t.Helper()
	r := wazero.NewRuntimeWithConfig(ctx, config)
	t.Cleanup(func() { r.Close(context.Background()) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	m := &meter{slice: slice, limit: limit}
	if err := m.instantiate(ctx, r); err != nil {
		t.Fatal(err)
	}
	compiled, err := r.CompileModule(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	module, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	if err != nil {
		t.Fatal(err)
	}
	return instance{module, m}
}

// used gives the fuel that was used so far.
func (i instance) used() int64 { return i.meter.granted - left(i.Module) }

func TestMeteringAGoGuestGrowsItByLessThanAThird(t *testing.T) {
	wasm := goGuest(t)
	metered, err := rewrite.Meter(wasm, rewrite.MeterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := rewrite.Identity(wasm)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("original %d, without what Meter leaves out %d, metered %d: growth %.3f of the file, %.3f of what is kept",
		len(wasm), len(plain), len(metered), float64(len(metered))/float64(len(wasm)), float64(len(metered))/float64(len(plain)))
	if growth := float64(len(metered)) / float64(len(plain)); growth > 1.3 {
		t.Errorf("growth is %.3f, want 1.3 or less", growth)
	}
}
