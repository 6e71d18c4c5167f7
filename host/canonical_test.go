package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEqualValuesHaveEqualBytes(t *testing.T) {
	for _, tt := range []struct {
		want  string
		forms []string
	}{
		{`{"a":1,"b":[true,null,"x"]}`, []string{`{"b":[true,null,"x"],"a":1}`, " {\n\t\"a\" : 1.0 , \"b\" : [ true , null , \"x\" ] } "}},
		{`1`, []string{`1`, `1.0`, `1e0`, `10e-1`, `0.1e1`, `1.000000`, `1E+0`, `1e+0000`}},
		{`0`, []string{`0`, `-0`, `0.0`, `-0.00`, `0e9`, `-0e-9`}},
		{`-12.5`, []string{`-12.5`, `-12.50`, `-125e-1`, `-0.125E2`}},
		{`9007199254740993`, []string{`9007199254740993`, `9007199254740993.0`, `9.007199254740993e15`}},
		{`0.1000000000000000055511151231257827`, []string{`0.1000000000000000055511151231257827`, `1000000000000000055511151231257827e-34`}},
		{`1` + strings.Repeat("0", 399), []string{`1e399`, `10e398`}},
		{`0.` + strings.Repeat("0", 399) + `1`, []string{`1e-400`}},
		{`"é<>&/"`, []string{`"é<>&/"`, `"\u00e9\u003c\u003E\u0026\/"`}},
		{`"😀"`, []string{`"😀"`, `"\ud83d\ude00"`}},
		{`"\n\u0001\u2028"`, []string{`"\n\u0001\u2028"`, "\"\\u000a\\u0001\u2028\""}},
		{`{}`, []string{`{}`, ` { } `}}, {`[]`, []string{`[]`, "[\n]"}}, {`""`, []string{`""`}}, {`null`, []string{`null`, ` null `}},
		{`{"":{"":[[]]},"A":1,"a":2,"é":3}`, []string{`{"é":3,"a":2,"A":1,"":{"":[[]]}}`}},
	} {
		for _, form := range tt.forms {
			if got, err := Canonical([]byte(form)); err != nil || string(got) != tt.want {
				t.Errorf("%s became %.60s, %v, want %.60s", form, got, err, tt.want)
			}
		}
	}
}

func TestDifferentValuesHaveDifferentBytes(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		`1`, `"1"`, `[1]`, `{"1":1}`, `true`, `"true"`, `null`, `""`, `[]`, `{}`, `0`, `false`, `-1`, `1.5`, `15`,
		`[1,2]`, `[2,1]`, `[12]`, `["1,2"]`, `[[1],2]`, `[1,[2]]`, `{"a":1,"b":2}`, `{"a":2,"b":1}`, `{"a":"1,\"b\":2"}`,
		`9007199254740992`, `9007199254740993`, `0.1`, `0.10000000000000001`, `"a"`, `"A"`, `"é"`, `"e\u0301"`,
	} {
		got, err := Canonical([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := seen[string(got)]; taken {
			t.Errorf("%s and %s both became %s", text, other, got)
		}
		seen[string(got)] = text
	}
}

func TestWhatIsNotOneBoundedJSONValueHasNoCanonicalForm(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", ``, "EOF"}, {"spaces", `  `, "EOF"}, {"half an object", `{"a":`, "EOF"}, {"half a list", `[1,2`, "EOF"}, {"half a text", `"a`, ""},
		{"two values", `1 2`, ""}, {"a value and a bracket", `{}]`, ""}, {"a comma too many", `[1,]`, ""}, {"no comma", `[1 2]`, ""}, {"no colon", `{"a" 1}`, ""},
		{"a comma for a colon", `{"a",1}`, ""}, {"a colon for a comma", `[1:2]`, ""}, {"a bracket for a brace", `{"a":1]`, ""}, {"a brace for a bracket", `[1}`, ""},
		{"a key that is no text", `{1:2}`, ""}, {"a key that is a list", `{[1]:2}`, ""}, {"a lone bracket", `]`, ""}, {"a lone comma", `,`, ""},
		{"a leading zero", `01`, ""}, {"a plus", `+1`, ""}, {"a bare point", `1.`, ""}, {"hex", `0x1`, ""}, {"not a number", `NaN`, ""}, {"a comment", `1 // one`, ""},
		{"bytes that are not UTF-8", "\"\xff\"", "not UTF-8"},
		{"a member twice", `{"a":1,"a":1}`, `member "a" stands twice`}, {"a member twice, escaped", `{"a":1,"b":2,"\u0061":3}`, `member "a" stands twice`},
		{"a member twice, further in", `[{"x":{"k":1,"k":2}}]`, `member "k" stands twice`},
		{"too deep", deep(MaxJSONDepth + 2), "nested deeper than 128"}, {"far too deep", deep(100_000), "nested deeper than 128"},
		{"far too deep by objects", strings.Repeat(`{"a":`, 100_000), "nested deeper than 128"},
		{"too large a number", `1e400`, "too large an exponent"}, {"a far larger number", `1e999`, "too large an exponent"}, {"a number beyond words", `1e999999999`, "too large an exponent"},
		{"too small a number", `1e-401`, "too large an exponent"}, {"a number close to zero", `1e-999999999`, "too large an exponent"},
		{"too many digits", strings.Repeat("9", 401), "too large an exponent"}, {"a million digits", strings.Repeat("9", 1_000_000), "too large an exponent"},
		{"a million decimals", "0." + strings.Repeat("3", 1_000_000), "too large an exponent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			got, err := Canonical([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %.60s, %v, want %q", got, err, tt.want)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
	if _, err := Canonical([]byte(deep(MaxJSONDepth))); err != nil {
		t.Errorf("the deepest that is allowed: %v", err)
	}
}

// FuzzCanonical: what has a canonical form is JSON, keeps its value, and its
// form is its own form.
func FuzzCanonical(f *testing.F) {
	for _, text := range []string{`{"b":[1.50,-0,1e3,"\u00e9\ud83d\ude00<\n"],"a":{"":null}}`, `[true,false]`, `1e-9`, `{"a":1,"a":2}`, `[1,]`, `"\ud800"`, ` 7 `, `{"a" 1}`, `[1}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := Canonical(raw)
		if err != nil {
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("%q is not JSON and became %q", raw, got)
		}
		again, err := Canonical(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%q became %q, and that %q, %v", raw, got, again, err)
		}
		if before, after := byValue(t, raw), byValue(t, got); !reflect.DeepEqual(before, after) {
			t.Fatalf("%q is %v and became %q, which is %v", raw, before, got, after)
		}
	})
}

// byValue decodes JSON with its numbers as exact fractions.
func byValue(t *testing.T, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return exact(t, v)
}

func exact(t *testing.T, v any) any {
	switch v := v.(type) {
	case json.Number:
		r, ok := new(big.Rat).SetString(v.String())
		if !ok {
			t.Fatalf("%s is not a number", v)
		}
		return r.RatString()
	case []any:
		for i := range v {
			v[i] = exact(t, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = exact(t, v[k])
		}
	}
	return v
}

func BenchmarkCanonical(b *testing.B) {
	for _, n := range []int{3, 300} {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf(`{"sku":"%d","price":%d.50,"on":true}`, i, i)
		}
		raw := []byte(`{"items":[` + strings.Join(items, ",") + `]}`)
		b.Run(fmt.Sprintf("%d bytes", len(raw)), func(b *testing.B) {
			for b.Loop() {
				if _, err := Canonical(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
