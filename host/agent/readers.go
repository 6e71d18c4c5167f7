package agent

import (
	"github.com/sluicehq/sluice/host/release"
)

// A reader is a tool by which a model takes parts of what lies in a blob.
type reader struct{ skill, tool string }

// readers are those of the platform's own skills, best first: a filter over all
// of it says in one call what reading says in many.
func readers() []reader {
	return []reader{
		{"sandbox.jq", "query_json"}, {"sandbox.shell", "run_shell"},
		{"sluice.blobs", "read_blob_value"}, {"sluice.blobs", "search_blob"}, {"sluice.blobs", "read_blob"},
	}
}

// blobReaders gives the tools of a catalog that read blobs.
func blobReaders(c *release.Catalog) (tools []string) {
	for _, r := range readers() {
		if entry, problem := c.Resolve(r.tool); problem == nil && entry.Release.Skill.Name == r.skill {
			tools = append(tools, r.tool)
		}
	}
	return tools
}
