package sdk

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// describe gives the manifest as JSON, or a problem that lists every mistake
// of the declarations.
func (s *skill) describe() ([]byte, error) {
	if described || s.description != "" {
		return []byte(s.description), nil
	}
	m := s.manifest
	faults := append(s.faults(), s.reducer.describe(&m)...)
	faults = append(faults, s.hooks.describe(&m, len(s.tools))...)
	for _, t := range s.tools {
		described, wrong := t.describe(s)
		faults = append(faults, wrong...)
		m.Tools = append(m.Tools, described)
	}
	if len(faults) > 0 {
		return nil, abi.NewProblem(abi.InvalidManifest, "%s: %s", s.title(), strings.Join(faults, "; ")).
			WithHint("Correct the declarations in the skill's code and build it again.")
	}
	return encode(m)
}

func (s *skill) title() string {
	if s.manifest.Name == "" {
		return "this skill"
	}
	return s.manifest.Name + " " + s.manifest.Version
}

// faults gives what is wrong with the declaration of the skill itself. The
// host checks the whole manifest again; this is what an author meets first.
func (s *skill) faults() []string {
	var faults []string
	if s.count != 1 {
		faults = append(faults, "sdk.Skill is called "+strconv.Itoa(s.count)+" times; call it once")
	}
	if !words(s.manifest.Name, ".") {
		faults = append(faults, "the name "+quote(s.manifest.Name)+" is not lower-case words joined by dots")
	}
	if strings.Count(s.manifest.Version, ".") < 2 {
		faults = append(faults, "the version "+quote(s.manifest.Version)+" is not a semantic version such as 1.0.0")
	}
	if s.manifest.Summary == "" {
		faults = append(faults, "the summary is empty")
	}
	if len(s.tools) == 0 && s.hooks.serve == nil {
		faults = append(faults, "there is no tool")
	}
	for _, over := range s.manifest.Limits.Exceeds(abi.CeilingLimits()) {
		faults = append(faults, "limit of "+over)
	}
	return append(faults, s.twice()...)
}

func (s *skill) twice() []string {
	times := map[string]int{}
	var faults []string
	for _, t := range s.tools {
		if times[t.Name]++; times[t.Name] == 2 {
			faults = append(faults, "tool "+t.Name+" is declared twice")
		}
	}
	return faults
}

// describe gives the tool with its schemas, and what is wrong with it.
func (t *tool) describe(s *skill) (abi.Tool, []string) {
	described, faults := t.Tool, slices.Clone(t.faults)
	add := func(text string) { faults = append(faults, text) }
	if !words(t.Name, "_") {
		add("the name is not lower-case words joined by underscores")
	}
	if t.Summary == "" {
		add("the summary is empty")
	}
	if t.Effect == abi.Read && (t.Idempotent || t.Undo != "" || t.Breadth != "") {
		add("Idempotent, Undo and Breadth are for a tool with sdk.Write")
	}
	if t.Effect == abi.Read && len(t.Artifacts) > 0 {
		add("an Artifact is of a tool with sdk.Write")
	}
	if t.Undo != "" && s.find(t.Undo) == nil {
		add("Undo names " + quote(t.Undo) + ", which is no tool of this skill")
	}
	var err error
	if described.Input, err = inputSchema(t.in); err != nil {
		add("its arguments: " + err.Error())
	}
	if described.Output, err = outputSchema(t.out); err != nil {
		add("its result: " + err.Error())
	}
	for _, e := range t.examples {
		example, wrong := e.describe()
		described.Examples = append(described.Examples, example)
		faults = append(faults, wrong...)
	}
	for i, f := range faults {
		faults[i] = "tool " + quote(t.Name) + ": " + f
	}
	return described, faults
}

// words reports whether name is lower-case words, with digits after the first
// letter, joined by the separator.
func words(name, separator string) bool {
	for _, word := range strings.Split(name, separator) {
		if word == "" || !strings.Contains(lowerCase, word[:1]) || strings.Trim(word, lowerCase+"0123456789") != "" {
			return false
		}
	}
	return true
}

const lowerCase = "abcdefghijklmnopqrstuvwxyz"

// encodeProblem gives a problem as JSON.
func encodeProblem(err error) []byte {
	b, failed := encode(err)
	if failed != nil {
		panic("BUG: a problem cannot be encoded: " + failed.Error())
	}
	return b
}
