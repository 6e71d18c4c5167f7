package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// raws turns texts of JSON into what an Env holds.
func raws(pairs ...string) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return m
}

var noon = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func TestWhatIsNotGivenIsAskedForOnce(t *testing.T) {
	m := typed("user.role == 'owner' && live.id == 'l1' && tenant.size() == 0")
	s, err := Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	env := Env{User: map[string]any{"role": "owner"}, About: func(variable string) map[string]any {
		asked = append(asked, variable)
		return map[string]map[string]any{"user": {"role": "guest"}, "live": {"id": "l1"}}[variable]
	}}
	if in, err := s.Tool("go").InScope(env); !in || err != nil || !slices.Equal(asked, []string{"live", "tenant"}) {
		t.Errorf("in scope %v, %v; asked for %q", in, err, asked)
	}
}

func TestScopesAreEvaluatedOverWhatACallSees(t *testing.T) {
	env := Env{
		Args:  json.RawMessage(`{"text":"1001","int":3,"num":89,"flag":true,"kind":"a","maybe":null,"list":[1,2],"lines":[{"sku":"1","qty":2}],"where":{"city":"x"},"back":{"city":"x"},"byname":{"x":2},"free":{"n":1,"d":1.0},"odd name":"y","date":"2025-06-01T00:00:00Z"}`),
		State: raws("live.products", `["1001"]`, "live.current", `{"sku":"1001","stock":7.0}`, "shop.open", `{"hour":9}`, "cart", `[]`, "live.", `1`),
		Facts: raws("price", `100`, "first", `"x"`),
		User:  map[string]any{"role": "owner", "since": noon, "level": 3, "tags": []string{"a"}},
		Live:  map[string]any{"id": "live-1"},
		Now:   noon,
		Last: func(tool, target string) (*LastCall, error) {
			if tool == "go" && target == "1001" {
				return &LastCall{Time: noon.Add(-20 * time.Second), Args: json.RawMessage(`{"n":1}`), Data: json.RawMessage(`{"price":1.5}`)}, nil
			}
			return nil, nil
		},
	}
	for _, tt := range []struct {
		expr string
		want bool
		fail string // part of the error; the answer is then false
	}{
		{"args.text == '1001' && args.flag", true, ""},
		{"args.num == 89.0 && args.num == 89 && args.num * 1.0 == 89.0", true, ""}, // an integer where a number may be
		{"args.num / 2 == 44.5", true, ""}, {"args.int / 2 == 1", true, ""}, {"args.int * 0.5 == 1.5", true, ""}, {"1.5 - args.int == -1.5", true, ""},
		{"args.num < facts.price * 0.9", true, ""}, {"args.num > facts.price * 0.9", false, ""}, {"facts.price / 3 == 33", true, ""},
		{"args.int + 9223372036854775807 > 0", false, "overflow"}, {"args.int / 0 == 1", false, "divi"},
		{"args.free.n / 2 == 0 && args.free.d / 2 == 0.5 && args.free.n * 0.5 == 0.5", true, ""}, // decimals and integers without a schema
		{"type(args.free.n) == int && type(args.free.d) == double", true, ""},
		{"args.byname.x == 2.0", true, ""},
		{"has(args.int) && !has(args.mixed) && !has(args.where.zip)", true, ""},
		{"args.where == args.back", true, ""}, {"args.where.zip == 1", false, "no such key: zip"},
		{"args.maybe == null", true, ""}, {"args.maybe == null || args.maybe > 3", true, ""}, {"args.maybe > 3", false, "no such overload"},
		{"args.list[0] == 1 && 2 in args.list && args.list.size() == 2", true, ""}, {"args.list[5] == 1", false, "index out of bounds"}, {"1.0 in args.list", true, ""},
		{"args.lines.exists(l, l.sku == '1' && l.qty > 1)", true, ""},
		{"args.`odd name` == 'y'", true, ""}, {"timestamp(args.date) < now", true, ""},
		{"args.text in state.live.products", true, ""}, {"state.live.current.stock == 7", true, ""}, {"state.live.current.sku == args.text", true, ""},
		{"state.shop.open.hour == 9 && state.cart.size() == 0", true, ""}, {"has(state.live.nothing)", false, ""}, {"state.live.nothing == 1", false, "no such key: live"},
		{"state.cart > 3", false, "no such overload"}, // another type than the rule expects
		{"facts.first == 'x'", true, ""}, {"facts.all.price > 1", false, "no such key: all"}, {"has(facts.all)", false, ""},
		{"user.role == 'owner' && user.since == now && user.level > 2 && 'a' in user.tags && live.id == 'live-1'", true, ""},
		{"session.mode == 'auto'", false, "no such key: mode"}, {"tenant.plan == 'x'", false, "no such key: plan"},
		{"now - last('go', args.text).time < duration('30s')", true, ""}, {"last('go', args.text).args.n == 1 && last('go', args.text).data.price == 1.5", true, ""},
		{"last('go', 'other') == null", true, ""}, {"last('go', args.text) == null", false, ""}, {"last('go', 'other').time < now", false, ""}, {"last(args.free.n, 'x') == null", false, "no such overload"},
		{"now.getFullYear() == 2025", true, ""}, {"now.getHours() == 12", true, ""},
		{"false && args.list[9] == 1", false, ""}, {"true || args.list[9] == 1", true, ""},
	} {
		t.Run(tt.expr, func(t *testing.T) {
			s, err := Compile(typed(tt.expr))
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Tool("go").InScope(env)
			if got != tt.want || (err != nil) != (tt.fail != "") && tt.fail != "" || err != nil && tt.fail == "" && tt.want {
				t.Errorf("got %v, %v, want %v, %q", got, err, tt.want, tt.fail)
			}
			if tt.fail != "" && !strings.Contains(err.Error(), tt.fail) {
				t.Errorf("got %v, want %s", err, tt.fail)
			}
		})
	}
}

func TestWhatIsNotGivenFailsTheScope(t *testing.T) {
	for expr, want := range map[string]string{
		"args.text == 'x'": "no such key: text", "facts.price > 1": "no such key: price", "state.live.x == 1": "no such key: live",
		"now > timestamp('2020-01-01T00:00:00Z')": "the time of the call is not given", "last('go', 'x') == null": "earlier calls are not known here",
		"user.role == 'x'": "no such key: role",
	} {
		s, err := Compile(typed(expr))
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := s.Tool("go").InScope(Env{}); ok || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want %s", expr, ok, err, want)
		}
	}
	s, err := Compile(typed(""))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Tool("go").InScope(Env{Args: json.RawMessage(`not JSON`)}); !ok || err != nil {
		t.Errorf("a tool without a scope: got %v, %v", ok, err)
	}
	s, err = Compile(typed("args.text == 'x'"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{`{`, `{"text":"x","text":"y"}`, `[]`, `"x"`, `null`} {
		if ok, err := s.Tool("go").InScope(Env{Args: json.RawMessage(args)}); ok || err == nil {
			t.Errorf("%s: got %v, %v", args, ok, err)
		}
	}
}

func TestLargeIntegersKeepTheirValue(t *testing.T) {
	s, err := Compile(typed("args.int > 9007199254740992 && args.num > 1e300"))
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]bool{
		`{"int":9007199254740993,"num":1e301}`: true,
		`{"int":9007199254740992,"num":1e301}`: false,
		`{"int":1e20,"num":1e301}`:             true, // beyond 64 bits: compared as a decimal
	} {
		if got, err := s.Tool("go").InScope(Env{Args: json.RawMessage(args)}); got != want || err != nil {
			t.Errorf("%s: got %v, %v", args, got, err)
		}
	}
}

func TestRulesRaiseTheTierAndSayWhy(t *testing.T) {
	tool := pricing(t).Tool("set_price")
	env := pricingEnv()
	for _, tt := range []struct {
		name   string
		change func(*Env)
		tier   abi.Tier
		says   []string
	}{
		{"within bounds", func(e *Env) { e.Args = json.RawMessage(`{"sku":"1001","price":99,"currency":"CNY"}`) }, abi.SoftGate, nil},
		{"far below", func(*Env) {}, abi.HardGate, []string{"1001 would go from 100 to 69, more than 30 % down."}},
		{"far below by a little", func(e *Env) {
			e.Args = json.RawMessage(`{"sku":"1001","price":69.9,"currency":"CNY"}`)
		}, abi.HardGate, []string{"1001 would go from 100 to 69.9, more than 30 % down."}},
		{"soon after the last", func(e *Env) {
			e.Args = json.RawMessage(`{"sku":"1001","price":99,"currency":"CNY"}`)
			e.Last = func(_, _ string) (*LastCall, error) { return &LastCall{Time: e.Now.Add(-time.Second)}, nil }
		}, abi.HardGate, nil},
		{"long after the last", func(e *Env) {
			e.Args = json.RawMessage(`{"sku":"1001","price":99,"currency":"CNY"}`)
			e.Last = func(_, _ string) (*LastCall, error) { return &LastCall{Time: e.Now.Add(-time.Hour)}, nil }
		}, abi.SoftGate, nil},
		{"without the fact", func(e *Env) { e.Facts = nil }, abi.HardGate, []string{"Whether args.price < facts.price * 0.7 could not be decided, so it counts as if it did: no such key: price."}},
		{"with a fact of another type", func(e *Env) { e.Facts = raws("price", `"free"`) }, abi.HardGate, []string{"Whether args.price < facts.price * 0.7 could not be decided, so it counts as if it did: no such overload"}},
		{"with a fact that is not JSON", func(e *Env) { e.Facts = raws("price", `1 1`) }, abi.HardGate, []string{"could not be decided"}},
		{"without a clock", func(e *Env) {
			e.Args = json.RawMessage(`{"sku":"1001","price":99,"currency":"CNY"}`)
			e.Now = time.Time{}
			e.Last = func(_, _ string) (*LastCall, error) { return &LastCall{}, nil }
		}, abi.HardGate, []string{"the time of the call is not given"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := env
			tt.change(&e)
			tier, says := tool.TierOf(e)
			if tier != tt.tier || len(says) != len(tt.says) {
				t.Fatalf("got %s, %q, want %s, %q", tier, says, tt.tier, tt.says)
			}
			for i := range says {
				if !strings.Contains(says[i], tt.says[i]) {
					t.Errorf("got %q, want %q", says[i], tt.says[i])
				}
			}
		})
	}
}

func TestTheStrictestRuleWinsAndAllSpeakInOrder(t *testing.T) {
	m := typed("")
	m.Tools[0].Risk = abi.SoftGate
	m.Tools[0].Rules = []abi.Rule{
		{When: "args.int > 1", Tier: abi.Block, Say: "{{args.int}} is too much"},
		{When: "args.int > 0", Tier: abi.SoftGate, Say: "{{args.list}} {{args.where}} {{args.maybe}} {{args.num}} {{now}} {{args.text}}"},
		{When: "args.flag", Tier: abi.HardGate, Say: "{{args.text}} and {{facts.first}}"},
	}
	s, err := Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	tier, says := s.Tool("go").TierOf(Env{Now: noon, Args: json.RawMessage(`{"int":2,"flag":true,"list":[1,2],"where":{"zip":1,"city":"x"},"maybe":null,"num":1.50,"text":"<b>"}`)})
	want := []string{"2 is too much", `[1,2] {"city":"x","zip":1} null 1.5 2025-06-01T12:00:00Z <b>`, "<b> and …"}
	if tier != abi.Block || !slices.Equal(says, want) {
		t.Errorf("got %s %q\nwant %q", tier, says, want)
	}
	if tier, says := s.Tool("get").TierOf(Env{}); tier != abi.Auto || says != nil {
		t.Errorf("a tool without rules: got %s %q", tier, says)
	}
}

func TestASayIsBounded(t *testing.T) {
	m := typed("")
	m.Tools[0].Rules = []abi.Rule{{When: "true", Tier: abi.Block, Say: strings.Repeat("{{args.list.map(i, args.text)}}{{args.text}}", 8)}}
	s, err := Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(map[string]any{"list": make([]int, 2_000), "text": strings.Repeat("长", 50_000)})
	if err != nil {
		t.Fatal(err)
	}
	_, says := s.Tool("go").TierOf(Env{Args: args})
	if len(says) != 1 || len(says[0]) > 2*maxSayBytes || !strings.HasPrefix(says[0], "…长长") {
		t.Errorf("got %d bytes", len(says[0]))
	}
	for say, want := range map[string]string{
		strings.Repeat("{{1}}", 17): "more than 16 parts",
		"{{ }}":                     "{{ }} is empty",
		"{{args.int":                "{{ without }}",
	} {
		m.Tools[0].Rules[0].Say = say
		if _, err := Compile(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", say, err)
		}
	}
}

func TestTargetsAreIdsEachOnceAndSorted(t *testing.T) {
	for _, tt := range []struct {
		targets, args string
		want          []string
		fail          string
	}{
		{"[args.text]", `{"text":"b"}`, []string{"b"}, ""},
		{"args.lines.map(l, l.sku)", `{"lines":[{"sku":"b"},{"sku":"a"},{"sku":"b"}]}`, []string{"a", "b"}, ""},
		{"args.lines.map(l, l.sku)", `{"lines":[]}`, []string{}, ""},
		{"[string(args.int)]", `{"int":7}`, []string{"7"}, ""},
		{"args.free.ids", `{"free":{"ids":["x"]}}`, []string{"x"}, ""},
		{"args.free.ids", `{"free":{"ids":[1]}}`, nil, "an id must be a string"},
		{"args.free.ids", `{"free":{"ids":"x"}}`, nil, "not a list"},
		{"[args.text]", `{}`, nil, "no such key: text"},
		{"[args.text]", `{"text":""}`, nil, "an id must be a string of 1 to 256 bytes"},
		{"[args.text]", `{"text":"` + strings.Repeat("x", 257) + `"}`, nil, "an id must be a string of 1 to 256 bytes"},
		{"args.list.map(i, string(i))", `{"list":[` + numbers(1_001) + `]}`, nil, "more than 1000"},
	} {
		m := typed("")
		m.Tools[0].Effect, m.Tools[0].Targets = abi.Write, tt.targets
		s, err := Compile(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Tool("go").TargetsOf(Env{Args: json.RawMessage(tt.args)})
		if !slices.Equal(got, tt.want) || (err != nil) != (tt.fail != "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%s over %.60s: got %v, %v, want %v, %q", tt.targets, tt.args, got, err, tt.want, tt.fail)
		}
	}
	s, err := Compile(typed(""))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Tool("go").TargetsOf(Env{}); got != nil || err != nil {
		t.Errorf("a tool without targets: got %v, %v", got, err)
	}
}

func numbers(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprint(i)
	}
	return strings.Join(parts, ",")
}

func TestFactsAreAskedForAndNarrowed(t *testing.T) {
	m := typed("")
	m.Tools[0].Facts = map[string]abi.FactSpec{
		"price": {Tool: "get", At: "price", Args: map[string]string{"z": "args.int", "a": "args.text + '!'", "m": "args.where", "l": "args.list", "t": "now", "f": "args.num", "n": "args.maybe", "s": "state.cart"}},
		"first": {Tool: "get", At: "items.0.name"}, "all": {Tool: "get"},
	}
	s, err := Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	tool := s.Tool("go")
	env := Env{Now: noon, State: raws("cart", `[{"b":1,"a":[true]}]`), Args: json.RawMessage(`{"int":9007199254740993,"text":"x","where":{"zip":1,"city":"\u003c"},"list":[],"num":2,"maybe":null}`)}
	got, err := tool.FactArgs("price", env)
	if want := `{"a":"x!","f":2,"l":[],"m":{"city":"<","zip":1},"n":null,"s":[{"a":[true],"b":1}],"t":"2025-06-01T12:00:00Z","z":9007199254740993}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	if got, err := tool.FactArgs("all", env); string(got) != "{}" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	for name, want := range map[string]string{"price": "facts.price.args.a: no such key: text", "nothing": `go has no fact "nothing"`} {
		if got, err := tool.FactArgs(name, Env{}); got != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	const data = `{"price":10,"items":[{"name":"x"}]}`
	for _, tt := range []struct{ name, data, want, fail string }{
		{"price", data, "10", ""}, {"first", data, `"x"`, ""}, {"all", data, data, ""},
		{"first", `{"items":[]}`, "", "get gave nothing at items.0.name"}, {"price", `{`, "", "get gave at byte"}, {"nothing", data, "", "has no fact"},
		{"price", `{"price":null}`, "null", ""},
	} {
		got, err := tool.FactValue(tt.name, json.RawMessage(tt.data))
		if string(got) != tt.want || (err != nil) != (tt.fail != "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%s of %s: got %s, %v", tt.name, tt.data, got, err)
		}
	}
}

func TestAScopeNamesTheFactsThatItNeeds(t *testing.T) {
	for scope, want := range map[string][]string{"": nil, "true": nil, "has(facts.price) && facts.first == 'x' && facts.price > 1": {"first", "price"}} {
		s, err := Compile(typed(scope))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Tool("go").ScopeFacts(); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", scope, got, want)
		}
	}
}

func TestStateKeysNest(t *testing.T) {
	s, err := Compile(typed("state.live.a == 1 && state.live.b.c == 2 && state.live.b.d == 3"))
	if err != nil {
		t.Fatal(err)
	}
	for name, state := range map[string]map[string]json.RawMessage{
		"apart":          raws("live.a", "1", "live.b.c", "2", "live.b.d", "3"),
		"together":       raws("live", `{"a":1,"b":{"c":2,"d":3}}`),
		"one in another": raws("live", `{"a":1,"b":{"d":3}}`, "live.b.c", "2"),
	} {
		if ok, err := s.Tool("go").InScope(Env{State: state}); !ok || err != nil {
			t.Errorf("%s: got %v, %v", name, ok, err)
		}
	}
}

func TestEvaluationIsSafeForConcurrentUse(t *testing.T) {
	tool := pricing(t).Tool("set_price")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				env := pricingEnv()
				price := 60 + (i*50+j)%40
				env.Args = json.RawMessage(fmt.Sprintf(`{"sku":"1001","price":%d,"currency":"CNY"}`, price))
				if ps := tool.CheckArgs(env.Args); ps != nil {
					t.Error(ps)
				}
				if ok, err := tool.InScope(env); !ok || err != nil {
					t.Error(ok, err)
				}
				tier, _ := tool.TierOf(env)
				if want := map[bool]abi.Tier{true: abi.HardGate, false: abi.SoftGate}[price < 70]; tier != want {
					t.Errorf("%d is %s", price, tier)
				}
			}
		})
	}
	wg.Wait()
}
