//go:build linux || darwin

package lint

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
)

// script is a linter of .py files: a shell's script that gets the file as $1.
func script(text string) (*Linter, *bytes.Buffer) { return command("sh", "-c", text, "sh") }

func command(argv ...string) (*Linter, *bytes.Buffer) {
	var log bytes.Buffer
	return New([]manifest.Linter{{Ext: []string{"py", "pyi"}, Run: argv}}, slog.New(slog.NewTextHandler(&log, nil)), ""), &log
}

func TestACommandsLinesAreFindings(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		want   []Finding
	}{
		"clean":                         {"exit 0", nil},
		"clean, with a word":            {"echo All checks passed!", nil},
		"line and column":               {"echo $1:3:7: F401 unused; exit 1", []Finding{{3, 7, "F401 unused"}}},
		"a line alone":                  {"echo $1:3: bad; exit 1", []Finding{{Line: 3, Reason: "bad"}}},
		"as the compiler of TypeScript": {"echo \"$1(3,7): error TS1005: ';' expected.\"; exit 2", []Finding{{3, 7, "error TS1005: ';' expected."}}},
		"with its folder":               {"echo $PWD/$1:1:2: x >&2; exit 1", []Finding{{1, 2, "x"}}},
		"warnings":                      {"echo $1:1:2: x; echo $1:2:2: y; echo Found 2; exit 0", []Finding{{1, 2, "x"}, {2, 2, "y"}}},
		"other text":                    {"echo it is; echo wrong; exit 1", []Finding{{Reason: "it is wrong"}}},
		"of another file":               {"echo other.py:1:2: x; exit 1", []Finding{{Reason: "other.py:1:2: x"}}},
		"too many":                      {"i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo $1:$i: x; done; exit 1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := script(tt.script)
			found, err := l.Lint(context.Background(), "acme", "py", []byte("x"))
			if name == "too many" {
				if len(found) != MaxFindings {
					t.Errorf("%d findings", len(found))
				}
				return
			}
			if err != nil || !reflect.DeepEqual(found, tt.want) {
				t.Errorf("%+v, %v, want %+v", found, err, tt.want)
			}
		})
	}
}

func TestACommandThatDoesNotDoItsWorkIsNoSuccess(t *testing.T) {
	for name, make := range map[string]func() (*Linter, *bytes.Buffer){
		"missing":           func() (*Linter, *bytes.Buffer) { return command("no-such-linter-anywhere") },
		"not a program":     func() (*Linter, *bytes.Buffer) { return command("/") },
		"beside the file":   func() (*Linter, *bytes.Buffer) { return command("./file.py") },
		"ends without word": func() (*Linter, *bytes.Buffer) { return script("exit 3") },
		"dies":              func() (*Linter, *bytes.Buffer) { return script("kill -9 $$") },
		"hangs":             func() (*Linter, *bytes.Buffer) { return script("sleep 1000") },
		"hangs, deaf":       func() (*Linter, *bytes.Buffer) { return script("trap '' TERM INT HUP; while :; do sleep 1000; done") },
		"floods":            func() (*Linter, *bytes.Buffer) { return command("yes") },
		"crashes": func() (*Linter, *bytes.Buffer) {
			return script("echo Traceback '(most recent call last)': File /opt/secret/x.py; exit 1")
		},
		"leaves a child": func() (*Linter, *bytes.Buffer) { return script("sleep 1000 & exit 0") },
	} {
		t.Run(name, func(t *testing.T) {
			l, log := make()
			l.patience = 500 * time.Millisecond
			found, err := l.Lint(context.Background(), "acme", "py", []byte("x"))
			if p := host.ProblemOf(err); p == nil || p.Code != abi.Unavailable || len(found) != 0 {
				t.Errorf("%v, %v, want Unavailable", found, err)
			}
			if !strings.Contains(log.String(), "a linter could not do its work") {
				t.Errorf("operators read %q", log)
			}
		})
	}
}

func TestWhatACommandStartsEndsWithIt(t *testing.T) {
	for name, text := range map[string]string{
		"one that hangs": `for i in 1 2 3; do sleep 1000 & echo $! >>"$0"; done; (sleep 1000 & echo $! >>"$0"; sleep 1000); wait`,
		"one that ends":  `for i in 1 2 3; do sleep 1000 >/dev/null 2>&1 & echo $! >>"$0"; done`,
	} {
		t.Run(name, func(t *testing.T) {
			pids := filepath.Join(t.TempDir(), "pids")
			l, _ := command("sh", "-c", text, pids)
			l.patience = 2 * time.Second // which the first one takes, and in which it has started all
			_, _ = l.Lint(context.Background(), "acme", "py", []byte("x"))
			said, err := os.ReadFile(pids)
			started := strings.Fields(string(said))
			if err != nil || len(started) < 3 {
				t.Fatalf("%d were started: %v", len(started), err)
			}
			for _, text := range started {
				pid, _ := strconv.Atoi(text)
				for tries := 0; alive(pid); tries++ { // a signal takes a moment
					if tries == 100 {
						t.Fatalf("%d lives", pid)
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
}

// alive reports whether a process runs; one that waits to be buried does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestACommandIsAloneWithTheFile(t *testing.T) {
	t.Setenv("SLUICE_TEST_SECRET", "hush")
	if _, err := os.Stat("/proc/self/environ"); err == nil {
		l, _ := command("sh", "-c", `tr '\0' '\n' </proc/self/environ; exit 1`)
		found, err := l.Lint(context.Background(), "acme", "py", []byte("x"))
		if err != nil || len(found) != 1 || !strings.HasPrefix(found[0].Reason, "PATH=") || strings.Contains(found[0].Reason, "hush") || strings.Contains(found[0].Reason, " ") {
			t.Errorf("its environment: %v, %v", found, err)
		}
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, _ := command("sh", "-c", `ls -A; read line && echo "$line"; cat "$1"; pwd >"$0/where"; mkdir -p a/b; touch a/b/c; ln -s "$0" link; exit 1`, outside)
	found, err := l.Lint(context.Background(), "acme", "py", []byte("content"))
	if err != nil || len(found) != 1 || found[0].Reason != "file.py content" {
		t.Errorf("it sees %v, %v", found, err)
	}
	where, err := os.ReadFile(filepath.Join(outside, "where"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimSpace(string(where))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its folder stays: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "kept")); err != nil {
		t.Errorf("its folder was removed with what a link leads to: %v", err)
	}
}

func TestAWaitForALinterEndsWithTheCall(t *testing.T) {
	l, _ := script("exit 0")
	for range commandSlots {
		l.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := l.Lint(ctx, "acme", "py", nil); !errors.Is(err, ErrBusy) || !errors.Is(err, context.Canceled) {
		t.Errorf("it did not wait for its turn: %v", err)
	}
}

// A file that nobody had the time for is not a file that is wrong.
func TestAFullHouseIsToldAsOne(t *testing.T) {
	l, _ := script("exit 0")
	l.turn = 10 * time.Millisecond
	for range commandSlots {
		l.slots <- struct{}{}
	}
	for range treeSlots {
		l.trees <- struct{}{}
	}
	for format, want := range map[string]bool{"py": true, "yaml": true, "toml": true, "go": true, "json": false, "csv": false} {
		_, err := l.Lint(context.Background(), "acme", format, []byte("1"))
		p := host.ProblemOf(err)
		if errors.Is(err, ErrBusy) != want || want && (p == nil || p.Code != abi.Unavailable) {
			t.Errorf("%s: %v", format, err)
		}
	}
	<-l.trees
	for range 2 { // whoever is done gives the slot back
		if _, err := l.Lint(context.Background(), "acme", "yaml", []byte("a: 1")); err != nil {
			t.Error(err)
		}
	}
}

// A tenant whose files hang a linter does not keep the others from theirs.
func TestOneTenantDoesNotTakeAllLinters(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "open")
	l, _ := command("sh", "-c", `if grep -q hang "$1"; then echo >>"$0.begun"; while ! [ -e "$0" ]; do sleep 0.02; done; fi`, gate)
	var hanging sync.WaitGroup
	for range 2 * commandSlots {
		hanging.Go(func() { _, _ = l.Lint(context.Background(), "acme", "py", []byte("hang")) })
	}
	for begun := 0; begun < tenantSlots; time.Sleep(10 * time.Millisecond) {
		said, _ := os.ReadFile(gate + ".begun")
		begun = len(said)
	}
	if _, err := l.Lint(context.Background(), "globex", "py", []byte("x")); err != nil {
		t.Errorf("another tenant's: %v", err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hanging.Wait()
	if len(l.shares) != 0 {
		t.Errorf("%d shares are left", len(l.shares))
	}
}

// Linters look upwards for their configuration: nobody else may put one there.
func TestACopyLiesInTheHostsOwnFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "lint")
	l := New([]manifest.Linter{{Ext: []string{"py"}, Run: []string{"sh", "-c", "pwd; exit 1", "sh"}}}, nil, folder)
	found, err := l.Lint(context.Background(), "acme", "py", []byte("x"))
	if err != nil || len(found) != 1 || filepath.Dir(found[0].Reason) != folder {
		t.Errorf("it ran in %v, %v", found, err)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info, err)
	}
}

// As long as the leader was not waited for, its number is nobody else's.
func TestAGroupIsKilledBeforeItsNumberIsFree(t *testing.T) {
	c := exec.Command("sh", "-c", "exit 0")
	g := inGroup(c)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.ended(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(c.Process.Pid, 0); err != nil {
		t.Errorf("its leader was waited for: %v", err)
	}
	g.finish()
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if err := g.kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("after that it is killed again: %v", err)
	}
}

func TestALinterKnowsWhatItCanLookAt(t *testing.T) {
	l, _ := script("exit 0")
	var none *Linter
	for format, want := range map[string][2]bool{"json": {true, true}, "py": {true, false}, "pyi": {true, false}, "rs": {false, false}, "": {false, false}} {
		if l.Knows(format) != want[0] || none.Knows(format) != want[1] {
			t.Errorf("%q: %v and %v", format, l.Knows(format), none.Knows(format))
		}
		_, err := none.Lint(context.Background(), "acme", format, []byte("1"))
		if (err == nil) != want[1] {
			t.Errorf("%q without commands: %v", format, err)
		}
	}
	if found, err := none.Lint(context.Background(), "acme", "json", []byte("{")); err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := l.Lint(context.Background(), "acme", "py", make([]byte, commandBytes+1)); err != nil {
		t.Errorf("a large file: %v", err)
	}
}
