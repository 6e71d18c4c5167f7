package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// A Recorded is one message of a recorded conversation, in the chat form that
// OpenAI made common.
type Recorded struct {
	Role       string         `json:"role"`    // user, assistant, tool; system is passed over
	Content    *string        `json:"content"` // null beside tool calls
	ToolCalls  []RecordedCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	Name       string         `json:"name,omitempty"` // of a tool result: the tool
}

// Text gives the content, empty where it is null.
func (m Recorded) Text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// A RecordedCall is one tool call of a recorded message.
type RecordedCall struct {
	ID       string `json:"id"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // as the model wrote them
	} `json:"function"`
}

// A Run is one recorded conversation with what is known about it.
type Run struct {
	TaskID       int             `json:"task_id"`
	Trial        int             `json:"trial"`
	Reward       float64         `json:"reward"`
	Messages     []Recorded      `json:"messages"`
	FinalChanges json.RawMessage `json:"final_changes"` // the records that differ at the end, as recorded
}

// Bounds of recordings. The longest line of the airline recordings is 60 KiB.
const (
	runLineBytesMax = 16 << 20
	runsMax         = 100_000
)

// ParseRuns reads recorded conversations, one JSON object on each line; empty
// lines are passed over. An error names the line.
func ParseRuns(r io.Reader) ([]Run, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, runLineBytesMax)
	var runs []Run
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if len(runs) == runsMax {
			return nil, fmt.Errorf("line %d: more than %d recorded runs; split the file", n, runsMax)
		}
		run, err := parseRun(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		runs = append(runs, run)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return runs, nil
}

func parseRun(line []byte) (Run, error) {
	var run Run
	if err := json.Unmarshal(line, &run); err != nil {
		return Run{}, fmt.Errorf("not a recorded run: %w", err)
	}
	if len(run.Messages) == 0 {
		return Run{}, fmt.Errorf("a recorded run without messages")
	}
	for i, m := range run.Messages {
		if err := m.valid(); err != nil {
			return Run{}, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return run, nil
}

// valid reports what makes a message unfit for a replay, or nil.
func (m Recorded) valid() error {
	switch m.Role {
	case "system", "user", "assistant", "tool":
	default:
		return fmt.Errorf("role %.40q is not system, user, assistant or tool", m.Role)
	}
	if len(m.ToolCalls) > 0 && m.Role != "assistant" {
		return fmt.Errorf("tool calls in a message of role %s", m.Role)
	}
	for _, c := range m.ToolCalls {
		if c.ID == "" || c.Function.Name == "" {
			return fmt.Errorf("a tool call without id or name")
		}
	}
	return nil
}
