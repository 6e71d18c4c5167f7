package model

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

// sharedRuns gives the recorded airline conversations, which lie beside the
// repository.
func sharedRuns(t testing.TB) []Run {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			t.Fatal("no go.mod above this package")
		}
		root = filepath.Dir(root)
	}
	shared := filepath.Join(root, "..", "shared")
	if _, err := os.Stat(shared); errors.Is(err, os.ErrNotExist) {
		t.Skip("the recorded conversations are not here: no ../shared beside the repository")
	}
	f, err := os.Open(filepath.Join(shared, "data", "tau-airline", "runs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runs, err := ParseRuns(f)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// asMessage is the message that a conversation holds for a recorded one.
func asMessage(r Recorded) Message {
	if r.Role == "assistant" {
		return replyOf(r).Message()
	}
	return Message{Role: Role(r.Role), Text: r.Text(), CallID: r.ToolCallID, Tool: r.Name, OK: r.Role == "tool"}
}

func TestReplayGivesEveryRecordedAnswerAgain(t *testing.T) {
	runs := sharedRuns(t)
	calls, answers := 0, 0
	for _, run := range runs {
		p := NewReplay(run.Messages)
		var messages []Message
		for i, r := range run.Messages {
			if r.Role == "assistant" {
				var said string
				reply, err := p.Complete(context.Background(), Request{Messages: messages}, func(e Event) { said += e.Text })
				if err != nil {
					t.Fatalf("task %d trial %d message %d: %v", run.TaskID, run.Trial, i, err)
				}
				if reply.Text != r.Text() || said != r.Text() || len(reply.Calls) != len(r.ToolCalls) || reply.Finish == "" {
					t.Fatalf("task %d trial %d message %d: got %+v, want %v", run.TaskID, run.Trial, i, reply, r)
				}
				for j, c := range reply.Calls {
					if rc := r.ToolCalls[j]; c.ID != rc.ID || c.Tool != rc.Function.Name || c.Args != rc.Function.Arguments {
						t.Fatalf("task %d trial %d message %d: call %+v, want %+v", run.TaskID, run.Trial, i, c, rc)
					}
				}
				calls, answers = calls+len(reply.Calls), answers+1
			}
			messages = append(messages, asMessage(r))
		}
	}
	if len(runs) != 100 || calls != 572 || answers != 1229 {
		t.Errorf("%d runs, %d calls, %d answers; the recordings hold 100, 572 and 1229", len(runs), calls, answers)
	}
}

func TestReplayFindsItsPlaceAfterCompaction(t *testing.T) {
	found := 0
	for _, run := range sharedRuns(t) {
		p := NewReplay(run.Messages)
		var messages []Message
		for i, r := range run.Messages {
			if r.Role == "assistant" {
				from := lastUsers(messages, 3)
				compacted := append([]Message{{Role: RoleUser, Text: "Summary of what was said before: …"}}, messages[from:]...)
				reply, err := p.Complete(context.Background(), Request{Messages: compacted}, nil)
				// Some users say the same three things twice in a row.
				if err != nil && !strings.Contains(err.Error(), "places of it") {
					t.Fatalf("task %d trial %d message %d: %v", run.TaskID, run.Trial, i, err)
				}
				if err == nil {
					found++
					if reply.Text != r.Text() {
						t.Fatalf("task %d trial %d message %d: got %+v, want %v", run.TaskID, run.Trial, i, reply, r)
					}
				}
			}
			messages = append(messages, asMessage(r))
		}
	}
	if found < 1220 {
		t.Errorf("%d of 1229 places were found", found)
	}
}

// lastUsers gives the index of the n-th last user message, or 0.
func lastUsers(messages []Message, n int) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == RoleUser {
			if n--; n == 0 {
				return i
			}
		}
	}
	return 0
}

// record makes a recording: "u:text" for the user, "a:text" for the assistant,
// "c:tool" for its call, "t:tool" for the result.
func record(lines ...string) []Recorded {
	var out []Recorded
	for _, line := range lines {
		kind, text, _ := strings.Cut(line, ":")
		switch kind {
		case "s":
			out = append(out, Recorded{Role: "system", Content: &text})
		case "u":
			out = append(out, Recorded{Role: "user", Content: &text})
		case "a":
			out = append(out, Recorded{Role: "assistant", Content: &text})
		case "c":
			c := RecordedCall{ID: "call_" + text}
			c.Function.Name, c.Function.Arguments = text, "{}"
			out = append(out, Recorded{Role: "assistant", ToolCalls: []RecordedCall{c}})
		case "t":
			out = append(out, Recorded{Role: "tool", Name: text, Content: &text})
		}
	}
	return out
}

func conversation(lines ...string) []Message {
	var out []Message
	for _, r := range record(lines...) {
		out = append(out, asMessage(r))
	}
	return out
}

func TestReplayAnswersOnlyWhereTheConversationIsTheRecordedOne(t *testing.T) {
	recorded := record("s:be brief", "u:hi", "a:hello", "u:price?", "c:quote", "t:quote", "a:89", "u:yes", "c:buy", "t:buy", "a:done", "u:yes", "a:bye", "u:###STOP###")
	for _, tt := range []struct {
		name     string
		messages []Message
		want     string // the answer's text or called tool
		fails    string
	}{
		{"at the start", conversation("u:hi"), "hello", ""},
		{"spaces around", conversation("u: hi\n"), "hello", ""},
		{"a call", conversation("u:hi", "a:hello", "u:price?"), "quote", ""},
		{"full tool names", []Message{{Role: RoleUser, Text: "hi"}, {Role: RoleAssistant, Text: "hello"}, {Role: RoleUser, Text: "price?"},
			{Role: RoleAssistant, Calls: []Call{{ID: "other", Tool: "shop.quote"}}}, {Role: RoleTool, Tool: "shop.quote", Text: "something else"}}, "89", ""},
		{"the second yes", conversation("u:hi", "a:hello", "u:price?", "c:quote", "t:quote", "a:89", "u:yes", "c:buy", "t:buy", "a:done", "u:yes"), "bye", ""},
		{"compacted", conversation("u:summary", "a:89", "u:yes"), "buy", ""},
		{"compacted to the last message", conversation("u:summary", "u:price?"), "quote", ""},

		{"another text", conversation("u:hi", "a:hello", "u:cost?"), "", `part at message 2: the request has a message of the user, "cost?", the recording a message of the user, "price?"`},
		{"a result is missing", conversation("u:hi", "a:hello", "u:price?", "c:quote", "u:yes"), "", "part at message 4: the request has a message of the user, \"yes\", the recording a result of quote"},
		{"a result too many", conversation("u:hi", "a:hello", "u:price?", "c:quote", "t:quote", "t:quote"), "", "part at message 5"},
		{"another tool", conversation("u:hi", "a:hello", "u:price?", "c:buy"), "", "part at message 3: the request has an assistant's call of [buy]"},
		{"nobody's turn", conversation("u:hi", "a:hello"), "", "not an assistant's"},
		{"after the end", conversation("u:hi", "a:hello", "u:price?", "c:quote", "t:quote", "a:89", "u:yes", "c:buy", "t:buy", "a:done", "u:yes", "a:bye", "u:###STOP###"), "", "it has ended after 13 messages"},
		{"beyond the end", conversation("u:hi", "a:hello", "u:price?", "c:quote", "t:quote", "a:89", "u:yes", "c:buy", "t:buy", "a:done", "u:yes", "a:bye", "u:###STOP###", "u:more"), "", "it has ended after 13 messages"},
		{"another conversation", conversation("u:hello there"), "", "begins otherwise"},
		{"another conversation with a known tool", conversation("u:hello there", "c:quote", "t:quote"), "", "begins otherwise"},
		{"compacted so far that two places fit", conversation("u:summary", "u:yes"), "", "2 places"},
		{"empty", nil, "", "no messages"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewReplay(recorded)
			for range 2 { // the same place may be asked for again
				reply, err := p.Complete(context.Background(), Request{Messages: tt.messages}, nil)
				if tt.fails != "" {
					if problem := wantCode(t, err, abi.ModelRejected); !strings.Contains(problem.Message, tt.fails) {
						t.Fatalf("the problem says %q, not %q", problem.Message, tt.fails)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got := reply.Text
				for _, c := range reply.Calls {
					got += c.Tool
				}
				if got != tt.want {
					t.Fatalf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
	t.Run("nothing recorded", func(t *testing.T) {
		_, err := NewReplay(nil).Complete(context.Background(), user("hi"), nil)
		wantCode(t, err, abi.ModelRejected)
	})
	t.Run("nobody waits any more", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := NewReplay(recorded).Complete(ctx, user("hi"), nil)
		wantCode(t, err, abi.Cancelled)
	})
}

func TestParseRunsNamesTheLineThatIsWrong(t *testing.T) {
	good := `{"task_id":1,"messages":[{"role":"user","content":"hi"}]}`
	for name, tt := range map[string]struct{ input, says string }{
		"not JSON":        {good + "\n\n{oops", "line 3: not a recorded run"},
		"no messages":     {`{"task_id":1}`, "line 1: a recorded run without messages"},
		"unknown role":    {`{"messages":[{"role":"user"},{"role":"robot"}]}`, `line 1: message 1: role "robot"`},
		"call of a user":  {`{"messages":[{"role":"user","tool_calls":[{"id":"a","function":{"name":"b"}}]}]}`, "tool calls in a message of role user"},
		"call without id": {`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"b"}}]}]}`, "without id or name"},
		"wrong type":      {`{"messages":"none"}`, "line 1: not a recorded run"},
		"a line too long": {good + "\n" + strings.Repeat(" ", runLineBytesMax+1), "line 2: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseRuns(strings.NewReader(tt.input))
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v; want one with %q", err, tt.says)
			}
		})
	}
	runs, err := ParseRuns(strings.NewReader("\n" + good + "\r\n" + good))
	if err != nil || len(runs) != 2 || runs[0].TaskID != 1 || !slices.EqualFunc(runs[0].Messages, record("u:hi"), func(a, b Recorded) bool { return a.Text() == b.Text() }) {
		t.Errorf("got %+v, %v", runs, err)
	}
}

func FuzzParseRuns(f *testing.F) {
	f.Add(`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"b","arguments":"{}"}}]}]}`)
	f.Add(`{"messages":[{"role":"system"}]}`)
	f.Add("{\n}")
	f.Fuzz(func(t *testing.T, input string) {
		runs, err := ParseRuns(strings.NewReader(input))
		if err != nil {
			return
		}
		for _, run := range runs {
			var messages []Message
			for _, r := range NewReplay(run.Messages).messages {
				messages = append(messages, asMessage(r))
				_, err := NewReplay(run.Messages).Complete(context.Background(), Request{Messages: messages}, nil)
				if err != nil {
					wantCode(t, err, abi.ModelRejected)
				}
			}
		}
	})
}
