package abi

import "strings"

// An Effect says whether a tool changes anything.
type Effect string

// Effects.
const (
	Read  Effect = "read"
	Write Effect = "write" // carries an idempotency key
)

// A Tier is the risk tier of a call. Tiers are ordered; see Stricter.
type Tier string

// Tiers, mildest first.
const (
	Auto     Tier = "auto"      // runs
	SoftGate Tier = "soft-gate" // the user is told, and it runs
	HardGate Tier = "hard-gate" // a person must say yes first; nobody waits, nothing times out
	Block    Tier = "block"     // never runs; an alert is raised
)

// Rank orders the tiers from 0 (auto) to 3 (block). An unknown tier ranks as
// block: what cannot be understood is not let through.
func (t Tier) Rank() int {
	switch t {
	case Auto:
		return 0
	case SoftGate:
		return 1
	case HardGate:
		return 2
	}
	return 3
}

// Stricter gives the stricter of two tiers.
func (t Tier) Stricter(other Tier) Tier {
	if other.Rank() > t.Rank() {
		return other
	}
	return t
}

// A Breadth is how much a write touches.
type Breadth string

// Breadths.
const (
	One      Breadth = "one"
	Batch    Breadth = "batch"
	Category Breadth = "category"
)

// A Manifest is skill.yaml: what a skill is for, what it may touch, how much
// it may use, and its tools. Absent capabilities are denied.
type Manifest struct {
	Sluice       int          `json:"sluice"` // manifest version: 1
	Name         string       `json:"name"`   // lower-case words joined by dots
	Version      string       `json:"version"`
	Summary      string       `json:"summary"`               // one line, for people
	Positioning  string       `json:"positioning,omitempty"` // for the model: what it is for and never for
	Module       string       `json:"module,omitempty"`      // file name, beside skill.yaml
	SHA256       string       `json:"sha256,omitempty"`      // of the module, hex; written by publish
	Size         int64        `json:"size,omitempty"`        // of the module, bytes; written by publish
	Guide        string       `json:"guide,omitempty"`       // file name of longer instructions for the model
	ABI          int          `json:"abi"`
	Reducer      bool         `json:"reducer,omitempty"` // the module's sluice_reduce makes the state from its tools' actions
	Hooks        []HookPoint  `json:"hooks,omitempty"`   // of a policy module, which has no tools and no capabilities: where it may be asked
	Limits       Limits       `json:"limits,omitzero"`
	Capabilities Capabilities `json:"capabilities,omitzero"`
	Tools        []Tool       `json:"tools,omitempty"` // at least one, but for a policy module
}

// Capabilities are the host resources that a skill may use. The zero value
// grants nothing.
type Capabilities struct {
	HTTP     []HTTPRule   `json:"http,omitempty"`
	KV       *KVAccess    `json:"kv,omitempty"`
	State    *StateAccess `json:"state,omitempty"`
	Memory   *MemoryUse   `json:"memory,omitempty"`
	Blob     AccessMode   `json:"blob,omitempty"`
	Files    AccessMode   `json:"files,omitempty"`
	Clock    bool         `json:"clock,omitempty"`    // else the guest's clock stands at the call's start
	Random   bool         `json:"random,omitempty"`   // else seeded from the call's id
	Progress bool         `json:"progress,omitempty"` // may report progress while it runs
}

// An AccessMode is read, or write, which includes read.
type AccessMode string

// Access modes.
const (
	AccessRead  AccessMode = "read"
	AccessWrite AccessMode = "write"
)

// An HTTPRule opens one host.
type HTTPRule struct {
	Host    string    `json:"host"`    // exact, or *.example.com for one label; scheme and port optional, https by default
	Methods []string  `json:"methods"` // none means none
	Paths   []string  `json:"paths"`   // globs by segment
	Auth    *HTTPAuth `json:"auth,omitempty"`
}

// HTTPAuth names a secret that the host adds to a request. The guest never
// sees it.
type HTTPAuth struct {
	Secret string `json:"secret"`
	Header string `json:"header"`
	Prefix string `json:"prefix,omitempty"`
}

// KVAccess opens one namespace of the transactional store, per tenant.
type KVAccess struct {
	Namespace string `json:"namespace"`
}

// StateAccess lists the session state keys that may be read and written; a
// key may end in ".*". A key may declare a schema, inline or by file name, as a
// tool's input does; expressions over it are then typed.
type StateAccess struct {
	Reads   []string              `json:"reads,omitempty"`
	Writes  []string              `json:"writes,omitempty"`
	Schemas map[string]RawMessage `json:"schemas,omitempty"`
}

// MayRead reports whether the key is among the reads. A nil access allows
// nothing.
func (a *StateAccess) MayRead(key string) bool { return a != nil && matches(a.Reads, key) }

// MayWrite reports whether the key is among the writes.
func (a *StateAccess) MayWrite(key string) bool { return a != nil && matches(a.Writes, key) }

func matches(patterns []string, key string) bool {
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); p == key || ok && strings.HasSuffix(prefix, ".") && strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// MemoryUse lists the kinds of memories that may be recalled and remembered.
type MemoryUse struct {
	Recall   []string `json:"recall,omitempty"`
	Remember []string `json:"remember,omitempty"`
}

// A Tool is one callable operation of a skill.
type Tool struct {
	Name       string              `json:"name"` // lower-case words joined by underscores
	Summary    string              `json:"summary"`
	Effect     Effect              `json:"effect"`
	Risk       Tier                `json:"risk,omitempty"`    // the least tier; rules and red lines only raise it
	Breadth    Breadth             `json:"breadth,omitempty"` // of a write; one by default
	Targets    string              `json:"targets,omitempty"` // CEL, gives a list of text: the ids that a call touches
	Facts      map[string]FactSpec `json:"facts,omitempty"`
	Idempotent bool                `json:"idempotent,omitempty"` // safe to run again under the same key after a crash
	Undo       string              `json:"undo,omitempty"`       // the tool that compensates
	Repeatable bool                `json:"repeatable,omitempty"` // exempt from the loop breaker
	Scope      string              `json:"scope,omitempty"`      // CEL, gives a bool
	Rules      []Rule              `json:"rules,omitempty"`
	Checks     []Check             `json:"checks,omitempty"`    // of the result, before anything is kept
	Artifacts  []Artifact          `json:"artifacts,omitempty"` // of a write: the files that it must leave
	Input      RawMessage          `json:"input"`               // JSON Schema 2020-12, or a file name as a JSON string
	Output     RawMessage          `json:"output,omitempty"`    // likewise; absent accepts any JSON
	Examples   []Example           `json:"examples,omitempty"`
}

// A FactSpec says how a fact is got: by a read tool, with arguments that are
// CEL expressions, at a dotted path of its data, no older than MaxAge.
type FactSpec struct {
	Tool   string            `json:"tool"`
	Args   map[string]string `json:"args,omitempty"`
	At     string            `json:"at,omitempty"`
	MaxAge Duration          `json:"max_age,omitempty"` // 0 means fetched for every call
}

// A Rule raises the tier of a call when its condition holds.
type Rule struct {
	When string `json:"when"` // CEL, gives a bool
	Tier Tier   `json:"tier"`
	Say  string `json:"say,omitempty"` // text with {{expression}} parts
}

// A Check must hold for a result, or nothing of the call is kept.
type Check struct {
	That string `json:"that"`          // CEL, gives a bool; sees data, the result, beside what rules see
	Say  string `json:"say,omitempty"` // text with {{expression}} parts: what it means that it does not hold
}

// An Artifact is what a call says that it has written: files of the session, or
// blobs. Each of them must be there, as the call leaves it, or nothing is kept.
type Artifact struct {
	Path     string `json:"path,omitempty"`      // CEL over what checks see, gives a path or a list of them; * and ? in a name match files that the call wrote
	Blob     string `json:"blob,omitempty"`      // likewise, gives the id of a blob that the call wrote, or a list of them
	Format   string `json:"format,omitempty"`    // it must parse as json, yaml, toml, csv or go, or pass the operator's linter for that extension
	Empty    bool   `json:"empty,omitempty"`     // it may be empty
	MinBytes Size   `json:"min_bytes,omitempty"` // the least that it has
	Existing bool   `json:"existing,omitempty"`  // it may have been there before, such as where the same write was done earlier
}

// An Example is a call that shows, and is used to test, what a tool does.
type Example struct {
	Say     string                `json:"say"` // the user's words
	Args    RawMessage            `json:"args"`
	State   map[string]RawMessage `json:"state,omitempty"`
	KV      map[string]RawMessage `json:"kv,omitempty"` // what the namespace holds before
	Returns RawMessage            `json:"returns,omitempty"`
	Problem Code                  `json:"problem,omitempty"` // the example is refused with this code
}
