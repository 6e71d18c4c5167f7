package manifest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// oneTool is a manifest with one tool whose input and output are given as YAML.
func oneTool(input, output, example string) []byte {
	text := "sluice: 1\nname: test\nversion: 1.0.0\nsummary: A test.\nabi: 1\ntools:\n  - name: go\n    summary: Go.\n    effect: read\n    input: " + input + "\n"
	if output != "" {
		text += "    output: " + output + "\n"
	}
	return []byte(text + "    examples: [{say: go, args: " + example + "}]\n")
}

func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i+1 < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

func TestSchemasComeFromFilesBesideTheManifest(t *testing.T) {
	fsys := files(
		"skill.yaml", string(oneTool("schemas/in.yaml", "out.json", `{sku: "1", to: {street: x, next: {street: y}}}`)),
		"schemas/in.yaml", "type: object\nproperties:\n  sku: {$ref: 'common.yaml#/$defs/Sku'}\n  to: {$ref: '../address.json'}\nrequired: [sku]\nadditionalProperties: false\n",
		"schemas/common.yaml", "$defs:\n  Sku: {type: string, pattern: '^[0-9]+$', description: the number}\n",
		"address.json", "{\n\t\"type\": \"object\",\n\t\"properties\": {\"street\": {\"type\": \"string\"}, \"next\": {\"$ref\": \"#\"}},\n\t\"required\": [\"street\"]\n}",
		"out.json", `{"type": "array", "items": {"$ref": "schemas/in.yaml"}}`,
	)
	s, err := Load(fsys, "skill.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tool := s.Tool("go")
	for args, want := range map[string]abi.Code{
		`{"sku":"12"}`:                                        0,
		`{"sku":"x"}`:                                         abi.BadValue,
		`{"sku":"1","to":{"street":"a"}}`:                     0,
		`{"sku":"1","to":{"street":"a","next":{}}}`:           abi.Missing,
		`{"sku":"1","to":{"street":"a","next":{"street":1}}}`: abi.WrongType,
	} {
		var got abi.Code
		if p := tool.CheckArgs(json.RawMessage(args)).One(); p != nil {
			got = p.Code
		}
		if got != want {
			t.Errorf("%s gives %d, want %d", args, got, want)
		}
	}
	if string(s.Manifest.Tools[0].Input) != `"schemas/in.yaml"` {
		t.Errorf("the manifest is not as written: %s", s.Manifest.Tools[0].Input)
	}

	t.Run("and become one schema that needs no other", func(t *testing.T) {
		for _, schema := range []json.RawMessage{tool.Input, tool.Output} {
			if strings.Contains(string(schema), ".json") || strings.Contains(string(schema), ".yaml") {
				t.Errorf("%s refers to files", schema)
			}
		}
		m := s.Manifest
		m.Tools = []abi.Tool{tool.Tool}
		again, err := Compile(m)
		if err != nil {
			t.Fatal(err)
		}
		p := again.Tool("go").CheckArgs(json.RawMessage(`{"sku":"x","to":{"street":"a","next":{"street":1}}}`))
		if len(p) != 2 || p[0].Field != "to.next.street" || p[1].Field != "sku" {
			t.Errorf("got %v", p)
		}
		if p := again.Tool("go").CheckOutput(json.RawMessage(`[{"sku":"x"}]`)); p == nil || p.Field != "[0].sku" {
			t.Errorf("got %v", p)
		}
	})
}

func TestSchemasThatCannotBeUsedAreRefused(t *testing.T) {
	object := func(field string) string { return "{type: object, properties: {a: " + field + "}}" }
	for _, tt := range []struct {
		name, input string
		files       []string
		want        string
	}{
		{"a missing file", "in.json", nil, "tools[0].input: in.json does not exist (give a JSON or YAML file beside skill.yaml"},
		{"a file above the folder", "../in.json", nil, `tools[0].input: "../in.json" is not a file beside skill.yaml`},
		{"a file by its whole path", "/etc/passwd", nil, `"/etc/passwd" is not a file beside skill.yaml`},
		{"a hidden file", ".git/config", nil, `".git/config" is not a file beside skill.yaml`},
		{"a file in a hidden folder", "a/.git/config", nil, "is not a file beside skill.yaml"},
		{"a drive", `'C:\x.json'`, nil, `is not a file beside skill.yaml`},
		{"an address", "https://example.com/s.json", nil, `is not a file beside skill.yaml`},
		{"a file that is too large", "in.json", []string{"in.json", strings.Repeat(" ", MaxFileBytes) + "{}"}, "in.json is larger than 1048576 bytes"},
		{"a file that is not JSON", "in.json", []string{"in.json", "{"}, "in.json: not JSON: at byte 1"},
		{"a file that is not YAML", "in.yaml", []string{"in.yaml", "a: [\n"}, "in.yaml"},
		{"a mistake inside a file", "in.json", []string{"in.json", "{\"type\":\"object\",\n\"properties\":{\"a\":{\"minimun\":1}}}"}, "in.json:2: properties.a.minimun: is not a keyword of JSON Schema 2020-12 that is taken here (did you mean minimum?)"},
		{"a type that is none inside a file", "in.json", []string{"in.json", "{\"type\":\"object\",\n\"properties\":{\"a\":{\"type\":\"strin\"}}}"}, "in.json:2: properties.a.type: is not JSON Schema"},
		{"a reference to the network", object("{$ref: 'https://example.com/x.json'}"), nil, "tools[0].input.properties.a.$ref: \"https://example.com/x.json\" leads out of the skill's folder; nothing is fetched"},
		{"a reference to another host", object("{$ref: '//example.com/x.json'}"), nil, "leads out of the skill's folder"},
		{"a reference to the root", object("{$ref: '/etc/passwd'}"), nil, "leads out of the skill's folder"},
		{"a reference upwards", object("{$ref: '../x.json'}"), nil, "is not a file beside skill.yaml"},
		{"an escaped reference upwards", object("{$ref: '%2e%2e/x.json'}"), nil, "is not a file beside skill.yaml"},
		{"a file scheme", object("{$ref: 'file:///etc/passwd'}"), nil, "leads out of the skill's folder"},
		{"a reference to nothing", object("{$ref: '#/$defs/x'}"), nil, `"#/$defs/x" leads to no schema`},
		{"a reference to a number", "{type: object, properties: {a: {$ref: '#/minProperties'}}, minProperties: 0}", nil, `leads to no schema`},
		{"an anchor", object("{$ref: '#x', $anchor: x}"), nil, "$anchor: is not a keyword"},
		{"an address of one's own", "{type: object, $id: 'https://example.com/x'}", nil, "tools[0].input.$id: is not a keyword"},
		{"a dynamic reference", object("{$dynamicRef: '#x'}"), nil, "$dynamicRef: is not a keyword"},
		{"another draft", "{type: object, $schema: 'http://json-schema.org/draft-07/schema#'}", nil, "$schema: only JSON Schema draft 2020-12 is taken (leave $schema out)"},
		{"OpenAPI's nullable", object("{type: string, nullable: true}"), nil, "nullable: is not a keyword"},
		{"a schema that is text", object("string"), nil, "properties.a: must be a schema: an object, true or false"},
		{"itself, at once", "{type: object, $ref: '#'}", nil, "the schema refers to itself without end"},
		{"itself, in a ring", "{type: object, allOf: [{$ref: '#/$defs/b'}], $defs: {b: {anyOf: [{$ref: '#/$defs/c'}]}, c: {$ref: '#/$defs/b'}}}", nil, "the schema refers to itself without end"},
		{"twice itself on every level", "{type: object, properties: {a: {anyOf: [{$ref: '#'}, {$ref: '#'}]}}}", nil, "the schema applies itself several times to the same value"},
		{"twice itself by two keywords", "{type: object, properties: {a: {$ref: '#'}}, patternProperties: {'': {$ref: '#'}}}", nil, "applies itself several times"},
		{"twice itself in a list", "{type: object, properties: {a: {type: array, items: {$ref: '#'}, contains: {$ref: '#'}}}}", nil, "applies itself several times"},
		{"a tower of alternatives", tower(40), nil, "applies itself several times"},
		{"a root that may be null", "{type: [object, 'null']}", nil, "the input is not the schema of an object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			_, err := Parse("skill.yaml", oneTool(tt.input, "", "{}"), files(tt.files...))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// tower gives a schema whose n levels of alternatives make 2 to the n paths to
// the same value.
func tower(n int) string {
	var b strings.Builder
	b.WriteString("{type: object, allOf: [{$ref: '#/$defs/l0'}], $defs: {")
	for i := range n {
		fmt.Fprintf(&b, "l%d: {anyOf: [{$ref: '#/$defs/l%d'}, {$ref: '#/$defs/l%d'}]}, ", i, i+1, i+1)
	}
	fmt.Fprintf(&b, "l%d: {minProperties: 0}}}", n)
	return b.String()
}

func TestHonestRecursionIsTaken(t *testing.T) {
	for name, input := range map[string]string{
		"a tree":              "{type: object, properties: {left: {$ref: '#'}, right: {$ref: '#'}}, additionalProperties: {$ref: '#'}}",
		"a filter":            "{type: object, properties: {f: {$ref: '#/$defs/f'}}, $defs: {f: {oneOf: [{type: string}, {type: object, properties: {and: {type: array, items: {$ref: '#/$defs/f'}}}, required: [and]}, {type: object, properties: {or: {type: array, items: {$ref: '#/$defs/f'}}}, required: [or]}]}}}",
		"an expression":       "{type: object, properties: {e: {$ref: '#/$defs/e'}}, $defs: {e: {anyOf: [{type: number}, {type: array, prefixItems: [{type: string}, {$ref: '#/$defs/e'}, {$ref: '#/$defs/e'}], items: false}]}}}",
		"any JSON":            "{type: object, additionalProperties: {$ref: '#/$defs/v'}, $defs: {v: {anyOf: [{type: [string, number, boolean, 'null']}, {type: array, items: {$ref: '#/$defs/v'}}, {type: object, additionalProperties: {$ref: '#/$defs/v'}}]}}}",
		"two hundred objects": wide(200),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("skill.yaml", oneTool(input, "", "{}"), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func wide(n int) string {
	var b strings.Builder
	b.WriteString("{type: object, properties: {")
	for i := range n {
		fmt.Fprintf(&b, "p%d: {type: object, properties: {id: {type: string}, name: {type: string}, tags: {type: array, items: {type: string}}}}, ", i)
	}
	return strings.TrimSuffix(b.String(), ", ") + "}}"
}

func TestALinkOutOfTheFolderIsNotFollowed(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(outside, "in.json", `{"type":"object"}`)
	for _, link := range []struct{ name, to string }{{"in.json", filepath.Join(outside, "in.json")}, {"folder", outside}} {
		if err := os.Symlink(link.to, filepath.Join(inside, link.name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	for _, name := range []string{"in.json", "folder/in.json"} {
		write(inside, "skill.yaml", string(oneTool(name, "", "{}")))
		_, err := Load(os.DirFS(inside), "skill.yaml")
		if err == nil || !strings.Contains(err.Error(), "is not a plain file in plain folders") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := os.Symlink("skill.yaml", filepath.Join(inside, "other.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(os.DirFS(inside), "other.yaml"); err == nil {
		t.Error("a manifest behind a link was read")
	}
	if _, err := Load(os.DirFS(inside), "../skill.yaml"); err == nil {
		t.Error("a manifest above the folder was read")
	}
	if _, err := Load(os.DirFS(inside), "none.yaml"); err == nil || err.Error() != "none.yaml: none.yaml does not exist" {
		t.Errorf("got %v", err)
	}
}

func TestABrokenFileIsToldOnceHoweverOftenItIsUsed(t *testing.T) {
	input := "{type: object, properties: {a: {$ref: s.json}, b: {$ref: 's.json#/$defs/x'}}}"
	for text, want := range map[string]string{
		"{":                    "s.json: not JSON",
		`{"pattern":"("}`:      "s.json:1: pattern: the pattern does not compile as RE2: missing closing ): `(`",
		`{"type":["string"`:    "s.json: not JSON",
		`{"items":{"$ref":1}}`: "s.json:1: items.$ref: must be a string",
	} {
		twice := strings.Replace(string(oneTool(input, "s.json", "{}")), "tools:\n", "tools:\n  - {name: other, summary: Other., effect: read, input: {type: object, properties: {a: {$ref: s.json}}}, examples: [{say: x, args: {}}]}\n", 1)
		_, err := Parse("skill.yaml", []byte(twice), files("s.json", text))
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("%s: got %v, want once %s", text, err, want)
		}
	}
}

func TestTheNumberOfSchemasIsBounded(t *testing.T) {
	fsys := files()
	var refs []string
	for i := range maxSchemaFiles + 1 {
		name := fmt.Sprintf("s%d.json", i)
		fsys[name] = &fstest.MapFile{Data: []byte(`{"type":"string"}`)}
		refs = append(refs, fmt.Sprintf("p%d: {$ref: %s}", i, name))
	}
	_, err := Parse("skill.yaml", oneTool("{type: object, properties: {"+strings.Join(refs, ", ")+"}}", "", "{}"), fsys)
	if err == nil || !strings.Contains(err.Error(), "more than 32 schema files") {
		t.Errorf("got %v", err)
	}
	start := time.Now()
	_, err = Parse("skill.yaml", oneTool(wide(1_500), "", "{}"), nil)
	if err == nil || !strings.Contains(err.Error(), "the skill has more than 4000 schemas") {
		t.Errorf("got %v", err)
	}
	if _, err = Parse("skill.yaml", oneTool(wide(700), "", "{}"), nil); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
}
