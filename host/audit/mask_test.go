package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

func TestWhatASchemaMarksIsMaskedWhereverItStands(t *testing.T) {
	for _, tt := range []struct{ name, schema, document, want string }{
		{"a member", `{"properties":{"a":{"type":"string","x-sensitive":true},"b":{"type":"number"}}}`, `{"a":"x","b":1.50}`, `{"a":"[masked]","b":1.50}`},
		{"nested", `{"properties":{"a":{"properties":{"b":{"x-sensitive":true}}}}}`, `{"a":{"b":{"c":1}}}`, `{"a":{"b":"[masked]"}}`},
		{"all of it", `{"x-sensitive":true}`, `{"a":1}`, `"[masked]"`},
		{"items", `{"items":{"properties":{"a":{"x-sensitive":true},"b":{"type":"string"}}}}`, `[{"a":1,"b":"2"},{"a":3}]`, `[{"a":"[masked]","b":"2"},{"a":"[masked]"}]`},
		{"items by place", `{"prefixItems":[{"type":"string"},{"x-sensitive":true}],"items":{"type":"number"}}`, `["a","b",3]`, `["a","[masked]",3]`},
		{"behind a reference", `{"properties":{"a":{"$ref":"#/$defs/p~1q"}},"$defs":{"p/q":{"x-sensitive":true}}}`, `{"a":1}`, `{"a":"[masked]"}`},
		{"beside a reference", `{"properties":{"a":{"$ref":"#/$defs/p","x-sensitive":true}},"$defs":{"p":{"type":"number"}}}`, `{"a":1}`, `{"a":"[masked]"}`},
		{"behind references in a list", `{"items":{"$ref":"#/$defs/p"},"$defs":{"p":{"properties":{"q":{"$ref":"#/$defs/s"}}},"s":{"items":{"x-sensitive":true}}}}`, `[{"q":[1,2]}]`, `[{"q":["[masked]","[masked]"]}]`},
		{"in a recursion", `{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"v":{"x-sensitive":true},"k":{"type":"string"},"n":{"$ref":"#/$defs/n"}}}}}`, `{"k":"a","n":{"k":"b","v":1}}`, `{"k":"a","n":{"k":"b","v":"[masked]"}}`},
		{"in one alternative of several", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"number","x-sensitive":true}]}}}`, `{"a":"x"}`, `{"a":"[masked]"}`},
		{"in then", `{"properties":{"a":{"type":"string"}},"if":{},"then":{"properties":{"a":{"x-sensitive":true}}}}`, `{"a":"x"}`, `{"a":"[masked]"}`},
		{"in allOf behind a reference", `{"allOf":[{"$ref":"#/$defs/p"}],"properties":{"a":{"type":"string"}},"$defs":{"p":{"properties":{"a":{"x-sensitive":true}}}}}`, `{"a":"x"}`, `{"a":"[masked]"}`},
		{"by a pattern", `{"patternProperties":{"^s_":{"x-sensitive":true}},"additionalProperties":{"type":"string"}}`, `{"s_a":"x","b":"y"}`, `{"[masked]":"[masked]"}`},
		{"a named member by a pattern", `{"properties":{"s_a":{"type":"string"}},"patternProperties":{"^s_":{"x-sensitive":true}}}`, `{"s_a":"x"}`, `{"s_a":"[masked]"}`},
		{"names that are marked", `{"propertyNames":{"x-sensitive":true},"additionalProperties":{"type":"number"}}`, `{"ann@example.org":1,"bob@example.org":2}`, `{"[masked]":"[masked]"}`},
		{"in dependencies", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependencies":{"b":{"properties":{"a":{"x-sensitive":true}}},"a":["b"]}}`, `{"a":"x","b":"y"}`, `{"a":"[masked]","b":"y"}`},
		{"other members", `{"properties":{"a":{"type":"string"}},"additionalProperties":{"x-sensitive":true}}`, `{"a":"x","b":"y"}`, `{"[masked]":"[masked]","a":"x"}`},
		{"what nothing describes", `{"properties":{"a":{"type":"string"}}}`, `{"a":"x","b":"y","c":{"d":1}}`, `{"[masked]":"[masked]","a":"x"}`},
		{"a mark that is not true or false", `{"properties":{"a":{"type":"string","x-sensitive":"yes"}}}`, `{"a":"x"}`, `{"a":"[masked]"}`},
		{"a mark that says no", `{"properties":{"a":{"type":"string","x-sensitive":false}}}`, `{"a":"x"}`, `{"a":"x"}`},
		{"a reference that leads nowhere", `{"properties":{"a":{"$ref":"#/$defs/none"}}}`, `{"a":"x"}`, `{"a":"[masked]"}`},
		{"a reference to itself", `{"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"a":"x"}`, `{"a":"x"}`},
		{"a schema that cannot be read", `{`, `{"a":"x"}`, `"[masked]"`},
		{"a document that cannot be read", `{"type":"object"}`, `{"a`, `"[masked]"`},
		{"a schema that is a file's name", `"args.json"`, `{"a":"x"}`, `"[masked]"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(maskBy(json.RawMessage(tt.schema), json.RawMessage(tt.document)))
			if must(t, err); string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// The mark goes through a skill's manifest as authors write it: in files that
// refer to each other.
func TestTheMarksOfAManifestHide(t *testing.T) {
	files := fstest.MapFS{
		"skill.yaml":          {Data: []byte("sluice: 1\nname: test\nversion: 1.0.0\nsummary: A test.\nabi: 1\ntools:\n  - name: go\n    summary: Go.\n    effect: read\n    input: schemas/in.yaml\n    examples: [{say: go, args: {sku: '1', to: [{street: x}]}}]\n")},
		"schemas/in.yaml":     {Data: []byte("type: object\nproperties:\n  sku: {type: string}\n  to: {type: array, items: {$ref: 'people.yaml#/$defs/a~1b'}}\nadditionalProperties: false\n")},
		"schemas/people.yaml": {Data: []byte("$defs:\n  a/b: {type: object, properties: {street: {type: string, x-sensitive: true}, town: {type: string}, next: {$ref: '#/$defs/a~1b'}}}\n")},
	}
	skill, err := manifest.Load(files, "skill.yaml")
	must(t, err)
	got, err := json.Marshal(maskBy(json.RawMessage(skill.Tool("go").Input), json.RawMessage(`{"sku":"1","to":[{"street":"x","town":"y","next":{"street":"z"}}]}`)))
	if must(t, err); string(got) != `{"sku":"1","to":[{"next":{"street":"[masked]"},"street":"[masked]","town":"y"}]}` {
		t.Errorf("got %s", got)
	}
}

func TestADeepDocumentIsMaskedBelowTheBound(t *testing.T) {
	schema := `{"$ref":"#/$defs/n","$defs":{"n":{"type":["array","string"],"items":{"$ref":"#/$defs/n"}}}}`
	document := strings.Repeat("[", 200) + `"secret"` + strings.Repeat("]", 200)
	got, err := json.Marshal(maskBy(json.RawMessage(schema), json.RawMessage(document)))
	if must(t, err); strings.Contains(string(got), "secret") {
		t.Errorf("got %s", got)
	}
}

func TestAnExportHasOneMaskedLineForEachCall(t *testing.T) {
	onBoth(t, func(t *testing.T, r room) {
		r.keep(t, 1)
		unknown := call(bob, 2)
		for i := range unknown {
			unknown[i].Release = "gone@1.0.0"
		}
		must(t, r.Store.Record(t.Context(), unknown...))
		refused := call(ann, 3)[1]
		refused.Kind, refused.Detail = host.RecordRefusal, []byte(`{"step":"check","problem":{"code":4101,"message":"price must be a number (got 青柠)"}}`)
		must(t, r.Store.Record(t.Context(), refused))
		must(t, r.Store.Record(t.Context(), call(ann, 4)[0])) // without an end
		schemas := func(_ context.Context, release, _ string) (json.RawMessage, json.RawMessage, bool) {
			return json.RawMessage(`{"properties":{"sku":{"type":"string"},"price":{"type":"number"},"名":{"type":"string","x-sensitive":true}}}`),
				json.RawMessage(`{"properties":{"ok":{"type":"boolean"}}}`), release == "shop.pricing@1.4.0"
		}
		var out bytes.Buffer
		n, err := r.Training(t.Context(), state.RecordFilter{}, "shop", schemas, &out)
		must(t, err)
		text := out.String()
		if n != 4 || strings.Count(text, "\n") != 4 {
			t.Fatalf("%d lines:\n%s", n, text)
		}
		for _, secret := range []string{"青柠", "ann", "bob", `"call_1"`, `"key_1"`, `"s1"`} {
			if strings.Contains(text, secret) {
				t.Errorf("the export has %s:\n%s", secret, text)
			}
		}
		var lines []Line
		for line := range strings.Lines(text) {
			var l Line
			must(t, json.Unmarshal([]byte(line), &l))
			lines = append(lines, l)
		}
		args, _ := lines[0].Args.(map[string]any)
		if args["sku"] != "1001" || args["名"] != Masked || lines[0].Tool != "set_price" || lines[0].Status != "done" || lines[0].Fuel != 1234 || lines[0].Tier != abi.Auto {
			t.Errorf("%+v", lines[0])
		}
		if lines[1].Args != Masked || lines[1].Data != Masked || lines[1].Tool != Masked {
			t.Errorf("of an unknown release there is %+v", lines[1])
		}
		if lines[2].Status != "refused" || lines[2].Problem.Code != 4101 || lines[2].Problem.Message != Masked || lines[3].Status != "open" {
			t.Errorf("%+v %+v", lines[2], lines[3])
		}
		if lines[0].Session != lines[2].Session || lines[0].Session == lines[1].Session {
			t.Error("the names of the sessions do not tell them apart")
		}
		if n := r.erase(t, ann); n == 0 {
			t.Error("nothing was erased")
		}
		out.Reset()
		if n, err = r.Training(t.Context(), state.RecordFilter{}, "shop", schemas, &out); err != nil || n != 1 {
			t.Errorf("%d lines after the erasure, %v", n, err)
		}
	})
}

// A call that waits for a person, runs with his yes and is objected to is one call.
func TestACallHasOneLineWhateverBecomesOfIt(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	of := func(n int, kind host.RecordKind, detail string) host.Record {
		record := call(ann, n)[0]
		record.Kind, record.Detail = kind, []byte(detail)
		return record
	}
	first, second := call(ann, 1), call(ann, 2)
	must(t, r.Store.Record(t.Context(),
		of(1, host.RecordQuestion, `{}`), of(1, host.RecordRefusal, fmt.Sprintf(`{"problem":{"code":%d,"message":"wait"}}`, abi.PendingApproval)),
		of(1, host.RecordAnswer, `{}`), first[0], of(1, host.RecordApproved, `{}`), first[1],
		of(1, host.RecordObjection, `{"of":"call_1","words":"no"}`), of(1, host.RecordState, `{}`),
		second[0], of(2, host.RecordUndo, `{"of":"call_1"}`), second[1], of(2, host.RecordCorrection, `{"of":"call_1"}`)))
	var out bytes.Buffer
	_, err := r.Training(t.Context(), state.RecordFilter{}, "shop", func(context.Context, string, string) (a, b json.RawMessage, ok bool) { return }, &out)
	must(t, err)
	var lines []Line
	for line := range strings.Lines(out.String()) {
		var l Line
		must(t, json.Unmarshal([]byte(line), &l))
		lines = append(lines, l)
	}
	if len(lines) != 2 || lines[0].Status != "done" || !lines[0].Asked || !lines[0].Approved || lines[0].Problem != nil {
		t.Fatalf("%+v", lines)
	}
	if !lines[0].Objected || !lines[0].Undone || !lines[0].Corrected || lines[1].Objected || lines[1].Undone || lines[1].Corrected || lines[1].Status != "done" {
		t.Errorf("%+v", lines)
	}
}

func TestTheKindsOfCallsAreExported(t *testing.T) {
	r := roomAt(t, filepath.Join(t.TempDir(), "store.db"))
	records := call(ann, 1)
	for i, kind := range []host.RecordKind{host.RecordQuestion, host.RecordApproved, host.RecordRetry} {
		extra := records[0]
		extra.Kind, extra.Detail = kind, []byte(`{}`)
		records = append(records[:1+i], append([]host.Record{extra}, records[1+i:]...)...)
	}
	must(t, r.Store.Record(t.Context(), records...))
	var out bytes.Buffer
	_, err := r.Training(t.Context(), state.RecordFilter{}, "shop", func(context.Context, string, string) (a, b json.RawMessage, ok bool) { return }, &out)
	must(t, err)
	var l Line
	must(t, json.Unmarshal(out.Bytes(), &l))
	if !l.Asked || !l.Approved || l.Retries != 1 || l.Status != "done" {
		t.Errorf("%+v", l)
	}
}
