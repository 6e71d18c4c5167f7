package abi

// A Reply is the output of sluice_invoke. Exactly one of Data and Problem is
// meant: Data where OK is true, Problem where it is false. What else it has is ignored;
// of members at its top there are at most 64.
type Reply struct {
	OK      bool       `json:"ok"`
	Data    RawMessage `json:"data,omitempty"`
	State   RawMessage `json:"state,omitempty"`   // JSON merge patch (RFC 7396) of state keys that the manifest may write
	Action  RawMessage `json:"action,omitempty"`  // any JSON but null, for sluice_reduce; in place of State
	Preview string     `json:"preview,omitempty"` // one line for the model
	Problem *Problem   `json:"problem,omitempty"`
}

// A Verdict is the output of sluice_check: the skill's own opinion of a write
// before it runs. It can only tighten: an empty Tier leaves the tier alone.
type Verdict struct {
	Tier    Tier     `json:"tier,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Problem *Problem `json:"problem,omitempty"` // refuses the call
}

// A Reduction is the input of sluice_reduce: the state keys of the session that
// the manifest may read or write, as far as they exist, and one tool's action.
// Its output is one JSON object with the new values of keys that the manifest
// may write: a key that it leaves out stays as it is, and null removes one.
// Equal input must give equal output; a reducer has no clock, no chance and no
// host functions but logs. One that refuses the action returns non-zero with a
// Problem, as JSON, as Extism's error.
type Reduction struct {
	ABI    int                   `json:"abi"`
	State  map[string]RawMessage `json:"state"`
	Action RawMessage            `json:"action"`
}
