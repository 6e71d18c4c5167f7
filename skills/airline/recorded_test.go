package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/sdk/skilltest"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// shared opens the recorded data, which lie beside the repository.
func shared(t testing.TB) fs.FS {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(root, "go.mod")) {
		if root == filepath.Dir(root) {
			t.Fatal("no go.mod above the package")
		}
		root = filepath.Dir(root)
	}
	folder := filepath.Join(root, "..", "shared")
	if !exists(folder) {
		t.Skipf("%s does not exist: the recorded conversations are not here", folder)
	}
	return os.DirFS(filepath.Join(folder, "data", "tau-airline"))
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// imported gives the entries of the airline's data.
func imported(t testing.TB) map[string][]byte {
	t.Helper()
	entries, err := airdb.Entries(shared(t))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for key, value := range entries {
		all[key] = value
	}
	return all
}

// A desk is the skill on its own copy of the airline's data.
type desk struct {
	*skilltest.Host
	before map[string][]byte
}

func newDesk(t testing.TB, before map[string][]byte) desk {
	h := skilltest.New(t)
	for key, value := range before {
		h.Put(key, value)
	}
	return desk{h, before}
}

// fork gives a desk with the same data. A Host that serves calls replaces its
// data as a whole and never changes them in place, so a copy of it goes its own
// way; the import is done once and not for every run.
func (d desk) fork() desk {
	host := *d.Host
	return desk{&host, d.before}
}

func (d desk) original(key string) ([]byte, bool) {
	value, found := d.before[key]
	return value, found
}

// changes gives every key that is not as it was, found by looking at all.
func (d desk) changes() (changes []airdb.Change) {
	keys := d.Keys()
	for _, key := range keys {
		var now []byte
		d.Get(key, &now)
		if before, found := d.before[key]; !found || string(before) != string(now) {
			changes = append(changes, airdb.Change{Key: key, Value: now})
		}
	}
	for key := range d.before {
		if _, found := slices.BinarySearch(keys, key); !found {
			changes = append(changes, airdb.Change{Key: key, Deleted: true})
		}
	}
	return changes
}

// A recordedCall is a call of a tool and what it answered.
type recordedCall struct{ tool, args, result string }

// A recordedRun is a conversation of a model that used the tools.
type recordedRun struct {
	TaskID       int `json:"task_id"`
	Trial        int
	FinalChanges json.RawMessage `json:"final_changes"`
	Messages     []struct {
		Role, Content string
		ToolCallID    string `json:"tool_call_id"`
		ToolCalls     []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
}

// A recordedTask is what runs are about, with the actions that are right.
type recordedTask struct {
	TaskID       int             `json:"task_id"`
	FinalChanges json.RawMessage `json:"final_changes"`
	Actions      []struct {
		Name, Result string
		Args         json.RawMessage
	}
}

func readLines[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	data, err := fs.ReadFile(shared(t), name)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var v T
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, v)
	}
	return all
}

// calls gives the calls in the order in which they were answered.
func (r recordedRun) calls() (answered []recordedCall) {
	open := map[string]recordedCall{}
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			open[c.ID] = recordedCall{tool: c.Function.Name, args: c.Function.Arguments}
		}
		if m.Role == "tool" {
			call := open[m.ToolCallID]
			call.result = m.Content
			answered = append(answered, call)
		}
	}
	return answered
}

func (r recordedTask) calls() (actions []recordedCall) {
	for _, a := range r.Actions {
		actions = append(actions, recordedCall{a.Name, string(a.Args), a.Result})
	}
	return actions
}

// play makes the calls and gives how many of them answered as recorded.
func (d desk) play(t *testing.T, calls []recordedCall) (same int) {
	t.Helper()
	for i, call := range calls {
		reply := d.CallJSON(call.tool, call.args)
		if err := airdb.SameResult(call.result, reply.Data, reply.Problem); err != nil {
			t.Errorf("call %d, %s %s: %v", i, call.tool, call.args, err)
			continue
		}
		same++
	}
	return same
}

// ends reports whether the data are as recorded at the end.
func (d desk) ends(t *testing.T, recorded json.RawMessage) bool {
	t.Helper()
	err := airdb.SameFinal(recorded, d.changes(), d.original)
	if err != nil {
		t.Errorf("final state: %v", err)
	}
	return err == nil
}

func TestEveryRecordedRunIsReproduced(t *testing.T) {
	start := newDesk(t, imported(t))
	results, finals := 0, 0
	for _, run := range readLines[recordedRun](t, "runs.jsonl") {
		t.Run(fmt.Sprintf("task %d trial %d", run.TaskID, run.Trial), func(t *testing.T) {
			d := start.fork()
			results += d.play(t, run.calls())
			if d.ends(t, run.FinalChanges) {
				finals++
			}
		})
	}
	if results != 572 || finals != 100 {
		t.Errorf("%d of 572 results and %d of 100 final states are as recorded", results, finals)
	}
}

func TestTheGoldActionsOfEveryTaskAreReproduced(t *testing.T) {
	start := newDesk(t, imported(t))
	results, finals := 0, 0
	for _, task := range readLines[recordedTask](t, "tasks.jsonl") {
		t.Run(fmt.Sprintf("task %d", task.TaskID), func(t *testing.T) {
			d := start.fork()
			results += d.play(t, task.calls())
			if d.ends(t, task.FinalChanges) {
				finals++
			}
		})
	}
	if results != 158 || finals != 50 {
		t.Errorf("%d of 158 results and %d of 50 final states are as recorded", results, finals)
	}
}
