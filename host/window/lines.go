package window

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/host/model"
)

// Bounds of a tool call's line, in characters: enough for ids and amounts.
const (
	lineArgs    = 200
	lineOutcome = 160
)

// lined gives a message of an old turn: its calls and results stay, as models
// want them, with short arguments and with one line for each result.
func lined(m model.Message) model.Message {
	m.Reasoning = ""
	if m.Role == model.RoleTool {
		if line := outcomeLine(m); len(line) < len(m.Text) || strings.Contains(m.Text, "\n") {
			m.Text = line
		}
	}
	return withArgs(m, lineArgs)
}

// outcomeLine tells in one line what a call came to, and where its whole
// result lies.
func outcomeLine(m model.Message) string {
	line := "failed: " + oneLine(problemMessage(m.Text), lineOutcome)
	if m.OK {
		line = "ok: " + oneLine(m.Text, lineOutcome)
	}
	if m.Blob != "" {
		line += " [whole result: blob " + m.Blob + "]"
	}
	return line
}

// problemMessage gives the words of a problem's result, or the result.
func problemMessage(result string) string {
	var told struct {
		Problem struct {
			Message string `json:"message"`
		} `json:"problem"`
	}
	if json.Unmarshal([]byte(result), &told) == nil && told.Problem.Message != "" {
		return told.Problem.Message
	}
	return result
}

// oneLine gives the beginning of a text in one line.
func oneLine(text string, most int) string {
	// What is far behind the cut is not looked at; the count says it anyway.
	head := text[:min(len(text), most*utf8.UTFMax*2)]
	if len(head) < len(text) {
		head = strings.ToValidUTF8(head, "")
	}
	head = strings.Join(strings.Fields(head), " ")
	if len(head) <= most || utf8.RuneCountInString(head) <= most {
		if len(text) <= most*utf8.UTFMax*2 {
			return head
		}
		return head + "…"
	}
	return headOf(head, most) + "…"
}

// withArgs gives a message whose calls' arguments have at most so many
// characters. They stay a JSON object; what is none says its own in the result.
func withArgs(m model.Message, most int) model.Message {
	long := func(c model.Call) bool { return len(c.Args) > most && utf8.RuneCountInString(c.Args) > most }
	for i, c := range m.Calls {
		if !long(c) {
			continue
		}
		calls := make([]model.Call, len(m.Calls))
		copy(calls, m.Calls)
		for j := i; j < len(calls); j++ {
			if long(calls[j]) {
				calls[j].Args = shortArgs(calls[j].Args, most)
			}
		}
		m.Calls = calls
		break
	}
	return m
}

func shortArgs(args string, most int) string {
	if short, ok := shorten(strings.NewReader(args), most); ok && strings.HasPrefix(short, "{") {
		return short
	}
	return "{}"
}

// userShare is how much longer a user's own words may be than other messages
// that are shortened: they are what everything else is for.
const userShare = 4

// shortened gives a message of the current turn with at most room characters
// in each of its parts, and a marker.
func shortened(m model.Message, room int) model.Message {
	if m.Role == model.RoleUser {
		room *= userShare
	}
	m.Text = shortText(m.Text, room)
	m.Reasoning = shortText(m.Reasoning, room)
	return withArgs(m, room)
}

// shortText shortens JSON in its shape and other texts to their ends.
func shortText(text string, room int) string {
	if len(text) <= room || utf8.RuneCountInString(text) <= room {
		return text
	}
	if text[0] == '{' || text[0] == '[' {
		if short, ok := shorten(strings.NewReader(text), room); ok {
			return short
		}
	}
	return ends(text, max(room-markerRunes, markerRunes))
}
