package main

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
)

// FuzzDecode holds what is read against encoding/json: the same documents are
// JSON, and they say the same; but that bytes that are no UTF-8, next to each
// other, are one replacement character.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		shop, `[]`, `{}`, `"a\"b\u9752\ud83d\ude00\ud800"`, `-0.5e+10`, `01`, `1.`, `-`, `[1,]`, `{"a":1,"a":2}`, `{"a"}`, "1 2\n[3]", "\"\xff\"", `"\x"`, "\"\n\"", `nul`, `tru`, `[`, `-0`, `123456789012345678901`,
		`1e400`, `"\ud83dx"`, `truefalse`, ``,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decode([]byte(text))
		text = strings.ToValidUTF8(text, "\uFFFD")
		want, wantErr := documentsOf(text)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q is read as %v, %v; want %v, %v", text, got, err, want, wantErr)
		}
		if err == nil && !reflect.DeepEqual(writtenAll(t, got), writtenAll(t, want)) {
			t.Errorf("%q is read as %v, want %v", text, got, want)
		}
	})
}

func documentsOf(text string) (all []any, err error) {
	if len(text) >= 3 && text[:3] == "\uFEFF" {
		text = text[3:]
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	for {
		var v any
		if err := d.Decode(&v); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
}

func writtenAll(t *testing.T, documents []any) (all []string) {
	t.Helper()
	for _, v := range documents {
		b, err := gojq.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b))
	}
	return all
}
