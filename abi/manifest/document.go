package manifest

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

//go:embed skill.schema.json
var documentSchema []byte

// Schema gives the JSON Schema (draft 2020-12) of skill.yaml, for editors and
// for whoever writes manifests by program.
func Schema() []byte { return slices.Clone(documentSchema) }

// documentForm is the compiled schema of skill.yaml; it never changes.
var documentForm = sync.OnceValue(func() *validator {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.ExtractAnnotations = true
	if err := c.AddResource(schemaBase+"skill.schema.json", strings.NewReader(string(documentSchema))); err != nil {
		panic("BUG: skill.schema.json: " + err.Error())
	}
	schema, err := c.Compile(schemaBase + "skill.schema.json")
	if err != nil {
		panic("BUG: skill.schema.json: " + err.Error())
	}
	return &validator{schema: schema}
})
