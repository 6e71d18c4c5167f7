package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk/skilltest"
)

func TestExamples(t *testing.T) { skilltest.New(t).Examples() }

const shop = `{"items":[{"sku":"1001","title":"青柠","price":89.5,"tags":["a","b"]},{"sku":"1002","title":"pear","price":5,"tags":[]},
 {"sku":"1003","title":"fig","price":12.5,"tags":["b"]}],"total":3,"next":null,"big":12345678901234567890,"ok":true}`

// asked gives what a query gives.
func asked(t *testing.T, data string, q Query) (Answer, *abi.Problem) {
	t.Helper()
	h := skilltest.New(t)
	q.Input = h.PutBlob(abi.BlobInfo{}, []byte(data))
	reply := h.Call("query_json", q)
	var a Answer
	if reply.Problem == nil {
		if err := json.Unmarshal(reply.Data, &a); err != nil {
			t.Fatal(err)
		}
	}
	return a, reply.Problem
}

// Filters give what jq gives, to the byte, but that members are sorted by name.
func TestFiltersGiveWhatJqGives(t *testing.T) {
	jq, err := exec.LookPath("jq")
	if err != nil {
		t.Fatal("there is no jq to compare with; install it, or run `make deps-guests` as root: ", err)
	}
	for _, filter := range []string{
		".total", ".items[0].title", ".items[].sku", ".items | length", "keys", "[.items[] | select(.price > 10) | .sku]", ".items | map(.price) | add",
		".items | sort_by(.price) | .[0]", ".items | group_by(.price > 10) | map(length)", ".items[] | {sku, n: (.tags | length)}", ".next // \"none\"",
		"[.items[].tags[]] | unique", ".items | map({(.sku): .title}) | add", ".items[:2] | map(.sku) | join(\"-\")", ".items | any(.price < 6)",
		"to_entries | map(.key) | sort", ".items[] | [.sku, .price] | @csv", ".items[1:] | .[].title | ascii_upcase", "[range(3)]", "[limit(2; .items[])] | length",
		".items | max_by(.price).sku", "reduce .items[] as $i (0; . + 1)", ".items[] | select(.title | test(\"^p\")) | .sku", "empty", "[paths] | length",
		".items | map(select(.tags | index(\"b\"))) | length", ".ok and (.total == 3)", ".items[0] | del(.tags)", ".items[0].tags |= map(ascii_upcase) | .items[0].tags",
		"[.items[] | .price * 100 | floor]", "\"\\(.total) items\"", ".items | first, last | .sku", "[splits(\", \")?]", "try error(\"x\") catch .", "$ENV | length", "env | length",
	} {
		for _, raw := range []bool{false, true} {
			c := exec.Command(jq, "-cS", filter)
			if raw {
				c = exec.Command(jq, "-crS", filter)
			}
			c.Stdin, c.Env = strings.NewReader(shop), []string{}
			want, err := c.Output()
			if err != nil {
				t.Fatalf("jq %s: %v", filter, err)
			}
			a, p := asked(t, shop, Query{Filter: filter, Raw: raw})
			got := []byte(a.Text)
			for _, v := range a.Results {
				got = append(append(got, v...), '\n')
			}
			if p != nil || !bytes.Equal(got, want) {
				t.Errorf("%s gives %q, %v; jq gives %q", filter, got, p, want)
			}
		}
	}
}

func TestWhatGoesWrongSaysWhatToDo(t *testing.T) {
	for _, tt := range []struct {
		name, data, filter string
		code               abi.Code
		says               string
	}{
		{"no filter", shop, ".[", abi.BadValue, "cannot be parsed"},
		{"no such function", shop, "frobnicate", abi.BadValue, "frobnicate"},
		{"no variable", shop, "$secret", abi.BadValue, "$secret"},
		{"a module", shop, `import "a" as a; .`, abi.BadValue, "no modules"},
		{"another input", shop, "input", abi.BadValue, "input"},
		{"another type", shop, ".total[]", abi.BadValue, "members big, items, next, ok, total"},
		{"a list", "[1,2]", ".a", abi.BadValue, "a list of 2, of which the first is a number"},
		{"an error of its own", shop, `error("stop")`, abi.BadValue, "stop"},
		{"too many parts", shop, strings.Repeat("[", 1000) + strings.Repeat("]", 1000), abi.BadValue, "the most is 400"},
		{"a chain that is too long", shop, "1" + strings.Repeat("+1", 1000), abi.BadValue, "the most is 400"},
		{"a deep result", shop, "reduce range(100000) as $i (0; [.])", abi.BadValue, "too deeply"},
		{"text", "plain text", ".", abi.NotAllowed, "run_shell"},
		{"half of it", `{"a":`, ".", abi.NotAllowed, "no JSON"},
		{"too deep", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), ".", abi.NotAllowed, "deeply"},
		{"too long", `"` + strings.Repeat("x", maxInput) + `"`, ".", abi.OutOfMemory, "read_blob_value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, p := asked(t, tt.data, Query{Filter: tt.filter})
			if p == nil || p.Code != tt.code || !strings.Contains(p.Message+" "+p.Hint, tt.says) {
				t.Errorf("it gives %v, want code %d and %q", p, tt.code, tt.says)
			}
		})
	}
}

func TestDocumentsOneAfterTheOther(t *testing.T) {
	lines := "{\"a\":1}\n{\"a\":2}\n"
	if a, p := asked(t, lines, Query{Filter: ".a"}); p != nil || a.Count != 2 || string(a.Results[1]) != "2" {
		t.Errorf("it gives %+v, %v", a, p)
	}
	if a, p := asked(t, lines, Query{Filter: "map(.a) | add", Slurp: true}); p != nil || a.Count != 1 || string(a.Results[0]) != "3" {
		t.Errorf("slurped it gives %+v, %v", a, p)
	}
	if a, p := asked(t, "", Query{Filter: "."}); p != nil || a.Count != 0 {
		t.Errorf("an empty blob gives %+v, %v", a, p)
	}
}

// What is too much is cut, and says so; numbers keep all of their digits.
func TestAnAnswerIsBounded(t *testing.T) {
	for _, raw := range []bool{false, true} {
		a, p := asked(t, "null", Query{Filter: `range(1e12) | "some text"`, Raw: raw})
		size := len(a.Text)
		for _, v := range a.Results {
			size += len(v)
		}
		if p != nil || !a.Cut || size > maxOutput || a.Count < 10_000 {
			t.Errorf("it gives %d values in %d bytes, cut %v, %v", a.Count, size, a.Cut, p)
		}
	}
	if a, p := asked(t, shop, Query{Filter: ".big"}); p != nil || string(a.Results[0]) != "12345678901234567890" {
		t.Errorf("a large number is %s, %v", a.Results, p)
	}
}
