package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
)

// FuzzParse feeds arbitrary bytes. Whatever they are, Parse answers with a
// skill or with bounded findings, and a skill that it gives survives being
// written and read again.
func FuzzParse(f *testing.F) {
	f.Add(edited(f))
	for _, pair := range [][2]string{
		{"args.price < facts.price * 0.7", "args.list.all(a, [1].exists(b, a == b)) ? 1.0 : 2 < `x`.y"},
		{"{enum: [CNY, USD]}", "{anyOf: [{$ref: '#'}, {const: {a: [1e3, null]}}], x-own: *price}"},
		{"{reads: [live.*], writes: [live.current]}", "{reads: [live.*], schemas: {live.a: {type: object, properties: {b: {$ref: '#'}}}, live.a.c: {}}}"},
		{"price: 89", "price: 0x59"},
		{"    scope:", "    checks: [{that: data.price == args.price, say: '{{data.sku}}'}]\n    artifacts: [{path: \"[args.sku, 'a/*.json']\", format: json}]\n    scope:"},
	} {
		f.Add(edited(f, pair[0], pair[1]))
	}
	f.Add(oneTool("schemas/in.json", "", "{}"))
	f.Add(oneTool(booking, "{type: array}", "{}"))
	f.Add([]byte("&a [*a]"))
	f.Add([]byte("? {a: b}\n: !!float 1\n--- x\n"))
	fsys := files("schemas/in.json", `{"type":"object","properties":{"a":{"$ref":"in.json"}}}`)
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("skill.yaml", text, fsys)
		if err != nil {
			var found Errors
			if !errors.As(err, &found) || len(found) == 0 || len(found) > maxIssues {
				t.Fatalf("%d findings: %v", len(found), err)
			}
			if size := len(err.Error()); size > 200*1024 {
				t.Fatalf("an error of %d bytes", size)
			}
			return
		}
		again, err := Marshal(s.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Parse("skill.yaml", again, fsys)
		if err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
		if !sameJSON(t, s.Manifest, second.Manifest) {
			t.Fatalf("read again it differs:\n%s", again)
		}
		for _, tool := range s.Tools {
			for _, e := range tool.Examples {
				tool.CheckArgs(e.Args)
				env := Env{Args: e.Args, State: e.State}
				tool.InScope(env)
				tool.TargetsOf(env)
				tool.TierOf(env)
				env.Data = e.Returns
				tool.CheckResult(env)
				tool.ArtifactsOf(env)
			}
		}
	})
}

func sameJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := encode(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := encode(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(x, y)
}

// FuzzReadJSON holds readJSON against the standard library: both take the same
// values, but for what readJSON refuses on purpose.
func FuzzReadJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.50,-0e+1,"x\u00e9\ud83d\ude00\n",null,true,false,{}]}`, ` [ ] `, `"\ud800"`, `{"a":1,"a":2}`, `1e400`, `{"":{"":{}}}`, "\"\u2028\"", `[1,]`, `00`, `"`, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		n, err := readJSON(raw)
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var want any
		if standard := d.Decode(&want); !json.Valid(raw) || standard != nil {
			if err == nil {
				t.Fatalf("%q was taken: %v", raw, standard)
			}
			return
		}
		if err != nil {
			var refused *jsonError
			if !errors.As(err, &refused) {
				t.Fatal(err)
			}
			if m := refused.message; !strings.Contains(m, "stands twice") && !strings.Contains(m, "nested deeper") && !strings.Contains(m, "number is outside") && m != "not UTF-8" {
				t.Fatalf("%q was refused: %v", raw, err)
			}
			return
		}
		if got := n.plain(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %#v, want %#v", raw, got, want)
		}
		again, err := readJSON(n.appendJSON(nil))
		if err != nil || !reflect.DeepEqual(again.plain(), want) {
			t.Fatalf("%q was written as %q: %v", raw, n.appendJSON(nil), err)
		}
	})
}

// FuzzMarshalText writes arbitrary text and JSON into a manifest and reads them
// back.
func FuzzMarshalText(f *testing.F) {
	for _, text := range []string{"a", "", " a", "a ", "a\n", "\na", "a\n\n", "a\n b", "- a", "a: b", "a #b", "#", "yes", "0x1F", "1_000", "2024-01-01", "~", "null", "\t", "a\tb", "\u0085", "\u2028", "\ufeff", "\x00", "\x7f", "'", "\"", "{{x}}", "%", "@", "`", "!a", "&a", "*a", "|", ">", "a\r\nb", "\U0001f600", "长\n文", "1e999", "---", "...", "=", "<<", "? a", "[", "a\n\n\nb", "k: |\n  x"} {
		f.Add(text, `{"k":`+`1.50}`)
	}
	f.Add("x", `{"":{"a b":[[],{},[[1]],"\u0000"]}}`)
	f.Fuzz(func(t *testing.T, text, raw string) {
		m := full()
		m.Positioning = text
		m.Tools[0].Rules[0].Say = text
		m.Tools[0].Examples[0].KV = map[string]json.RawMessage{text: json.RawMessage(`1`)}
		if n, err := readJSON([]byte(raw)); err == nil && utf8.ValidString(raw) {
			m.Tools[0].Examples[0].KV["json"] = n.appendJSON(nil)
		}
		if !utf8.ValidString(text) {
			return
		}
		written, err := Marshal(m)
		if err != nil {
			t.Skip("not JSON that can be read: ", err)
		}
		root, found := readYAML(written)
		if found != nil {
			t.Fatalf("%v\n%s", found, written)
		}
		var got abi.Manifest
		if err := json.Unmarshal(root.appendJSON(nil), &got); err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if !sameJSON(t, got, m) {
			t.Fatalf("%q and %q came back as another manifest:\n%s", text, raw, written)
		}
	})
}
