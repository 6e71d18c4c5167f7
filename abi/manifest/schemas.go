package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Bounds of the schemas of one skill, all tools together. Real tools have
// some dozen schemas; the library that compiles them is quadratic in places.
const (
	maxSchemaFiles  = 32
	maxSubschemas   = 4_000
	maxPatternBytes = 512
)

// schemaBase is the address under which the files beside skill.yaml are known
// to the schema library. Nothing else can be addressed.
const schemaBase = "skill:///"

// A schemaDoc is one document that holds schemas: a file, or an inline part of
// skill.yaml.
type schemaDoc struct {
	url   string // schemaBase and a path; of an inline schema a path that no file can have
	file  string // for findings: the file that it stands in
	field string // for findings: the field that it stands in, empty for a file's own root
	root  *node
}

// issue makes a finding about a place inside the document.
func (d *schemaDoc) issue(at place, hint, format string, args ...any) Issue {
	return Issue{File: d.file, Line: at.line, Field: joinPath(d.field, at.path), Message: fmt.Sprintf(format, args...), Hint: hint}
}

// schemas reads and compiles the schemas of one manifest. It is used by one
// goroutine while loading and not kept.
type schemas struct {
	fsys  fs.FS // may be nil: inline schemas only
	forms map[string]form
	docs  map[string]*schemaDoc
	files int
	subs  int
	errs  Errors
	unfit bool // some document is not fit for the library, which panics on some
}

func newSchemas(fsys fs.FS) *schemas {
	return &schemas{fsys: fsys, forms: keywordForms(), docs: map[string]*schemaDoc{}}
}

// inline takes a schema that stands in the manifest, or the file that a text
// names there. It gives nil after a finding.
func (s *schemas) inline(file, field string, n *node) *schemaDoc {
	if n.kind == text {
		name := n.text
		d, err := s.open(name)
		if err != nil {
			s.errs = append(s.errs, Issue{File: file, Line: n.line, Field: field, Message: err.Error(), Hint: "give a JSON or YAML file beside skill.yaml, or the schema itself"})
		}
		return d
	}
	d := &schemaDoc{url: schemaBase + "." + url.PathEscape(field), file: file, field: field, root: n}
	s.docs[d.url] = d
	return s.examine(d)
}

// open reads a schema file of the skill's folder, once. It gives neither a
// document nor an error where the file's own findings are told already.
func (s *schemas) open(name string) (*schemaDoc, error) {
	if err := fileName(name); err != nil {
		return nil, err
	}
	at := schemaBase + (&url.URL{Path: name}).EscapedPath()
	if d := s.docs[at]; d != nil && d.root == nil {
		return nil, nil // its findings are told
	} else if d != nil {
		return d, nil
	}
	if s.files++; s.files > maxSchemaFiles {
		return nil, fmt.Errorf("more than %d schema files", maxSchemaFiles)
	}
	raw, err := readFile(s.fsys, name)
	if err != nil {
		return nil, err
	}
	d := &schemaDoc{url: at, file: name}
	s.docs[at] = d
	var found Errors
	if path.Ext(name) == ".json" {
		d.root, err = readJSON(raw)
		if err != nil {
			found = Errors{{Message: "not JSON: " + err.Error()}}
		}
	} else {
		d.root, found = readYAML(raw)
	}
	if len(found) > 0 {
		s.errs = append(s.errs, found.inFile(name)...)
		return nil, nil
	}
	return s.examine(d), nil
}

// fileName refuses names that lead out of the skill's folder, hidden ones, and
// those that mean something else in an address.
func fileName(name string) error {
	hidden := strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
	if hidden || !fs.ValidPath(name) || strings.ContainsAny(name, "\\:%#?\x00") {
		return fmt.Errorf("%q is not a file beside skill.yaml", cut(name, 80))
	}
	return nil
}

// readFile reads a regular file of at most MaxFileBytes. A symbolic link, also
// of a folder on the way, is refused: it could lead out of the folder.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	if fsys == nil {
		return nil, fmt.Errorf("%s cannot be read: the manifest did not come with its folder", name)
	}
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := fs.Lstat(fsys, name[:i])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s does not exist", name)
		case err != nil:
			return nil, fmt.Errorf("%s cannot be read: %w", name, err)
		case i < len(name) && !info.IsDir() || i == len(name) && !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is not a plain file in plain folders", name)
		}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	if len(raw) > MaxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, MaxFileBytes)
	}
	return raw, nil
}

// examine checks what the library does not, in every schema of d, and opens
// the files that it refers to. It gives nil after a finding.
func (s *schemas) examine(d *schemaDoc) *schemaDoc {
	before := len(s.errs)
	s.subschema(d, place{line: d.root.line, node: d.root})
	if len(s.errs) > before {
		s.unfit = true
		return nil
	}
	return d
}

func (s *schemas) subschema(d *schemaDoc, at place) {
	fail := func(at place, hint, format string, args ...any) {
		if len(s.errs) < maxIssues {
			s.errs = append(s.errs, d.issue(at, hint, format, args...))
		}
	}
	switch s.subs++; {
	case s.subs > maxSubschemas:
		fail(at, "", "the skill has more than %d schemas", maxSubschemas)
		return
	case at.node.kind == boolean:
		return
	case at.node.kind != object:
		fail(at, "", "must be a schema: an object, true or false")
		return
	}
	for _, m := range at.node.members {
		here := at.step(m.name)
		form, known := s.forms[m.name]
		switch {
		case known:
			s.keyword(d, m.name, here, fail)
			for _, sub := range within(form, here) {
				s.subschema(d, sub)
			}
		case strings.HasPrefix(m.name, "x-"):
		default:
			hint := "a keyword of one's own begins with x-"
			if guesses := near(m.name, slices.Sorted(maps.Keys(s.forms))); len(guesses) > 0 {
				hint = "did you mean " + guesses[0] + "?"
			}
			fail(here, hint, "is not a keyword of JSON Schema 2020-12 that is taken here")
		}
	}
}

// keyword checks the values of the keywords that reach outside the schema or
// are compiled later.
func (s *schemas) keyword(d *schemaDoc, name string, at place, fail func(place, string, string, ...any)) {
	switch v := at.node; name {
	case "$schema", "$ref", "pattern", "format":
		if v.kind != text {
			fail(at, "", "must be a string")
			return
		}
	}
	switch v := at.node; name {
	case "$schema":
		if strings.TrimSuffix(v.text, "#") != "https://json-schema.org/draft/2020-12/schema" {
			fail(at, "leave $schema out", "only JSON Schema draft 2020-12 is taken")
		}
	case "$ref":
		if err := s.ref(d, v); err != nil {
			fail(at, "refer to #/$defs/name, or to a file beside skill.yaml", "%v", err)
		}
	case "pattern":
		if err := checkPattern(v.text); err != nil {
			fail(at, "", "%v", err)
		}
	case "patternProperties":
		for _, m := range v.members {
			if err := checkPattern(m.name); err != nil {
				fail(at.step(m.name), "", "%v", err)
			}
		}
	case "format":
		if _, ok := jsonschema.Formats[v.text]; !ok {
			fail(at, "use pattern, or say it in description", "the format %q is not known", cut(v.text, 40))
		}
	}
}

func checkPattern(pattern string) error {
	if len(pattern) > maxPatternBytes {
		return fmt.Errorf("the pattern is longer than %d bytes", maxPatternBytes)
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return fmt.Errorf("the pattern does not compile as RE2: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return nil
}

// ref follows a $ref to where it leads, opening the file if it names one.
func (s *schemas) ref(d *schemaDoc, v *node) error {
	target, tokens, err := s.resolve(d, v.text)
	if err != nil || target == nil {
		return err
	}
	if to := target.root.at(tokens).node; to == nil || to.kind != object && to.kind != boolean {
		return fmt.Errorf("%q leads to no schema", cut(v.text, 80))
	}
	return nil
}

// resolve gives the document and the pointer that a reference in d means; no
// document, and no error, if its own findings are told already.
func (s *schemas) resolve(d *schemaDoc, ref string) (*schemaDoc, []string, error) {
	name, inside, _ := strings.Cut(ref, "#")
	if inside != "" && !strings.HasPrefix(inside, "/") || ref == "" {
		return nil, nil, fmt.Errorf("%q is not a reference that is taken here", cut(ref, 80))
	}
	if name == "" {
		return d, pointer(inside), nil
	}
	plain, err := url.PathUnescape(name)
	if err != nil || strings.Contains(name, ":") || strings.HasPrefix(name, "/") {
		return nil, nil, fmt.Errorf("%q leads out of the skill's folder; nothing is fetched", cut(ref, 80))
	}
	if d.field == "" {
		plain = path.Join(path.Dir(d.file), plain)
	}
	target, err := s.open(plain)
	return target, pointer(inside), err
}

// compile compiles an examined document. It gives nil after a finding, also
// one about another document, which d may refer to.
func (s *schemas) compile(d *schemaDoc) *jsonschema.Schema {
	if s.unfit {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true
	c.ExtractAnnotations = true
	c.LoadURL = func(at string) (io.ReadCloser, error) {
		if known := s.docs[at]; known != nil && known.root != nil {
			return io.NopCloser(bytes.NewReader(known.root.appendJSON(nil))), nil
		}
		return nil, fmt.Errorf("%s is not part of the skill", at)
	}
	schema, err := c.Compile(d.url)
	var invalid *jsonschema.ValidationError
	var loop jsonschema.InfiniteLoopError
	switch {
	case err == nil:
		if tooManyVisits(schema) {
			s.errs = append(s.errs, d.issue(place{line: d.root.line}, "let recursion pass through one alternative only",
				"the schema applies itself several times to the same value, which takes for ever on nested values"))
			return nil
		}
		return schema
	case errors.As(err, &invalid):
		for len(invalid.Causes) > 0 {
			invalid = invalid.Causes[0]
		}
		s.errs = append(s.errs, d.issue(d.root.at(pointer(invalid.InstanceLocation)), "", "is not JSON Schema: %s", invalid.Message))
	case errors.As(err, &loop):
		s.errs = append(s.errs, d.issue(place{line: d.root.line}, "", "the schema refers to itself without end"))
	default:
		s.errs = append(s.errs, d.issue(place{line: d.root.line}, "", "does not compile: %s", strings.ReplaceAll(err.Error(), schemaBase, "")))
	}
	return nil
}

// A form says where a keyword's value holds schemas.
type form uint8

const (
	noSchema  form = iota
	oneSchema      // the value is a schema
	listOf         // an array of schemas
	namedOnes      // an object whose members are schemas
)

// within gives the schemas that a keyword's value holds.
func within(f form, at place) []place {
	var found []place
	switch {
	case f == oneSchema:
		found = append(found, at)
	case f == listOf && at.node.kind == list:
		for i := range at.node.items {
			found = append(found, at.step(fmt.Sprint(i)))
		}
	case f == namedOnes && at.node.kind == object:
		for _, m := range at.node.members {
			found = append(found, at.step(m.name))
		}
	}
	return found
}

// The keywords of JSON Schema 2020-12 that are taken, by what their values
// hold. Not taken are those that give a schema another address ($id, $anchor),
// another meaning by where it is used from ($dynamicRef), or one by what other
// schemas have seen (unevaluatedProperties, unevaluatedItems).
const (
	plainKeywords = "$schema $ref $comment type enum const title description default examples deprecated readOnly writeOnly " +
		"minimum exclusiveMinimum maximum exclusiveMaximum multipleOf minLength maxLength pattern format contentEncoding contentMediaType " +
		"required minProperties maxProperties dependentRequired minContains maxContains minItems maxItems uniqueItems"
	schemaKeywords = "additionalProperties propertyNames items contains not if then else contentSchema"
	listKeywords   = "prefixItems allOf anyOf oneOf"
	namedKeywords  = "$defs properties patternProperties dependentSchemas"
)

// keywordForms gives the form of every keyword that is taken.
func keywordForms() map[string]form {
	forms := map[string]form{}
	for f, names := range map[form]string{noSchema: plainKeywords, oneSchema: schemaKeywords, listOf: listKeywords, namedOnes: namedKeywords} {
		for _, name := range strings.Fields(names) {
			forms[name] = f
		}
	}
	return forms
}
