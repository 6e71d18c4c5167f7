package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// booking has every kind of schema that arguments run into.
const booking = `
      type: object
      required: [user, flights, cabin]
      additionalProperties: false
      properties:
        user: {type: string, minLength: 2, maxLength: 10, description: the user's id}
        cabin: {type: string, enum: [basic_economy, economy, business]}
        insured: {type: boolean}
        bags: {type: integer, minimum: 0, maximum: 9}
        price: {type: number, exclusiveMinimum: 0, multipleOf: 0.01}
        contact: {anyOf: [{type: string, pattern: '^[^@]+@[^@]+$'}, {type: 'null'}]}
        pay:
          oneOf:
            - {type: object, properties: {kind: {const: card}, number: {type: string}}, required: [kind, number], additionalProperties: false}
            - {type: object, properties: {kind: {const: points}, amount: {type: integer}}, required: [kind, amount], additionalProperties: false}
        flights:
          type: array
          minItems: 1
          maxItems: 3
          items:
            type: object
            required: [number, date]
            additionalProperties: false
            properties:
              number: {type: string, pattern: '^[A-Z]{3}[0-9]{3}$'}
              date: {type: string, format: date}
        "odd name": {type: string}
`

func TestEveryMisfitOfArgumentsIsAProblemThatSaysWhatWouldFit(t *testing.T) {
	s, err := Parse("skill.yaml", oneTool(booking, "", `{user: mia, cabin: economy, flights: [{number: HAT001, date: 2024-05-01}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	tool := s.Tool("go")
	const ok = `"user":"mia","cabin":"economy","flights":[{"number":"HAT001","date":"2024-05-01"}]`
	for _, tt := range []struct {
		args string
		want []string // code field: message
	}{
		{`{` + ok + `}`, nil},
		{`{` + ok + `,"bags":2,"price":10.10,"contact":null,"insured":true,"pay":{"kind":"card","number":"1"}}`, nil},
		{`{` + ok + `,"bags":2.0}`, nil},
		{``, []string{`4001 : the arguments are not JSON that can be used: at byte 0: unexpected end of JSON input`}},
		{`{"user":"mia","cabin":"econ`, []string{`4001 : the arguments are not JSON`}},
		{"```json\n{}\n```", []string{`4001 : the arguments are not JSON`}},
		{`{} {}`, []string{`4001 : the arguments are not JSON`}},
		{"{\"user\":\"\xff\"}", []string{`4001 : the arguments are not JSON that can be used: at byte 9: not UTF-8`}},
		{`{"user":"a","user":"b"}`, []string{`4001 : the arguments are not JSON that can be used: at byte 12: member "user" stands twice`}},
		{`{"user":"a","us\u0065r":"b"}`, []string{`member "user" stands twice`}},
		{`{"bags":1e999}`, []string{`4001 : the arguments are not JSON that can be used: at byte 8: number is outside`}},
		{`{"bags":1e-999999999}`, []string{`number is outside`}},
		{strings.Repeat(`{"user":`, 200) + `1` + strings.Repeat(`}`, 200), []string{`nested deeper than 128`}},
		{`null`, []string{`4002 : must be an object with bags, cabin, contact, flights, insured, odd name, pay, price, user (got null)`}},
		{`"{}"`, []string{`4002 : must be an object`}},
		{`[{}]`, []string{`4002 : must be an object`}},
		{`{}`, []string{`4003 user: is required: a string, at least 2 characters, at most 10 characters`, `4003 flights: is required: an array, each an object with date, number, at least 1 items, at most 3 items`, `4003 cabin: is required: one of basic_economy, economy, business`}},
		{`{` + ok + `,"insured":"true"}`, []string{`4002 insured: must be true or false (got "true")`}},
		{`{` + ok + `,"bags":"2"}`, []string{`4002 bags: must be an integer, at least 0, at most 9 (got "2")`}},
		{`{` + ok + `,"bags":1.5}`, []string{`4002 bags: must be an integer`}},
		{`{` + ok + `,"bags":12}`, []string{`4007 bags: must be an integer, at least 0, at most 9 (got 12)`}},
		{`{` + ok + `,"price":0}`, []string{`4007 price: must be a number, more than 0, in steps of 0.01 (got 0)`}},
		{`{` + ok + `,"price":0.015}`, []string{`4007 price: must be a number, more than 0, in steps of 0.01 (got 0.015)`}},
		{`{` + ok + `,"contact":5}`, []string{`4002 contact: must be a string, matching ^[^@]+@[^@]+$ or null (got 5)`}},
		{`{` + ok + `,"contact":"mia"}`, []string{`4007 contact: must be a string, matching ^[^@]+@[^@]+$ (got "mia")`}},
		{`{` + ok + `,"pay":{"kind":"points","amount":"many"}}`, []string{`4002 pay.amount: must be an integer (got "many")`}},
		{`{` + ok + `,"pay":{"kind":"card"}}`, []string{`4003 pay.number: is required: a string`}},
		{`{` + ok + `,"pay":{"kind":"card","number":"1","amount":1}}`, []string{`4008 pay.amount: is not a field here`}},
		{`{` + ok + `,"bagz":1}`, []string{`4008 bagz: is not a field here`}},
		{`{` + ok + `,"odd-name":"x"}`, []string{`4008 odd-name: is not a field here`}},
		{`{` + ok + `,"odd name":1}`, []string{`4002 ["odd name"]: must be a string (got 1)`}},
		{`{"user":"m","cabin":"economy","flights":[{"number":"HAT001","date":"2024-05-01"},{"number":"hat1","date":"May 1"}]}`, []string{
			`4007 user: must be a string, at least 2 characters, at most 10 characters (got "m")`,
			`4007 flights[1].number: must be a string, matching ^[A-Z]{3}[0-9]{3}$ (got "hat1")`,
			`4007 flights[1].date: must be a string of the format date (got "May 1")`,
		}},
		{`{"user":"mia","cabin":"economy","flights":[]}`, []string{`4007 flights: must be an array, each an object with date, number, at least 1 items, at most 3 items (got an array)`}},
		{`{"user":"mia","cabin":"economy","flights":{"number":"HAT001"}}`, []string{`4002 flights: must be an array`}},
		{`{"user":"mia","cabin":"Economy","flights":[{"number":"HAT001","date":"2024-05-01"}]}`, []string{`4007 cabin: must be one of basic_economy, economy, business (got "Economy")`}},
	} {
		t.Run(cut(tt.args, 60), func(t *testing.T) {
			got := tool.CheckArgs(json.RawMessage(tt.args))
			if len(got) != len(tt.want) {
				t.Errorf("got %d problems, want %d: %v", len(got), len(tt.want), got)
			}
			for _, want := range tt.want {
				if !slices.ContainsFunc(got, func(p *abi.Problem) bool {
					return strings.Contains(fmt.Sprintf("%d %s: %s", p.Code, p.Field, p.Message), want)
				}) {
					t.Errorf("got %v\nwant %s", got, want)
				}
			}
		})
	}
}

func TestCandidatesComeNearestFirst(t *testing.T) {
	s, err := Parse("skill.yaml", oneTool(booking, "", `{user: mia, cabin: economy, flights: [{number: HAT001, date: 2024-05-01}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args, field, first, hint string
	}{
		{`{"user":"mia","cabin":"bussiness","flights":[]}`, "cabin", "business", "did you mean business?"},
		{`{"user":"mia","cabin":"Basic Economy","flights":[]}`, "cabin", "basic_economy", "did you mean basic_economy?"},
		{`{"user":"mia","cabin":"economy","flihgts":[]}`, "flihgts", "flights", "did you mean flights?"},
		{`{"User":"mia","cabin":"economy","flights":[]}`, "User", "user", "did you mean user?"},
		{`{"user":"mia","cabin":"economy","passengers":[],"flights":[]}`, "passengers", "", "there are bags, cabin, contact, flights, insured, odd name, pay, price, user"},
	} {
		found := false
		for _, p := range s.Tool("go").CheckArgs(json.RawMessage(tt.args)) {
			if p.Field != tt.field {
				continue
			}
			found = true
			if len(p.Candidates) == 0 || tt.first != "" && p.Candidates[0] != tt.first || p.Hint != tt.hint {
				t.Errorf("%s: got %q, %q", tt.args, p.Candidates, p.Hint)
			}
		}
		if !found {
			t.Errorf("%s: nothing about %s", tt.args, tt.field)
		}
	}
}

func TestWhatExplainsMostComesFirstAndOneTellsAll(t *testing.T) {
	tool := pricing(t).Tool("set_price")
	ps := tool.CheckArgs(json.RawMessage(`{"sku":"x","prise":1}`))
	var codes []abi.Code
	for _, p := range ps {
		codes = append(codes, p.Code)
	}
	if want := []abi.Code{abi.UnknownField, abi.Missing, abi.Missing, abi.BadValue}; !slices.Equal(codes, want) {
		t.Errorf("got %v, want %v", codes, want)
	}
	one := ps.One()
	if one.Code != abi.UnknownField || one.Field != "prise" || !strings.Contains(one.Message, "; price is required") || !strings.Contains(one.Message, "; sku must be") {
		t.Errorf("got %v", one)
	}
	if ps[0].Message == one.Message {
		t.Error("One changed the first problem")
	}
	if Problems(nil).One() != nil {
		t.Error("no problems made one")
	}
}

func TestProblemsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&b, `"k%d":1,`, i)
	}
	start := time.Now()
	ps := pricing(t).Tool("set_price").CheckArgs(json.RawMessage(`{` + b.String() + `"sku":"` + strings.Repeat("x", 100_000) + `"}`))
	if len(ps) != maxProblems {
		t.Errorf("got %d problems, want %d", len(ps), maxProblems)
	}
	for _, p := range ps {
		if size := len(p.Error()); size > 1_000 {
			t.Errorf("a problem of %d bytes", size)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestDataThatBreakTheOutputSchemaAreBroken(t *testing.T) {
	tool := pricing(t).Tool("set_price")
	for _, tt := range []struct{ data, want, field string }{
		{`{"sku":"1","price":8}`, "", ""},
		{`{"sku":"1","price":"8"}`, `set_price gave data that break its output schema: price must be a number (got "8")`, "price"},
		{`{"sku":"1"}`, `price is required`, "price"},
		{`null`, `must be an object`, ""},
		{``, `set_price gave data that are not JSON`, ""},
		{`{"sku":"1","sku":"2","price":1}`, `member "sku" stands twice`, ""},
	} {
		p := tool.CheckOutput(json.RawMessage(tt.data))
		switch {
		case tt.want == "" && p == nil:
		case p == nil || p.Code != abi.BrokenOutput || p.Field != tt.field || !strings.Contains(p.Message, tt.want):
			t.Errorf("%s: got %v, want %s", tt.data, p, tt.want)
		}
	}
	undeclared := pricing(t).Tool("restore_price")
	if p := undeclared.CheckOutput(json.RawMessage(`[1, "two"]`)); p != nil {
		t.Errorf("a tool without an output schema refused %v", p)
	}
	if p := undeclared.CheckOutput(json.RawMessage(`[1,`)); p == nil || p.Code != abi.BrokenOutput {
		t.Errorf("a tool without an output schema took half an array: %v", p)
	}
}
