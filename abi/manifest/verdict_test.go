package manifest

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"
)

// verdictSchemas hold every keyword that is taken.
var verdictSchemas = []string{
	`true`, `false`, `{}`, `{"type":"integer"}`, `{"type":"number"}`, `{"type":["string","null"]}`, `{"type":["array","boolean"]}`, `{"type":"object"}`,
	`{"const":1}`, `{"const":{"a":[1,null]}}`, `{"const":null}`, `{"enum":["a",1.0,[2],{"b":true}]}`,
	`{"minimum":1,"maximum":10}`, `{"exclusiveMinimum":1,"exclusiveMaximum":10.5}`, `{"multipleOf":0.01}`, `{"multipleOf":3}`,
	`{"minLength":2}`, `{"maxLength":2}`, `{"pattern":"^a+$"}`, `{"format":"date"}`, `{"format":"uuid"}`, `{"format":"date-time"}`,
	`{"minProperties":1,"maxProperties":2}`, `{"required":["a","b"]}`, `{"properties":{"a":{"type":"integer"},"b":false}}`, `{"propertyNames":{"maxLength":1}}`,
	`{"patternProperties":{"^x":{"type":"string"},"y$":{"minLength":2}}}`, `{"properties":{"a":true},"patternProperties":{"^x":true},"additionalProperties":false}`,
	`{"properties":{"a":true},"additionalProperties":{"type":"integer"}}`, `{"dependentRequired":{"a":["b","c"]}}`, `{"dependentSchemas":{"a":{"required":["b"]}}}`,
	`{"minItems":1,"maxItems":2}`, `{"uniqueItems":true}`, `{"items":{"type":"integer"}}`, `{"prefixItems":[{"type":"string"},{"type":"integer"}]}`, `{"prefixItems":[{"type":"string"}],"items":false}`, `{"prefixItems":[{"type":"string"}],"items":{"minimum":3}}`,
	`{"contains":{"type":"integer"}}`, `{"contains":{"type":"integer"},"minContains":2,"maxContains":3}`, `{"contains":{"type":"integer"},"minContains":0}`, `{"contains":{"type":"integer"},"minContains":0,"maxContains":1}`,
	`{"allOf":[{"minimum":2},{"maximum":5}]}`, `{"anyOf":[{"type":"string"},{"minimum":5}]}`, `{"oneOf":[{"type":"integer"},{"minimum":5}]}`, `{"not":{"type":"string"}}`,
	`{"if":{"type":"integer"},"then":{"minimum":5},"else":{"type":"string"}}`, `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"if":true,"else":false}`, `{"then":false}`,
	`{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"additionalProperties":false}}}`,
	`{"$ref":"#/$defs/t","minimum":3,"$defs":{"t":{"type":"integer"}}}`, `{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`,
	`{"contentEncoding":"base64","contentMediaType":"application/json","contentSchema":{"type":"integer"}}`,
}

var verdictValues = []string{
	`null`, `true`, `false`, `0`, `1`, `1.0`, `2`, `3`, `4.5`, `5`, `10`, `10.5`, `0.01`, `0.015`, `-1`, `1e2`, `12345678901234567890`, `0.30`,
	`""`, `"a"`, `"aa"`, `"aaa"`, `"日本"`, `"2024-05-01"`, `"2024-13-01"`, `"6f8d3c52-55a1-5c0e-9d7e-0b4f5a6c1e21"`, `"2024-05-01T00:00:00Z"`, `"MQ=="`,
	`[]`, `[1]`, `[2]`, `["a"]`, `["a",1]`, `["a",1,2]`, `["a","b"]`, `[1,1.0]`, `[1,"1"]`, `[{"a":1,"b":2},{"b":2,"a":1.0}]`, `[[1],[1]]`, `[1,2,3,4]`, `[null,null]`,
	`{}`, `{"a":1}`, `{"a":"1"}`, `{"a":null,"b":1}`, `{"b":true}`, `{"a":1,"b":2,"c":3}`, `{"a":[1,null]}`, `{"a":{"a":{}}}`, `{"a":{"a":{"c":1}}}`, `{"xx":"s"}`, `{"xy":"s"}`, `{"xy":"ss"}`, `{"zy":"s"}`, `{"q":1}`, `{"q":"s"}`, `{"ab":1}`,
}

// verdictOf compiles a schema and gives both verdicts about a value; ok is
// false where either cannot be used.
func verdictOf(schema, value string) (ours, librarys, ok bool) {
	root, err := readJSON([]byte(schema))
	if err != nil {
		return false, false, false
	}
	n, err := readJSON([]byte(value))
	if err != nil {
		return false, false, false
	}
	s := newSchemas(nil)
	d := &schemaDoc{url: schemaBase + ".test", root: root}
	s.docs[d.url] = d
	if s.examine(d) == nil {
		return false, false, false
	}
	compiled := s.compile(d)
	if compiled == nil {
		return false, false, false
	}
	b := newShapes()
	typed := b.of(compiled, "test")
	typed.celType()
	typed.value(n)
	found := (&validator{schema: compiled}).check(n, maxProblems)
	return found == nil, compiled.Validate(n.plain()) == nil, true
}

// TestOurVerdictIsTheLibrarys holds both verdicts against each other.
func TestOurVerdictIsTheLibrarys(t *testing.T) {
	for _, schema := range verdictSchemas {
		for _, value := range verdictValues {
			ours, librarys, ok := verdictOf(schema, value)
			if !ok {
				t.Fatalf("%s cannot be used", schema)
			}
			if ours != librarys {
				t.Errorf("%s on %s: ours is %v, the library's %v", schema, value, ours, librarys)
			}
		}
	}
}

// FuzzVerdict does the same for arbitrary schemas and values.
func FuzzVerdict(f *testing.F) {
	for i, schema := range verdictSchemas {
		for j, value := range verdictValues {
			if (i+j)%7 == 0 {
				f.Add(schema, value)
			}
		}
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		if ours, librarys, ok := verdictOf(schema, value); ok && ours != librarys {
			t.Fatalf("%s on %s: ours is %v, the library's %v", schema, value, ours, librarys)
		}
	})
}

func TestAMegabyteOfMisfitsCostsLittle(t *testing.T) {
	s, err := Compile(typed(""))
	if err != nil {
		t.Fatal(err)
	}
	list := func(item string, n int) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	for name, args := range map[string]string{
		"wrong items":       `{"list":[` + list(`""`, 340_000) + `]}`,
		"wrong objects":     `{"lines":[` + list(`0`, 500_000) + `]}`,
		"objects that lack": `{"lines":[` + list(`{"sku":1}`, 100_000) + `]}`,
		"no form at all":    `{"either":[` + list(`0`, 500_000) + `]}`,
		"unknown fields":    `{` + list(`"x`+strings.Repeat("y", 1_000)+`":1`, 1) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			found := s.Tool("go").CheckArgs(json.RawMessage(args))
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if len(found) == 0 || len(found) > maxProblems {
				t.Errorf("%d problems", len(found))
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 300 {
				t.Errorf("%d MiB", used)
			}
			if took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}
