package manifest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// full is a manifest with every field set.
func full() abi.Manifest {
	object := json.RawMessage(`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"number","minimum":0.010}},"required":["b"]}`)
	return abi.Manifest{
		Sluice: 1, Name: "shop.pricing", Version: "1.4.0-rc.1+build.5", Summary: "Prices: quote & <change> them.",
		Positioning: "Use it for prices.\n\nNever for coupons.\n", Module: "skill.wasm", SHA256: strings.Repeat("0a", 32), Size: 1234567, ABI: 1, Reducer: true,
		Limits: abi.Limits{Fuel: 60_000_000, Memory: 33 * abi.MiB, Deadline: abi.Duration(1500 * time.Millisecond), Input: 100, Output: 5 * abi.MiB, Logs: abi.KiB},
		Capabilities: abi.Capabilities{
			HTTP:   []abi.HTTPRule{{Host: "https://*.example.com:8443", Methods: []string{"GET"}, Paths: []string{"/", "/a/*/b-*.json"}, Auth: &abi.HTTPAuth{Secret: "S", Header: "X-Key", Prefix: "Bearer "}}},
			KV:     &abi.KVAccess{Namespace: "prices"},
			State:  &abi.StateAccess{Reads: []string{"live.*"}, Writes: []string{"live.current"}, Schemas: map[string]json.RawMessage{"live.current": json.RawMessage(`{"type":"string"}`)}},
			Memory: &abi.MemoryUse{Recall: []string{"fact"}, Remember: []string{"fact"}},
			Blob:   abi.AccessWrite, Files: abi.AccessWrite, Clock: true, Random: true, Progress: true,
		},
		Tools: []abi.Tool{{
			Name: "set", Summary: "Set it: now, \"really\".", Effect: abi.Write, Risk: abi.SoftGate, Breadth: abi.Batch, Targets: "[args.b]",
			Facts:      map[string]abi.FactSpec{"now": {Tool: "get", Args: map[string]string{"b": "args.b"}, At: "a", MaxAge: abi.Duration(time.Minute)}},
			Idempotent: true, Undo: "unset", Repeatable: true, Scope: "args.b != 'x'",
			Rules:     []abi.Rule{{When: "args.a > facts.now", Tier: abi.HardGate, Say: "{{args.b}}: yes\nreally"}},
			Checks:    []abi.Check{{That: "data.a == args.a", Say: "{{data.a}}: no"}},
			Artifacts: []abi.Artifact{{Path: "[data.b, 'a/*.json']", Format: "json", MinBytes: 3 * abi.KiB, Existing: true}, {Blob: "data.b", Empty: true}},
			Input:     object, Output: object,
			Examples: []abi.Example{
				{Say: "把 1001 改到 89 元", Args: json.RawMessage(`{"b":"yes","a":1.50}`), State: map[string]json.RawMessage{"live.current": json.RawMessage(`"1"`)},
					KV: map[string]json.RawMessage{"a/1": json.RawMessage(`{"x":[1,[2,{"y":null}],"~","0x1F","2024-01-01","1e3"]}`)}, Returns: json.RawMessage(`{"b":" leading","a":1e3}`)},
				{Say: "no", Args: json.RawMessage(`{"b":""}`), Problem: 3101},
			},
		}, {
			Name: "unset", Summary: "Unset.", Effect: abi.Write, Input: object, Examples: []abi.Example{{Say: "undo", Args: json.RawMessage(`{"b":"1"}`)}},
		}, {
			Name: "get", Summary: "Get.", Effect: abi.Read, Input: object, Output: object, Examples: []abi.Example{{Say: "get", Args: json.RawMessage(`{"b":"1"}`), Returns: json.RawMessage(`{"b":"1"}`)}},
		}},
	}
}

func TestMarshalAndParseAreExact(t *testing.T) {
	want := full()
	text, err := Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("skill.yaml", text, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !reflect.DeepEqual(s.Manifest, want) {
		got, _ := encode(s.Manifest)
		wanted, _ := encode(want)
		t.Errorf("got  %s\nwant %s", got, wanted)
	}
	again, err := Marshal(s.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, text) {
		t.Errorf("written twice:\n%s\n%s", text, again)
	}
}

func TestTheFullManifestLeavesNoFieldOut(t *testing.T) {
	set := map[string]bool{
		"Manifest.Guide": true, // a file
		"Manifest.Hooks": true, // of policy modules, which have nothing of this; see the vector rules.yaml
	}
	noteFields(set, reflect.ValueOf(full()))
	for field, isSet := range set {
		if !isSet {
			t.Errorf("%s is not set", field)
		}
	}
}

// noteFields notes for every field of every struct in v whether it is set
// somewhere.
func noteFields(set map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		noteFields(set, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			noteFields(set, v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			noteFields(set, v.MapIndex(key))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			set[name] = set[name] || !v.Field(i).IsZero()
			if !v.Field(i).IsZero() {
				noteFields(set, v.Field(i))
			}
		}
	}
}

func TestWhatPeopleReadKeepsTheOrderOfTheContract(t *testing.T) {
	text, err := Marshal(full())
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, line := range []string{"sluice: 1\n", "\nname: shop.pricing\n", "\nversion: ", "\nsummary: ", "\npositioning: |\n", "\nmodule: ", "\nabi: 1\n", "\nlimits:\n", "\n  memory: 33MiB\n", "\ncapabilities:\n", "\ntools:\n  - name: set\n", "\n    input:\n      type: object\n"} {
		next := strings.Index(string(text), line)
		if next <= at {
			t.Errorf("%q stands at %d, after %d:\n%s", line, next, at, text)
		}
		at = next
	}
}

func TestAManifestFromCodeCompilesLikeOneFromAFile(t *testing.T) {
	s, err := Compile(full())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(s.Tools), 3; got != want || s.Tool("set") != s.Tools[0] || s.Tool("nothing") != nil {
		t.Errorf("got %d tools", got)
	}
	m := full()
	m.Tools[0].Rules[0].When = "args.c > 1"
	m.Limits.Memory = 100
	m.Capabilities.HTTP[0].Methods = nil
	_, err = Compile(m)
	want := []string{
		"limits.memory: memory comes in pages of 64KiB, and 100 is not a whole number of them (write 64KiB)",
		"tools[0].rules[0].when: column 5: undefined field 'c'",
		"capabilities.http[0].methods: must be an array",
	}
	for _, line := range want {
		if err == nil || !strings.Contains("\n"+err.Error(), "\n"+line) {
			t.Errorf("got %v\nwant a line %s", err, line)
		}
	}
	m = full()
	m.Tools[0].Input = json.RawMessage(`"in.json"`)
	if _, err := Compile(m); err == nil || !strings.Contains(err.Error(), "tools[0].input: in.json cannot be read: the manifest did not come with its folder") {
		t.Errorf("got %v", err)
	}
	for name, bad := range map[string]json.RawMessage{"half": json.RawMessage(`{`), "nothing": nil, "twice": json.RawMessage(`{"type":"object","type":"object"}`)} {
		m = full()
		m.Tools[0].Input = bad
		if _, err := Compile(m); err == nil {
			t.Errorf("an input that is %s compiled", name)
		}
	}
	if _, err := Compile(abi.Manifest{}); err == nil {
		t.Error("an empty manifest compiled")
	}
}

func TestToolsHaveTheirDefaults(t *testing.T) {
	m := full()
	m.Tools[0].Rules = nil
	for i := range m.Tools {
		m.Tools[i].Risk, m.Tools[i].Breadth = "", ""
	}
	s, err := Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool    string
		risk    abi.Tier
		breadth abi.Breadth
	}{{"set", abi.SoftGate, abi.One}, {"get", abi.Auto, ""}} {
		if tool := s.Tool(tt.tool); tool.Risk != tt.risk || tool.Breadth != tt.breadth {
			t.Errorf("%s is %s, %q", tt.tool, tool.Risk, tool.Breadth)
		}
		if i := slices.IndexFunc(s.Manifest.Tools, func(x abi.Tool) bool { return x.Name == tt.tool }); s.Manifest.Tools[i].Risk != "" {
			t.Errorf("the manifest of %s is not as written", tt.tool)
		}
	}
}

// TestThePublishedSchemaKnowsEveryField compares skill.schema.json with the
// Go types, so that a new field cannot be forgotten in one of them.
func TestThePublishedSchemaKnowsEveryField(t *testing.T) {
	var schema struct {
		Properties map[string]any
		Defs       map[string]struct{ Properties map[string]json.RawMessage } `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	inline := func(def, field string) map[string]json.RawMessage {
		var found struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(schema.Defs[def].Properties[field], &found); err != nil {
			t.Fatal(err)
		}
		return found.Properties
	}
	root := map[string]json.RawMessage{}
	for name := range schema.Properties {
		root[name] = nil
	}
	for _, tt := range []struct {
		of   any
		have map[string]json.RawMessage
	}{
		{abi.Manifest{}, root},
		{abi.Limits{}, schema.Defs["limits"].Properties},
		{abi.Capabilities{}, schema.Defs["capabilities"].Properties},
		{abi.KVAccess{}, inline("capabilities", "kv")},
		{abi.StateAccess{}, inline("capabilities", "state")},
		{abi.MemoryUse{}, inline("capabilities", "memory")},
		{abi.HTTPRule{}, schema.Defs["http"].Properties},
		{abi.HTTPAuth{}, inline("http", "auth")},
		{abi.Tool{}, schema.Defs["tool"].Properties},
		{abi.FactSpec{}, schema.Defs["fact"].Properties},
		{abi.Rule{}, schema.Defs["rule"].Properties},
		{abi.Example{}, schema.Defs["example"].Properties},
	} {
		typ := reflect.TypeOf(tt.of)
		want := map[string]bool{}
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			want[name] = true
			if _, ok := tt.have[name]; !ok {
				t.Errorf("skill.schema.json lacks %s of %s", name, typ.Name())
			}
		}
		for name := range tt.have {
			if !want[name] {
				t.Errorf("%s lacks %s of skill.schema.json", typ.Name(), name)
			}
		}
	}
}

func TestThePublishedSchemaIsACopy(t *testing.T) {
	Schema()[0] = 'x'
	if Schema()[0] != '{' {
		t.Error("a caller can change the schema")
	}
}
