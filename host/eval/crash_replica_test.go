//go:build unix

package eval

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// A delivery and its end are as the replica program has them.
type delivery struct {
	N    int
	Run  int
	Ref  host.SessionRef
	ID   host.InputID
	Text string
	Fork bool
}

type end struct {
	N       int
	Code    abi.Code
	Message string
	Text    string
}

// errLost is the end of a delivery without one: the replica died, or the client
// did not wait. errNobody is that of one which nobody took.
var (
	errLost   = errors.New("no answer came")
	errNobody = errors.New("no replica is there")
)

// A replica is a process that runs turns, started again whenever it is killed.
type replica struct {
	name    string
	program string
	setup   string // file
	cutter  *cutter

	mu      sync.Mutex
	process *exec.Cmd        // guarded by mu
	input   io.Writer        // guarded by mu
	ready   bool             // guarded by mu
	last    int              // delivery; guarded by mu
	waiting map[int]chan end // guarded by mu
	ended   chan struct{}    // of the process; guarded by mu
}

// A replicaSetup is what the replica program needs to know.
type replicaSetup struct {
	Name, Store, Module, Manifest, Compiled, Runs, Ledger string
	Base                                                  host.TenantID
	Lease                                                 time.Duration
}

func (s replicaSetup) save(t *testing.T, file string) {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, b)
}

// A kit is what replicas are made of, and what they play.
type kit struct {
	data    string // folder
	runs    []model.Run
	program string
	setup   replicaSetup
}

// newKit builds the replica program, a plain one also where the test is not.
func newKit(t *testing.T) kit {
	t.Helper()
	k := kit{data: airlineData(t)}
	f, err := os.Open(filepath.Join(k.data, "runs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if k.runs, err = model.ParseRuns(f); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	k.program = filepath.Join(folder, "replica")
	if out, err := exec.Command("go", "build", sandboxtest.AsTestsDo, "-o", k.program, "./testdata/replica").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	k.setup = replicaSetup{
		Module: filepath.Join(folder, "skill.wasm"), Manifest: filepath.Join(folder, "skill.json"), Compiled: sandboxtest.CacheDir(t),
		Runs: f.Name(), Base: "airline",
	}
	wasm := sandboxtest.Build(t, "skills/airline")
	write(t, k.setup.Module, wasm)
	manifest, err := json.Marshal(sandboxtest.Manifest(t, sandboxtest.Shared(t), wasm))
	if err != nil {
		t.Fatal(err)
	}
	write(t, k.setup.Manifest, manifest)
	return k
}

// airlineData gives the folder with the recorded conversations.
func airlineData(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../../../shared/data/tau-airline")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the airline's data are not beside this checkout: %v", err)
	}
	return folder
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func newReplica(t *testing.T, program string, setup replicaSetup, n int) *replica {
	t.Helper()
	setup.Name = fmt.Sprint("replica-", n)
	r := &replica{name: setup.Name, program: program, setup: filepath.Join(t.TempDir(), setup.Name)}
	if setup.Store[0] == 'm' {
		setup.Store, r.cutter = through(t, setup.Store)
	}
	setup.save(t, r.setup)
	if err := r.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.kill)
	return r
}

func (r *replica) start() error {
	process := exec.Command(r.program, r.setup)
	process.Stderr = os.Stderr
	input, err := process.StdinPipe()
	if err != nil {
		return err
	}
	output, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.input, r.waiting, r.ended = process, input, map[int]chan end{}, make(chan struct{})
	go r.listen(output)
	return nil
}

// listen reads to the end: what a process said before it was killed counts.
func (r *replica) listen(output io.Reader) {
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 16*agent.MaxInputBytes)
	for lines.Scan() {
		var e end
		bad := json.Unmarshal(lines.Bytes(), &e)
		r.mu.Lock()
		switch to := r.waiting[e.N]; {
		case len(lines.Bytes()) == 0:
			r.ready = true
		case bad == nil && to != nil: // a line that was cut off is none
			delete(r.waiting, e.N)
			to <- e
		}
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = false
	for _, to := range r.waiting {
		close(to)
	}
	r.waiting = nil
	close(r.ended)
}

// kill ends the process, as a power cut would.
func (r *replica) kill() {
	r.mu.Lock()
	process, ended := r.process, r.ended
	r.mu.Unlock()
	process.Process.Kill()
	<-ended
	process.Wait() // says only that it was killed
}

// freeze stops the process, and thaw lets it go on.
func (r *replica) freeze() { r.signal(syscall.SIGSTOP) }
func (r *replica) thaw()   { r.signal(syscall.SIGCONT) }

func (r *replica) signal(s os.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process.Process.Signal(s)
}

func (r *replica) isReady() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ready
}

// deliver gives a delivery to the replica. Its end comes by the channel, which
// is closed without one if the replica dies.
func (r *replica) deliver(d delivery) (<-chan end, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ready {
		return nil, errNobody
	}
	r.last++
	d.N = r.last
	line, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	if _, err := r.input.Write(append(line, '\n')); err != nil {
		return nil, errNobody
	}
	e := make(chan end, 1)
	r.waiting[d.N] = e
	return e, nil
}
