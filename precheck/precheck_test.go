package precheck

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// A small manifest in which nothing is to be found.
const goodManifest = `{"sluice":1,"name":"test.shop","version":"1.0.0","summary":"Looks up a price.","positioning":"For prices. Never for stock.","abi":1,` +
	`"tools":[{"name":"price_of","summary":"Give the price of a product.","effect":"read",` +
	`"input":{"type":"object","properties":{"sku":{"type":"string","description":"the product's number"}},"required":["sku"],"additionalProperties":false},` +
	`"examples":[{"say":"what is 1001?","args":{"sku":"1001"}}]}]}`

func good() mod { return goodWith(goodManifest) }

func goodWith(manifest string) mod {
	return mod{imports: slices.Clone(answering), funcs: []fn{
		{name: abi.ExportABI, typ: ">i", body: returning(abi.Version)},
		{name: abi.ExportDescribe, typ: ">i", locals: 1, long: true, body: saying(manifest)},
		{name: abi.ExportInvoke, typ: ">i", locals: 1, long: true, body: saying(`{"ok":true,"data":1}`)},
	}}
}

func changed(change func(*mod)) []byte {
	m := good()
	change(&m)
	return m.bytes()
}

func remade(old, new string) []byte { return goodWith(replaced(old, new)).bytes() }

func replaced(old, new string) string {
	if !strings.Contains(goodManifest, old) {
		panic("no " + old)
	}
	return strings.Replace(goodManifest, old, new, 1)
}

func day(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}

func config(t *testing.T) Config {
	return Config{Sandbox: sandboxtest.Shared(t), PeerCache: filepath.Join(sandboxtest.CacheDir(t), "peer"), Now: func() time.Time { return day("2027-01-15") }}
}

// judged gives what was found, as "rule severity", and all messages.
func judged(t *testing.T, c Config, s Subject) (found []string, all []Message) {
	t.Helper()
	verdict, err := Check(t.Context(), c, s, func(m Message) { all = append(all, m) })
	if err != nil {
		t.Fatal(err)
	}
	failures := 0
	for _, m := range all {
		if m.Kind != Found {
			continue
		}
		if m.Finding.Mend == "" || m.Finding.Message == "" {
			t.Errorf("%s finds %q and says how to mend it: %q", m.Rule, m.Finding.Message, m.Finding.Mend)
		}
		if m.Finding.Fails() {
			failures++
		}
		found = append(found, m.Rule+" "+string(m.Finding.Severity))
	}
	if verdict.Failures != failures || verdict.Passes() != (failures == 0) {
		t.Errorf("the verdict is %+v with %d failures", verdict, failures)
	}
	return found, all
}

// Skills with one fault, which one rule catches, are those of brokenSkills.
func TestWhatIsRightPassesAndTwoFaultsAreTwoFindings(t *testing.T) {
	for name, c := range map[string]struct {
		module []byte
		want   []string // all of it
	}{
		"nothing":               {good().bytes(), nil},
		"a skill of this house": {sandboxtest.Build(t, "skills/shop/pricing"), nil},
		"a write":               {remade(`"effect":"read"`, `"effect":"write","targets":"[args.sku]","idempotent":true`), nil},
		"a capability that is used": {func() []byte {
			m := goodWith(replaced(`"abi":1`, `"abi":1,"capabilities":{"kv":{"namespace":"prices"}}`))
			m.imports = append(m.imports, imp{userFunctions, abi.FuncKVPut, "ll>l"})
			return m.bytes()
		}(), nil},
		"no export": {mod{imports: answering}.bytes(), []string{"exports failure", "exports failure", "exports failure"}},
		"a read that may delete": {remade(`"abi":1`, `"abi":1,"capabilities":{"http":[{"host":"shop.example.com","methods":["DELETE"],"paths":["/*"]}]}`),
			[]string{"effect failure", "unused-capability warning"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, all := judged(t, config(t), Subject{Name: name, Module: c.module})
			if !slices.Equal(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
				for _, m := range all {
					if m.Finding != nil {
						t.Logf("%s: %+v", m.Rule, *m.Finding)
					}
				}
			}
		})
	}
}

func nested(depth int) []byte {
	return slices.Concat(bytes.Repeat([]byte{0x02, 0x40}, depth), bytes.Repeat([]byte{0x0b}, depth), returning(1))
}

func TestKeysInAModuleAreFoundAndNotTold(t *testing.T) {
	for _, key := range []string{
		"AKIA" + "IOSFODNN7EXAMPLE", "ghp_" + strings.Repeat("a1B2", 9), "glpat-" + strings.Repeat("x", 20),
		"sk-" + strings.Repeat("Ab3", 16), "LTAI" + strings.Repeat("5t", 10), "AIza" + strings.Repeat("S", 35),
		"-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIE", 16), "xoxb-" + "1234567890123-abcdefghijkl",
		"mysql://root:hunter22@db.example.com/shop",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + strings.Repeat("dozjgNryP4J3jVmNHl0w", 2),
	} {
		found, all := judged(t, config(t), Subject{Name: "m", Module: changed(func(m *mod) { m.data = "token: " + key + " " })})
		if !slices.Equal(found, []string{"secrets failure"}) {
			t.Errorf("with %q found are %q", key, found)
		}
		for _, m := range all {
			if m.Finding != nil && strings.Contains(m.Finding.Message, key[:12]) {
				t.Errorf("the finding tells the key: %s", m.Finding.Message)
			}
		}
	}
	harmless := "-----BEGIN RSA PRIVATE KEY----- https://user:pass@ sk-test AKIA1234 https://{user}:{password}@host"
	if found, _ := judged(t, config(t), Subject{Name: "m", Module: changed(func(m *mod) { m.data = harmless })}); found != nil {
		t.Errorf("in harmless text found are %q", found)
	}
}

func TestAModuleIsNotJudgedByWhatItDoesNotHave(t *testing.T) {
	_, all := judged(t, config(t), Subject{Name: "m", Module: []byte("no module")})
	skipped := 0
	for _, m := range all {
		if m.Kind == Skipped {
			skipped++
		}
	}
	if want := len(Rules()) - len(bytesRules()) - len(rebuildRules()) - len(comparedRules()); skipped != want {
		t.Errorf("%d rules say that they did not run, want %d", skipped, want)
	}
}

func TestAManifestBesideTheModuleIsHeldAgainstIt(t *testing.T) {
	dir := t.TempDir()
	yaml := func(change func(*abi.Manifest)) {
		var m abi.Manifest
		must(t, json.Unmarshal([]byte(goodManifest), &m))
		m.Module = moduleFile
		change(&m)
		text, err := manifest.Marshal(m)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, manifestFile), text, 0o600))
	}
	must(t, os.WriteFile(filepath.Join(dir, moduleFile), good().bytes(), 0o600))
	for name, c := range map[string]struct {
		change func(*abi.Manifest)
		want   []string
	}{
		"the same":        {func(*abi.Manifest) {}, nil},
		"published":       {func(m *abi.Manifest) { m.Size = 12; m.SHA256 = strings.Repeat("0", 64) }, nil},
		"another summary": {func(m *abi.Manifest) { m.Summary = "Looks up a cost." }, []string{"stale failure"}},
		"a capability that the module does not tell of": {func(m *abi.Manifest) { m.Capabilities.Clock = true }, []string{"stale failure"}},
		"another tool":   {func(m *abi.Manifest) { m.Tools[0].Name = "cost_of" }, []string{"stale failure"}},
		"a bad manifest": {func(m *abi.Manifest) { m.Tools[0].Effect = "maybe" }, []string{"manifest failure"}},
	} {
		yaml(c.change)
		subject, err := Open(t.Context(), sandboxtest.Shared(t), dir)
		must(t, err)
		found, all := judged(t, config(t), subject)
		if !slices.Equal(found, c.want) {
			t.Errorf("%s: found %q, want %q", name, found, c.want)
		}
		for _, m := range all {
			if m.Rule == "manifest" && m.Kind == Found && m.Finding.Line == 0 {
				t.Errorf("%s: the finding names no line: %+v", name, m.Finding)
			}
		}
	}
}

func TestAWaiverLetsAFindingPassUntilItsDay(t *testing.T) {
	module := remade(`"effect":"read"`, `"effect":"write","idempotent":true`)
	for name, c := range map[string]struct {
		waivers []Waiver
		want    []string
		passes  bool
	}{
		"none":           {nil, []string{"targets failure"}, false},
		"in date":        {[]Waiver{{Rule: "targets", Reason: "r", Until: day("2027-01-16")}}, []string{"targets failure"}, true},
		"out of date":    {[]Waiver{{Rule: "targets", Reason: "r", Until: day("2027-01-15")}}, []string{"targets failure", "waiver warning"}, false},
		"of that tool":   {[]Waiver{{Rule: "targets", Tool: "price_of", Reason: "r", Until: day("2027-02-01")}}, []string{"targets failure"}, true},
		"of another":     {[]Waiver{{Rule: "targets", Tool: "other", Reason: "r", Until: day("2027-02-01")}}, []string{"targets failure", "waiver warning"}, false},
		"that is unused": {[]Waiver{{Rule: "imports", Reason: "r", Until: day("2027-02-01")}}, []string{"targets failure", "waiver warning"}, false},
	} {
		cfg := config(t)
		cfg.Waivers = c.waivers
		found, all := judged(t, cfg, Subject{Name: "m", Module: module})
		if passes := all[len(all)-1].Verdict.Passes(); !slices.Equal(found, c.want) || passes != c.passes {
			t.Errorf("%s: found %q, passes %v; want %q, %v", name, found, passes, c.want, c.passes)
		}
	}
}

func TestWaiversAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "waivers: []": "",
		"waivers: [{rule: targets, reason: why, until: 2027-03-01}]":         "",
		"waivers: [{rule: nothing, reason: why, until: 2027-03-01}]":         "no rule",
		"waivers: [{rule: targets, until: 2027-03-01}]":                      "no reason",
		"waivers: [{rule: targets, reason: why}]":                            "no date",
		"waivers: [{rule: targets, reason: why, until: 2027-03-01, by: me}]": "not found",
		"waiver: []": "not found",
		"waivers: [" + strings.Repeat("{rule: targets, reason: why, until: 2027-03-01},", maxWaivers+1) + "]": "more than",
		strings.Repeat("#", maxConfigBytes+1): "larger",
	} {
		_, err := parseWaivers([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q gives %v, want %q", text, err, want)
		}
	}
}

func TestEveryRuleExplainsItself(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range append(Rules(), ofWaivers()) {
		if seen[r.ID] || r.Title == "" || r.Reason == "" || r.Mend == "" || r.Severity != Failure && r.Severity != Warning {
			t.Errorf("%+v", r)
		}
		seen[r.ID] = true
		var out, errs bytes.Buffer
		if code := Run(t.Context(), []string{"explain", r.ID}, &out, &errs); code != Passed || !strings.Contains(out.String(), r.Mend) {
			t.Errorf("explain %s exits with %d: %s%s", r.ID, code, &out, &errs)
		}
	}
}

func TestEveryReportTellsTheSame(t *testing.T) {
	module := filepath.Join(t.TempDir(), "bad module.wasm")
	must(t, os.WriteFile(module, remade(`"effect":"read"`, `"effect":"write","idempotent":true`), 0o600))
	for format, check := range map[string]func(t *testing.T, report []byte){
		"text": func(t *testing.T, report []byte) {
			contains(t, report, "test.shop@1.0.0 FAILS: 1 failures, 0 warnings")
		},
		"json": func(t *testing.T, report []byte) { contains(t, report, `"failures":1,"warnings":0`) },
		"sarif": func(t *testing.T, report []byte) {
			contains(t, report, `"ruleId":"targets","level":"error"`)
			contains(t, report, `bad%20module.wasm`)
		},
		"gitlab": func(t *testing.T, report []byte) { contains(t, report, `"check_name":"targets","fingerprint":"`) },
		"junit": func(t *testing.T, report []byte) {
			contains(t, report, `failures="1"`)
			var any struct{}
			must(t, xml.Unmarshal(report, &any))
		},
	} {
		t.Run(format, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Run(t.Context(), []string{module, "--format", format, "--cache", sandboxtest.CacheDir(t)}, &out, &errs); code != HasFindings {
				t.Fatalf("exits with %d: %s", code, &errs)
			}
			if format != "text" && format != "junit" && !json.Valid(bytes.SplitN(out.Bytes(), []byte("\n"), 2)[0]) {
				t.Errorf("is no JSON: %s", &out)
			}
			check(t, out.Bytes())
		})
	}
}

func TestWhatCannotBeJudgedExitsWithTwo(t *testing.T) {
	for _, args := range [][]string{{"/nowhere"}, {t.TempDir()}, {"--format", "html", "x"}, {"explain", "nothing"}, {"--nothing"}} {
		var out, errs bytes.Buffer
		if code := Run(t.Context(), args, &out, &errs); code != CouldNotRun || errs.Len() == 0 {
			t.Errorf("%q exits with %d: %s", args, code, &errs)
		}
	}
}

func contains(t *testing.T, text []byte, want string) {
	t.Helper()
	if !bytes.Contains(text, []byte(want)) {
		t.Errorf("there is no %s in %s", want, text)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
