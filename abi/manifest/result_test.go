package manifest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

// declaring gives the pricing skill with more declared of its tool set_price.
func declaring(t *testing.T, more string) (*Tool, error) {
	t.Helper()
	s, err := Parse("skill.yaml", edited(t, "    undo: restore_price\n", "    undo: restore_price\n"+more, "files: read", "files: write"), nil)
	if err != nil {
		return nil, err
	}
	return s.Tool("set_price"), nil
}

func TestADeclarationOfTheResultIsCheckedWhenItIsLoaded(t *testing.T) {
	for _, tt := range []struct{ more, want string }{
		{"    checks: [{that: data.price == args.price && data.sku == args.sku}]\n", ""},
		{"    checks: [{that: data.price <= facts.price, say: '{{data.price}} is more than {{facts.price}}'}]\n", ""},
		{"    checks: [{that: data.prise == 1}]\n", "tools[0].checks[0].that: column 5: undefined field 'prise' (did you mean price?)"},
		{"    checks: [{that: data.sku == args.price}]\n", "== does not take string and double"},
		{"    checks: [{that: data.price}]\n", "gives double, but must give bool"},
		{"    checks: [{that: 'true', say: '{{dta.price}}'}]\n", "did you mean data?"},
		{"    checks: [{say: x}]\n", "tools[0].checks[0].that: is required"},
		{"    checks: [{that: \"state.secret == 'x'\"}]\n", "state.secret is read here and not granted"},
		{"    artifacts: [{path: \"'a/b.json'\", format: json, min_bytes: 1KiB}, {path: '[data.sku, args.sku]', existing: true}]\n", ""},
		{"    artifacts: [{path: \"'a/*.json'\"}]\n", ""},
		{"    artifacts: [{path: \"'../a.json'\"}]\n", "paths begin at the session's folder"},
		{"    artifacts: [{path: \"['a', '/etc/passwd']\"}]\n", "empty part"},
		{"    artifacts: [{path: \"'a\\\\x00b'\"}]\n", "control character"},
		{"    artifacts: [{path: data.price}]\n", "gives double, but must give a string or a list of strings"},
		{"    artifacts: [{format: json}]\n", "an artifact has one of path and blob"},
		{"    artifacts: [{path: \"'a'\", blob: data.sku}]\n", "an artifact has one of path and blob"},
		{"    artifacts: [{blob: data.sku}]\n", "the skill writes no blobs (add capabilities.blob: write)"},
		{"    artifacts: [{blob: data.sku, existing: true}]\n", "always new"},
		{"    artifacts: [{path: \"'a'\", empty: true, min_bytes: 5}]\n", "cannot be empty and have"},
		{"    artifacts: [{path: \"'a'\", format: '../x'}]\n", "tools[0].artifacts[0].format"},
	} {
		_, err := declaring(t, tt.more)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s gives %v, want %q", tt.more, err, tt.want)
		}
	}
}

func TestARuleDoesNotSeeTheResult(t *testing.T) {
	_, err := Parse("skill.yaml", edited(t, "scope: args.currency == 'CNY'", "scope: data.price > 1"), nil)
	if err == nil || !strings.Contains(err.Error(), "undeclared reference to 'data'") {
		t.Error(err)
	}
}

func TestOnlyAWriteOfASkillWithFilesHasArtifacts(t *testing.T) {
	artifact := "    artifacts: [{path: \"'a'\"}]\n"
	_, err := Parse("skill.yaml", edited(t, "    undo: restore_price\n", "    undo: restore_price\n"+artifact), nil)
	if err == nil || !strings.Contains(err.Error(), "the skill writes no files (add capabilities.files: write)") {
		t.Errorf("a skill that reads files: %v", err)
	}
	_, err = Parse("skill.yaml", edited(t, "files: read", "files: write", "    summary: Tell the price of one product.\n", "    summary: Tell the price of one product.\n"+artifact), nil)
	if err == nil || !strings.Contains(err.Error(), "says something about a write, and quote is a read") {
		t.Errorf("a read: %v", err)
	}
}

func TestWhatCannotBeDecidedAboutAResultIsRefused(t *testing.T) {
	tool, err := declaring(t, "    checks: [{that: data.price == args.price}, {that: data.price <= facts.price * 2.0, say: '{{data.price}} is too much'}]\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ data, fact, want string }{
		{`{"price":89}`, `100`, ""},
		{`{"price":98}`, `100`, "it does not hold that data.price == args.price"},
		{`{"price":89}`, `10`, "89 is too much"},
		{`{"price":89}`, ``, "could not be decided"},
		{`{"price":89}`, `null`, "could not be decided"},
		{`{}`, `100`, "could not be decided"},
		{`null`, `100`, "could not be decided"},
		{``, `100`, "could not be decided"},
		{`{"price":89,"price":98}`, `100`, "could not be decided"},
	} {
		env := Env{Args: json.RawMessage(`{"price":89}`), Data: json.RawMessage(tt.data)}
		if tt.fact != "" {
			env.Facts = map[string]json.RawMessage{"price": json.RawMessage(tt.fact)}
		}
		problem := tool.CheckResult(env)
		if (problem == nil) != (tt.want == "") || problem != nil && (problem.Code != abi.Contradicted || !strings.Contains(problem.Message, tt.want)) {
			t.Errorf("%s with %s gives %v, want %q", tt.data, tt.fact, problem, tt.want)
		}
	}
}

func TestAnArtifactNamesSomething(t *testing.T) {
	tool, err := declaring(t, "    artifacts: [{path: \"data.sku == 'none' ? [] : [data.sku, 'log.txt', data.sku]\", format: json}]\n")
	if err != nil {
		t.Fatal(err)
	}
	named, problem := tool.ArtifactsOf(Env{Data: json.RawMessage(`{"sku":"a.json"}`)})
	if problem != nil || len(named) != 1 || named[0].Format != "json" || !reflect.DeepEqual(named[0].Names, []string{"a.json", "log.txt"}) {
		t.Errorf("%+v, %v", named, problem)
	}
	for _, data := range []string{`{"sku":"none"}`, `{}`, `{"sku":""}`, `{"sku":".git/config"}`, `{"sku":"a/../../b"}`, `{"sku":"a\\b"}`} {
		if named, problem := tool.ArtifactsOf(Env{Data: json.RawMessage(data)}); problem == nil || problem.Code != abi.BadArtifact {
			t.Errorf("%s gives %+v, %v", data, named, problem)
		}
	}
}

func TestAPatternMatchesPartByPart(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"a/*.json", "a/b.json", true}, {"a/*.json", "a/b/c.json", false}, {"?.x", "名.x", true}, {"*", "a/b", false},
		{"[a].x", "[a].x", true}, {"[a].x", "a.x", false}, {"a*[", "ab[", true},
	} {
		if got := MatchPattern(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%s and %s: %v", tt.pattern, tt.name, got)
		}
	}
}

func TestAPolicyNamesTheOperatorsLinters(t *testing.T) {
	p := parsePolicy(t, "policy: 1\nlinters:\n  - {ext: [py, pyi], run: [ruff, check, --output-format, concise]}\n  - {ext: [ts], run: [tsc, --noEmit]}\n")
	want := []Linter{{[]string{"py", "pyi"}, []string{"ruff", "check", "--output-format", "concise"}}, {[]string{"ts"}, []string{"tsc", "--noEmit"}}}
	if got := p.Linters(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := (*Policy)(nil).Linters(); got != nil {
		t.Errorf("no policy has %v", got)
	}
	if got := parsePolicy(t, "policy: 1\nlinters:\n  - {ext: [yml, yaml], run: [yamllint]}\n").Linters(); !reflect.DeepEqual(got[0].Ext, []string{"yaml"}) {
		t.Errorf("yml and yaml are %v", got[0].Ext)
	}
	for text, want := range map[string]string{
		"linters: [{ext: [py], run: [a]}, {ext: [ts, py], run: [b]}]": "linters[1].ext[1]: the extension py stands twice",
		"linters: [{ext: [yml], run: [a]}, {ext: [yaml], run: [b]}]":  "linters[1].ext[0]: the extension yaml stands twice",
		"linters: [{ext: [yaml, yaml], run: [a]}]":                    "linters[0].ext[1]: the extension yaml stands twice",
		"linters: [{ext: [.py], run: [a]}]":                           "linters[0].ext[0]",
		"linters: [{ext: [py], run: []}]":                             "linters[0].run",
		"linters: [{ext: [py], run: 'ruff check'}]":                   "linters[0].run: must be an array",
		"linters: [{ext: [py], run: [a], shell: true}]":               "linters[0].shell: is not a field here",
	} {
		if _, err := ParsePolicy("policy.yaml", []byte("policy: 1\n"+text+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", text, err, want)
		}
	}
}
