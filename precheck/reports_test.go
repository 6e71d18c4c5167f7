package precheck

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// reported runs the command on subjects that have all kinds of messages: failures with and
// without a line, warnings, what is waived, what is skipped, names with odd letters, and
// one in which nothing is found.
func reported(t *testing.T, format string) []byte {
	t.Helper()
	here, cache := t.TempDir(), sandboxtest.CacheDir(t) // which is looked for from here
	t.Chdir(here)
	lay := func(name string, b faulty) string {
		must(t, os.CopyFS(filepath.Join(here, name), os.DirFS(filepath.Dir(filepath.Join(b.laidOut(t), "x")))))
		return "./" + name
	}
	waived := "waivers: [{rule: targets, reason: 'a & <b>', until: 2100-01-01}]"
	args := []string{"--format", format, "--cache", cache}
	for name, b := range map[string]faulty{
		"good":                 {module: good().bytes(), files: map[string]string{manifestFile: yamlOf(t, goodManifest)}},
		"a key twice & <more>": {module: good().bytes(), files: map[string]string{manifestFile: yamlOf(t, goodManifest) + "name: x\n"}},
		"no module":            {module: []byte("no"), files: map[string]string{manifestFile: yamlOf(t, goodManifest)}},
		"waived": {module: remade(`"effect":"read"`, `"effect":"write","idempotent":true`),
			files: map[string]string{manifestFile: yamlOf(t, replaced(`"effect":"read"`, `"effect":"write","idempotent":true`)), ConfigFile: waived}},
		"warned": {module: remade(`,"description":"the product's number"`, ``), files: map[string]string{manifestFile: yamlOf(t, replaced(`,"description":"the product's number"`, ``))}},
	} {
		args = append(args, lay(name, b))
	}
	must(t, os.WriteFile("module.wasm", remade(`For prices. Never for stock.`, `For prices.`), 0o600))
	var out, errs bytes.Buffer
	if code := Run(t.Context(), append(args, filepath.Join(here, "module.wasm")), &out, &errs); code != HasFindings {
		t.Fatalf("exits with %d: %s", code, &errs)
	}
	return out.Bytes()
}

func TestTheSARIFReportIsValid(t *testing.T) {
	schema, err := jsonschema.Compile("testdata/sarif-schema-2.1.0.json")
	must(t, err)
	report := reported(t, "sarif")
	var value any
	must(t, json.Unmarshal(report, &value))
	if err := schema.Validate(value); err != nil {
		t.Errorf("%#v", err)
	}
	contains(t, report, `"startLine":`)
	contains(t, report, `"suppressions":`)
	contains(t, report, `a%20key%20twice%20`)
	// The schema is looked at: a level that there is not is refused.
	must(t, json.Unmarshal(bytes.ReplaceAll(report, []byte(`"level":"error"`), []byte(`"level":"bad"`)), &value))
	if schema.Validate(value) == nil {
		t.Error("a level that there is not is taken")
	}
}

// GitLab's documentation of the report: description, check_name and location are demanded,
// the fingerprint is unique, the severity one of five, and the path relative to the
// repository, without "./".
func TestTheGitLabReportIsValid(t *testing.T) {
	d := json.NewDecoder(bytes.NewReader(reported(t, "gitlab")))
	d.DisallowUnknownFields()
	var issues []gitlabIssue
	must(t, d.Decode(&issues))
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("something follows: %v", err)
	}
	if len(issues) < 4 {
		t.Errorf("there are %d issues", len(issues))
	}
	seen := map[string]bool{}
	for _, i := range issues {
		at := i.Location.Path
		switch {
		case i.Description == "" || i.CheckName == "" || i.Location.Lines.Begin < 1,
			!slices.Contains([]string{"info", "minor", "major", "critical", "blocker"}, i.Severity),
			!regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(i.Fingerprint) || seen[i.Fingerprint],
			at == "" || path.IsAbs(at) || path.Clean(at) != at || strings.Contains(at, `\`):
			t.Errorf("%+v", i)
		}
		seen[i.Fingerprint] = true
	}
}

// An element of JUnit's form: its attributes with what they look like, those that may be
// left out, and its children in their order.
type element struct {
	attributes map[string]string
	optional   map[string]string
	children   []string // "x" exactly once, "x*" any number, "x|y?" one of them or none
	text       bool
}

// junitForm is what JUnit.xsd of windyroad/JUnit-Schema demands.
func junitForm() map[string]element {
	const token, number, seconds = `^\S(.*\S)?$`, `^-?[0-9]+$`, `^[0-9]+(\.[0-9]+)?$`
	message := element{attributes: map[string]string{"type": ``}, optional: map[string]string{"message": ``}, text: true}
	return map[string]element{
		"testsuites": {children: []string{"testsuite*"}},
		"testsuite": {attributes: map[string]string{"name": token, "package": `^(\S(.*\S)?)?$`, "id": number, "hostname": token, "tests": number, "failures": number, "errors": number,
			"timestamp": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`, "time": seconds}, optional: map[string]string{"skipped": number},
			children: []string{"properties", "testcase*", "system-out", "system-err"}},
		"properties": {children: []string{"property*"}},
		"property":   {attributes: map[string]string{"name": token, "value": ``}},
		"testcase":   {attributes: map[string]string{"name": token, "classname": token, "time": seconds}, children: []string{"skipped|error|failure?"}},
		"skipped":    {optional: map[string]string{"message": ``}, text: true}, // of any type
		"error":      message, "failure": message, "system-out": {text: true}, "system-err": {text: true},
	}
}

type node struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []node     `xml:",any"`
	Text     string     `xml:",chardata"`
}

// wrong lists what is wrong with an element and those in it.
func (n node) wrong() (list []string) {
	name := n.XMLName.Local
	form, known := junitForm()[name]
	if !known {
		return []string{"there is no element " + name}
	}
	has := map[string]string{}
	for _, a := range n.Attrs {
		has[a.Name.Local] = a.Value
		looks, demanded := form.attributes[a.Name.Local]
		if !demanded {
			var may bool
			if looks, may = form.optional[a.Name.Local]; !may {
				list = append(list, name+" has no attribute "+a.Name.Local)
			}
		}
		if !regexp.MustCompile(looks).MatchString(a.Value) {
			list = append(list, name+" has the "+a.Name.Local+" "+a.Value)
		}
	}
	for a := range form.attributes {
		if _, ok := has[a]; !ok {
			list = append(list, name+" lacks "+a)
		}
	}
	if !form.text && strings.TrimSpace(n.Text) != "" {
		list = append(list, name+" has a text")
	}
	var names []string
	for _, c := range n.Children {
		names = append(names, c.XMLName.Local)
		list = append(list, c.wrong()...)
	}
	order := ""
	for _, c := range form.children {
		bare := strings.TrimRight(c, "*?")
		order += "(?:(?:" + bare + ") )" + c[len(bare):]
	}
	if row := strings.Join(append(names, ""), " "); !regexp.MustCompile("^" + order + "$").MatchString(row) {
		list = append(list, name+" holds "+row)
	}
	return list
}

func TestTheJUnitReportIsValid(t *testing.T) {
	report := reported(t, "junit")
	var root node
	must(t, xml.Unmarshal(report, &root))
	if wrong := root.wrong(); wrong != nil || root.XMLName.Local != "testsuites" || len(root.Children) != 6 {
		t.Errorf("of %d suites in %s: %s", len(root.Children), root.XMLName.Local, strings.Join(wrong, "; "))
	}
	for i, suite := range root.Children {
		counts := map[string]int{}
		for _, c := range suite.Children {
			if c.XMLName.Local == "testcase" {
				counts["tests"]++
				for _, inner := range c.Children {
					counts[inner.XMLName.Local]++
				}
			}
		}
		for _, a := range suite.Attrs {
			want := map[string]int{"id": i, "tests": counts["tests"], "failures": counts["failure"], "errors": counts["error"], "skipped": counts["skipped"]}
			var got int
			if n, counted := want[a.Name.Local]; counted && (json.Unmarshal([]byte(a.Value), &got) != nil || got != n) {
				t.Errorf("suite %d says %s %s, and has %d", i, a.Name.Local, a.Value, n)
			}
		}
	}
	contains(t, report, "words (warning): ")
	contains(t, report, "targets (waived): ")
	for old, new := range map[string]string{` hostname="localhost"`: ``, `<properties>`: `<oddities></oddities><properties>`, `timestamp="`: `timestamp="today `, `tests="`: `count="`} {
		var changed node
		must(t, xml.Unmarshal(bytes.Replace(report, []byte(old), []byte(new), 1), &changed))
		if changed.wrong() == nil {
			t.Errorf("with %q for %q nothing is wrong", new, old)
		}
	}
}
