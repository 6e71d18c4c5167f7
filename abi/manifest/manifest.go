package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/sluicehq/sluice/abi"
)

// MaxFileBytes bounds skill.yaml and each schema file, in bytes. Real ones are
// some dozen KiB.
const MaxFileBytes = 1 << 20

// A Skill is a manifest that was found valid, compiled. It is not changed
// after loading and is safe for concurrent use.
type Skill struct {
	abi.Manifest         // as it was written
	GuideText    string  // what a model reads of the guide: without its front matter; empty without files
	Tools        []*Tool // compiled, in the order of the manifest
	byName       map[string]*Tool
}

// Tool finds a tool by name, nil if the skill has none of that name.
func (s *Skill) Tool(name string) *Tool { return s.byName[name] }

// A Tool is one compiled tool. The embedded declaration has its defaults
// filled in (Risk, Breadth), and its Input and Output are self-contained
// schemas: what files held stands under $defs, and every $ref begins with #.
// It is safe for concurrent use.
type Tool struct {
	abi.Tool
	input, output                   *validator // output is nil if the tool declares none
	argShape, factShape, stateShape *shape
	dataShape                       *shape      // of the output, for checks and artifacts
	scope, targets                  *expression // nil if not declared
	rules                           []rule
	checks                          []check
	artifacts                       []artifact
	facts                           map[string]fact
}

// A rule is a compiled abi.Rule.
type rule struct {
	when *expression
	tier abi.Tier
	say  *template // nil if it says nothing
}

// A fact is a compiled abi.FactSpec.
type fact struct {
	tool string
	at   string
	args []factArg // sorted by name
}

// A factArg is one argument of the tool that gives a fact.
type factArg struct {
	name string
	expr *expression
}

// Load reads the manifest name, usually skill.yaml, and the schema files that
// it names, from fsys: the skill's folder. The error is of type Errors.
func Load(fsys fs.FS, name string) (*Skill, error) {
	if err := fileName(name); err != nil {
		return nil, Errors{{File: name, Message: err.Error()}}
	}
	raw, err := readFile(fsys, name)
	if err != nil {
		return nil, Errors{{File: name, Message: err.Error()}}
	}
	return Parse(name, raw, fsys)
}

// Parse reads a manifest from its bytes; name stands in the findings. Schema
// files come from fsys, which may be nil if the manifest names none. The error
// is of type Errors.
func Parse(name string, yaml []byte, fsys fs.FS) (*Skill, error) {
	if len(yaml) > MaxFileBytes {
		return nil, Errors{{File: name, Message: fmt.Sprintf("is larger than %d bytes", MaxFileBytes), Hint: "put schemas into files of their own"}}
	}
	root, found := readYAML(yaml)
	if len(found) > 0 {
		return nil, found.inFile(name).settle(name)
	}
	return newLoader(name, root, fsys).load()
}

// Compile checks and compiles a manifest that comes from code, such as what
// sluice_describe gave. Its schemas must be inline. The error is of type
// Errors, without files and lines.
func Compile(m abi.Manifest) (*Skill, error) {
	raw, err := encode(m)
	if err != nil {
		return nil, Errors{{Message: "cannot be written as JSON: " + err.Error()}}
	}
	if len(raw) > MaxFileBytes {
		return nil, Errors{{Message: fmt.Sprintf("is larger than %d bytes", MaxFileBytes)}}
	}
	root, err := readJSON(raw)
	if err != nil {
		return nil, Errors{{Message: "cannot be read: " + err.Error()}}
	}
	return newLoader("", root, nil).load()
}

// encode writes JSON for people and YAML: without the escapes of HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
