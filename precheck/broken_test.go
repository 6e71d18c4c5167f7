package precheck

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/registry"
)

// A faulty is a skill with one fault, which one rule catches and no other: as a
// module alone, or as a folder where there are files beside it.
type faulty struct {
	module   []byte
	files    map[string]string
	last     []byte // the module of its last release, in a registry
	lost     bool   // the registry has lost that release's module
	rule     string
	severity Severity // Failure if it is empty
	says     string   // a part of the finding
}

// brokenSkills are the fixtures, by what is wrong with them.
func brokenSkills(t *testing.T) map[string]faulty {
	all := map[string]faulty{}
	for _, some := range []map[string]faulty{brokenBinaries(), bombs(), brokenYAML(t), brokenSchemas(t), brokenDeclarations(), brokenDescriptions(t), brokenTools(), brokenReleases(), brokenWaivers(t)} {
		maps.Copy(all, some)
	}
	return all
}

// Each is judged by the command, as in CI.
func TestEveryBrokenSkillIsCaughtByItsRuleAlone(t *testing.T) {
	for name, b := range brokenSkills(t) {
		t.Run(name, func(t *testing.T) {
			if b.severity == "" {
				b.severity = Failure
			}
			exit := HasFindings
			if b.severity == Warning {
				exit = Passed
			}
			found, code := b.judged(t)
			if code != exit {
				t.Errorf("exits with %d, want %d", code, exit)
			}
			said := false
			for _, m := range found {
				said = said || strings.Contains(m.Finding.Message+" "+m.Finding.Mend, b.says)
				if m.Rule != b.rule || m.Finding.Severity != b.severity {
					t.Errorf("%s %s finds %q; want %s %s", m.Rule, m.Finding.Severity, m.Finding.Message, b.rule, b.severity)
				}
			}
			if !said {
				t.Errorf("found is %s, and nothing with %q", toldOf(found), b.says)
			}
		})
	}
}

// unbroken are the rules without a fixture that only they catch, and why.
func unbroken() map[string]string {
	return map[string]string{
		"repeatable": "the sandbox gives a call nothing that changes; what the rule does with outcomes that differ is tried by itself",
		"rebuild":    "it compares with a repository, and only where it is asked to; it is tried with one",
	}
}

func TestEveryRuleHasASkillThatOnlyItCatches(t *testing.T) {
	caught := map[string]int{}
	skills := brokenSkills(t)
	for _, b := range skills {
		caught[b.rule]++
	}
	if len(skills) < 30 {
		t.Errorf("there are %d broken skills", len(skills))
	}
	for _, r := range append(Rules(), ofWaivers()) {
		if why := unbroken()[r.ID]; (caught[r.ID] == 0) == (why == "") {
			t.Errorf("the rule %s catches %d broken skills; the reason for none is %q", r.ID, caught[r.ID], why)
		}
	}
}

// judged runs the command and gives the findings and the exit code.
func (b faulty) judged(t *testing.T) (found []Message, code int) {
	t.Helper()
	args := []string{b.laidOut(t), "--format", "json", "--cache", sandboxtest.CacheDir(t)}
	if b.last != nil {
		args = append(args, "--against", b.published(t))
	}
	var out, errs bytes.Buffer
	code = Run(t.Context(), args, &out, &errs)
	if code == CouldNotRun {
		t.Fatalf("could not run: %s", &errs)
	}
	d := json.NewDecoder(&out)
	for {
		var m Message
		if err := d.Decode(&m); err == io.EOF {
			return found, code
		} else if err != nil {
			t.Fatal(err)
		}
		if m.Kind == Found {
			found = append(found, m)
		}
	}
}

// laidOut writes the subject to disk and gives its name.
func (b faulty) laidOut(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, moduleFile), b.module, 0o600))
	for name, text := range b.files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	if b.files == nil {
		return filepath.Join(dir, moduleFile)
	}
	return dir
}

// published publishes the last release to a registry of its own.
func (b faulty) published(t *testing.T) string {
	t.Helper()
	repo, dir := filepath.Join(t.TempDir(), "registry.git"), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, manifestFile), []byte(yamlOf(t, toldBy(t, b.last))), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, moduleFile), b.last, 0o600))
	_, err := registry.Publish(t.Context(), repo, dir, registry.PublishOptions{Create: true})
	must(t, err)
	if b.lost {
		hash := plumbing.ComputeHash(plumbing.BlobObject, b.last).String()
		must(t, os.Remove(filepath.Join(repo, "objects", hash[:2], hash[2:])))
	}
	return repo
}

// toldBy gives what a module tells of itself.
func toldBy(t *testing.T, module []byte) string {
	t.Helper()
	text, err := json.Marshal(sandboxtest.Describe(t, sandboxtest.Shared(t), module).Manifest)
	must(t, err)
	return string(text)
}

// yamlOf writes a manifest that stands as JSON as skill.yaml.
func yamlOf(t *testing.T, text string) string {
	t.Helper()
	var m abi.Manifest
	must(t, json.Unmarshal([]byte(text), &m))
	m.Module = moduleFile
	yaml, err := manifest.Marshal(m)
	must(t, err)
	return string(yaml)
}

func toldOf(found []Message) string {
	var lines []string
	for _, m := range found {
		lines = append(lines, m.Rule+": "+m.Finding.Message)
	}
	return strings.Join(lines, "; ")
}

// sections gives a module of them, however little sense they make.
func sections(list ...[]byte) []byte {
	return slices.Concat(append([][]byte{[]byte("\x00asm\x01\x00\x00\x00")}, list...)...)
}

func brokenBinaries() map[string]faulty {
	body := func(code ...byte) []byte { return changed(func(m *mod) { m.funcs[0].body = code }) }
	return map[string]faulty{
		"a script":               {module: []byte("#!/bin/sh\necho no\n"), rule: "wasm"},
		"nothing at all":         {module: nil, rule: "wasm"},
		"a cut module":           {module: good().bytes()[:60], rule: "wasm"},
		"a component":            {module: []byte("\x00asm\x0d\x00\x01\x00"), rule: "wasm", says: "--target wasm32-wasip1"},
		"threads":                {module: body(0xfe, 0x03, 0x00, 0x41, 0x01), rule: "wasm", says: "drop -pthread"},
		"shared memory":          {module: sections(section(5, vector([]byte{3, 1, 1}))), rule: "wasm", says: "drop -pthread"},
		"64-bit memory":          {module: sections(section(5, vector([]byte{4, 1}))), rule: "wasm", says: "--target=wasm32-wasi"},
		"several memories":       {module: sections(section(5, vector([]byte{0, 1}, []byte{0, 1}))), rule: "wasm", says: "-mno-multimemory"},
		"a structure of GC":      {module: sections(section(1, vector([]byte{0x5f, 0}))), rule: "wasm", says: "brings its own memory management"},
		"an instruction of GC":   {module: body(0xfb, 0x1c, 0x41, 0x01), rule: "wasm", says: "brings its own memory management"},
		"tail calls":             {module: body(0x12, 0x00), rule: "wasm", says: "-mno-tail-call"},
		"exceptions":             {module: body(0x08, 0x00, 0x41, 0x01), rule: "wasm", says: "-fno-exceptions"},
		"a name of the host's":   {module: changed(func(m *mod) { m.funcs = append(m.funcs, fn{name: "__sluice_fuel", typ: ">i", body: returning(1)}) }), rule: "wasm"},
		"a large module":         {module: changed(func(m *mod) { m.tail = padding(int(abi.ModuleBytesDefault)) }), rule: "size", severity: Warning},
		"too large a module":     {module: changed(func(m *mod) { m.tail = padding(int(abi.ModuleBytesCeiling)) }), rule: "size"},
		"a key in its data":      {module: changed(func(m *mod) { m.data = "AKIA" + "IOSFODNN7EXAMPLE " }), rule: "secrets"},
		"no exports":             {module: mod{imports: answering}.bytes(), rule: "exports", says: abi.ExportInvoke},
		"an export that takes":   {module: changed(func(m *mod) { m.funcs[2] = fn{name: abi.ExportInvoke, typ: "i>i", body: returning(0)} }), rule: "exports"},
		"a misspelt export":      {module: changed(func(m *mod) { m.funcs = append(m.funcs, fn{name: "sluice_chek", typ: ">i", body: returning(0)}) }), rule: "exports", severity: Warning},
		"code that is not valid": {module: body(0x42, 1), rule: "loads"},
		"an import of nobody's":  {module: changed(func(m *mod) { m.imports = append(m.imports, imp{"env", "abort", "i>"}) }), rule: "loads", says: "abort"},
	}
}

// padding is a custom section of that many bytes.
func padding(bytes int) []byte {
	return section(0, append(text("padding"), make([]byte, bytes)...))
}

// bombs are small, and much of something once they are read.
func bombs() map[string]faulty {
	labels := slices.Concat([]byte{0x02, 0x40, 0x41, 0, 0x0e}, leb(mostLabels+1), make([]byte, mostLabels+2), []byte{0x0b}, returning(1))
	return map[string]faulty{
		"a hundred thousand functions": {module: changed(func(m *mod) {
			m.funcs = append(m.funcs, slices.Repeat([]fn{{typ: ">i", body: returning(1)}}, 99_000)...)
		}), rule: "shape", says: "functions"},
		"many locals":           {module: changed(func(m *mod) { m.funcs[0].locals = mostLocals + 1 }), rule: "shape", says: "locals"},
		"four billion locals":   {module: changed(func(m *mod) { m.funcs[0].locals = 1<<32 - 1 }), rule: "wasm", says: "locals"},
		"a jump to many places": {module: changed(func(m *mod) { m.funcs[0].body = labels }), rule: "shape", says: "br_table"},
		"deep nesting":          {module: changed(func(m *mod) { m.funcs[0].body = nested(mostNesting + 1) }), rule: "shape", says: "blocks"},
		"deepest nesting":       {module: changed(func(m *mod) { m.funcs[0].body = nested(1_000_000) }), rule: "wasm", says: "blocks"},
		"a large table":         {module: changed(func(m *mod) { m.table = mostEntries + 1 }), rule: "shape", says: "tables"},
	}
}

// brokenYAML are manifests beside a module in which nothing is wrong.
func brokenYAML(t *testing.T) map[string]faulty {
	good := yamlOf(t, goodManifest)
	beside := func(yaml, says string) faulty {
		return faulty{module: goodWith(goodManifest).bytes(), files: map[string]string{manifestFile: yaml}, rule: "manifest", says: says}
	}
	bomb := "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
	for c := 'b'; c < 'l'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ",") + "]\n"
	}
	return map[string]faulty{
		"a key twice":                beside(good+"name: test.other\n", `"name" stands here and on line`),
		"aliases that explode":       beside(bomb+good, "more than 50000 values"),
		"an alias in itself":         beside(good+"x: &x [*x]\n", "contains itself"),
		"tabs":                       beside(strings.Replace(good, "\n  ", "\n\t", 1), "tab"),
		"UTF-16":                     beside("\xff\xfes\x00l\x00", "UTF-8"),
		"a manifest of ten megabyte": beside(good+"#"+strings.Repeat("x", 10<<20), "larger than"),
		"two documents":              beside(good+"---\n"+good, "second document"),
		"no manifest":                beside("", "empty"),
	}
}

// brokenSchemas are manifests whose module tells the same.
func brokenSchemas(t *testing.T) map[string]faulty {
	const sku = `{"type":"string","description":"the product's number"}`
	with := func(schema, says string) faulty {
		return faulty{module: goodWith(goodManifest).bytes(), files: map[string]string{manifestFile: yamlOf(t, replaced(sku, schema))}, rule: "manifest", says: says}
	}
	return map[string]faulty{
		"a schema that refers to itself":         with(`{"$ref":"#/properties/sku"}`, "refers to itself without end"),
		"a schema of another host":               with(`{"$ref":"https://schemas.example.com/sku.json"}`, "sku"),
		"a schema outside of its folder":         with(`{"$ref":"../../etc/passwd"}`, "is not a file beside"),
		"a pattern of ten megabyte":              with(`{"type":"string","pattern":"`+strings.Repeat("a", 10<<20)+`"}`, "larger than"),
		"a long pattern":                         with(`{"type":"string","pattern":"`+strings.Repeat("a", 10<<10)+`"}`, "pattern"),
		"a pattern that explodes":                with(`{"type":"string","pattern":"((a{1,100}){1,100}){1,100}"}`, "pattern"),
		"a pattern that looks back":              with(`{"type":"string","pattern":"^(a+)+\\1$"}`, "pattern"),
		"an example against its schema":          with(`{"type":"string","maxLength":2}`, "the example breaks its schema"),
		"an example whose answer is not allowed": {module: remade(`"effect":"read"`, `"effect":"read","output":{"type":"string"}`), rule: "examples"},
	}
}

func brokenDeclarations() map[string]faulty {
	const sku = `{"type":"string","description":"the product's number"}`
	deleting := goodWith(replaced(`"abi":1`, `"abi":1,"capabilities":{"http":[{"host":"shop.example.com","methods":["DELETE"],"paths":["/*"]}]}`))
	deleting.imports = append(deleting.imports, imp{userFunctions, abi.FuncHTTP, "ll>l"})
	begins := goodWith(replaced(`"abi":1`, `"abi":1,"limits":{"memory":"1MiB"}`))
	begins.pages = 17
	return map[string]faulty{
		"an unknown member":              {module: remade(`"sluice":1`, `"sluice":1,"color":"red"`), rule: "manifest", says: "color"},
		"a bad expression":               {module: remade(`"effect":"read"`, `"effect":"read","scope":"args.skuu == '1'"`), rule: "manifest", says: "skuu"},
		"all the fuel there is":          {module: remade(`"abi":1`, `"abi":1,"limits":{"fuel":18446744073709551615}`), rule: "manifest"},
		"a positioning without a no":     {module: remade(`For prices. Never for stock.`, `For prices.`), rule: "positioning", severity: Warning},
		"no positioning":                 {module: remade(`"positioning":"For prices. Never for stock.",`, ``), rule: "positioning", severity: Warning},
		"a write without targets":        {module: remade(`"effect":"read"`, `"effect":"write","idempotent":true`), rule: "targets"},
		"a write for ever":               {module: remade(`"effect":"read"`, `"effect":"write","targets":"[args.sku]"`), rule: "way-back", severity: Warning},
		"a read that may delete":         {module: deleting.bytes(), rule: "effect"},
		"arguments in arguments":         {module: remade(sku, sku+`,"of":{"type":"object","description":"y","properties":{"a":{"type":"string"}}}`), rule: "flat-arguments", severity: Warning},
		"arguments deep in arguments":    {module: remade(sku, sku+`,"of":{"type":"array","description":"y","items":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}}`), rule: "flat-arguments"},
		"two tools alike":                {module: remade(`"tools":[`, `"tools":[{"name":"price_off","summary":"Give the price of a product.","effect":"read","input":{"type":"object"},"examples":[{"say":"x","args":{}}]},`), rule: "distinct", severity: Warning},
		"an argument without words":      {module: remade(`,"description":"the product's number"`, ``), rule: "words", severity: Warning},
		"an import that is not declared": {module: changed(func(m *mod) { m.imports = append(m.imports, imp{userFunctions, abi.FuncKVPut, "ll>l"}) }), rule: "imports", says: abi.FuncKVPut},
		"a capability that is not used":  {module: remade(`"abi":1`, `"abi":1,"capabilities":{"kv":{"namespace":"prices"}}`), rule: "unused-capability", severity: Warning},
		"memory above its limit":         {module: begins.bytes(), rule: "starts-in-memory"},
	}
}

// drawing gives a module with a function that says a text in which one byte is a letter
// that it draws from the random bytes of WASI.
func drawing(function int, said, at string) []byte {
	m := good()
	m.imports = append(m.imports, imp{"wasi_snapshot_preview1", "random_get", "ii>i"})
	code := saying(said)
	draw := slices.Concat([]byte{0x41, 0, 0x41, 1, 0x10, byte(len(m.imports) - 1), 0x1a}, // random_get(0, 1)
		[]byte{0x20, 0, 0x42}, sleb(int64(strings.Index(said, at))), []byte{0x7c, 0x41, 0, 0x2d, 0, 0, 0x41, 15, 0x71, 0x41}, sleb('a'), []byte{0x6a, 0x10, callStore}) // 'a' + (it & 15)
	m.funcs[function].body = slices.Concat(code[:len(code)-2], draw, []byte{0x41, 0})
	return m.bytes()
}

func brokenDescriptions(t *testing.T) map[string]faulty {
	loop := []byte{0x03, 0x40, 0x0c, 0x00, 0x0b, 0x41, 0}
	told := func(said string) faulty {
		return faulty{module: changed(func(m *mod) { m.funcs[1].body = saying(said) }), rule: "manifest"}
	}
	return map[string]faulty{
		"another version of the contract":    {module: changed(func(m *mod) { m.funcs[0].body = returning(2) }), rule: "version"},
		"a version that loops":               {module: changed(func(m *mod) { m.funcs[0].body = loop }), rule: "version"},
		"a description that loops":           {module: changed(func(m *mod) { m.funcs[1].body = loop }), rule: "describe"},
		"a description that traps":           {module: changed(func(m *mod) { m.funcs[1].body = []byte{0x00} }), rule: "describe"},
		"a description that draws lots":      {module: drawing(1, goodManifest, "Looks up"), rule: "describe", says: "something else"},
		"a description that is a greeting":   told("hello"),
		"a description that is deep":         told(strings.Repeat("[", 2000)),
		"a description that lies of a tool":  {module: good().bytes(), files: map[string]string{manifestFile: yamlOf(t, replaced("Give the price of a product.", "Give the cost of a product."))}, rule: "stale"},
		"a description that hides its reach": {module: good().bytes(), files: map[string]string{manifestFile: yamlOf(t, replaced(`"abi":1`, `"abi":1,"capabilities":{"clock":true}`))}, rule: "stale"},
	}
}

// brokenTools do what they should not when they run.
func brokenTools() map[string]faulty {
	kv := replaced(`"abi":1`, withKV)
	fuel := func(limit string) string {
		return replaced(`"abi":1`, `"abi":1,"limits":{"fuel":`+limit+`},"capabilities":{"kv":{"namespace":"prices"}}`)
	}
	return map[string]faulty{
		"an example that gives something else": {module: remade(`"args":{"sku":"1001"}`, `"args":{"sku":"1001"},"returns":2`), rule: "examples"},
		// The module needs 108 units for its answer.
		"an example that nearly takes its fuel": {module: invoking(fuel("200")), rule: "room", severity: Warning},
		"a trap on long input":                  {module: invoking(kv, 0x10, callInputLength, 0x42, 0xf4, 0x03, 0x56, 0x04, 0x40, 0x00, 0x0b), rule: "any-input"},
		"a trap on what the store gives": {module: invoking(kv, 0x42, 1, 0x10, callAlloc, 0x22, 0, 0x41, 0xe1, 0, 0x10, callStore, 0x20, 0, 0x10, callKVGet, 0x50, 0x45, 0x04, 0x40, 0x00, 0x0b),
			rule: "hostile-host"},
		"an answer that is drawn by lot":    {module: drawing(2, `{"ok":true,"data":"x"}`, "x"), rule: "portable", severity: Warning, says: "under the reference host"},
		"an order that counts its attempts": {module: doing(ordering(inInput(`"attempt":1`) + len(`"attempt":`))...), rule: "one-effect", says: "which it did not the first time"},
		"a key that is written once more":   {module: doing(counting()...), rule: "one-effect", severity: Warning, says: "once more"},
		"a loop in a loop":                  {module: invoking(fuel("2000000000"), quadratic()...), rule: "growth", severity: Warning, says: "quadratic"},
	}
}

func brokenReleases() map[string]faulty {
	next := func(old, new string) []byte {
		return goodWith(strings.Replace(replaced(old, new), `"version":"1.0.0"`, `"version":"1.1.0"`, 1)).bytes()
	}
	reaching := goodWith(strings.Replace(replaced(`"abi":1`, withKV), `"version":"1.0.0"`, `"version":"1.1.0"`, 1))
	reaching.imports = append(reaching.imports, imp{userFunctions, abi.FuncKVGet, "l>l"})
	large := goodWith(strings.Replace(goodManifest, "1.0.0", "1.0.1", 1))
	large.data = strings.Repeat("x", 30000)
	last := good().bytes()
	return map[string]faulty{
		"the same version again":      {module: last, last: last, rule: "version-order"},
		"a last release that is lost": {module: next("1001?", "1002?"), last: last, lost: true, rule: "version-order", says: "cannot be had"},
		"a narrower argument":         {module: next(`{"type":"string",`, `{"type":"string","maxLength":8,`), last: last, rule: "breaking", says: "maxLength"},
		"a reach that grew":           {module: reaching.bytes(), last: last, rule: "more-capabilities", severity: Warning, says: "it adds"},
		"a module that grew":          {module: large.bytes(), last: last, rule: "growth-since", severity: Warning, says: "larger"},
	}
}

func brokenWaivers(t *testing.T) map[string]faulty {
	return map[string]faulty{"a waiver that nothing needs": {
		module: good().bytes(), rule: "waiver", severity: Warning, says: "nothing needs",
		files: map[string]string{manifestFile: yamlOf(t, goodManifest), ConfigFile: "waivers: [{rule: targets, reason: why not, until: 2100-01-01}]"},
	}}
}

// What looks odd and harms nobody passes without a word.
func TestOddFilesPass(t *testing.T) {
	good := yamlOf(t, goodManifest)
	for name, yaml := range map[string]string{
		"a byte-order mark": "\xef\xbb\xbf" + good, "lines that end as on Windows": strings.ReplaceAll(good, "\n", "\r\n"), "no last line end": strings.TrimRight(good, "\n"),
		"a comment with a tab": good + "#\ttab\n",
		// Patterns are matched in linear time here.
		"a pattern that others choke on": "",
	} {
		t.Run(name, func(t *testing.T) {
			told := goodManifest
			if yaml == "" {
				told = replaced(`"type":"string",`, `"type":"string","pattern":"^([0-9]+)+$",`)
				yaml = yamlOf(t, told)
			}
			b := faulty{module: goodWith(told).bytes(), files: map[string]string{manifestFile: yaml}}
			if found, code := b.judged(t); code != Passed || len(found) > 0 {
				t.Errorf("exits with %d and finds %s", code, toldOf(found))
			}
		})
	}
}
