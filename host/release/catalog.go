package release

import (
	"maps"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
)

// A Catalog is the tools of one session. It is immutable.
type Catalog struct {
	Missing map[string]error // pinned releases that could not be had, by name@version

	entries []Entry
	byName  map[string]int // index in entries
}

// An Entry is one tool with the release that it belongs to.
type Entry struct {
	Release *Release
	Tool    *manifest.Tool
}

func newCatalog(releases []*Release, missing map[string]error) *Catalog {
	c := &Catalog{Missing: missing, byName: map[string]int{}}
	for _, r := range releases {
		for _, spec := range r.Skill.Manifest.Tools {
			// Set.Load keeps the current releases apart; among pinned ones the
			// first by skill name has the tool.
			if _, taken := c.byName[spec.Name]; !taken {
				c.byName[spec.Name] = len(c.entries)
				c.entries = append(c.entries, Entry{r, r.Skill.Tool(spec.Name)})
			}
		}
	}
	return c
}

// Entries lists the tools in a stable order: by skill, then as the manifest
// has them. The caller must not change the slice.
func (c *Catalog) Entries() []Entry { return c.entries }

// Skills lists the skills by name.
func (c *Catalog) Skills() []*manifest.Skill {
	var skills []*manifest.Skill
	for _, e := range c.entries {
		if n := len(skills); n == 0 || skills[n-1] != e.Release.Skill {
			skills = append(skills, e.Release.Skill)
		}
	}
	return skills
}

// Tools lists the tools in the order of Entries.
func (c *Catalog) Tools() []*manifest.Tool {
	tools := make([]*manifest.Tool, len(c.entries))
	for i, e := range c.entries {
		tools[i] = e.Tool
	}
	return tools
}

// nearNames is how many candidates an unknown tool's problem offers: enough to
// correct a slip, few enough to read.
const nearNames = 5

// Resolve finds a tool by its name. An unknown name is a problem with the
// nearest names as candidates, and with the skills that are missing, since it
// may be one of theirs. A nil catalogue has no tools.
func (c *Catalog) Resolve(name string) (Entry, *abi.Problem) {
	if c == nil {
		c = &Catalog{}
	}
	if i, ok := c.byName[name]; ok {
		return c.entries[i], nil
	}
	known := make([]string, len(c.entries))
	for i, e := range c.entries {
		known[i] = e.Tool.Name
	}
	problem := abi.NewProblem(abi.UnknownTool, "there is no tool %.80q", name).WithField("tool")
	if len(c.Missing) > 0 {
		problem.Message += "; " + strings.Join(slices.Sorted(maps.Keys(c.Missing)), ", ") + " cannot be loaded now, and its tools with it"
	}
	if near := abi.Nearest(name, known, nearNames); len(near) > 0 {
		return Entry{}, problem.WithCandidates(near...).WithHint("did you mean %s?", near[0])
	}
	return Entry{}, problem.WithHint("use a tool from the list")
}
