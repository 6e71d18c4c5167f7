package main

import (
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// A step leads from a value to one inside it.
type step struct {
	name     string // of a member
	isIndex  bool   // else a member
	from, to int    // items; to is 0 for one item, and open for all that follow
}

// open is the end of items[10:].
const open = 1 << 62

// maxSteps bounds a path: what people write has a handful.
const maxSteps = 32

// parsePath reads a path such as items[3].name. Only its last step may stand
// for several items. A leading $ is what other notations begin with.
func parsePath(path string) ([]step, error) {
	var steps []step
	rest := strings.TrimPrefix(strings.TrimSpace(path), "$")
	for rest != "" {
		if len(steps) == maxSteps || len(steps) > 0 && steps[len(steps)-1].to > 0 {
			return nil, badPath("%.80q goes on behind several items, or is too long", path)
		}
		s, after, ok := cutStep(rest, len(steps) == 0)
		if !ok {
			return nil, badPath("%.80q cannot be read from %.40q on", path, rest)
		}
		steps, rest = append(steps, s), after
	}
	return steps, nil
}

func badPath(format string, args ...any) error {
	return sdk.BadArgument("path", "the path "+format, args...).
		WithHint("Write names with dots and places from 0, such as items[3].name, a range as the last step, such as items[10:20], and other names as ['a.b'].")
}

// cutStep reads one step: name, .name, [3], [10:20], ['name'] or ["name"].
func cutStep(rest string, first bool) (s step, after string, ok bool) {
	if rest[0] != '[' {
		if name, dotted := strings.CutPrefix(rest, "."); dotted {
			rest = name
		} else if !first {
			return s, "", false
		}
		end := strings.IndexAny(rest, ".[]")
		if end < 0 {
			end = len(rest)
		}
		return step{name: rest[:end]}, rest[end:], end > 0
	}
	if len(rest) > 1 && (rest[1] == '\'' || rest[1] == '"') {
		name, after, ok := strings.Cut(rest[2:], rest[1:2]+"]")
		return step{name: name}, after, ok
	}
	inside, after, ok := strings.Cut(rest[1:], "]")
	if !ok {
		return s, "", false
	}
	s, ok = parseItems(inside)
	return s, after, ok
}

func parseItems(text string) (step, bool) {
	from, to, several := strings.Cut(text, ":")
	s := step{isIndex: true}
	if several {
		s.to = open
	}
	ok := true
	for _, n := range []struct {
		text string
		into *int
	}{{from, &s.from}, {to, &s.to}} {
		if n.text == "" {
			continue
		}
		v, err := strconv.Atoi(strings.TrimSpace(n.text))
		ok = ok && err == nil && v >= 0 && v < open
		*n.into = v
	}
	return s, ok && (several && s.from < s.to || !several && from != "")
}

// pathText writes steps as a path, for people.
func pathText(steps []step) string {
	text := ""
	for _, s := range steps {
		switch {
		case !s.isIndex && strings.ContainsAny(s.name, ".[]'\""):
			text += "[" + strconv.Quote(s.name) + "]"
		case !s.isIndex:
			text += "." + s.name
		default:
			text += "[" + strconv.Itoa(s.from) + "]"
		}
	}
	if text == "" {
		return "the whole"
	}
	return strings.TrimPrefix(text, ".")
}

// near gives the names that are like one, or the first where none is.
func near(name string, names []string) []string {
	const most = 8
	if like := abi.Nearest(name, names, most); len(like) > 0 {
		return like
	}
	return names[:min(len(names), most)]
}
