package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// Bounds of one query.
const (
	maxInput  = 8 << 20   // bytes of a blob, which is in memory whole; some 500 instructions a byte read it
	maxOutput = 1 << 20   // bytes of what is given
	maxValues = 100_000   // that are given
	maxErrors = 300       // characters of what went wrong
	pieceRead = 256 << 10 // bytes that are read at once
)

func query(c sdk.Call, in Query) (Answer, error) {
	code, err := compile(in.Filter)
	if err != nil {
		return Answer{}, err
	}
	documents, err := read(c, in)
	if err != nil {
		return Answer{}, err
	}
	return run(code, documents, in.Raw)
}

// maxOperators bounds a filter: whoever compiles it calls itself for each of its
// parts, and the stack of a guest is not large.
const maxOperators = 400

// operators counts what filters are put together with, also where it stands in
// a text.
func operators(filter string) (n int) {
	for _, c := range []byte("([{|,+-*/%<>=?.;:\\") {
		n += strings.Count(filter, string(rune(c)))
	}
	for _, word := range strings.FieldsFunc(filter, func(r rune) bool { return !('a' <= r && r <= 'z') }) {
		switch word {
		case "if", "elif", "def", "and", "or", "as", "try", "catch", "reduce", "foreach", "label":
			n++
		}
	}
	return n
}

// compile makes a filter that reaches nothing but its document.
func compile(filter string) (*gojq.Code, error) {
	if n := operators(filter); n > maxOperators {
		return nil, sdk.BadArgument("filter", "the filter has %d operators; the most is %d", n, maxOperators).WithHint("Do it in several smaller queries.")
	}
	parsed, err := gojq.Parse(filter)
	if err != nil {
		return nil, sdk.BadArgument("filter", "the filter cannot be parsed: %s", short(err.Error())).
			WithHint("Write jq, such as .items[0].name, or [.items[] | select(.price > 100) | .sku].")
	}
	code, err := gojq.Compile(parsed, gojq.WithEnvironLoader(func() []string { return nil }))
	if err != nil {
		return nil, sdk.BadArgument("filter", "the filter cannot be used: %s", short(err.Error())).
			WithHint("Use jq's own functions and those that the filter defines; there are no modules, arguments or further inputs.")
	}
	return code, nil
}

func short(text string) string {
	if runes := []rune(text); len(runes) > maxErrors {
		return string(runes[:maxErrors]) + "…"
	}
	return text
}

// read gives the documents of a blob.
func read(c sdk.Call, in Query) ([]any, error) {
	if in.Input == "" {
		return []any{nil}, nil
	}
	data, err := readBlob(c, strings.TrimPrefix(in.Input, "blob:"))
	if err != nil {
		return nil, err
	}
	documents, err := decode(data)
	if err != nil {
		return nil, sdk.Refuse(abi.NotAllowed, "the blob is no JSON: %s", short(err.Error())).WithField("input").
			WithHint("Filter it as text with run_shell of sandbox.shell, where there is one, or read it with read_blob.")
	}
	if in.Slurp {
		return []any{documents}, nil
	}
	return documents, nil
}

func readBlob(c sdk.Call, id string) ([]byte, error) {
	var data []byte
	for {
		piece, err := sdk.BlobRead(c, id, int64(len(data)), pieceRead)
		if err != nil {
			return nil, explained(err)
		}
		data = append(data, piece...)
		switch {
		case len(data) > maxInput:
			return nil, sdk.Refuse(abi.OutOfMemory, "the blob is longer than the %d bytes that one query reads", maxInput).WithField("input").
				WithHint("Take parts of it with read_blob_value, or lines of it with run_shell.")
		case len(piece) < pieceRead:
			return data, nil
		}
	}
}

func explained(err error) error {
	if p, ok := err.(*abi.Problem); ok && p.Code == abi.NotFound {
		return p.WithHint("Use an id to the letter as a result or an upload of this session named it.")
	}
	return err
}

// run runs the filter over each document.
func run(code *gojq.Code, documents []any, raw bool) (Answer, error) {
	var a Answer
	var text strings.Builder
	size := 0
	for _, document := range documents {
		values := code.Run(document)
		for {
			v, ok := values.Next()
			if !ok {
				break
			}
			if err, failed := v.(error); failed {
				if halted(err) {
					break
				}
				return Answer{}, failure(err, document)
			}
			b, err := written(v, raw)
			if err != nil {
				return Answer{}, failure(err, document)
			}
			if size += len(b) + 1; size > maxOutput || a.Count == maxValues {
				a.Cut, a.Text = true, text.String()
				return a, nil
			}
			a.Count++
			if raw {
				text.Write(append(b, '\n'))
			} else {
				a.Results = append(a.Results, b)
			}
		}
	}
	a.Text = text.String()
	return a, nil
}

// halted reports whether the filter ended itself, which is no failure.
func halted(err error) bool {
	halt, ok := err.(*gojq.HaltError)
	return ok && halt.Value() == nil
}

func written(v any, raw bool) ([]byte, error) {
	if tooDeep(v, maxDepth) {
		return nil, errors.New("what it gives is nested too deeply")
	}
	if text, ok := v.(string); ok && raw {
		return []byte(strings.ToValidUTF8(text, "\uFFFD")), nil
	}
	return gojq.Marshal(v)
}

// tooDeep reports whether a value has more levels than that.
func tooDeep(v any, levels int) bool {
	if levels == 0 {
		return true
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if tooDeep(item, levels-1) {
				return true
			}
		}
	case map[string]any:
		for _, member := range v {
			if tooDeep(member, levels-1) {
				return true
			}
		}
	}
	return false
}

// failure says what went wrong, and what the document looks like.
func failure(err error, document any) error {
	return sdk.BadArgument("filter", "the filter fails: %s", short(err.Error())).WithHint("The document is %s.", shape(document))
}

// maxNames bounds the members that a shape names.
const maxNames = 20

// shape describes a value: what it is, and what is in it, one level deep.
func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		more := ""
		if len(names) > maxNames {
			names, more = names[:maxNames], " and more"
		}
		return "an object with the members " + short(strings.Join(names, ", ")) + more
	case []any:
		if len(v) == 0 {
			return "an empty list"
		}
		if _, nested := v[0].([]any); nested {
			return sdk.Textf("a list of %d lists", len(v))
		}
		return sdk.Textf("a list of %d, of which the first is %s", len(v), shape(v[0]))
	case string:
		return "a text"
	case nil:
		return "null"
	case bool:
		return "true or false"
	}
	return "a number"
}
