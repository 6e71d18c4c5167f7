package dispatch

import (
	"encoding/json"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

const priceSchema = `{"type":"object","additionalProperties":false,"required":["sku"],"properties":{
	"sku":{"type":"string"},"price":{"type":"number"},"count":{"type":"integer"},"urgent":{"type":"boolean"},
	"tags":{"type":"array","items":{"type":"string"}},"box":{"$ref":"#/$defs/box"},"free":{}},
	"$defs":{"box":{"type":"object","properties":{"width":{"type":"integer"},"widts":{"type":"integer"},"up":{"type":"integer"},"at":{"type":"integer"}}}}}`

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
			got, did := repair(json.RawMessage(priceSchema), json.RawMessage(tt.args), abi.Write)
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
		{"two keys near one", `{"sku":"1","prise":1,"pric":2}`},
		{"two keys near one, and one of them near another", `{"sku":"1","box":{"widt":1,"widtr":2}}`},
		{"a key of two letters", `{"sku":"1","box":{"ad":1}}`},
		{"a key near one of two letters", `{"sku":"1","box":{"xup":1}}`},
		{"two values", `{"sku":"1"} {"sku":"2"}`},
		{"a brace too many", `{"sku":1001}}`},
		{"a member twice", `{"sku":1001,"price":1,"price":2}`},
		{"a member twice, fenced", "```json\n{\"sku\":\"1\",\"price\":1,\"price\":2}\n```"},
		{"a member twice, in a string", `{"sku":"1","box":"{\"width\":1,\"width\":2}"}`},
		{"bytes that are no text", "{\"sku\":1001,\"note\":\"\xff\"}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, did := repair(json.RawMessage(priceSchema), json.RawMessage(tt.args), abi.Write); len(did) != 0 || string(got) != tt.args {
				t.Errorf("repair gives %s, did %q; want nothing", got, did)
			}
		})
	}
}

// TestRepairOfWordsAndDefaults: what the schema itself says is certain; a word
// that is nearly one of its list is, for a read, and never for a write.
func TestRepairOfWordsAndDefaults(t *testing.T) {
	const schema = `{"type":"object","required":["sku","unit"],"properties":{"sku":{"type":"string"},"currency":{"type":"string","enum":["CNY","USD","USDT"]},
		"channel":{"enum":["live_room","shop"]},"unit":{"type":"string","default":"piece"},"size":{"type":"integer","enum":[1,2]}}}`
	for _, tt := range []struct{ name, args, read, write string }{
		{"another case", `{"sku":"1","unit":"box","currency":"cny"}`, `{"sku":"1","unit":"box","currency":"CNY"}`, `{"sku":"1","unit":"box","currency":"CNY"}`},
		{"another hyphen", `{"sku":"1","unit":"box","channel":"Live-Room"}`, `{"sku":"1","unit":"box","channel":"live_room"}`, `{"sku":"1","unit":"box","channel":"live_room"}`},
		{"one edit away", `{"sku":"1","unit":"box","currency":"CNX"}`, `{"sku":"1","unit":"box","currency":"CNY"}`, ""},
		{"one edit from two", `{"sku":"1","unit":"box","currency":"USDX"}`, "", ""},
		{"two edits away", `{"sku":"1","unit":"box","currency":"CXX"}`, "", ""},
		{"a missing default", `{"sku":"1"}`, `{"sku":"1","unit":"piece"}`, `{"sku":"1","unit":"piece"}`},
		{"missing without one", `{"unit":"box"}`, "", ""},
		{"a missing default beside what nobody knows", `{"sku":"1","measure":"box"}`, "", ""},
		{"a list of numbers", `{"sku":"1","unit":"box","size":3}`, "", ""},
	} {
		for effect, want := range map[abi.Effect]string{abi.Read: tt.read, abi.Write: tt.write} {
			got, did := repair(json.RawMessage(schema), json.RawMessage(tt.args), effect)
			if want == "" && (len(did) != 0 || string(got) != tt.args) || want != "" && (len(did) != 1 || !sameJSON(t, string(got), want)) {
				t.Errorf("%s, %s: repair gives %s, did %q; want %q", tt.name, effect, got, did, want)
			}
		}
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
		got, did := repair(json.RawMessage(priceSchema), json.RawMessage(args), abi.Read)
		if len(did) > 0 && !json.Valid(got) {
			t.Errorf("repair of %q gives %q, which is not JSON", args, got)
		}
	})
}
