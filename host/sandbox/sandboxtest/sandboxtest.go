package sandboxtest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
)

// CacheDir gives the folder of compiled code that all tests share: the
// variable SLUICE_TEST_CACHE, or .cache/test in the repository.
func CacheDir(t testing.TB) string {
	t.Helper()
	dir, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// New makes a sandbox of the test's own over the shared folder, and closes it
// with the test. Warm a module before it is loaded there.
func New(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.New(sandbox.Config{CacheDir: CacheDir(t), Audit: true})
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

// Shared gives the sandbox that the tests of this process share. It is never
// closed; do not close it.
func Shared(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	s, err := shared.sandbox()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Load warms a module, loads it in the shared sandbox and closes it with the
// test. Its code stays loaded as long as the process.
func Load(t testing.TB, wasm []byte, limits abi.Limits) *sandbox.Module {
	t.Helper()
	if err := shared.pinned.do(host.Digest(wasm), func() (*sandbox.Module, error) {
		Warm(t, wasm)
		return Shared(t).Load(context.Background(), wasm, abi.CeilingLimits())
	}).err; err != nil {
		t.Fatal(err)
	}
	m, err := Shared(t).Load(context.Background(), wasm, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// shared is what the tests of one process do once: there is nobody else who
// could hold it for them.
var shared = struct {
	sandbox   func() (*sandbox.Sandbox, error)
	pinned    once[*sandbox.Module] // by digest
	built     once[[]byte]          // by package
	makers    once[[]byte]          // by repository
	warmed    once[struct{}]        // by digest
	described once[description]     // by digest
}{
	sandbox: sync.OnceValues(func() (*sandbox.Sandbox, error) {
		dir, err := cacheDir()
		if err != nil {
			return nil, err
		}
		return sandbox.New(sandbox.Config{CacheDir: dir, Audit: true})
	}),
}

// A once does things once for each key. It is safe for concurrent use.
type once[T any] struct{ done sync.Map }

type outcome[T any] struct {
	value T
	err   error
}

func (o *once[T]) do(key string, f func() (T, error)) outcome[T] {
	run, _ := o.done.LoadOrStore(key, sync.OnceValue(func() outcome[T] {
		v, err := f()
		return outcome[T]{v, err}
	}))
	return run.(func() outcome[T])()
}

func cacheDir() (string, error) {
	if dir := os.Getenv("SLUICE_TEST_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	root, err := repository()
	return filepath.Join(root, ".cache", "test"), err
}

// repository gives the folder of go.mod, above the package under test.
func repository() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			err = os.ErrNotExist
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
