package memory

import (
	"strings"
	"time"
)

// UserSpeaks is the speaker of what the user of a session says. It is no name: names go
// to nobody who need not know them.
const UserSpeaks = "user"

// TurnText gives the index text of a turn of a conversation: the turn before, for
// what it answers, who speaks, on which day, and the turn itself. What is empty or
// zero is left out. The text comes last, so that it is seen whether it asks.
func TurnText(before, speaker string, at time.Time, text string) string {
	var lines []string
	add := func(line string) {
		if line != "" {
			lines = append(lines, line)
		}
	}
	add(before)
	add(speaker)
	if !at.IsZero() {
		add(at.Format("2 January 2006"))
	}
	add(text)
	return strings.Join(lines, "\n")
}
