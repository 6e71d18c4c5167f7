package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
)

func writeFile(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// loadAndRun loads a module that returns 0 in a sandbox of its own, runs it
// and closes everything.
func loadAndRun(t *testing.T, dir string, wasm []byte) {
	t.Helper()
	s, err := sandbox.New(sandbox.Config{CacheDir: dir, Audit: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Load(context.Background(), wasm, abi.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if res := m.Call(context.Background(), sandbox.Request{Export: "run"}); res.Problem != nil {
		t.Fatal(res.Problem)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// entryFiles gives the last file of machine code, of the two that a module and its
// kernel have, and the sums of a module's folder.
func entryFiles(t *testing.T, dir string, wasm []byte) []string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(dir, host.Digest(wasm)+"-*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("the module's folders are %v %v", folders, err)
	}
	code, err := filepath.Glob(filepath.Join(folders[0], "wazero-*", "*"))
	if err != nil || len(code) != 2 {
		t.Fatalf("the machine code is %v %v", code, err)
	}
	for _, name := range []string{"prepared.wasm", "prepared.image", "prepared.json", "sums"} {
		if _, err := os.Stat(filepath.Join(folders[0], name)); err != nil {
			t.Fatal(err)
		}
	}
	return []string{code[1], filepath.Join(folders[0], "sums")}
}

func TestCodeIsKeptOnDisk(t *testing.T) {
	dir, wasm := filepath.Join(t.TempDir(), "made", "by", "New"), newModule().export("run", i32c(0)).bytes()
	loadAndRun(t, dir, wasm)
	file := entryFiles(t, dir, wasm)[0]
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	loadAndRun(t, dir, wasm)
	after, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Error("the second load made the code again")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the cache holds %v, want one folder", entries)
	}
}

func TestCodeThatChangedOnDiskIsMadeAgain(t *testing.T) {
	wasm := newModule().export("run", i32c(0)).bytes()
	for name, spoil := range map[string]func(t *testing.T, code, sums string){
		"junk":  func(t *testing.T, code, _ string) { writeFile(t, code, strings.Repeat("junk", 100)) },
		"empty": func(t *testing.T, code, _ string) { writeFile(t, code, "") },
		"gone":  func(t *testing.T, code, _ string) { remove(t, code) },
		"cut":   func(t *testing.T, code, _ string) { edit(t, code, func(b []byte) []byte { return b[:len(b)-1] }) },
		"one bit": func(t *testing.T, code, _ string) {
			edit(t, code, func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
		},
		"no sums":  func(t *testing.T, _, sums string) { remove(t, sums) },
		"bad sums": func(t *testing.T, _, sums string) { writeFile(t, sums, "0  x\n") },
		"foreign file beside it": func(t *testing.T, code, _ string) {
			writeFile(t, filepath.Join(filepath.Dir(code), "foreign"), "x")
		},
		"link in its place": func(t *testing.T, code, _ string) {
			remove(t, code)
			if err := os.Symlink("/etc/passwd", code); err != nil {
				t.Fatal(err)
			}
		},
		"another prepared module": func(t *testing.T, _, sums string) {
			writeFile(t, filepath.Join(filepath.Dir(sums), "prepared.wasm"), string(newModule().export("other", i32c(0)).bytes()))
		},
		"the image of another": func(t *testing.T, _, sums string) {
			writeFile(t, filepath.Join(filepath.Dir(sums), "prepared.image"), strings.Repeat("x", 65536))
		},
		"no note": func(t *testing.T, _, sums string) { remove(t, filepath.Join(filepath.Dir(sums), "prepared.json")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			loadAndRun(t, dir, wasm)
			files := entryFiles(t, dir, wasm)
			want := readFile(t, files[0])
			spoil(t, files[0], files[1])
			loadAndRun(t, dir, wasm)
			if got := readFile(t, entryFiles(t, dir, wasm)[0]); got != want {
				t.Errorf("the code was not made again: %d bytes, want %d", len(got), len(want))
			}
		})
	}
}

// Code of another version of the engine, or for another processor, lies beside
// ours and stays.
func TestCodeOfAnotherEngineIsLeftAlone(t *testing.T) {
	dir, wasm := t.TempDir(), newModule().export("run", i32c(0)).bytes()
	loadAndRun(t, dir, wasm)
	files := entryFiles(t, dir, wasm)
	// The same folder as if the code had been made elsewhere.
	other := files[0] + "-other"
	if err := os.Rename(files[0], other); err != nil {
		t.Fatal(err)
	}
	edit(t, files[1], func(b []byte) []byte { return []byte(strings.TrimSuffix(string(b), "\n") + "-other\n") })
	loadAndRun(t, dir, wasm) // adds ours
	loadAndRun(t, dir, wasm) // finds both
	for _, file := range []string{files[0], other} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}

func TestLoadingGoesOnWithoutTheCache(t *testing.T) {
	wasm := newModule().export("run", i32c(0)).bytes()
	t.Run("read-only", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("needs a folder that nobody may write")
		}
		loadAndRun(t, "/proc/self/fdinfo", wasm)
	})
	t.Run("vanished and replaced", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "cache")
		s := newSandbox(t, sandbox.Config{CacheDir: dir, Audit: true})
		remove(t, dir)
		writeFile(t, dir, "now a file")
		m, err := s.Load(context.Background(), wasm, abi.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if res := m.Call(context.Background(), sandbox.Request{Export: "run"}); res.Problem != nil {
			t.Error(res.Problem)
		}
	})
}

func TestNewClearsAbandonedFolders(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "making-1"), filepath.Join(dir, "making-2")
	for _, d := range []string{old, fresh} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	newSandbox(t, sandbox.Config{CacheDir: dir, Audit: true})
	if _, err := os.Stat(old); err == nil {
		t.Error("a folder that nobody makes any more is still there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("a folder that somebody may be making is gone")
	}
}

// A module that does not compile leaves nothing behind.
func TestARefusedModuleLeavesNothingOnDisk(t *testing.T) {
	dir := t.TempDir()
	s := newSandbox(t, sandbox.Config{CacheDir: dir, Audit: true})
	if _, err := s.Load(context.Background(), newModule().export("run", i32add).bytes(), abi.Limits{}); err == nil {
		t.Fatal("it loaded")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("the cache holds %v", entries)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func edit(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	writeFile(t, name, string(change([]byte(readFile(t, name)))))
}
