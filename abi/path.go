package abi

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckPath gives what is wrong with the path of a file, or nil. A path is
// relative, its parts are joined by slashes, and every system takes it: what
// some system would take for another name, a device, a stream or a folder above
// is refused on all.
func CheckPath(path string) *Problem {
	if path == "" || len(path) > PathBytes {
		return badPath(path, "has %d bytes; give 1 to %d", len(path), PathBytes)
	}
	if !utf8.ValidString(path) {
		return badPath(path, "is not UTF-8")
	}
	parts := strings.Split(path, "/")
	if len(parts) > PathDepth {
		return badPath(path, "has %d parts; give at most %d", len(parts), PathDepth)
	}
	for _, name := range parts {
		if wrong := wrongName(name); wrong != "" {
			return badPath(path, "%s", wrong)
		}
	}
	return nil
}

// CheckFolder is CheckPath for a folder; the session's own is "" or ".".
func CheckFolder(path string) *Problem {
	if path == "" || path == "." {
		return nil
	}
	return CheckPath(path)
}

// refusedRunes have a meaning of their own in the names of some system.
const refusedRunes = `\:*?"<>|`

// wrongName says what is wrong with one part of a path, or nothing.
func wrongName(name string) string {
	switch {
	case name == "":
		return "has an empty part; write it relative, such as notes/plan.md"
	case name == "." || name == "..":
		return "has a part " + name + "; paths begin at the session's folder and stay in it"
	case len(name) > PathNameBytes:
		return "has a name that is longer than a file system takes"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "has a control character"
	case strings.ContainsAny(name, refusedRunes):
		return "has one of " + refusedRunes + ", which not every system takes in a name"
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return "has a name that ends in a dot or a space, which not every system keeps"
	case strings.EqualFold(name, ".git"):
		return "has a part .git, which is kept for checkpoints"
	case isDevice(name):
		return "has a name that is a device on some systems"
	}
	return ""
}

// isDevice knows the names that Windows takes for devices, with any extension.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	if slices.Contains([]string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}, base) {
		return true
	}
	digit, isPort := strings.CutPrefix(base, "COM")
	if !isPort {
		digit, isPort = strings.CutPrefix(base, "LPT")
	}
	return isPort && utf8.RuneCountInString(digit) == 1 && strings.Contains("0123456789¹²³", digit)
}

// echoBytes bounds what a message repeats of a path.
const echoBytes = 80

func badPath(path, format string, args ...any) *Problem {
	p := NewProblem(BadHostCall, format, args...)
	p.Message = "the path " + EchoPath(path) + " " + p.Message
	return p.WithField("path")
}

// EchoPath repeats a path in a message: quoted, and not at length.
func EchoPath(path string) string {
	if len(path) > echoBytes {
		path = strings.ToValidUTF8(path[:echoBytes], "") + "…"
	}
	return strconv.Quote(path)
}
