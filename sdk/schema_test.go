package sdk

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

type embedded struct {
	A string `json:"a"`
	B int    `json:"b,omitempty"`
}

type named struct {
	embedded
	C bool `json:"c"`
}

type pointing struct {
	*embedded
}

type clash struct {
	embedded
	A string `json:"a"`
}

type list struct {
	Next *list `json:"next,omitempty"`
}

type tree struct {
	Children map[string][]tree `json:"children"`
}

func TestSchemaOfATypeSaysWhatItsJSONIs(t *testing.T) {
	for _, tt := range []struct {
		name          string
		value         any
		input, output string // the schema as arguments and as a result; no input means the same but closed
	}{
		{"nothing", struct{}{}, `{"type":"object","properties":{},"additionalProperties":false}`, `{"type":"object","properties":{}}`},
		{"required, optional and hidden fields", struct {
			A string  `json:"a"`
			B string  `json:"b,omitempty"`
			C string  `json:"c,omitzero"`
			D *string `json:"d"`
			E string  `json:"-"`
			F string
			g string
		}{},
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},"d":{"type":"string"},"F":{"type":"string"}},"required":["a","F"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},"d":{"type":["string","null"]},"F":{"type":"string"}},"required":["a","F"]}`},
		{"tags of single values", struct {
			A string  `json:"a" desc:"a text" minlen:"1" maxlen:"64" pattern:"^[0-9]+$"`
			B string  `json:"b,omitempty" enum:"x,y" default:"x"`
			C float64 `json:"c" min:"0.01" max:"9"`
			D int     `json:"d,omitempty" min:"-3" default:"2" enum:"1,2"`
			E bool    `json:"e,omitempty" default:"true"`
		}{},
			`{"type":"object","properties":{"a":{"type":"string","description":"a text","minLength":1,"maxLength":64,"pattern":"^[0-9]+$"},"b":{"type":"string","enum":["x","y"],"default":"x"},"c":{"type":"number","minimum":0.01,"maximum":9},"d":{"type":"integer","enum":[1,2],"default":2,"minimum":-3},"e":{"type":"boolean","default":true}},"required":["a","c"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"a text","minLength":1,"maxLength":64,"pattern":"^[0-9]+$"},"b":{"type":"string","enum":["x","y"]},"c":{"type":"number","minimum":0.01,"maximum":9},"d":{"type":"integer","enum":[1,2],"minimum":-3},"e":{"type":"boolean"}},"required":["a","c"]}`},
		{"lists", struct {
			A []string `json:"a" minlen:"1" maxlen:"3" enum:"x,y"`
			B [2]int   `json:"b"`
			C [][]bool `json:"c,omitempty"`
			D []byte   `json:"d"`
		}{},
			`{"type":"object","properties":{"a":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["x","y"]}},"b":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"integer"}},"c":{"type":"array","items":{"type":"array","items":{"type":"boolean"}}},"d":{"type":"string","contentEncoding":"base64"}},"required":["a","b","d"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":["array","null"],"minItems":1,"maxItems":3,"items":{"type":"string","enum":["x","y"]}},"b":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"integer"}},"c":{"type":"array","items":{"type":["array","null"],"items":{"type":"boolean"}}},"d":{"type":["string","null"],"contentEncoding":"base64"}},"required":["a","b","d"]}`},
		{"maps", map[string]map[int]uint{},
			`{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"integer","minimum":0}}}`,
			`{"type":["object","null"],"additionalProperties":{"type":["object","null"],"additionalProperties":{"type":"integer","minimum":0}}}`},
		{"types with a form of their own", struct {
			A time.Time       `json:"a"`
			B json.RawMessage `json:"b"`
			C any             `json:"c"`
			D json.Number     `json:"d"`
			E netip.Addr      `json:"e"`
			F abi.Duration    `json:"f"`
		}{},
			`{"type":"object","properties":{"a":{"type":"string","format":"date-time"},"b":{},"c":{},"d":{"type":"number"},"e":{"type":"string"},"f":{}},"required":["a","b","c","d","e","f"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string","format":"date-time"},"b":{},"c":{},"d":{"type":"number"},"e":{"type":"string"},"f":{}},"required":["a","b","c","d","e","f"]}`},
		{"embedded structs", named{},
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"}},"required":["a","c"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"}},"required":["a","c"]}`},
		{"embedded pointers, which may be absent", pointing{},
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`},
		{"one type in two places", struct {
			A embedded `json:"a"`
			B embedded `json:"b"`
		}{},
			`{"type":"object","properties":{"a":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"],"additionalProperties":false},"b":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"],"additionalProperties":false}},"required":["a","b"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]},"b":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}},"required":["a","b"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := inputSchema(reflect.TypeOf(tt.value)); err != nil || string(got) != tt.input {
				t.Errorf("as arguments: error %v, schema\n%s\nwant\n%s", err, got, tt.input)
			}
			if got, err := outputSchema(reflect.TypeOf(tt.value)); err != nil || string(got) != tt.output {
				t.Errorf("as a result: error %v, schema\n%s\nwant\n%s", err, got, tt.output)
			}
		})
	}
}

func TestSchemaOfASingleResult(t *testing.T) {
	for want, value := range map[string]any{
		`{"type":"string"}`: "", `{"type":"integer"}`: 0, `{"type":"number"}`: 0.5, `{"type":"boolean"}`: true,
		`{"type":["array","null"],"items":{"type":"string"}}`: []string{},
	} {
		if got, err := outputSchema(reflect.TypeOf(value)); err != nil || string(got) != want {
			t.Errorf("%T: error %v, schema %s, want %s", value, err, got, want)
		}
	}
}

func TestSchemaRefusesWhatItCannotSay(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value any
		want  string
	}{
		{"a type inside itself", list{}, "BUG: type sdk.list contains itself"},
		{"a type inside itself, through a map and a list", tree{}, "BUG: type sdk.tree contains itself"},
		{"arguments that are no object", "", "string is not a struct"},
		{"a channel", struct{ C chan int }{}, "field C: type chan int has no form in JSON"},
		{"a function", struct{ F func() }{}, "field F: type func() has no form in JSON"},
		{"an interface with methods", struct{ E error }{}, "field E: type error has no form in JSON"},
		{"keys that are no text", map[bool]int{}, "keys that are not text"},
		{"two fields of one name", clash{}, `two fields have the name "a"`},
		{"numbers as text", struct {
			N int `json:"n,string"`
		}{}, "option string is not supported"},
		{"an enum of a struct", struct {
			N struct{} `json:"n" enum:"a"`
		}{}, `tag enum:"a": the field is not a single value`},
		{"an enum of another type", struct {
			N int `json:"n" enum:"1,two"`
		}{}, `tag enum:"1,two"`},
		{"a least text", struct {
			N string `json:"n" min:"1"`
		}{}, `tag min:"1": the field is not a number`},
		{"a least number that is none", struct {
			N float64 `json:"n" min:".5"`
		}{}, `tag min:".5": not a number`},
		{"a length of a number", struct {
			N int `json:"n" maxlen:"3"`
		}{}, "neither text nor a list"},
		{"a length that is none", struct {
			N string `json:"n" maxlen:"-3"`
		}{}, "not a length"},
		{"a pattern of a number", struct {
			N int `json:"n" pattern:"."`
		}{}, "the field is not text"},
		{"a default of a required field", struct {
			N int `json:"n" default:"1"`
		}{}, "add omitempty"},
		{"a default of another type", struct {
			N int `json:"n,omitempty" default:"one"`
		}{}, `tag default:"one"`},
		{"a default inside a list, where it has no effect", struct {
			N []struct {
				M int `json:"m,omitempty" default:"1"`
			} `json:"n"`
		}{}, "has no effect"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := inputSchema(reflect.TypeOf(tt.value)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, schema %s; want %q", err, got, tt.want)
			}
		})
	}
}
