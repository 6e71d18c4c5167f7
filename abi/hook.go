package abi

// A HookPoint is a point of a session's life at which a policy module is asked.
type HookPoint string

// Hook points.
const (
	PreToolCall   HookPoint = "pre_tool_call"  // before the tier of a call is decided
	PostToolCall  HookPoint = "post_tool_call" // before the result of a call is kept
	PostReasoning HookPoint = "post_reasoning" // before the model's answer is kept
)

// HookPoints lists all points, in the order of a turn.
func HookPoints() []HookPoint { return []HookPoint{PreToolCall, PostToolCall, PostReasoning} }

// An Opinion is the output of sluice_hook: what a policy module thinks of what
// it was asked about. It can only tighten; the zero value has nothing to say. At
// the points that come after, a tier other than auto is a fault: what is to be
// stopped there is refused with a problem.
type Opinion struct {
	Tier    Tier     `json:"tier,omitempty"`    // the least that the call becomes
	Say     string   `json:"say,omitempty"`     // why, for the user
	Problem *Problem `json:"problem,omitempty"` // refuses, with a code that is a skill's to give
	Note    string   `json:"note,omitempty"`    // for the record
}

// Check gives what is wrong with an opinion that was given at a point, or nothing.
// What is wrong is no opinion: its tier, its refusal, may be what was misspelt.
func (o Opinion) Check(at HookPoint) string {
	switch o.Tier {
	case "", Auto:
	case SoftGate, HardGate, Block:
		if at != PreToolCall {
			return "it asks for the tier " + string(o.Tier) + " where there is none to raise; refuse with a problem there"
		}
	default:
		return "it asks for a tier that there is not"
	}
	if o.Problem != nil && !o.Problem.Code.OfSkill() {
		return "it refuses with a code that is not a skill's to give"
	}
	return ""
}
