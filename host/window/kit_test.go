package window

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/host/model"
)

// rootFolder is the repository's root.
func rootFolder(t testing.TB) string {
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
	return root
}

// shared opens the data that lie beside the repository.
func shared(t testing.TB) fs.FS {
	t.Helper()
	folder := filepath.Join(rootFolder(t), "..", "shared")
	if !exists(folder) {
		t.Skipf("%s does not exist: the samples are not here", folder)
	}
	return os.DirFS(filepath.Join(folder, "data"))
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// recordedRuns are the conversations of a real model with the airline's tools.
func recordedRuns(t testing.TB) []model.Run {
	t.Helper()
	f, err := shared(t).Open("tau-airline/runs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runs, err := model.ParseRuns(f)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// messagesOf gives a recorded conversation as the agent stores it.
func messagesOf(run model.Run) []model.Message {
	var messages []model.Message
	for _, r := range run.Messages {
		if r.Role == "system" {
			continue
		}
		m := model.Message{Role: model.Role(r.Role), Text: r.Text(), CallID: r.ToolCallID}
		for _, c := range r.ToolCalls {
			m.Calls = append(m.Calls, model.Call{ID: c.ID, Tool: c.Function.Name, Args: c.Function.Arguments})
		}
		if m.Role == model.RoleTool {
			m.Tool, m.OK = r.Name, len(m.Text) < 6 || m.Text[:6] != "Error:"
		}
		messages = append(messages, m)
	}
	return messages
}
