package airdb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// errorPrefix starts the recorded text of a tool that failed.
const errorPrefix = "Error: "

// SameResult reports how the outcome of a call differs from a recorded result:
// nil if they are the same. A problem is the same as the text "Error: " with
// its message. Data that is a JSON string is the same as its text; any other
// data, and a text that differs, is compared as JSON values, in which the
// order of members and the form of a number do not matter.
func SameResult(recorded string, data json.RawMessage, problem *abi.Problem) error {
	if problem != nil {
		if recorded == errorPrefix+problem.Message {
			return nil
		}
		return fmt.Errorf("recorded %s, got the problem %d %q", clip(recorded), int(problem.Code), problem.Message)
	}
	if strings.HasPrefix(recorded, errorPrefix) {
		return fmt.Errorf("recorded %s, got %s", clip(recorded), clip(string(data)))
	}
	var text string
	if json.Unmarshal(data, &text) == nil && text == recorded {
		return nil
	}
	return SameJSON([]byte(recorded), data)
}

// SameJSON reports the first place at which two JSON texts differ as values:
// nil if they are equal. Numbers are equal if they are the same as float64.
func SameJSON(want, got []byte) error {
	w, err := decodeValue(want)
	if err != nil {
		return fmt.Errorf("recorded %s is not JSON (%v), got %s", clip(string(want)), err, clip(string(got)))
	}
	g, err := decodeValue(got)
	if err != nil {
		return fmt.Errorf("got %s, which is not JSON: %v", clip(string(got)), err)
	}
	return difference("$", w, g)
}

func decodeValue(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if err = d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err = d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more text after the value")
	}
	return v, nil
}

// difference compares decoded JSON. The decoder bounds the depth.
func difference(path string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return memberDifference(path, w, g)
		}
	case []any:
		if g, ok := got.([]any); ok {
			return itemDifference(path, w, g)
		}
	default:
		if isScalar(got) && want == got {
			return nil
		}
	}
	return fmt.Errorf("%s: recorded %s, got %s", path, show(want), show(got))
}

func memberDifference(path string, want, got map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[name]
		if !ok {
			return fmt.Errorf("%s.%s: recorded %s, got nothing", path, name, show(want[name]))
		}
		if err := difference(path+"."+name, want[name], g); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			return fmt.Errorf("%s.%s: recorded nothing, got %s", path, name, show(got[name]))
		}
	}
	return nil
}

func itemDifference(path string, want, got []any) error {
	for i := range min(len(want), len(got)) {
		if err := difference(fmt.Sprintf("%s[%d]", path, i), want[i], got[i]); err != nil {
			return err
		}
	}
	if len(want) != len(got) {
		return fmt.Errorf("%s: recorded %d items, got %d", path, len(want), len(got))
	}
	return nil
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clip(string(text))
}

// clip keeps a message readable: the start of a long text tells which it is.
func clip(text string) string {
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	if text == "" {
		return "nothing"
	}
	return text
}
