package precheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/registry"
)

func compiled(t *testing.T, text string) *manifest.Skill {
	t.Helper()
	var m abi.Manifest
	must(t, json.Unmarshal([]byte(text), &m))
	m.Module = moduleFile
	skill, err := manifest.Compile(m)
	must(t, err)
	return skill
}

func TestAReleaseIsHeldAgainstTheLastOne(t *testing.T) {
	const sku = `"properties":{"sku":{"type":"string","description":"the product's number"}},"required":["sku"],"additionalProperties":false}`
	next := func(version, old, new string) string {
		text := strings.Replace(goodManifest, `"version":"1.0.0"`, `"version":"`+version+`"`, 1)
		if !strings.Contains(text, old) {
			t.Fatalf("no %s", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	output := func(schema string) string { return `"effect":"read","output":` + schema }
	object := func(properties, required string) string {
		return `{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`
	}
	for name, c := range map[string]struct {
		last string // its manifest, if it is another
		now  string
		want []string
	}{
		"a patch":                {"", next("1.0.1", "x", "x"), nil},
		"the same version":       {"", goodManifest, []string{"version-order failure"}},
		"an older one":           {"", next("0.9.0", "x", "x"), []string{"version-order failure"}},
		"an optional argument":   {"", next("1.1.0", sku, `"properties":{"sku":{"type":"string","description":"x"},"n":{"type":"integer","description":"y"}},"required":["sku"],"additionalProperties":false}`), nil},
		"a demanded argument":    {"", next("1.1.0", sku, `"properties":{"sku":{"type":"string","description":"x"},"n":{"type":"integer","description":"y"}},"required":["sku","n"],"additionalProperties":false}`), []string{"breaking failure", "examples failure"}},
		"an argument is gone":    {"", next("1.1.0", sku, `"properties":{"sku2":{"type":"string","description":"x"}},"additionalProperties":true}`), nil},
		"a shorter argument":     {"", next("1.1.0", `{"type":"string",`, `{"type":"string","maxLength":8,`), []string{"breaking failure"}},
		"a pattern":              {"", next("1.1.0", `{"type":"string",`, `{"type":"string","pattern":"^[0-9]+$",`), []string{"breaking failure"}},
		"a wider type":           {"", next("1.1.0", `{"type":"string",`, `{"type":["string","integer"],`), nil},
		"an enum":                {"", next("1.1.0", `{"type":"string",`, `{"type":"string","enum":["1001","1002"],`), []string{"breaking failure"}},
		"an enum in a new major": {"", next("2.0.0", `{"type":"string",`, `{"type":"string","enum":["1001","1002"],`), nil},
		"a tool is gone":         {"", next("1.1.0", `"name":"price_of"`, `"name":"cost_of"`), []string{"breaking failure"}},
		"a read becomes a write": {"", next("1.1.0", `"effect":"read"`, `"effect":"write","targets":"[args.sku]","idempotent":true`), []string{"breaking failure"}},
		"a tier is lowered": {next("1.0.0", `"effect":"read"`, `"effect":"write","risk":"hard-gate","targets":"[args.sku]","idempotent":true`),
			next("1.1.0", `"effect":"read"`, `"effect":"write","targets":"[args.sku]","idempotent":true`), []string{"breaking failure"}},
		"a tier is raised": {next("1.0.0", `"effect":"read"`, `"effect":"write","targets":"[args.sku]","idempotent":true`),
			next("1.1.0", `"effect":"read"`, `"effect":"write","risk":"hard-gate","targets":"[args.sku]","idempotent":true`), nil},
		"a result is narrower": {next("1.0.0", `"effect":"read"`, output(`{"type":["integer","string"]}`)), next("1.1.0", `"effect":"read"`, output(`{"type":"integer"}`)), nil},
		"a result is wider":    {next("1.0.0", `"effect":"read"`, output(`{"type":"integer"}`)), next("1.1.0", `"effect":"read"`, output(`{"type":["integer","string"]}`)), []string{"breaking failure"}},
		"a result may lack a member": {next("1.0.0", `"effect":"read"`, output(`{"anyOf":[{"type":"integer"},`+object(`"a":{"type":"string"}`, `"a"`)+`]}`)),
			next("1.1.0", `"effect":"read"`, output(`{"type":"integer"}`)), nil},
		"a new capability": {"", next("1.1.0", `"abi":1`, `"abi":1,"capabilities":{"http":[{"host":"api.example.com","methods":["POST","GET"],"paths":["/prices/*"]}]}`),
			[]string{"unused-capability warning", "more-capabilities warning"}},
		"fewer capabilities": {next("1.0.0", `"abi":1`, `"abi":1,"capabilities":{"clock":true}`), next("1.1.0", "x", "x"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			last := c.last
			if last == "" {
				last = goodManifest
			}
			cfg := config(t)
			cfg.Last = func(context.Context, string) (*Previous, error) {
				return &Previous{compiled(t, last), goodWith(last).bytes()}, nil
			}
			found, all := judged(t, cfg, Subject{Name: name, Module: goodWith(c.now).bytes()})
			slices.Sort(found)
			want := slices.Sorted(slices.Values(c.want))
			if slices.Contains(want, "examples failure") { // its example lacks what is demanded: the manifest is not valid then
				want = []string{"manifest failure"}
			}
			if !slices.Equal(slices.Compact(found), want) {
				t.Errorf("found %q, want %q", found, want)
			}
			for _, m := range all {
				if m.Finding != nil {
					t.Logf("%s: %s", m.Rule, m.Finding.Message)
				}
			}
		})
	}
}

func TestWhatSchemasTakeOfEachOther(t *testing.T) {
	for _, c := range []struct{ giver, taker, want string }{
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, "x.a is demanded and may be absent"},
		{`{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{},"additionalProperties":false}`, "x.a is on one side only; x takes no other members any more"},
		{`{"type":"array","items":{"type":"number"}}`, `{"type":"array","items":{"type":"integer"}}`, "x[] may be number on one side only"},
		{`{"type":"integer"}`, `{"type":"number"}`, ""},
		{`{}`, `{"type":"number"}`, "x may be anything on one side only"},
		{`{"type":"number","minimum":1}`, `{"type":"number","minimum":2}`, "x has a tighter minimum: 2"},
		{`{"type":"number","maximum":1}`, `{"type":"number","maximum":2}`, ""},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `{"$ref":"#/$defs/b","$defs":{"b":{"type":"string","minLength":1}}}`, "x has a tighter minLength: 1"},
		{`{"$ref":"#"}`, `{"$ref":"#"}`, ""},
		{`{"const":1}`, `{"const":1}`, ""}, {`{"const":1}`, `{"const":2}`, "x has another const"},
	} {
		got := strings.Join(refuses("x", schemaOf(json.RawMessage(c.giver)), schemaOf(json.RawMessage(c.taker)), mostCompared), "; ")
		if got != c.want {
			t.Errorf("%s of %s refuses %q, want %q", c.taker, c.giver, got, c.want)
		}
	}
}

func TestALargerModuleAndMoreFuelAreTold(t *testing.T) {
	cfg := config(t)
	cfg.Last = func(context.Context, string) (*Previous, error) {
		return &Previous{compiled(t, goodManifest), good().bytes()}, nil
	}
	m := goodWith(strings.Replace(goodManifest, "1.0.0", "1.0.1", 1))
	m.data = strings.Repeat("x", 30000)
	m.funcs[2].body = slices.Concat(slices.Repeat([]byte{0x41, 1, 0x1a}, 2000), m.funcs[2].body)
	found, _ := judged(t, cfg, Subject{Name: "m", Module: m.bytes()})
	if want := []string{"growth-since warning", "growth-since warning"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

func TestALastReleaseThatCannotBeHadIsAFinding(t *testing.T) {
	cfg := config(t)
	cfg.Last = func(context.Context, string) (*Previous, error) { return nil, errors.New("the registry is away") }
	if found, _ := judged(t, cfg, Subject{Name: "m", Module: good().bytes()}); !slices.Equal(found, []string{"version-order failure"}) {
		t.Errorf("found %q", found)
	}
	cfg.Last = func(context.Context, string) (*Previous, error) { return nil, nil }
	if found, _ := judged(t, cfg, Subject{Name: "m", Module: good().bytes()}); found != nil {
		t.Errorf("of a first release found %q", found)
	}
}

// The command compares with the releases of a registry, of which one has a tool
// of the same name.
func TestTheCommandComparesWithARegistry(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "registry.git")
	publish := func(text string) string {
		dir := t.TempDir()
		var m abi.Manifest
		must(t, json.Unmarshal([]byte(text), &m))
		m.Module = moduleFile
		yaml, err := manifest.Marshal(m)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, manifestFile), yaml, 0o600))
		must(t, os.WriteFile(filepath.Join(dir, moduleFile), goodWith(text).bytes(), 0o600))
		return dir
	}
	for _, text := range []string{goodManifest, strings.Replace(goodManifest, "test.shop", "other.shop", 1)} {
		_, err := registry.Publish(t.Context(), repo, publish(text), registry.PublishOptions{Create: true})
		must(t, err)
	}
	next := publish(strings.NewReplacer(`"1.0.0"`, `"1.1.0"`, `"type":"string"`, `"type":"string","maxLength":4`).Replace(goodManifest))
	var out, errs bytes.Buffer
	code := Run(t.Context(), []string{next, "--against", repo, "--cache", sandboxtest.CacheDir(t)}, &out, &errs)
	if code != HasFindings {
		t.Errorf("exits with %d: %s", code, &errs)
	}
	for _, want := range []string{"against  test.shop@1.0.0", "failure  breaking: price_of: input.sku has a tighter maxLength: 4", "failure  distinct: other.shop has a tool price_of, too"} {
		contains(t, out.Bytes(), want)
	}
	if code := Run(t.Context(), []string{next, "--against", filepath.Join(t.TempDir(), "none.git"), "--cache", sandboxtest.CacheDir(t)}, &out, &errs); code != CouldNotRun {
		t.Errorf("without the registry it exits with %d", code)
	}
}
