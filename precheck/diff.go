package precheck

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
)

// A Previous is the release that a subject is compared with.
type Previous struct {
	Skill  *manifest.Skill
	Module []byte
}

// comparedRules hold a release against the one before it.
func comparedRules() []Rule {
	return []Rule{{
		ID: "version-order", Severity: Failure, Title: "The version is higher than the last one",
		Reason: "A release never changes, and hosts take the newest.",
		Mend:   "Raise the version: major for what breaks callers, minor for what adds, else patch.",
		check:  (*examination).followsItsVersion,
	}, {
		ID: "breaking", Severity: Failure, Title: "What breaks callers has a new major version",
		Reason: "Sessions, plans and scripts call a tool as they learnt it.",
		Mend:   "Raise the major version, or keep the old form beside the new one.",
		check:  (*examination).keepsItsCallers,
	}, {
		ID: "more-capabilities", Severity: Warning, Title: "The skill may do no more than before",
		Reason: "This is what a reviewer has to agree to.",
		Mend:   "Nothing, if it is meant; say why in the request.",
		check:  (*examination).mayDoNoMore,
	}, {
		ID: "growth-since", Severity: Warning, Title: "Size and fuel have not grown by more than a fifth",
		Reason: "Growth that nobody meant is a mistake in a dependency, or a loop.",
		Mend:   "See what was added; `sluice skill inspect` lists what the module is made of.",
		check:  (*examination).hasNotGrown,
	}}
}

func (x *examination) followsItsVersion(context.Context) {
	if semver.Compare("v"+x.skill.Version, "v"+x.previous.Skill.Version) <= 0 {
		x.find(Finding{File: x.ManifestFile, Field: "version", Message: fmt.Sprintf("%s is not higher than %s, the last release", x.skill.Version, x.previous.Skill.Version)})
	}
}

func (x *examination) keepsItsCallers(context.Context) {
	major := semver.Major("v" + x.previous.Skill.Version)
	if semver.Major("v"+x.skill.Version) != major || major == "v0" {
		return
	}
	for _, before := range x.previous.Skill.Tools {
		now := x.skill.Tool(before.Name)
		if now == nil {
			x.inTool(before.Name, "tools", "the tool %s is gone", before.Name)
			continue
		}
		for _, what := range broken(before, now) {
			x.inTool(before.Name, "tools", "%s: %s", before.Name, what)
		}
	}
}

// broken lists what callers of a tool cannot rely on any more.
func broken(before, now *manifest.Tool) []string {
	var list []string
	if before.Effect != now.Effect {
		list = append(list, fmt.Sprintf("it was a %s and is a %s", before.Effect, now.Effect))
	}
	if now.Risk.Rank() < before.Risk.Rank() {
		list = append(list, fmt.Sprintf("its tier was %s and is %s", before.Risk, now.Risk))
	}
	if before.Breadth != now.Breadth && before.Effect == abi.Write {
		list = append(list, fmt.Sprintf("its breadth was %s and is %s", before.Breadth, now.Breadth))
	}
	if before.Idempotent && !now.Idempotent {
		list = append(list, "it was idempotent")
	}
	for _, side := range []struct {
		name        string
		old, new    json.RawMessage
		newMustTake bool
	}{{"input", before.Input, now.Input, true}, {"output", before.Output, now.Output, false}} {
		old, new := schemaOf(side.old), schemaOf(side.new)
		if side.newMustTake {
			list = append(list, refuses(side.name, old, new, mostCompared)...)
		} else {
			list = append(list, refuses(side.name, new, old, mostCompared)...)
		}
	}
	return list
}

// mostCompared is how deep schemas are compared.
const mostCompared = 8

// A form is a schema with what is needed to follow its references.
type form struct {
	root map[string]any
	at   any
}

func schemaOf(raw json.RawMessage) form {
	var root map[string]any
	_ = json.Unmarshal(raw, &root)
	return form{root, root}
}

func (f form) in(at any) form { return form{f.root, at} }

// open gives the schema behind references; nil takes anything.
func (f form) open() map[string]any {
	for range mostCompared {
		s, _ := f.at.(map[string]any)
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		f.at = lookUp(f.root, ref)
	}
	return nil
}

// refuses lists what taker does not take of what giver gives: of arguments the
// giver is the old schema and the taker the new one, of results it is the other
// way round. Words that it does not know it compares as they stand.
func refuses(at string, giver, taker form, room int) []string {
	g, t := giver.open(), taker.open()
	if t == nil || room == 0 {
		return nil
	}
	var list []string
	add := func(format string, args ...any) { list = append(list, at+" "+fmt.Sprintf(format, args...)) }
	if missing := lost(typesOf(g), typesOf(t)); len(missing) > 0 {
		add("may be %s on one side only", strings.Join(missing, ", "))
		return list
	}
	if missing := lost(wordsOf(g, "enum"), wordsOf(t, "enum")); len(missing) > 0 {
		add("may be %s on one side only", strings.Join(missing, ", "))
	}
	for _, bound := range []struct {
		name string
		low  bool
	}{{"minimum", true}, {"exclusiveMinimum", true}, {"minLength", true}, {"minItems", true}, {"maximum", false}, {"exclusiveMaximum", false}, {"maxLength", false}, {"maxItems", false}} {
		has, bounded := t[bound.name].(float64)
		given, gives := g[bound.name].(float64)
		if bounded && (!gives || bound.low && has > given || !bound.low && has < given) {
			add("has a tighter %s: %s", bound.name, strconv.FormatFloat(has, 'g', -1, 64))
		}
	}
	for _, word := range []string{"pattern", "const", "format", "multipleOf", "uniqueItems"} {
		if t[word] != nil && !equalJSON(t[word], g[word]) {
			add("has another %s", word)
		}
	}
	list = append(list, refusesMembers(at, giver, taker, room)...)
	if g["items"] != nil && t["items"] != nil {
		list = append(list, refuses(at+"[]", giver.in(g["items"]), taker.in(t["items"]), room-1)...)
	}
	return list
}

func refusesMembers(at string, giver, taker form, room int) []string {
	g, t := giver.open(), taker.open()
	given, _ := g["properties"].(map[string]any)
	taken, _ := t["properties"].(map[string]any)
	var list []string
	has := wordsOf(g, "required")
	for _, name := range wordsOf(t, "required") {
		if !slices.Contains(has, name) {
			list = append(list, at+"."+name+" is demanded and may be absent")
		}
	}
	for _, name := range sortedKeys(given) {
		switch inner, ok := taken[name]; {
		case ok:
			list = append(list, refuses(at+"."+name, giver.in(given[name]), taker.in(inner), room-1)...)
		case t["additionalProperties"] == false:
			list = append(list, at+"."+name+" is on one side only")
		}
	}
	if t["additionalProperties"] == false && g["additionalProperties"] != false && g != nil && len(given) > 0 {
		list = append(list, at+" takes no other members any more")
	}
	return list
}

func typesOf(s map[string]any) []string {
	switch t := s["type"].(type) {
	case string:
		if t == "number" {
			return []string{"integer", "number"}
		}
		return []string{t}
	case []any:
		return wordsOf(s, "type")
	}
	return nil
}

// wordsOf gives a list of a schema as JSON texts; nil takes anything.
func wordsOf(s map[string]any, word string) []string {
	list, ok := s[word].([]any)
	if !ok {
		return nil
	}
	words := []string{}
	for _, w := range list {
		if text, ok := w.(string); ok {
			words = append(words, text)
			continue
		}
		b, _ := json.Marshal(w)
		words = append(words, string(b))
	}
	return words
}

// lost gives what is in the first list and not in the second; a second one that
// is nil has everything.
func lost(has, keeps []string) []string {
	if keeps == nil {
		return nil
	}
	if has == nil {
		return []string{"anything"}
	}
	var missing []string
	for _, w := range has {
		if !slices.Contains(keeps, w) {
			missing = append(missing, w)
		}
	}
	return missing
}

func equalJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func (x *examination) mayDoNoMore(context.Context) {
	before := manifest.Sentences(x.previous.Skill.Capabilities)
	for _, line := range manifest.Sentences(x.skill.Capabilities) {
		if !slices.Contains(before, line) {
			x.find(Finding{File: x.ManifestFile, Field: "capabilities", Message: "it adds " + line})
		}
	}
	for _, t := range x.skill.Tools {
		if x.previous.Skill.Tool(t.Name) == nil && t.Effect == abi.Write {
			x.inTool(t.Name, "tools", "it adds a write: %s, %s", t.Name, t.Summary)
		}
	}
}

// The growth since the last release that is told: in percent, if it is also more
// than a few bytes or instructions.
const (
	mostGrowth = 20
	fewBytes   = 16 << 10
	fewUnits   = 1000
)

func (x *examination) hasNotGrown(ctx context.Context) {
	if grown := percent(int64(len(x.previous.Module)), int64(len(x.Module)), fewBytes); grown > mostGrowth {
		x.findf("the module is %d %% larger", grown)
	}
	if x.trial == nil {
		return
	}
	before, err := openTrialOf(ctx, x, x.previous.Skill, x.previous.Module)
	if err != nil {
		x.say(Message{Kind: Skipped, Rule: x.rule.ID, Text: "the last release does not run here: " + err.Error()})
		return
	}
	defer before.close(ctx)
	for _, r := range x.tryExamples(ctx) {
		if x.previous.Skill.Tool(r.tool.Name) == nil || r.outcome.Attempts == 0 {
			continue
		}
		was, err := before.call(ctx, x.previous.Skill, r.tool.Name, r.example.Args, r.example)
		if err != nil || was.Attempts == 0 || codeOf(was) != codeOf(r.outcome) {
			continue // not the same work
		}
		if grown := percent(was.Usage.Fuel, r.outcome.Usage.Fuel, fewUnits); grown > mostGrowth {
			x.inTool(r.tool.Name, r.at, "%q takes %d %% more fuel", r.example.Say, grown)
		}
	}
}

// percent is by how much a number has grown; 0 if that is few.
func percent(before, now, few int64) int64 {
	if before <= 0 || now-before < few {
		return 0
	}
	return 100 * (now - before) / before
}
