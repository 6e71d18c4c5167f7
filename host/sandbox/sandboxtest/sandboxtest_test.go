package sandboxtest_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/tetratelabs/wazero"
)

const quote = "host/sandbox/testdata/quote"

func TestBuildIsTheSameEachTime(t *testing.T) {
	a, b := sandboxtest.Build(t, quote), sandboxtest.Build(t, quote)
	if !bytes.Equal(a, b) || !bytes.HasPrefix(a, []byte("\x00asm")) {
		t.Errorf("two builds gave %d and %d bytes", len(a), len(b))
	}
	if root, _ := os.Getwd(); bytes.Contains(a, []byte(filepath.Dir(root))) {
		t.Error("the module tells where it was built")
	}
}

func TestWarmLeavesCompiledCode(t *testing.T) {
	wasm := sandboxtest.Build(t, quote)
	found, err := filepath.Glob(filepath.Join(sandboxtest.CacheDir(t), host.Digest(wasm)+"-*", "*"))
	if err != nil || len(found) == 0 {
		t.Errorf("there is no code of the module: %v %v", found, err)
	}
	markers, err := filepath.Glob(filepath.Join(sandboxtest.CacheDir(t), "warm", "slots-"+host.Digest(wasm)+"-v*"))
	if err != nil || len(markers) != 1 {
		t.Errorf("the markers of the module are %v %v", markers, err)
	}
}

// Else every test would compile all it loads, ten times as slowly as Warm did.
func TestATestFindsWhatWarmLeft(t *testing.T) {
	t.Setenv("SLUICE_TEST_CACHE", t.TempDir())
	wasm := []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x04\x01\x02\x00\x0b") // one function
	peerDir := sandboxtest.PeerDir(t, wasm)
	code := func() []string {
		files, err := filepath.Glob(filepath.Join(sandboxtest.CacheDir(t), "*", "wazero-*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	sandboxtest.Warm(t, wasm)
	warm := code()
	if _, err := sandboxtest.New(t).Load(t.Context(), wasm, abi.Limits{}); err != nil {
		t.Fatal(err)
	}
	cache, err := wazero.NewCompilationCacheWithDir(peerDir)
	if err != nil {
		t.Fatal(err)
	}
	peer := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfig().WithCompilationCache(cache))
	if _, err := peer.CompileModule(t.Context(), wasm); err != nil {
		t.Fatal(err)
	}
	if found := code(); len(warm) == 0 || !slices.Equal(found, warm) {
		t.Errorf("Warm left\n%q\nand after loading there is\n%q", warm, found)
	}
}

func TestWarmIsDoneOnceByManyAtOnce(t *testing.T) {
	t.Setenv("SLUICE_TEST_CACHE", t.TempDir())
	wasm := []byte("\x00asm\x01\x00\x00\x00") // an empty module
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { sandboxtest.Warm(t, wasm) })
	}
	wg.Wait()
	if markers, _ := filepath.Glob(filepath.Join(sandboxtest.CacheDir(t), "warm", "*-v*")); len(markers) != 1 {
		t.Errorf("the markers are %v", markers)
	}
}

func TestLoadGivesAModuleWithItsLimits(t *testing.T) {
	wasm := sandboxtest.Build(t, quote)
	m := sandboxtest.Load(t, wasm, abi.Limits{Input: 100})
	res := m.Call(context.Background(), sandbox.Request{Export: "quote", Input: []byte(`{"args":{"sku":"1001","quantity":10,"price":2.5,"currency":"CNY"}}`)})
	if want := `{"ok":true,"data":{"sku":"1001","total":22.5,"discount":0.1,"currency":"CNY"}}`; string(res.Output) != want {
		t.Errorf("quote gave %s %v, want %s", res.Output, res.Problem, want)
	}
	if m.Limits().Input != 100 || sandboxtest.Load(t, wasm, abi.Limits{}).Limits().Input != abi.DefaultLimits().Input {
		t.Error("the limits are not those that were asked for")
	}
	if own, err := sandboxtest.New(t).Load(t.Context(), wasm, abi.Limits{}); err != nil || own.Digest() != m.Digest() {
		t.Errorf("a sandbox of one's own gave %v", err)
	}
}

func TestCacheDirIsInTheRepositoryOrWhereAsked(t *testing.T) {
	t.Setenv("SLUICE_TEST_CACHE", "")
	if dir := sandboxtest.CacheDir(t); !strings.HasSuffix(filepath.ToSlash(dir), "/.cache/test") || !filepath.IsAbs(dir) {
		t.Errorf("CacheDir gave %s", dir)
	}
	t.Setenv("SLUICE_TEST_CACHE", "/somewhere/else")
	if dir := sandboxtest.CacheDir(t); dir != "/somewhere/else" {
		t.Errorf("CacheDir gave %s", dir)
	}
}
