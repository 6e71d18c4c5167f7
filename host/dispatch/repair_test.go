package dispatch

import (
	"encoding/json"
	"testing"

	"github.com/sluicehq/sluice/host"
)

const priceSchema = `{"type":"object","additionalProperties":false,"required":["sku"],"properties":{
	"sku":{"type":"string"},"price":{"type":"number"},"count":{"type":"integer"},"urgent":{"type":"boolean"},
	"tags":{"type":"array","items":{"type":"string"}},"box":{"$ref":"#/$defs/box"},"free":{}},
	"$defs":{"box":{"type":"object","properties":{"width":{"type":"integer"}}}}}`

func TestRepairMendsWhatIsCertain(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"text as a number", `{"sku":"1","price":"89"}`, `{"sku":"1","price":89}`},
		{"the digits stay", `{"sku":"1","price":" 89.90 "}`, `{"sku":"1","price":89.90}`},
		{"a number as text", `{"sku":1001}`, `{"sku":"1001"}`},
		{"a boolean as text", `{"sku":"1","urgent":"true"}`, `{"sku":"1","urgent":true}`},
		{"fenced", "```json\n{\"sku\":\"1\"}\n```", `{"sku":"1"}`},
		{"JSON in a string", `"{\"sku\":\"1\"}"`, `{"sku":"1"}`},
		{"a wrapped object", `{"arguments":{"sku":"1"}}`, `{"sku":"1"}`},
		{"a list of one", `{"sku":["1"]}`, `{"sku":"1"}`},
		{"a near key", `{"skus":"1"}`, `{"sku":"1"}`},
		{"another case", `{"SKU":"1"}`, `{"sku":"1"}`},
		{"deep, by reference", `{"sku":"1","box":{"width":"3"}}`, `{"sku":"1","box":{"width":3}}`},
		{"an object in a string", `{"sku":"1","box":"{\"width\":3}"}`, `{"sku":"1","box":{"width":3}}`},
		{"a list in a string", `{"sku":"1","tags":"[\"a\"]"}`, `{"sku":"1","tags":["a"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, did := repair(json.RawMessage(priceSchema), json.RawMessage(tt.args))
			if len(did) == 0 || !sameJSON(t, string(got), tt.want) {
				t.Errorf("repair gives %s, did %q; want %s", got, did, tt.want)
			}
		})
	}
}

func TestRepairLeavesWhatIsNot(t *testing.T) {
	for _, tt := range []struct{ name, args string }{
		{"words for a number", `{"sku":"1","price":"about 89"}`},
		{"a number with a unit", `{"sku":"1","price":"89 yuan"}`},
		{"not a JSON number", `{"sku":"1","price":"0x59"}`},
		{"not a number at all", `{"sku":"1","price":"NaN"}`},
		{"yes for a boolean", `{"sku":"1","urgent":"yes"}`},
		{"a list of two", `{"sku":["1","2"]}`},
		{"cut off", `{"sku":"1","pri`},
		{"good already", `{"sku":"1","price":89}`},
		{"a far key", `{"product":"1"}`},
		{"a key that is taken", `{"sku":"1","skus":"2"}`},
		{"two values", `{"sku":"1"} {"sku":"2"}`},
		{"a brace too many", `{"sku":1001}}`},
		{"a member twice", `{"sku":1001,"price":1,"price":2}`},
		{"a member twice, fenced", "```json\n{\"sku\":\"1\",\"price\":1,\"price\":2}\n```"},
		{"a member twice, in a string", `{"sku":"1","box":"{\"width\":1,\"width\":2}"}`},
		{"bytes that are no text", "{\"sku\":1001,\"note\":\"\xff\"}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, did := repair(json.RawMessage(priceSchema), json.RawMessage(tt.args)); len(did) != 0 || string(got) != tt.args {
				t.Errorf("repair gives %s, did %q; want nothing", got, did)
			}
		})
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := host.Canonical([]byte(a))
	if err != nil {
		return false
	}
	y, err := host.Canonical([]byte(b))
	if err != nil {
		t.Fatal(err)
	}
	return string(x) == string(y)
}

func FuzzRepair(f *testing.F) {
	for _, seed := range []string{`{"sku":1001}`, "```json\n{}```", `"{\"sku\":\"1\"}"`, `{"box":"{\"width\":\"3\"}"}`, `[[[[`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, args string) {
		got, did := repair(json.RawMessage(priceSchema), json.RawMessage(args))
		if len(did) > 0 && !json.Valid(got) {
			t.Errorf("repair of %q gives %q, which is not JSON", args, got)
		}
	})
}
