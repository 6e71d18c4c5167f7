package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	extism "github.com/extism/go-sdk"
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/tetratelabs/wazero"
)

// A peer runs a module under the reference host.
type peer struct{ plugin *extism.CompiledPlugin }

// peerResult is what the reference host gives.
type peerResult struct {
	output []byte
	exit   uint32
	err    error
	logs   []sandbox.Log
}

// newPeer compiles a module for the reference host. Its machine code is kept
// in the tests' folder.
func newPeer(t testing.TB, wasm []byte, config map[string]string, timeoutMS uint64) peer {
	t.Helper()
	return newPeerAs(t, wasm, extism.Manifest{Config: config, Timeout: timeoutMS})
}

// newPeerAs does the same with a manifest of one's own. Guests that may reach
// hosts see the headers of answers, which the reference shows if it is told to.
func newPeerAs(t testing.TB, wasm []byte, manifest extism.Manifest) peer {
	t.Helper()
	manifest.Wasm = []extism.Wasm{extism.WasmData{Data: wasm}}
	cache, err := wazero.NewCompilationCacheWithDir(sandboxtest.PeerDir(t, wasm))
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := extism.NewCompiledPlugin(context.Background(),
		manifest, extism.PluginConfig{EnableWasi: true, EnableHttpResponseHeaders: manifest.AllowedHosts != nil, RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(cache)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(plugin.Close(context.Background()), cache.Close(context.Background())) })
	return peer{plugin}
}

func (p peer) call(t testing.TB, export string, input []byte) (res peerResult) {
	t.Helper()
	instance, err := p.plugin.Instance(context.Background(), extism.PluginInstanceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer instance.Close(context.Background())
	instance.SetLogger(func(level extism.LogLevel, text string) {
		if !strings.HasPrefix(text, "Calling ") && !strings.HasPrefix(text, "Initializing ") {
			res.logs = append(res.logs, sandbox.Log{Level: strings.ToLower(level.String()), Text: text})
		}
	})
	res.exit, res.output, res.err = instance.CallWithContext(context.Background(), export, input)
	return res
}

// compare holds one call here against the same one under the reference host.
func compare(t *testing.T, got sandbox.Result, want peerResult) {
	t.Helper()
	if !bytes.Equal(got.Output, want.output) {
		t.Errorf("output is %.200q, under the reference %.200q", got.Output, want.output)
	}
	if got.Exit != want.exit {
		t.Errorf("exit is %d, under the reference %d", got.Exit, want.exit)
	}
	text := ""
	if want.err != nil {
		text = want.err.Error()
	}
	if got.GuestError != text {
		t.Errorf("error is %.200q, under the reference %.200q", got.GuestError, text)
	}
	if failed := got.Problem != nil; failed != (want.err != nil || want.exit != 0) {
		t.Errorf("problem is %v, under the reference %v with exit %d", got.Problem, want.err, want.exit)
	}
	if got.Problem != nil && (got.Problem.Code != abi.GuestExit || !strings.Contains(got.Problem.Message, text[:min(len(text), 1000)])) {
		t.Errorf("problem is %v, want the guest's exit with its error", got.Problem)
	}
	if !slices.Equal(got.Logs, want.logs) {
		t.Errorf("logs are %q, under the reference %q", got.Logs, want.logs)
	}
}
