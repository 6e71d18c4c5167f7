package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// A screen is what a terminal has shown; a test waits for what it is to show.
type screen struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
	more chan struct{}
}

func newScreen() *screen { return &screen{more: make(chan struct{}, 1)} }

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.text.Write(b)
}

func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until the screen shows what matches.
func (s *screen) await(t *testing.T, pattern string) string {
	t.Helper()
	late := time.After(2 * time.Minute) // for a machine that is busy
	for {
		if found := regexp.MustCompile(pattern).FindString(s.shown()); found != "" {
			return found
		}
		select {
		case <-s.more:
		case <-late:
			t.Fatalf("the screen does not show %s:\n%s", pattern, s.shown())
		}
	}
}

// Two terminals on one store: the chat of the first waits at its prompt, and
// goes on by itself with what is answered in the second.
func TestAChatThatWaitsGoesOnWithWhatIsAnsweredElsewhere(t *testing.T) {
	folder := t.TempDir()
	repo := filepath.Join(folder, "registry.git")
	sandboxtest.Warm(t, sandboxtest.Build(t, "skills/shop/pricing"))
	terminal := func(home string) func(string) string {
		environment := map[string]string{"SLUICE_HOME": filepath.Join(folder, home), "SLUICE_STORE": filepath.Join(folder, "shared.db"), "SLUICE_COMPILED": sandboxtest.CacheDir(t)}
		return func(name string) string { return environment[name] }
	}
	one, two := terminal("one"), terminal("two")
	run(t, one, "skill", "build", "../../skills/shop/pricing", "--out", filepath.Join(folder, "dist"))
	run(t, one, "registry", "publish", filepath.Join(folder, "dist"), "--to", repo, "--create")
	seed := filepath.Join(folder, "products.json")
	products := `{"product/1001": {"sku": "1001", "title": "Soda", "price": 99, "floor": 10, "stock": 3, "currency": "CNY"}}`
	if err := os.WriteFile(seed, []byte(products), 0o600); err != nil {
		t.Fatal(err)
	}

	keys, typed := io.Pipe()
	shown := newScreen()
	p := &program{env: one, stdin: keys, stdout: shown, stderr: io.Discard}
	code := make(chan int, 1)
	go func() {
		code <- p.run(context.Background(), []string{"chat", "--registry", repo, "--session", "s1", "--seed", "shop=" + seed})
	}()
	enter := func(line string) {
		if _, err := io.WriteString(typed, line+"\n"); err != nil {
			t.Error(err)
		}
	}
	enter("set 1001 to 60")
	id := strings.TrimPrefix(shown.await(t, "approve ask_[0-9a-f]+"), "approve ")
	run(t, two, "approvals", "approve", id)
	shown.await(t, "now costs 60.00")
	enter("set 1001 to 30")
	other := strings.TrimPrefix(shown.await(t, "approve ask_[0-9a-f]+(?s:.*)approve ask_[0-9a-f]+"), "approve ")
	run(t, two, "approvals", "reject", other[strings.LastIndex(other, " ")+1:], "--words", "never below 50")
	shown.await(t, "that was not done")
	typed.Close()
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d:\n%s", got, shown.shown())
	}
	if strings.Count(shown.shown(), "← 1001 (Soda) now costs") != 1 {
		t.Errorf("it ran more than once:\n%s", shown.shown())
	}
}
