package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// typed has an argument of every type, and state of which one key is typed.
func typed(scope string) abi.Manifest {
	return abi.Manifest{
		Sluice: 1, Name: "test", Version: "1.0.0", Summary: "A test.", ABI: 1,
		Capabilities: abi.Capabilities{State: &abi.StateAccess{
			Reads:   []string{"live.*", "shop.open", "cart"},
			Schemas: map[string]json.RawMessage{"live.current": json.RawMessage(`{"type":"object","properties":{"sku":{"type":"string"},"stock":{"type":"integer"}},"required":["sku"]}`)},
		}},
		Tools: []abi.Tool{{
			Name: "go", Summary: "Go.", Effect: abi.Read, Scope: scope,
			Facts: map[string]abi.FactSpec{"price": {Tool: "get", At: "price"}, "first": {Tool: "get", At: "items.0.name"}, "all": {Tool: "get"}},
			Input: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
				"text":{"type":"string"},"int":{"type":"integer"},"num":{"type":"number"},"flag":{"type":"boolean"},
				"kind":{"enum":["a","b"]},"level":{"enum":[1,2]},"one":{"const":"x"},"mixed":{"enum":["a",1]},
				"maybe":{"type":["integer","null"]},"maybeText":{"anyOf":[{"type":"string"},{"type":"null"}]},
				"list":{"type":"array","items":{"type":"integer"}},"anylist":{"type":"array"},
				"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]},
				"lines":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"},"qty":{"type":"integer"}}}},
				"where":{"$ref":"#/$defs/place"},"back":{"$ref":"#/$defs/place"},
				"byname":{"type":"object","additionalProperties":{"type":"number"}},"free":{"type":"object"},"any":{},
				"either":{"oneOf":[{"type":"object","properties":{"card":{"type":"string"}}},{"type":"object","properties":{"points":{"type":"integer"}}}]},
				"both":{"allOf":[{"type":"object","properties":{"x":{"type":"integer"}}},{"type":"object","properties":{"y":{"type":"string"}}}]},
				"numeric":{"oneOf":[{"type":"integer"},{"type":"number"}]},
				"tree":{"$ref":"#/$defs/tree"},"deep":{"$ref":"#/$defs/deep"},
				"in":{"type":"string"},"odd name":{"type":"string"},"date":{"type":"string","format":"date-time"}},
				"$defs":{"place":{"type":"object","properties":{"city":{"type":"string"},"zip":{"type":"integer"}}},
				"tree":{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}}},
				"deep":{"type":"array","items":{"$ref":"#/$defs/deep"}}}}`),
			Examples: []abi.Example{{Say: "go", Args: json.RawMessage(`{}`)}},
		}, {
			Name: "get", Summary: "Get.", Effect: abi.Read, Input: json.RawMessage(`{"type":"object"}`),
			Output:   json.RawMessage(`{"type":"object","properties":{"price":{"type":"integer"},"items":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}}}}`),
			Examples: []abi.Example{{Say: "get", Args: json.RawMessage(`{}`)}},
		}},
	}
}

func TestExpressionsAreTypedByTheSchemas(t *testing.T) {
	for _, tt := range []struct{ expr, want string }{
		{"args.text == 'x'", ""}, {"args.text > 3", "> does not take string and int"}, {"args.text + 1 == ''", "+ does not take string and int"},
		{"args.tex == 'x'", "column 5: undefined field 'tex' (did you mean text?)"},
		{"arg.text == 'x'", "undeclared reference to 'arg' (did you mean args?)"},
		{"args.int > 3", ""}, {"args.int == 'x'", "== does not take int and string"}, {"args.flag", ""}, {"args.int", "gives int, but must give bool"},
		{"!args.text", "! does not take string"}, {"args.flag && args.text", "expected type 'bool' but found 'string'"},
		{"args.kind == 'a'", ""}, {"args.kind == 1", "== does not take string and int"}, {"args.kind in ['a', 'c']", ""},
		{"args.level > 1", ""}, {"args.one.startsWith('x')", ""}, {"args.mixed == 'a' || args.mixed == 1", ""},
		{"args.maybe == null || args.maybe > 3", ""}, {"args.maybe == 'x'", "== does not take"}, {"args.maybe * 2.5 > 1.0", ""}, {"args.maybeText == null || args.maybeText.size() > 2", ""},
		{"args.list[0] > 1", ""}, {"args.list[0] == 'x'", "== does not take int and string"}, {"args.list.all(n, n > 1)", ""}, {"args.list.all(n, n == 'x')", "does not take int and string"}, {"'x' in args.list", "in does not take string and list(int)"},
		{"args.anylist[0] == 'x'", ""}, {"args.pair[0] == 'x' && args.pair[1] == 1", ""},
		{"args.lines.exists(l, l.qty > 10)", ""}, {"args.lines.exists(l, l.quantity > 10)", "undefined field 'quantity'"}, {"args.lines[0].sku == 1", "== does not take string and int"},
		{"args.where.city == 'x' && args.where.zip > 1", ""}, {"args.where.town == 'x'", "undefined field 'town'"}, {"args.where == args.back", ""}, {"args.where == 'x'", "== does not take"},
		{"args.byname['x'] > 1.0", ""}, {"args.byname['x'] == 'y'", "== does not take double and string"}, {"args.byname.x > 1", ""}, {"args.free.x.y == 1", ""}, {"args.any == 1 && args.any.x == 'y'", ""},
		{"has(args.either.card) && args.either.points > 1", ""}, {"args.either.cash == 1", "undefined field 'cash'"}, {"args.both.x > 1 && args.both.y == 'z'", ""}, {"args.both.z == 1", "undefined field 'z'"},
		{"args.numeric * 2.0 > 1.0", ""}, {"args.tree.kids[0].kids[0].name == 'x'", ""}, {"args.tree.kids[0].kid == 'x'", "undefined field 'kid'"}, {"args.deep[0][0][0].size() > 1", ""},
		{"args.`in` == 'x' && args.`odd name` == 'y'", ""}, {"timestamp(args.date) < now", ""},
		{"has(args.int)", ""}, {"has(args.ints)", "undefined field 'ints' (did you mean int?)"},

		{"args.int < args.num", ""}, {"args.num < args.int * 0.7", ""}, {"args.int * 0.7 < args.num", ""}, {"args.num / 2 > 1", ""}, {"1 + args.num - args.int > 2", ""}, {"args.int / 2 == 1", ""}, {"args.int == 1.0", ""}, {"args.num == 1", ""}, {"args.num != args.int", ""}, {"args.num in [1, 2]", ""}, {"args.int in [1.5]", ""}, {"args.num in args.list", ""}, {"args.maybe == 1.5", ""}, {"args.num == 'x'", "== does not take double and string"},
		{"args.num < facts.price * 0.7", ""}, {"facts.price > args.num * 2", ""}, {"facts.price == 'x'", "== does not take int and string"},
		{"facts.first == 'x'", ""}, {"facts.first > 1", "> does not take string and int"}, {"facts.all.items[0].name == 'x'", ""}, {"facts.al.x == 1", "undefined field 'al' (did you mean all?)"}, {"facts['price'] > 1", "column 6: "},

		{"state.live.products.exists(p, p == args.text)", ""}, {"args.text in state.live.products", ""},
		{"state.live.current.sku == args.text", ""}, {"state.live.current.stock > 3", ""}, {"state.live.current.sku > 3", "> does not take string and int"}, {"state.live.current.skew == 'x'", "undefined field 'skew'"},
		{"state.shop.open", ""}, {"state.shop.open.hour == 1", ""}, {"state.shop == 1", ""}, {"state.cart.size() > 0", ""}, {"state.shop.closed", "state.shop.closed is read here and not granted"}, {"state.carts.size() > 0", "state.carts is read here and not granted"},

		{"session.mode == 'auto' && user.role == 'owner' && live.id == 'x' && tenant.plan == 'y'", ""}, {"session == 1", "== does not take map(string, dyn) and int"},
		{"now - duration('30s') > timestamp('2024-01-01T00:00:00Z')", ""}, {"now > 3", "> does not take timestamp and int"}, {"now - duration('30 s') > now", "invalid duration argument"}, {"timestamp('yesterday') < now", "invalid timestamp argument"},
		{"last('go', args.text) == null", ""}, {"now - last('go', args.text).time < duration('30s')", ""}, {"last('go', args.text).args.text == 'x' && last('go', 'y').data.price > 1", ""}, {"last('go', args.text).tine == now", "undefined field 'tine'"},
		{"last('go') == null", "last does not take string"}, {"last('go', args.int) == null", "last does not take string and int"}, {"last('og', args.text) == null", "last asks for the tool og, which the skill does not have (did you mean go?)"}, {"last('other.skill', args.text) == null", ""}, {"last(args.text, 'x') == null", ""},
		{"args.text.matches('[0-9]+')", ""}, {"args.text.matches('(')", "invalid matches argument"}, {"args.text.matches('(a{1000}){1000}')", "invalid matches argument"},
		{"math.greatest(args.int, 3) > 2 && args.text.lowerAscii().trim().size() > 1 && args.text.substring(1) == 'x'", ""},
		{"true", ""}, {"", "must be a string, at least 1 characters"}, {"1 +", "Syntax error"}, {"args.text == \"x", "token recognition error"}, {"state.live.on", ""},
		{"facts.missing()", "undeclared reference to 'missing'"}, {"args{text: 'x'}.text == 'x'", "undeclared"},
	} {
		t.Run(tt.expr, func(t *testing.T) {
			m := typed(tt.expr)
			if tt.expr == "" {
				m.Tools[0].Rules = []abi.Rule{{When: "", Tier: abi.Block}}
			}
			_, err := Compile(m)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(tt.want, "Syntax error")) && !strings.Contains(fmt.Sprintf("%v", err), tt.want)):
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestTheTypeOfAFactComesFromTheToolThatGivesIt(t *testing.T) {
	for at, want := range map[string]string{
		"prise":        `tools[0].facts.price.at: get gives no such thing: there is no field "prise"; there are price, items`,
		"items.name":   `"name" is not an index of an array`,
		"price.amount": `"amount" leads into a value that has no fields`,
		"items.0.nom":  `there is no field "nom"; there are name`,
	} {
		m := typed("true")
		m.Tools[0].Facts = map[string]abi.FactSpec{"price": {Tool: "get", At: at}}
		if _, err := Compile(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", at, err, want)
		}
	}
	m := typed("facts.price == 'anything' && facts.price.x > 1")
	m.Tools[1].Output = nil
	if _, err := Compile(m); err != nil {
		t.Errorf("a fact of a tool without an output schema: %v", err)
	}
}

func TestAKeyInsideATypedKeyCannotHaveASchemaToo(t *testing.T) {
	m := typed("true")
	m.Capabilities.State.Schemas["live.current.stock"] = json.RawMessage(`{"type":"integer"}`)
	if _, err := Compile(m); err == nil || !strings.Contains(err.Error(), "capabilities.state.schemas.live.current.stock: the key lies inside another key that declares a schema") &&
		!strings.Contains(err.Error(), "the key lies inside another key") {
		t.Errorf("got %v", err)
	}
}

func TestAnExpressionThatIsExpensiveIsStopped(t *testing.T) {
	big := make([]int, 3_000)
	list, err := json.Marshal(big)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(strings.Repeat("a", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	env := Env{Args: json.RawMessage(fmt.Sprintf(`{"list":%s,"text":%s}`, list, text))}
	for _, expr := range []string{
		"args.list.all(a, args.list.all(b, a == b))",
		"args.list.map(a, args.list.map(b, [a, b])).size() > 0",
		"[args.text, args.text, args.text].map(t, t + t + t + t + t + t + t + t).size() > 0 && args.list.all(i, (args.text + args.text).size() > 0)",
		"args.list.all(i, args.text.matches('(a|b|c|d)*e') == false)",
		"args.list.all(i, args.text.contains('aaaaaaaaaaaab') == false)",
		"args.list.map(c, args.text.upperAscii()).size() > 0",
		"args.list.map(i, args.list).map(j, args.list + args.list).size() > 0 && args.list.all(i, args.list == args.list + [])",
	} {
		t.Run(expr, func(t *testing.T) {
			s, err := Compile(typed(expr))
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			holds, err := s.Tool("go").InScope(env)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if holds || err == nil || !strings.Contains(err.Error(), "cost limit") {
				t.Errorf("got %v, %v", holds, err)
			}
		})
	}
}

func TestFunctionsWithoutProportionAreNotOffered(t *testing.T) {
	for expr, name := range map[string]string{
		"args.text.replace('a', args.text) == ''":          "replace",
		"args.list.map(i, args.text).join('') == ''":       "join",
		"args.list.all(i, '%s'.format([args.text]) == '')": "format",
		"args.text.indexOf(args.text) == 0":                "indexOf",
		"args.text.lastIndexOf(args.text) == 0":            "lastIndexOf",
		"args.text.split('').size() == 0":                  "split",
		"strings.quote(args.text) == ''":                   "strings.quote",
	} {
		if _, err := Compile(typed(expr)); err == nil || !strings.Contains(err.Error(), "tools[0].scope: "+name+" is not offered here") {
			t.Errorf("%s: got %v", expr, err)
		}
	}
}

func TestAnIDIsFoundInALargeList(t *testing.T) {
	ids := make([]string, 100_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("%d", i)
	}
	list, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Compile(typed("args.text in state.live.products"))
	if err != nil {
		t.Fatal(err)
	}
	ok, err := s.Tool("go").InScope(Env{Args: json.RawMessage(`{"text":"99999"}`), State: map[string]json.RawMessage{"live.products": list}})
	if !ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
}
