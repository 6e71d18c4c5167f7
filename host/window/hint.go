package window

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/host"
)

// Bounds of a state hint: it is told with every request and never cached.
const (
	hintLines      = 60
	hintDepth      = 4 // members of members; what is deeper stands as JSON
	hintValueRunes = 120
	hintNameRunes  = 120
)

// StateHint tells the state of a session in short: a line for each field, in
// the order of the names, and an asterisk with the value of before where it
// differs from before. Before is usually the state at the beginning of the
// turn; nil marks nothing. A value that is no JSON is told as text. What is
// more than 60 lines is counted, changed fields staying.
func StateHint(now, before map[string]json.RawMessage) string {
	fields := flat(now)
	old := flat(before)
	if before != nil {
		for name := range old {
			if _, there := fields[name]; !there {
				fields[name] = ""
			}
		}
	}
	names := slices.Sorted(maps.Keys(fields))
	changed := func(name string) bool { return before != nil && fields[name] != old[name] }
	if spare := len(names) - hintLines; spare > 0 {
		names = slices.DeleteFunc(names, func(name string) bool {
			spare--
			return spare >= 0 && !changed(name)
		})
	}
	left := len(fields) - min(len(names), hintLines)
	var b strings.Builder
	for _, name := range names[:min(len(names), hintLines)] {
		b.WriteString(hintLine(name, fields[name], old[name], changed(name)) + "\n")
	}
	if left > 0 {
		fmt.Fprintf(&b, "(%d more fields)\n", left)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func hintLine(name, now, before string, changed bool) string {
	name, now, before = oneLine(name, hintNameRunes), oneLine(now, hintValueRunes), oneLine(before, hintValueRunes)
	switch {
	case !changed:
		return name + ": " + now
	case now == "":
		return "* " + name + ": gone (was " + before + ")"
	case before == "":
		return "* " + name + ": " + now
	}
	return "* " + name + ": " + now + " (was " + before + ")"
}

// flat gives the fields of a state by their dotted names. Where two have the
// same one, as a.b and the member b of a, the longer key has it.
func flat(state map[string]json.RawMessage) map[string]string {
	fields := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		flatten(fields, key, state[key], hintDepth)
	}
	return fields
}

func flatten(fields map[string]string, name string, value json.RawMessage, depth int) {
	var members map[string]json.RawMessage
	if depth > 0 && bytes.HasPrefix(bytes.TrimSpace(value), []byte("{")) && json.Unmarshal(value, &members) == nil && len(members) > 0 {
		for _, member := range slices.Sorted(maps.Keys(members)) {
			flatten(fields, name+"."+member, members[member], depth-1)
		}
		return
	}
	plain, err := host.Canonical(value)
	if err != nil {
		plain = value
	}
	fields[name] = string(plain)
}
