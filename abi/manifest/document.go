package manifest

import (
	"bytes"
	_ "embed"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

//go:embed skill.schema.json
var documentSchema []byte

// Schema gives the JSON Schema (draft 2020-12) of skill.yaml, for editors and
// for whoever writes manifests by program.
func Schema() []byte { return slices.Clone(documentSchema) }

// documentForm is the compiled schema of skill.yaml; it never changes.
var documentForm = sync.OnceValue(func() *validator { return compileForm("skill.schema.json", documentSchema) })

// compileForm compiles the schema of a whole file of ours.
func compileForm(name string, schema []byte) *validator {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.ExtractAnnotations = true
	if err := c.AddResource(schemaBase+name, bytes.NewReader(schema)); err != nil {
		panic("BUG: " + name + ": " + err.Error())
	}
	compiled, err := c.Compile(schemaBase + name)
	if err != nil {
		panic("BUG: " + name + ": " + err.Error())
	}
	return &validator{schema: compiled}
}
