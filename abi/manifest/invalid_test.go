package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// edited gives testdata/manifests/pricing.yaml with old replaced by new, pairwise.
func edited(tb testing.TB, pairs ...string) []byte {
	tb.Helper()
	raw, err := os.ReadFile("../testdata/manifests/pricing.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	text := string(raw)
	for i := 0; i+1 < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			tb.Fatalf("testdata/manifests/pricing.yaml does not hold %q", pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return []byte(text)
}

func TestYAMLThatCannotBeReadIsRefusedWithItsLine(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	laughs := "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
	for c := 'b'; c < 'j'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	for _, tt := range []struct{ name, yaml, want string }{
		{"empty", "", "skill.yaml:1: the file is empty"},
		{"only a comment", "# nothing\n", "skill.yaml:1: the file is empty"},
		{"text", "hello", "skill.yaml:1: must be an object"},
		{"a tab", "name: x\nlimits:\n\tfuel: 1\n", "skill.yaml:3: not YAML: found character that cannot start any token (this line begins with a tab; YAML indents with spaces)"},
		{"an open bracket", "name: [x\nversion: 1\n", "not YAML"},
		{"UTF-16", "\xff\xfen\x00", "skill.yaml:1: the file is UTF-16 (save it as UTF-8)"},
		{"bytes that are not UTF-8", "name: \xff\xfe\n", "not YAML"},
		{"two documents", "sluice: 1\n---\nsluice: 1\n", "the file holds a second document"},
		{"the same key twice", "sluice: 1\nname: a\nname: b\n", `skill.yaml:3: "name" stands here and on line 2`},
		{"the same key twice in JSON", `{"name":"a","name":"b"}`, `"name" stands here and on line 1`},
		{"a billion laughs", laughs, "more than 50000 values"},
		{"an anchor in itself", "a: &a {b: *a}\n", `the anchor "a" contains itself`},
		{"an anchor in its own list", "a: &a\n  - 1\n  - *a\n", `skill.yaml:3: the anchor "a" contains itself`},
		{"a merge key", "a: &a {b: 1}\nc: {<<: *a}\n", "skill.yaml:2: merge keys (<<) are not used here (write the fields out)"},
		{"deep nesting", "a: " + deep, "nested deeper than 128"},
		{"very deep nesting", "a: " + strings.Repeat("[", 500_000), "exceeded max depth"},
		{"a tag of one's own", "a: !secret x\n", "skill.yaml:1: the tag !secret is not used here"},
		{"a binary", "a: !!binary aGk=\n", "the tag !!binary is not used here"},
		{"a set", "a: !!set {x}\n", "the tag !!set is not used here"},
		{"a key that is a list", "? [a]\n: 1\n", "a key must be plain text"},
		{"a key that is null", "~: 1\n", "a key must be plain text"},
		{"not a number", "a: .nan\n", `".nan": JSON has no such number (put it in quotes if it is text)`},
		{"infinity", "a: -.inf\n", "JSON has no such number"},
		{"a leading zero", "a: 0123\n", `"0123": JSON has no such number (put it in quotes if it is text)`},
		{"too large a number", "a: 1e999\n", "number"},
		{"a number of a million digits", "a: " + strings.Repeat("9", 900_000), "number is outside"},
		{"over a mebibyte", "a: " + strings.Repeat("x", MaxFileBytes), "skill.yaml: is larger than 1048576 bytes (put schemas into files of their own)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			_, err := Parse("skill.yaml", []byte(tt.yaml), nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestYAMLInItsManyFormsMeansTheSame(t *testing.T) {
	plain := edited(t)
	want, err := Parse("skill.yaml", plain, nil)
	if err != nil {
		t.Fatal(err)
	}
	json, err := encode(want.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"with a byte order mark": append([]byte("\xef\xbb\xbf"), plain...),
		"with CRLF":              bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n")),
		"with document markers":  append(append([]byte("---\n"), plain...), "...\n"...),
		"as JSON":                json,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse("skill.yaml", text, nil)
			if err != nil {
				t.Fatal(err)
			}
			again, err := encode(got.Manifest)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, json) {
				t.Errorf("got  %s\nwant %s", again, json)
			}
		})
	}
}

func TestNumbersOfYAMLBecomeNumbersOfJSON(t *testing.T) {
	for _, tt := range []struct{ yaml, want string }{
		{"50_000_000", "50000000"}, {"0x1F", "31"}, {"0o17", "15"}, {"0b101", "5"}, {"-0x10", "-16"}, {"+7", "7"},
		{"1.50", "1.50"}, {".5", "0.5"}, {"-.5", "-0.5"}, {"5.", "5"}, {"5.e3", "5e3"}, {"1e3", "1e3"}, {"1E+3", "1E+3"}, {"0", "0"}, {"-0", "-0"},
		{"12345678901234567890123", "12345678901234567890123"}, {"1_0.2_5", "10.25"},
	} {
		n, found := readYAML([]byte("a: " + tt.yaml))
		if found != nil {
			t.Errorf("%s: %v", tt.yaml, found)
			continue
		}
		if got := string(n.get("a").appendJSON(nil)); got != tt.want {
			t.Errorf("%s became %s, want %s", tt.yaml, got, tt.want)
		}
	}
	for _, text := range []string{"2024-01-01", "1.4.0", "1:30", "yes", "0x", "'12'", "\"1e999\"", "1e", "_1"} {
		n, found := readYAML([]byte("a: " + text))
		if found != nil || n.get("a").kind != 3 {
			t.Errorf("%s is not text: %v", text, found)
		}
	}
}

func TestEveryMistakeIsNamedWithFileLineAndField(t *testing.T) {
	for _, tt := range []struct {
		name     string
		old, new string
		want     string // a line of the error
	}{
		{"an unknown field", "summary: Quotes", "sumary: x\nsummary: Quotes", `pricing.yaml:4: sumary: is not a field here (did you mean summary?)`},
		{"an unknown field of a tool", "    effect: write\n    risk", "    efect: write\n    risk", `pricing.yaml:31: tools[0].efect: is not a field here (did you mean effect?)`},
		{"a missing field", "version: 1.4.0\n", "", `pricing.yaml:1: version: is required: a string, at most 64 characters (a semantic version in quotes or with three parts, such as 1.4.0)`},
		{"an effect that is none", "effect: write", "effect: wirte", `pricing.yaml:31: tools[0].effect: must be one of read, write (got "wirte") (did you mean write?)`},
		{"a version that is a number", "version: 1.4.0", "version: 1.4", `pricing.yaml:3: version: must be a string, at most 64 characters (got 1.4)`},
		{"a version of two parts", "version: 1.4.0", `version: "1.4"`, `pricing.yaml:3: version: "1.4" is not a semantic version (write three numbers`},
		{"a version with v", "version: 1.4.0", `version: v1.4.0`, `"v1.4.0" is not a semantic version`},
		{"a name with capitals", "name: shop.pricing", "name: Shop.Pricing", `pricing.yaml:2: name: must be`},
		{"a name that git refuses", "name: shop.pricing", "name: shop.lock", `pricing.yaml:2: name: a name cannot end with .lock`},
		{"another manifest version", "sluice: 1", "sluice: 2", `pricing.yaml:1: sluice: must be 1 (got 2)`},
		{"another contract", "abi: 1", "abi: 2", `pricing.yaml:9: abi: must be 1 (got 2) (the version of the contract`},
		{"fuel above the ceiling", "50_000_000", "50_000_000_000", `pricing.yaml:11: limits.fuel: 50000000000 is more than 5000000000 (the host's ceiling wins`},
		{"fuel of all there is", "50_000_000", "18446744073709551615", `pricing.yaml:11: limits.fuel: must be an integer, at least 1, at most 1000000000000000`},
		{"no fuel at all", "50_000_000", "0", `pricing.yaml:11: limits.fuel: must be an integer, at least 1`},
		{"negative fuel", "50_000_000", "-1", `pricing.yaml:11: limits.fuel: must be an integer, at least 1`},
		{"memory above the ceiling", "memory: 32MiB", "memory: 1GiB", `limits.memory: 1GiB is more than 512MiB`},
		{"memory in another unit", "memory: 32MiB", "memory: 32MB", `limits.memory: must be a string, matching ^[0-9]{1,9} ?(KiB|MiB|GiB)?$ (got "32MB") (a number of bytes, or one with KiB, MiB or GiB, such as 32MiB)`},
		{"memory below a page", "memory: 32MiB", "memory: 1000", `limits.memory: memory comes in pages of 64KiB, and 1000 is not a whole number of them (write 64KiB)`},
		{"memory of zero", "memory: 32MiB", "memory: 0KiB", `limits.memory: a limit of zero allows nothing (leave it out for the default)`},
		{"a deadline without unit", "deadline: 2s", "deadline: 2", `limits.deadline: must be a string`},
		{"a deadline above the ceiling", "deadline: 2s", "deadline: 2m", `limits.deadline: 2m0s is more than 1m0s`},
		{"a deadline of zero", "deadline: 2s", "deadline: 0s", `limits.deadline: a limit of zero allows nothing`},
		{"a tool's name in capitals", "name: set_price", "name: setPrice", `tools[0].name: must be a string, at most 64 characters, matching ^[a-z][a-z0-9_]*$ (got "setPrice") (lower-case words joined by underscores`},
		{"two tools of one name", "name: restore_price", "name: set_price", `pricing.yaml:62: tools[1].name: set_price is the name of tools[0] too`},
		{"undo of nothing", "undo: restore_price", "undo: restore_prices", `tools[0].undo: the skill has no tool restore_prices (did you mean restore_price?)`},
		{"undo by a read", "undo: restore_price", "undo: quote", `tools[0].undo: quote is a read and undoes nothing`},
		{"undo by itself", "undo: restore_price", "undo: set_price", `tools[0].undo: a tool cannot undo itself`},
		{"a write that is auto", "risk: soft-gate", "risk: auto", `tools[0].risk: a write is never auto`},
		{"a read with breadth", "effect: read\n", "effect: read\n    breadth: one\n", `tools[2].breadth: says something about a write, and quote is a read`},
		{"a read with targets", "effect: read\n", "effect: read\n    targets: '[args.sku]'\n", `tools[2].targets: says something about a write`},
		{"a read that is undone", "effect: read\n", "effect: read\n    undo: set_price\n", `tools[2].undo: says something about a write`},
		{"a read that is idempotent", "effect: read\n", "effect: read\n    idempotent: true\n", `tools[2].idempotent: says something about a write`},
		{"no examples", "    examples:\n      - {say: \"undo\", args: {sku: \"1001\", price: 100, currency: CNY}}\n", "", `tools[1].examples: is required: an array`},
		{"an empty list of examples", "    examples:\n      - {say: \"undo\", args: {sku: \"1001\", price: 100, currency: CNY}}\n", "    examples: []\n", `tools[1].examples: must be an array`},
		{"a fact of nothing", "{tool: quote,", "{tool: qoute,", `tools[0].facts.price.tool: the skill has no tool qoute (did you mean quote?)`},
		{"a fact from a write", "{tool: quote,", "{tool: restore_price,", `tools[0].facts.price.tool: restore_price is a write; a fact comes from a read`},
		{"a fact from a tool with facts", "effect: read\n", "effect: read\n    facts: {x: {tool: quote, args: {sku: args.sku}}}\n", `tools[0].facts.price.tool: quote needs facts itself`},
		{"a fact at nothing", "at: price", "at: prise", `tools[0].facts.price.at: quote gives no such thing: there is no field "prise"; there are price, sku`},
		{"a fact's argument that is none", "args: {sku: args.sku}", "args: {sku: args.sku, size: '1'}", `tools[0].facts.price.args.size: quote has no argument size`},
		{"a fact's argument of another type", "args: {sku: args.sku}", "args: {sku: args.price}", `tools[0].facts.price.args.sku: gives double, but quote takes string for sku`},
		{"a fact without its argument", "args: {sku: args.sku}", "args: {}", `tools[0].facts.price: quote needs the argument sku`},
		{"a fact that asks for a fact", "args: {sku: args.sku}", "args: {sku: facts.price}", `undeclared reference to 'facts' (the arguments of a fact cannot ask for facts)`},
		{"a tier that is none", "tier: hard-gate", "tier: hardgate", `tools[0].rules[0].tier: must be one of soft-gate, hard-gate, block (got "hardgate") (did you mean hard-gate?)`},
		{"a rule that lowers", "risk: soft-gate", "risk: block", `tools[0].rules[0].tier: a rule only raises: the tool's risk is block already`},
		{"a typo in a rule", "args.price < facts", "args.prise < facts", `pricing.yaml:42: tools[0].rules[0].when: column 5: undefined field 'prise' (did you mean price?)`},
		{"a typo in a variable", "args.price < facts", "arg.price < facts", `column 1: undeclared reference to 'arg' (did you mean args?)`},
		{"a typo in a fact", "facts.price * 0.7", "facts.prices * 0.7", `column 19: undefined field 'prices' (did you mean price?)`},
		{"text against a number", "args.price < facts.price * 0.7", "args.sku > 3", `tools[0].rules[0].when: column 10: > does not take string and int`},
		{"a rule that gives no bool", "args.price < facts.price * 0.7", "args.price", `tools[0].rules[0].when: gives double, but must give bool`},
		{"a rule that is no CEL", "args.price < facts.price * 0.7", "args.price < ", `tools[0].rules[0].when: column 13: mismatched input`},
		{"a rule that is too long", "args.price < facts.price * 0.7", "args.price < 1 || " + strings.Repeat("args.price < 1 || ", 200) + "true", `tools[0].rules[0].when: must be a string, at least 1 characters, at most 2000 characters`},
		{"a rule that is too deep", "args.price < facts.price * 0.7", strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300), `tools[0].rules[0].when: `},
		{"loops in loops in loops", "args.price < facts.price * 0.7", "'[1].all(a, [1].all(b, [1].all(c, true)))'", `comprehension exceeds nesting limit`},
		{"targets that are no list", `targets: "[args.sku]"`, `targets: args.sku`, `tools[0].targets: gives string, but must give list(string)`},
		{"targets of numbers", `targets: "[args.sku]"`, `targets: "[args.price]"`, `tools[0].targets: gives list(double), but must give list(string)`},
		{"state that is not granted", "args.sku in state.live.products", "args.sku in state.shop.products", `tools[0].scope: state.shop.products is read here and not granted (add it to capabilities.state.reads)`},
		{"the last call of nothing", "last('set_price', args.sku) != null", "last('set_prise', args.sku) != null", `last asks for the tool set_prise, which the skill does not have (did you mean set_price?)`},
		{"a say with a typo", "{{args.sku}} would", "{{args.skew}} would", `tools[0].rules[0].say: {{args.skew}}: column 5: undefined field 'skew'`},
		{"a say that is not closed", "{{args.sku}} would", "{{args.sku would", `tools[0].rules[0].say: `},
		{"an example that lacks an argument", "args: {sku: \"1001\", price: 89, currency: CNY}", "args: {sku: \"1001\", price: 89}", `pricing.yaml:58: tools[0].examples[0].args.currency: the example breaks its schema: is required: one of CNY, USD`},
		{"an example whose result is wrong", "returns: {sku: \"1001\", price: 89}", "returns: {sku: \"1001\", price: free}", `pricing.yaml:61: tools[0].examples[0].returns.price: the example breaks its schema: must be a number (got "free")`},
		{"an example of both ends", "returns: {sku: \"1001\", price: 89}", "returns: {sku: \"1001\", price: 89}\n        problem: 3001", `tools[0].examples[0].problem: an example returns something or is refused, not both`},
		{"an example with a code that is none", "returns: {sku: \"1001\", price: 89}", "problem: 3099", `tools[0].examples[0].problem: 3099 is not a code`},
		{"kv in an example without kv", "  kv: {namespace: prices}\n", "", `tools[0].examples[0].kv: the skill has no namespace for these (add capabilities.kv)`},
		{"an input that is no object", "    input: {type: object, properties: {sku: {type: string}}, required: [sku], additionalProperties: false}", "    input: {type: string}", `tools[2].input: the input is not the schema of an object (write type: object`},
		{"an input that is no schema", "{type: string, pattern:", "{type: strin, pattern:", `tools[0].input.properties.sku.type: is not JSON Schema`},
		{"a misspelt keyword", "required: [sku, price, currency]", "requried: [sku, price, currency]", `pricing.yaml:53: tools[0].input.requried: is not a keyword of JSON Schema 2020-12 that is taken here (did you mean required?)`},
		{"a pattern that Go lacks", `"^[0-9]+$"`, `"^(?=x)"`, `tools[0].input.properties.sku.pattern: the pattern does not compile as RE2`},
		{"a pattern without end", `"^[0-9]+$"`, `"` + strings.Repeat("a", 600) + `"`, `the pattern is longer than 512 bytes`},
		{"a format that is none", "{type: number, minimum: 0.01}", "{type: number, format: money}", `tools[0].input.properties.price.format: the format "money" is not known`},
		{"a namespace with a slash", "namespace: prices", "namespace: a/b", `capabilities.kv.namespace: must be`},
		{"a host with a path", "host: shop.example.com", "host: shop.example.com/api", `pricing.yaml:18: capabilities.http[0].host: "shop.example.com/api" is more than a host`},
		{"a path that climbs", "/api/prices/*", "/api/../admin", `capabilities.http[0].paths[0]: the path "/api/../admin" leads upwards or nowhere`},
		{"a method in small letters", "methods: [GET, POST]", "methods: [get]", `capabilities.http[0].methods[0]: must be one of GET`},
		{"a header of the connection", "header: Authorization", "header: Host", `capabilities.http[0].auth.header: the header Host belongs to the connection`},
		{"a prefix with a line break", `prefix: "Bearer "`, `prefix: "x\r\nHost: y"`, `capabilities.http[0].auth.prefix: must be`},
		{"a state key with a space", "reads: [live.*]", "reads: [live stream]", `capabilities.state.reads[0]: must be`},
		{"all of state", "reads: [live.*]", `reads: ["*"]`, `capabilities.state.reads[0]: must be`},
		{"access that is none", "files: read", "files: rw", `capabilities.files: must be one of read, write (got "rw")`},
		{"a module elsewhere", "module: skill.wasm", "module: ../skill.wasm", `module: "../skill.wasm" is not a file beside skill.yaml`},
		{"a module by its whole path", "module: skill.wasm", "module: /skill.wasm", `module: "/skill.wasm" is not a file beside skill.yaml`},
		{"a summary of two lines", "summary: Quotes and changes product prices in a live session.", `summary: "a\nb"`, `summary: must be`},
		{"no tools", "tools:\n", "tools: []\nx-tools:\n", `tools: must be an array, each an object`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("pricing.yaml", edited(t, tt.old, tt.new), nil)
			var found Errors
			if !errors.As(err, &found) {
				t.Fatalf("got %v, want findings", err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got\n%v\nwant a line with\n%s", err, tt.want)
			}
			for _, issue := range found {
				if issue.File != "pricing.yaml" || issue.Line == 0 || issue.Message == "" {
					t.Errorf("a finding without its place: %+v", issue)
				}
			}
		})
	}
}

func TestAllFindingsComeAtOnceInTheOrderOfTheFile(t *testing.T) {
	_, err := Parse("pricing.yaml", edited(t,
		"version: 1.4.0", "version: x",
		"args.price < facts.price * 0.7", "args.prise < 1",
		"undo: restore_price", "undo: nothing",
		"effect: read\n", "efect: read\n"), nil)
	var found Errors
	if !errors.As(err, &found) || len(found) < 5 {
		t.Fatalf("got %v", err)
	}
	for i := 1; i < len(found); i++ {
		if found[i].Line < found[i-1].Line {
			t.Errorf("line %d comes after line %d", found[i].Line, found[i-1].Line)
		}
	}
}

func TestFindingsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("sluice: 1\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "f%d: 1\n", i)
	}
	for name, text := range map[string]string{
		"unknown fields": b.String(),
		"tags":           strings.Repeat("- !x y\n", 1000),
	} {
		_, err := Parse("skill.yaml", []byte(text), nil)
		var found Errors
		if !errors.As(err, &found) || len(found) > maxIssues {
			t.Errorf("%s: got %d findings", name, len(found))
		}
	}
}

func TestErrorsBecomeOneProblem(t *testing.T) {
	_, err := Parse("skill.yaml", edited(t, "version: 1.4.0", "version: x", "undo: restore_price", "undo: nothing"), nil)
	var p *abi.Problem
	if !errors.As(err, &p) {
		t.Fatalf("no problem in %v", err)
	}
	if p.Code != abi.InvalidManifest || p.Field != "version" || !strings.Contains(p.Message, "skill.yaml:3") || !strings.Contains(p.Message, "and 1 more") {
		t.Errorf("got %+v", p)
	}
	if q := (Errors)(nil).Problem(); q.Code != abi.InvalidManifest {
		t.Errorf("no findings give %+v", q)
	}
}

func TestTheGuideIsReadWithoutItsFrontMatter(t *testing.T) {
	withGuide := edited(t, "module: skill.wasm", "module: skill.wasm\nguide: SKILL.md")
	for guide, want := range map[string]string{
		"# How\n":                             "# How\n",
		"---\nname: shop\n---\n# How\n":       "# How\n",
		"---\r\nname: shop\r\n---\r\n# How":   "# How",
		"\ufeff---\nname: shop\n---\n# How\n": "# How\n",
		"---\n---\n# How\n":                   "# How\n",
		"---\nnever closed":                   "---\nnever closed",
		"# How\n---\nand more":                "# How\n---\nand more",
	} {
		skill, err := Parse("skill.yaml", withGuide, fstest.MapFS{"SKILL.md": {Data: []byte(guide)}})
		if err != nil {
			t.Fatal(err)
		}
		if skill.GuideText != want {
			t.Errorf("of %q a model reads %q", guide, skill.GuideText)
		}
	}
}

func TestTheGuideMustBeThere(t *testing.T) {
	withGuide := edited(t, "module: skill.wasm", "module: skill.wasm\nguide: SKILL.md")
	for _, tt := range []struct {
		name string
		fsys fstest.MapFS
		want string
	}{
		{"there", fstest.MapFS{"SKILL.md": {Data: []byte("# How")}}, ""},
		{"missing", fstest.MapFS{}, "guide: SKILL.md does not exist"},
		{"a folder", fstest.MapFS{"SKILL.md/x": {Data: []byte("x")}}, "guide: SKILL.md is not a plain file"},
		{"too long", fstest.MapFS{"SKILL.md": {Data: make([]byte, maxGuideBytes+1)}}, "too long for a model"},
		{"no text", fstest.MapFS{"SKILL.md": {Data: []byte("\xff\xfe#")}}, "SKILL.md is not UTF-8 text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("skill.yaml", withGuide, tt.fsys)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAReducerNeedsStateToChange(t *testing.T) {
	for _, access := range []*abi.StateAccess{nil, {Reads: []string{"live.*"}}} {
		m := full()
		m.Capabilities.State = access
		if _, err := Compile(m); err == nil || !strings.Contains(err.Error(), "reducer: there is no state that the reducer may change") {
			t.Errorf("with %+v it is %v", access, err)
		}
	}
}
