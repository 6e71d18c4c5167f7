package sdk

import "github.com/sluicehq/sluice/abi"

// A SkillOption refines the declaration of a skill.
type SkillOption interface{ applySkill(*abi.Manifest) }

// A ToolOption refines the declaration of a tool.
type ToolOption interface{ applyTool(*tool) }

type skillOption func(*abi.Manifest)

// forSkill gives an option; there is none where the description is a constant.
func forSkill(apply func(*abi.Manifest)) SkillOption {
	if described {
		return nil
	}
	return skillOption(apply)
}

func (o skillOption) applySkill(m *abi.Manifest) { o(m) }

type toolOption func(*tool)

func forTool(apply func(*tool)) ToolOption {
	if described {
		return nil
	}
	return toolOption(apply)
}

func (o toolOption) applyTool(t *tool) { o(t) }

// A SkillFlag is a SkillOption without a value.
type SkillFlag int

// Flags of a skill.
const (
	Clock  SkillFlag = iota + 1 // the guest's clock runs; else it stands still at the call's start
	Random                      // the guest's random numbers are real; else they follow from the call's id
)

func (f SkillFlag) applySkill(m *abi.Manifest) {
	switch f {
	case Clock:
		m.Capabilities.Clock = true
	case Random:
		m.Capabilities.Random = true
	}
}

// A ToolFlag is a ToolOption without a value.
type ToolFlag int

// Flags of a tool.
const (
	Write      ToolFlag = iota + 1 // it changes something; without this flag a tool only reads
	Idempotent                     // a write that is safe to run again under the same key after a crash
	Repeatable                     // may be asked again and again, such as a poll; exempt from the loop breaker
)

func (f ToolFlag) applyTool(t *tool) {
	switch f {
	case Write:
		t.Effect = abi.Write
	case Idempotent:
		t.Idempotent = true
	case Repeatable:
		t.Repeatable = true
	}
}

// Positioning tells the model what the skill is for and what it must never be
// used for.
func Positioning(text string) SkillOption {
	return forSkill(func(m *abi.Manifest) { m.Positioning = text })
}

// KV opens one namespace of the transactional store. Skills that name the same
// namespace share it; tenants never do.
func KV(namespace string) SkillOption {
	return forSkill(func(m *abi.Manifest) { m.Capabilities.KV = &abi.KVAccess{Namespace: namespace} })
}

// StateAccess lists the session state keys that the skill reads and writes; a
// key may end in ".*".
func StateAccess(reads, writes []string) SkillOption {
	return forSkill(func(m *abi.Manifest) {
		m.Capabilities.State = &abi.StateAccess{Reads: reads, Writes: writes}
	})
}

// Limit asks for other limits than the defaults, for each call. A zero field
// keeps the default.
func Limit(l abi.Limits) SkillOption {
	return forSkill(func(m *abi.Manifest) { m.Limits = l })
}

// Guide names the file with longer instructions for the model. It lies beside
// the skill's code and is shown only when the skill is in play.
func Guide(file string) SkillOption {
	return forSkill(func(m *abi.Manifest) { m.Guide = file })
}

// Summary says in one line what the tool does, for the model and for people.
func Summary(text string) ToolOption {
	return forTool(func(t *tool) { t.Summary = text })
}

// Risk is the tool's least tier; rules and the platform's red lines only
// raise it. Without it a tool has the tier auto.
func Risk(tier abi.Tier) ToolOption {
	return forTool(func(t *tool) { t.Risk = tier })
}

// Breadth says how much a write touches. Without it a write touches one thing.
func Breadth(b abi.Breadth) ToolOption {
	return forTool(func(t *tool) { t.Breadth = b })
}

// Targets is a CEL expression that gives the ids that a call touches, as a
// list of texts, such as "[args.sku]". Writes to one target run one after the
// other.
func Targets(expression string) ToolOption {
	return forTool(func(t *tool) { t.Targets = expression })
}

// Fact declares something that the rules, or the handler by FactOf, need to
// know; the host gets it from a read tool.
func Fact(name string, spec abi.FactSpec) ToolOption {
	return forTool(func(t *tool) {
		if t.Facts == nil {
			t.Facts = map[string]abi.FactSpec{}
		}
		if _, twice := t.Facts[name]; twice {
			t.fault("fact " + name + " is declared twice")
		}
		t.Facts[name] = spec
	})
}

// Undo names the tool that compensates this one.
func Undo(name string) ToolOption {
	return forTool(func(t *tool) { t.Undo = name })
}

// Scope is a CEL expression that says whether a request is this tool's
// business.
func Scope(expression string) ToolOption {
	return forTool(func(t *tool) { t.Scope = expression })
}

// Rule raises the tier of a call when the CEL expression holds; say is shown
// to the user and may hold {{expression}} parts.
func Rule(when string, tier abi.Tier, say string) ToolOption {
	return forTool(func(t *tool) { t.Rules = append(t.Rules, abi.Rule{When: when, Tier: tier, Say: say}) })
}

// Verify is a CEL expression that must hold for a result, which it sees as
// data, beside args, facts and state; else nothing of the call is kept. say is
// what it means that it does not hold; it may be empty and hold {{expression}}
// parts.
func Verify(that, say string) ToolOption {
	return forTool(func(t *tool) { t.Checks = append(t.Checks, abi.Check{That: that, Say: say}) })
}

// Artifact declares files or blobs that a write leaves; the host looks whether
// they are there and as they should be before anything of the call is kept.
func Artifact(a abi.Artifact) ToolOption {
	return forTool(func(t *tool) { t.Artifacts = append(t.Artifacts, a) })
}
