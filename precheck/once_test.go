package precheck

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

// Functions behind those that every answer needs, for writes.
var writing = append(slices.Clone(answering),
	imp{"extism:host/env", "input_load_u8", "l>i"},
	imp{userFunctions, abi.FuncHTTP, "ll>l"},
	imp{userFunctions, abi.FuncKVGet, "l>l"},
	imp{userFunctions, abi.FuncKVPut, "ll>l"})

const (
	callInputLoad, callHTTP, callGet, callPut = 3, 4, 5, 6

	idempotent   = `"effect":"write","targets":"[args.sku]","idempotent":true`
	withShop     = `"abi":1,"capabilities":{"http":[{"host":"shop.example.com","methods":["POST","PUT"],"paths":["/*"]}],"kv":{"namespace":"prices"}}`
	orderRequest = `{"method":"POST","url":"https://shop.example.com/orders"}`
)

// doing gives a module with a write that does what some instructions do.
func doing(code ...byte) []byte {
	m := goodWith(inManifest(`"abi":1`, withShop, `"effect":"read"`, idempotent))
	m.imports = slices.Clone(writing)
	m.funcs[2].locals = 4
	m.funcs[2].body = append(code, saying(`{"ok":true,"data":1}`)...)
	return m.bytes()
}

// block makes a block of a text and keeps its handle in a local.
func block(s string, local byte) []byte {
	b := slices.Concat([]byte{0x42}, sleb(int64(len(s))), []byte{0x10, callAlloc, 0x21, local})
	for i := range len(s) {
		b = append(b, storing(local, i, append([]byte{0x41}, sleb(int64(s[i]))...))...)
	}
	return b
}

// storing puts a byte that some instructions give into the block of a local.
func storing(local byte, at int, value []byte) []byte {
	return slices.Concat([]byte{0x20, local, 0x42}, sleb(int64(at)), []byte{0x7c}, value, []byte{0x10, callStore})
}

// ordering posts a body in which one byte of the input stands.
func ordering(inputByte int) []byte {
	return slices.Concat(block(orderRequest, 1), block("x", 2), storing(2, 0, slices.Concat([]byte{0x42}, sleb(int64(inputByte)), []byte{0x10, callInputLoad})),
		[]byte{0x20, 1, 0x20, 2, 0x10, callHTTP, 0x1a})
}

// inInput gives where a text stands in the invocation of the example.
func inInput(text string) int {
	input, err := json.Marshal(abi.Invocation{ABI: abi.Version, Tool: "price_of", Args: json.RawMessage(`{"sku":"1001"}`),
		Call: abi.CallInfo{ID: "call_trial", Key: trialKey, Attempt: 1, Now: trialNow, Tenant: "trial", Locale: "zh-CN"}})
	if err != nil {
		panic(err)
	}
	return bytes.Index(input, []byte(text))
}

// counting writes one key the first time, and another where it finds that one.
func counting() []byte {
	found := slices.Concat(block("n", 1), []byte{0x20, 1, 0x10, callGet, 0x50, 0x45, 0x04, 0x40}, storing(1, 0, append([]byte{0x41}, sleb('m')...)), []byte{0x0b})
	return slices.Concat(found, block("1", 2), []byte{0x20, 1, 0x20, 2, 0x10, callPut, 0x1a})
}

// putting writes one key, whatever it finds.
func putting() []byte {
	return slices.Concat(block("n", 1), block("1", 2), []byte{0x20, 1, 0x20, 2, 0x10, callPut, 0x1a})
}

// inManifest changes several places of the good manifest.
func inManifest(pairs ...string) string {
	text := replaced(pairs[0], pairs[1])
	return string(bytes.Replace([]byte(text), []byte(pairs[2]), []byte(pairs[3]), 1))
}

func TestAWriteThatRunsAgainIsHeldToItsFirstEffect(t *testing.T) {
	for name, c := range map[string]struct {
		code []byte
		want []string
	}{
		"the same order again":          {ordering(inInput("1001")), nil},
		"an order with its attempt":     {ordering(inInput(`"attempt":1`) + len(`"attempt":`)), []string{"one-effect failure"}},
		"an order with its minute":      {ordering(inInput("12:00:00") + len("12:")), []string{"one-effect failure"}},
		"the same key again":            {putting(), nil},
		"another key, where one is":     {counting(), []string{"one-effect warning"}},
		"the same order twice each run": {slices.Concat(ordering(inInput("1001")), ordering(inInput("1001"))), nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, all := judged(t, config(t), Subject{Name: name, Module: doing(c.code...)})
			if !slices.Equal(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
			for _, m := range all {
				if m.Finding != nil {
					t.Logf("%s: %s", m.Rule, m.Finding.Message)
				}
			}
		})
	}
}

func TestARequestTooManyIsAnother(t *testing.T) {
	post := deed{what: "POST https://shop.example.com/orders", how: "{}", away: true}
	kept := deed{what: `the kv key "n"`, how: "1"}
	for name, c := range map[string]struct {
		before, after []deed
		another, anew bool
	}{
		"nothing":             {nil, nil, false, false},
		"the same":            {[]deed{post, kept}, []deed{post, kept}, false, false},
		"less":                {[]deed{post, kept}, nil, false, false},
		"one more":            {[]deed{post}, []deed{post, post}, true, false},
		"another order":       {[]deed{kept, post}, []deed{post, kept}, false, false},
		"another body":        {[]deed{post}, []deed{{post.what, "{ }", true}}, true, false},
		"another value":       {[]deed{kept}, []deed{{kept.what, "2", false}}, false, true},
		"and then the same":   {[]deed{kept}, []deed{{kept.what, "2", false}, kept}, false, false},
		"something else kept": {[]deed{kept}, []deed{{"the file \"a\"", "2", false}}, false, true},
	} {
		_, another := another(c.before, c.after)
		_, anew := anew(c.before, c.after)
		if another != c.another || anew != c.anew {
			t.Errorf("%s: %v and %v, want %v and %v", name, another, anew, c.another, c.anew)
		}
	}
}
