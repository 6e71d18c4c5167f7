package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/sluicehq/sluice/abi/wire"
)

func TestItReadsWhatEncodingJSONReads(t *testing.T) {
	for _, text := range hostile() {
		compareAll(t, []byte(text))
	}
}

func FuzzItReadsAndWritesAsEncodingJSON(f *testing.F) {
	for _, text := range hostile() {
		if len(text) < 2000 { // the deep ones are slow to mutate
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) { compareAll(t, text) })
}

// compareAll reads text by both codecs into every type, loosely and strictly,
// and writes what was read.
func compareAll(t *testing.T, text []byte) {
	t.Helper()
	if got, want := wire.Valid(text), json.Valid(text); got != want {
		t.Fatalf("%.200q: valid is %v, want %v", text, got, want)
	}
	ours, theirs := targets(), targets()
	step := 1
	if len(text) > 5000 { // encoding/json takes long for what is deep
		step = 12
	}
	for i := 0; i < len(ours); i += step {
		compare(t, text, ours[i], theirs[i], wire.Unmarshal, json.Unmarshal)
	}
	ours, theirs = targets(), targets()
	for i := 0; i < len(ours); i += step {
		compare(t, text, ours[i], theirs[i], wire.UnmarshalStrict, strictly)
	}
}

func strictly(b []byte, into any) error {
	if err := json.Unmarshal(b, new(json.RawMessage)); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func compare(t *testing.T, text []byte, ours, theirs any, our, their func([]byte, any) error) {
	t.Helper()
	gotErr, wantErr := attempt(our, text, ours), attempt(their, text, theirs)
	if got, want := class(gotErr), class(wantErr); got != want {
		t.Fatalf("%T from %.200q: error %q, want %q", ours, text, got, want)
	}
	if !reflect.DeepEqual(ours, theirs) {
		t.Fatalf("%T from %.200q: read %+v, want %+v", ours, text, ours, theirs)
	}
	compareWritten(t, theirs)
	compareWritten(t, reflect.ValueOf(theirs).Elem().Interface())
}

// attempt gives a panic as an error: a type's own method may panic alike.
func attempt(read func([]byte, any) error, text []byte, into any) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return read(text, into)
}

// class gives what has to be the same of an error.
func class(err error) string {
	var theirs *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var unknown *wire.UnknownFieldError
	switch ours := wire.AsTypeError(err); {
	case err == nil:
		return ""
	case ours != nil:
		return fmt.Sprintf("%s for %s at %q", ours.Value, ours.Type, ours.Field)
	case errors.As(err, &theirs):
		return fmt.Sprintf("%s for %s at %q", theirs.Value, theirs.Type, theirs.Field)
	case wire.IsSyntax(err) || errors.As(err, &syntax):
		return "syntax"
	case errors.As(err, &unknown):
		return err.Error()
	}
	return err.Error()
}

func TestItWritesWhatEncodingJSONWrites(t *testing.T) {
	for _, v := range targets() {
		compareWritten(t, v)
		compareWritten(t, reflect.ValueOf(v).Elem().Interface())
	}
	for _, v := range []any{
		nil, 1e-6, 9.99e-7, 1e21, 9.99e20, -1e-9, 1e-10, 5e-324, 1.7976931348623157e308, float32(1e-6), float32(9e-7), float32(1e21), float32(3.4e38), float32(16777216.5), 0.1 + 0.2, 100.0, 1.0,
		[]any{1, "a", nil, map[string]any{"z": 1, "a": 2, "\xff": 3, "é": 4, "": 5}}, map[int]any{}, map[any]int{1: 1}, []func(){nil}, struct{ C chan int }{}, complex(1, 1), (*int)(nil), (*duration)(nil), (*word)(nil), []error{nil}, [2]bool{true},
		struct{ N json.Number }{"x"}, struct{ N json.Number }{"01"}, json.Number(""), json.RawMessage("{"), json.RawMessage(""), json.RawMessage(" 1 "), json.RawMessage(nil), notJSON{}, &notJSON{}, map[string]notJSON{"a": {}},
		struct {
			P *json.RawMessage
			I any
		}{I: json.RawMessage("[ ]")},
	} {
		compareWritten(t, v)
	}
}

func TestItRefusesACycleAndWritesWhatIsDeep(t *testing.T) {
	pointer := &recursive{}
	pointer.Next = pointer
	list := []any{nil}
	list[0] = list
	table := map[string]any{}
	table["a"] = table
	for _, v := range []any{pointer, list, table} {
		if _, err := wire.Marshal(v); err == nil {
			t.Errorf("a %T inside itself was written", v)
		}
	}
	chain := &recursive{}
	for range 3000 {
		chain = &recursive{Next: chain}
	}
	compareWritten(t, chain)
}

func compareWritten(t *testing.T, v any) {
	t.Helper()
	want, wantErr := attemptWrite(written, v)
	got, gotErr := attemptWrite(wire.Marshal, v)
	if (gotErr == nil) != (wantErr == nil) || wantErr == nil && !bytes.Equal(got, want) {
		t.Fatalf("%T %+v: wrote\n%s, error %v; want\n%s, error %v", v, v, got, gotErr, want, wantErr)
	}
}

func attemptWrite(write func(any) ([]byte, error), v any) (b []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return write(v)
}
