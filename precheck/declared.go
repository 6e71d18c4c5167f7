package precheck

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
)

// manifestRules need a valid manifest: what is said there is possible; whether
// it is wise is looked at here.
func manifestRules() []Rule {
	return []Rule{{
		ID: "positioning", Severity: Warning, Title: "The positioning says what the skill is not for",
		Reason: "A model takes the nearest tool, and only this keeps it from one that is merely near.",
		Mend:   "Add a sentence such as \"Never for coupons\" to positioning.",
		check:  (*examination).saysWhatItIsNotFor,
	}, {
		ID: "targets", Severity: Failure, Title: "A write says what it touches",
		Reason: "Without targets every call of it waits for a person, and two writes to one thing are not kept apart.",
		Mend:   "Declare targets, an expression over args that gives the ids, and breadth where it is a batch or a category.",
		check:  (*examination).namesTargets,
	}, {
		ID: "way-back", Severity: Warning, Title: "A write can be done again, or undone",
		Reason: "After a crash nobody knows whether it was done: it can be neither repeated nor taken back without a person.",
		Mend:   "Have the business take the idempotency key and declare idempotent, or name the tool that compensates as undo.",
		check:  (*examination).hasAWayBack,
	}, {
		ID: "effect", Severity: Failure, Title: "A skill that may change something has a tool that says so",
		Reason: "A read runs without a gate; a write that calls itself a read would, too.",
		Mend:   "Declare effect: write for the tools that change something, or take the capability out.",
		check:  (*examination).admitsItsWrites,
	}, {
		ID: "flat-arguments", Severity: Failure, Title: "Arguments are flat",
		Reason: "A model fills flat arguments right, and nested ones wrong.",
		Mend:   "Lift the members of the object up, with a prefix in their names.",
		check:  (*examination).hasFlatArguments,
	}, {
		ID: "distinct", Severity: Warning, Title: "A model can tell the tools apart",
		Reason: "Of two tools that read alike, a model takes either.",
		Mend:   "Say in the summaries what each one does that the other does not, and name them so.",
		check:  (*examination).canBeToldApart,
	}, {
		ID: "words", Severity: Warning, Title: "Every argument says what it is",
		Reason: "The description is all that a model knows of it.",
		Mend:   "Give it a description: what it is, its unit, and where its value comes from.",
		check:  (*examination).describesArguments,
	}}
}

// notFor are the words, in the languages that skills are written in, by which a
// text says what not to do.
var notFor = []string{"never", "not for", "not to be", "do not", "don't", "must not", "not use", "cannot", "no other", "不要", "不能", "不可", "不用于", "不得", "勿", "禁止", "切勿", "不适用", "并非"}

func (x *examination) saysWhatItIsNotFor(context.Context) {
	text := strings.ToLower(x.skill.Positioning)
	for _, word := range notFor {
		if strings.Contains(text, word) {
			return
		}
	}
	message := "positioning says only what the skill is for"
	if strings.TrimSpace(text) == "" {
		message = "there is no positioning"
	}
	x.find(Finding{File: x.ManifestFile, Field: "positioning", Message: message})
}

func (x *examination) eachWrite(look func(at string, t *manifest.Tool)) {
	x.eachTool(func(at string, t *manifest.Tool) {
		if t.Effect == abi.Write {
			look(at, t)
		}
	})
}

func (x *examination) eachTool(look func(at string, t *manifest.Tool)) {
	for i, t := range x.skill.Tools {
		look(fmt.Sprintf("tools[%d]", i), t)
	}
}

func (x *examination) namesTargets(context.Context) {
	x.eachWrite(func(at string, t *manifest.Tool) {
		if t.Targets == "" {
			x.inTool(t.Name, at+".targets", "%s is a write and declares no targets", t.Name)
		}
	})
}

func (x *examination) hasAWayBack(context.Context) {
	x.eachWrite(func(at string, t *manifest.Tool) {
		if !t.Idempotent && t.Undo == "" && !x.undoes(t) {
			x.inTool(t.Name, at, "%s is neither idempotent nor has an undo", t.Name)
		}
	})
}

// undoes reports whether the tool is another one's way back.
func (x *examination) undoes(t *manifest.Tool) bool {
	for _, other := range x.skill.Tools {
		if other.Undo == t.Name {
			return true
		}
	}
	return false
}

func (x *examination) admitsItsWrites(context.Context) {
	writes := false
	x.eachWrite(func(string, *manifest.Tool) { writes = true })
	if writes {
		return
	}
	for _, c := range changing(x.skill.Capabilities) {
		x.find(Finding{File: x.ManifestFile, Field: "capabilities." + c, Message: "every tool says that it is a read, and the skill may change something by its capability " + c})
	}
}

// changing lists the capabilities by which a skill changes what others see. A
// kv namespace is the skill's own: it may keep what it read.
func changing(c abi.Capabilities) []string {
	var names []string
	if c.State != nil && len(c.State.Writes) > 0 {
		names = append(names, "state")
	}
	if c.Memory != nil && len(c.Memory.Remember) > 0 {
		names = append(names, "memory")
	}
	if c.Files == abi.AccessWrite {
		names = append(names, "files")
	}
	for _, h := range c.HTTP {
		for _, method := range h.Methods {
			if method != "GET" && method != "HEAD" && method != "OPTIONS" && method != "POST" { // many searches are POSTs
				return append(names, "http")
			}
		}
	}
	return names
}

// Depths of arguments: 1 is a flat object.
const (
	warnedDepth = 2
	mostDepth   = 3 // and deeper fails
)

func (x *examination) hasFlatArguments(context.Context) {
	x.eachTool(func(at string, t *manifest.Tool) {
		depth := argumentDepth(t.Input)
		f := Finding{File: x.ManifestFile, Tool: t.Name, Field: at + ".input", Message: fmt.Sprintf("the arguments of %s are objects in objects, %d deep", t.Name, depth)}
		switch {
		case depth >= mostDepth:
			x.find(f)
		case depth >= warnedDepth:
			f.Severity = Warning
			x.find(f)
		}
	})
}

// argumentDepth counts the objects in objects that a schema describes: 1 for a
// flat one. Lists count as what is in them; a reference in a circle as deep as
// the bound.
func argumentDepth(schema json.RawMessage) int {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil {
		return 0
	}
	d := depths{root, map[reference]int{}}
	return d.of(root, mostDepth+1)
}

// depths remembers what references lead to: many may lead to the same.
type depths struct {
	root map[string]any
	seen map[reference]int
}

type reference struct {
	to   string
	room int
}

func (d depths) of(schema any, room int) int {
	s, ok := schema.(map[string]any)
	if !ok || room == 0 {
		return 0
	}
	depth := d.ofReference(s, room)
	if properties, ok := s["properties"].(map[string]any); ok {
		depth = max(depth, 1)
		for _, p := range properties {
			depth = max(depth, 1+d.of(p, room-1))
		}
	}
	if inner := d.of(s["additionalProperties"], room-1); inner > 0 {
		depth = max(depth, 1+inner)
	}
	for _, word := range []string{"items", "contains"} {
		depth = max(depth, d.of(s[word], room-1))
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		list, _ := s[word].([]any)
		for _, part := range list {
			depth = max(depth, d.of(part, room-1))
		}
	}
	return depth
}

func (d depths) ofReference(s map[string]any, room int) int {
	to, ok := s["$ref"].(string)
	if !ok {
		return 0
	}
	r := reference{to, room}
	if depth, ok := d.seen[r]; ok {
		return depth
	}
	d.seen[r] = 0 // of a circle
	d.seen[r] = d.of(lookUp(d.root, to), room-1)
	return d.seen[r]
}

// lookUp follows a reference into the same schema, as the loader leaves them.
func lookUp(root map[string]any, ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = root
	for _, part := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		m, ok := at.(map[string]any)
		if !ok || part == "" {
			return at
		}
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}

func (x *examination) describesArguments(context.Context) {
	x.eachTool(func(at string, t *manifest.Tool) {
		var input struct {
			Properties map[string]struct {
				Description string          `json:"description"`
				Ref         string          `json:"$ref"`
				Enum        json.RawMessage `json:"enum"`
				Const       json.RawMessage `json:"const"`
			} `json:"properties"`
		}
		if json.Unmarshal(t.Input, &input) != nil {
			return
		}
		var without []string
		for name, p := range input.Properties {
			if p.Description == "" && p.Ref == "" && p.Enum == nil && p.Const == nil {
				without = append(without, name)
			}
		}
		if len(without) > 0 {
			x.inTool(t.Name, at+".input", "%s say nothing of themselves: %s", t.Name, sorted(without))
		}
	})
}
