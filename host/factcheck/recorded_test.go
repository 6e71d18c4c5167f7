package factcheck_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	if _, err := os.Stat(shared); errors.Is(err, fs.ErrNotExist) {
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

// judged are the findings in the recordings, with what a person says of each.
// Half of the conversations, those of even tasks, were looked at while the rules
// were made.
var judged = map[string]string{
	`2.0 amount "2,210"`: "rightly stopped: nothing comes to that price, and the conversation failed",
}

// TestRecordedAnswersAreNotStopped: of 699 answers of a real model the check
// stops none in a conversation that ended well, and only what is judged
// in the others.
func TestRecordedAnswersAreNotStopped(t *testing.T) {
	policy, tools := told(t)
	answers, won := map[bool]int{}, map[bool]int{}
	for _, run := range recordedRuns(t) {
		held := run.TaskID%2 == 1
		n, found := checkRun(run, policy, tools)
		answers[held] += n
		if run.won {
			won[held]++
		}
		for _, f := range found {
			what := fmt.Sprintf("%s %s %q", run.name, f.Kind, f.Words)
			t.Logf("%s (%s): %s", what, f.Why, judged[what])
			if run.won || judged[what] == "" {
				t.Errorf("%s is stopped; the conversation ended well: %v", what, run.won)
			}
		}
	}
	t.Logf("even tasks: %d answers, %d conversations ended well; odd tasks: %d and %d", answers[false], won[false], answers[true], won[true])
	if answers[false]+answers[true] != 699 || won[false]+won[true] != 43 {
		t.Error("these are not the recordings that the bounds were made for")
	}
}

var dollars = regexp.MustCompile(`\$([0-9][0-9,]*)`)

// TestRecordedAmountsMadeFalse: each amount of each recorded answer is replaced
// by one that is a seventh and three more, and four of five are seen.
// The others happen to be another known number, or to follow from some.
func TestRecordedAmountsMadeFalse(t *testing.T) {
	policy, tools := told(t)
	made, seen := map[bool]int{}, map[bool]int{}
	for _, run := range recordedRuns(t) {
		for i, m := range run.Messages {
			if m.Role != "assistant" {
				continue
			}
			for _, at := range dollars.FindAllStringSubmatchIndex(m.Text(), -1) {
				value, err := strconv.Atoi(strings.ReplaceAll(m.Text()[at[2]:at[3]], ",", ""))
				if err != nil {
					t.Fatal(err)
				}
				lie := m.Text()[:at[2]] + fmt.Sprint(value+value/7+3) + m.Text()[at[3]:]
				until := run
				until.Messages = append(slices.Clone(run.Messages[:i]), model.Recorded{Role: "assistant", Content: &lie})
				_, found := checkRun(until, policy, tools)
				held := run.TaskID%2 == 1
				made[held]++
				if slices.ContainsFunc(found, func(f stopped) bool { return f.answer == lie && f.Start == at[2] }) {
					seen[held]++
				}
			}
		}
	}
	t.Logf("seen are %d of %d in even tasks, %d of %d in odd ones", seen[false], made[false], seen[true], made[true])
	if all := seen[false] + seen[true]; all*100 < 78*(made[false]+made[true]) {
		t.Errorf("only %d are seen", all)
	}
}

// TestRecordedWritesMadeToFail: the same answers, where every write has failed.
func TestRecordedWritesMadeToFail(t *testing.T) {
	policy, tools := told(t)
	claimed, seen := map[bool]int{}, map[bool]int{}
	for _, run := range recordedRuns(t) {
		broken, claims := withoutWrites(run, tools)
		_, found := checkRun(broken, policy, tools)
		for _, text := range claims {
			held := run.TaskID%2 == 1
			claimed[held]++
			if slices.ContainsFunc(found, func(f stopped) bool { return f.answer == text && f.Kind == factcheck.Action }) {
				seen[held]++
			} else {
				t.Logf("%s: not seen is %.120q", run.name, text)
			}
		}
	}
	t.Logf("seen are %d of %d in even tasks, %d of %d in odd ones", seen[false], claimed[false], seen[true], claimed[true])
	if all, made := seen[false]+seen[true], claimed[false]+claimed[true]; made < 60 || made-all > 3 {
		t.Errorf("%d of %d are seen", all, made)
	}
}

// withoutWrites gives a conversation in which no write succeeded, and the
// answers that say that one did.
func withoutWrites(run recordedRun, tools []factcheck.Tool) (broken recordedRun, claims []string) {
	writes := map[string]bool{}
	for _, m := range run.Messages {
		for _, c := range m.ToolCalls {
			writes[c.ID] = slices.ContainsFunc(tools, func(t factcheck.Tool) bool { return t.Name == c.Function.Name && t.Effect == abi.Write })
		}
	}
	failed := "Error: it was not done"
	broken = run
	broken.Messages = slices.Clone(run.Messages)
	for i, m := range run.Messages {
		if m.Role != "tool" || !writes[m.ToolCallID] || strings.HasPrefix(m.Text(), "Error") {
			continue
		}
		broken.Messages[i].Content = &failed
		if i+1 < len(run.Messages) && strings.Contains(run.Messages[i+1].Text(), "success") {
			claims = append(claims, run.Messages[i+1].Text())
		}
	}
	return broken, claims
}
