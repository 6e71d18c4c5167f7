package factcheck_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/factcheck"
	"github.com/sluicehq/sluice/host/model"
)

// recordedFolder is where the recorded conversations lie, beside the repository.
func recordedFolder(t testing.TB) string {
	t.Helper()
	shared := filepath.Join("..", "..", "..", "shared")
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the recorded conversations are not here: ", err)
	}
	return filepath.Join(shared, "data", "tau-airline")
}

type recordedRun struct {
	model.Run
	name string
	won  bool
}

func recordedRuns(t testing.TB) []recordedRun {
	t.Helper()
	f, err := os.Open(filepath.Join(recordedFolder(t), "runs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runs, err := model.ParseRuns(f)
	if err != nil {
		t.Fatal(err)
	}
	var list []recordedRun
	for _, r := range runs {
		list = append(list, recordedRun{r, fmt.Sprintf("%d.%d", r.TaskID, r.Trial), r.Reward == 1})
	}
	return list
}

// told is what the model was told beside the conversation: the policy and the
// tools.
func told(t testing.TB) (policy string, tools []factcheck.Tool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recordedFolder(t), "policy.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed, err := os.ReadFile(filepath.Join(recordedFolder(t), "tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	var specs []struct {
		Function struct{ Name, Description string }
	}
	if err := json.Unmarshal(listed, &specs); err != nil {
		t.Fatal(err)
	}
	for _, s := range specs {
		tool := factcheck.Tool{Name: s.Function.Name, Summary: s.Function.Description, Effect: abi.Write}
		for _, reads := range []string{"get_", "search_", "list_", "calculate", "think"} {
			if strings.HasPrefix(tool.Name, reads) {
				tool.Effect = abi.Read
			}
		}
		tools = append(tools, tool)
	}
	return string(text), tools
}

// A stopped is a finding in a recorded answer.
type stopped struct {
	run    recordedRun
	answer string
	factcheck.Finding
}

// checkRun checks every answer of a recorded conversation with what was known
// then.
func checkRun(run recordedRun, policy string, tools []factcheck.Tool) (answers int, found []stopped) {
	known := factcheck.Known{Texts: []string{policy}, Tools: tools}
	open := map[string]int{}
	for _, m := range run.Messages {
		switch m.Role {
		case "user":
			known.Heard = append(known.Heard, known.User)
			known.User = m.Text()
			for i := range known.Calls {
				known.Calls[i].Now = false
			}
		case "tool":
			c := &known.Calls[open[m.ToolCallID]]
			c.Result, c.OK = m.Text(), !strings.HasPrefix(m.Text(), "Error")
		case "assistant":
			if m.Text() != "" {
				answers++
				for _, f := range factcheck.Check(m.Text(), known) {
					found = append(found, stopped{run, m.Text(), f})
				}
				known.Said = append(known.Said, m.Text())
			}
			for _, c := range m.ToolCalls {
				open[c.ID] = len(known.Calls)
				known.Calls = append(known.Calls, factcheck.Call{Tool: c.Function.Name, Args: c.Function.Arguments, Now: true})
			}
		}
	}
	return answers, found
}

func TestLook(t *testing.T) {
	policy, tools := told(t)
	want := os.Getenv("HALF")
	for _, run := range recordedRuns(t) {
		if fmt.Sprint(run.TaskID%2) != want {
			continue
		}
		_, found := checkRun(run, policy, tools)
		for _, f := range found {
			t.Logf("%v %s %s %q: %s (%s)", run.won, run.name, f.Kind, f.Words, f.Why, f.Known)
		}
	}
}

var dollars = regexp.MustCompile(`\$([0-9][0-9,]*)`)

func TestSensitivity(t *testing.T) {
	policy, tools := told(t)
	planted, caught := 0, 0
	for _, run := range recordedRuns(t) {
		for i, m := range run.Messages {
			if m.Role != "assistant" || m.Text() == "" {
				continue
			}
			for _, at := range dollars.FindAllStringSubmatchIndex(m.Text(), -1) {
				v, _ := strconv.Atoi(strings.ReplaceAll(m.Text()[at[2]:at[3]], ",", ""))
				lie := m.Text()[:at[2]] + fmt.Sprint(v+v/7+3) + m.Text()[at[3]:]
				copyRun := run
				copyRun.Messages = append(slices.Clone(run.Messages[:i]), model.Recorded{Role: "assistant", Content: &lie})
				_, found := checkRun(copyRun, policy, tools)
				planted++
				for _, f := range found {
					if f.answer == lie && f.Start == at[2] {
						caught++
						break
					}
				}
			}
		}
	}
	t.Logf("%d of %d", caught, planted)
}

func TestActionSensitivity(t *testing.T) {
	policy, tools := told(t)
	told, stopped := 0, 0
	for _, run := range recordedRuns(t) {
		_, before := checkRun(run, policy, tools)
		_ = before
		copyRun := run
		copyRun.Messages = slices.Clone(run.Messages)
		writes := map[string]bool{}
		for _, m := range run.Messages {
			for _, c := range m.ToolCalls {
				for _, tool := range tools {
					if tool.Name == c.Function.Name && tool.Effect == abi.Write {
						writes[c.ID] = true
					}
				}
			}
		}
		failed := "Error: it was not done"
		var after []string
		for i, m := range copyRun.Messages {
			if m.Role == "tool" && writes[m.ToolCallID] && !strings.HasPrefix(m.Text(), "Error") {
				copyRun.Messages[i].Content = &failed
				if i+1 < len(copyRun.Messages) && strings.Contains(copyRun.Messages[i+1].Text(), "success") {
					after = append(after, copyRun.Messages[i+1].Text())
				}
			}
		}
		_, found := checkRun(copyRun, policy, tools)
		for _, text := range after {
			told++
			hit := false
			for _, f := range found {
				hit = hit || f.answer == text && f.Kind == factcheck.Action
			}
			if hit {
				stopped++
			} else {
				t.Logf("%s %.200s", run.name, text)
			}
		}
	}
	t.Logf("%d of %d", stopped, told)
}
