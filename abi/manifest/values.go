package manifest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// maxValueBytes bounds a CEL value that leaves as JSON. A short expression can
// name the same large text a thousand times.
const maxValueBytes = 1 << 20

// appendValue appends a CEL value as JSON; members of maps are sorted. It stops
// with an error once b is longer than maxValueBytes.
func appendValue(b []byte, v ref.Val, depth int) ([]byte, error) {
	switch {
	case depth > MaxDepth:
		return nil, fmt.Errorf("nested deeper than %d", MaxDepth)
	case len(b) > maxValueBytes:
		return nil, fmt.Errorf("more than %d bytes", maxValueBytes)
	}
	switch v := v.(type) {
	case types.Null:
		return append(b, "null"...), nil
	case types.Bool:
		return strconv.AppendBool(b, bool(v)), nil
	case types.Int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case types.Uint:
		return strconv.AppendUint(b, uint64(v), 10), nil
	case types.Double:
		return appendDouble(b, float64(v))
	case types.String:
		return appendText(b, string(v)), nil
	case types.Timestamp:
		return appendText(b, v.Time.UTC().Format(time.RFC3339Nano)), nil
	case types.Duration:
		return appendText(b, v.Duration.String()), nil
	case traits.Mapper:
		return appendMap(b, v, depth)
	case traits.Lister:
		return appendList(b, v, depth)
	}
	return nil, fmt.Errorf("%s is not a JSON value", v.Type().TypeName())
}

func appendDouble(b []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is not a JSON number", f)
	}
	text, err := json.Marshal(f)
	return append(b, text...), err
}

func appendList(b []byte, l traits.Lister, depth int) ([]byte, error) {
	var err error
	b = append(b, '[')
	for it, first := l.Iterator(), true; it.HasNext() == types.True; first = false {
		if !first {
			b = append(b, ',')
		}
		if b, err = appendValue(b, it.Next(), depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendMap(b []byte, m traits.Mapper, depth int) ([]byte, error) {
	var names []string
	for it := m.Iterator(); it.HasNext() == types.True; {
		name, ok := it.Next().(types.String)
		if !ok {
			return nil, fmt.Errorf("a map with keys other than strings is not a JSON value")
		}
		names = append(names, string(name))
	}
	slices.Sort(names)
	var err error
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ':')
		if b, err = appendValue(b, m.Get(types.String(name)), depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// showValue writes a CEL value for people: text and times as they are, all else as
// JSON. A person decides by it what happens, so that what cannot be seen, or turns
// the text around, is shown as U+FFFD.
func showValue(v ref.Val) string { return Visible(plainly(v)) }

// Visible gives a line of text as a person is to see it who decides by it: what
// cannot be seen, or turns the text around, is U+FFFD.
func Visible(text string) string {
	return strings.Map(func(c rune) rune {
		if notPrintable(c) {
			return utf8.RuneError
		}
		return c
	}, text)
}

func plainly(v ref.Val) string {
	switch v := v.(type) {
	case types.String:
		return string(v)
	case types.Timestamp:
		return v.Time.UTC().Format(time.RFC3339)
	}
	b, err := appendValue(nil, v, 0)
	if err != nil {
		return "…"
	}
	return string(b)
}
