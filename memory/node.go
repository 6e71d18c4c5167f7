package memory

import (
	"time"

	"github.com/sluicehq/sluice/host"
)

// Bounds of one memory.
const (
	MaxTextBytes   = 16 << 10 // of Text and of IndexText each: a turn of a conversation, a chunk of a document
	MaxEntityBytes = 256
	MaxTopicBytes  = 128
)

// An ID names one memory within its tenant. It is a UUID that the keeper gives.
type ID string

// A Layer says how a memory came to be. L1 counts most: L2 and L3 add to it and
// score it, and never replace it.
type Layer int8

// The layers.
const (
	Declared  Layer = 1 // L1: the user said so
	Fact      Layer = 2 // L2: a tool returned it
	Behaviour Layer = 3 // L3: aggregated from what the user did
)

// A Kind says what a memory is.
type Kind string

// The kinds.
const (
	Preference Kind = "preference"
	Constraint Kind = "constraint" // must be kept; never forgotten by a job
	Feedback   Kind = "feedback"
	FactOf     Kind = "fact"
	Habit      Kind = "habit"
	Profile    Kind = "profile"
)

// A Status says whether a memory counts.
type Status string

// The statuses. Only an active memory is recalled, except by who asks for others.
const (
	Active     Status = "active"
	Superseded Status = "superseded" // by a newer one, see Node.SupersededBy
	Falsified  Status = "falsified"  // shown to be wrong
	Archived   Status = "archived"   // forgotten by a job; comes back on request
)

// A Freshness says how fast a memory goes stale. Its half-life is a setting.
type Freshness string

// The classes.
const (
	Slow Freshness = "slow" // experience, taste
	Fast Freshness = "fast" // prices, stock, rules of a platform
)

// A Span is from From (inclusive) until Until (exclusive); a zero end is open.
type Span struct {
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// A Source is where a memory comes from, down to the call or the message.
type Source struct {
	Session  host.SessionID `json:"session,omitempty"`
	Live     host.LiveID    `json:"live,omitempty"`
	Input    host.InputID   `json:"input,omitempty"` // the message
	Call     host.CallID    `json:"call,omitempty"`
	Platform string         `json:"platform,omitempty"`
	Device   string         `json:"device,omitempty"`
	Speaker  string         `json:"speaker,omitempty"`  // of a turn
	Document string         `json:"document,omitempty"` // of a piece of one: its id; the keeper knows the place
	Order    int64          `json:"order,omitempty"`    // place within its session, from 1
	Derived  []ID           `json:"derived,omitempty"`  // memories that it was made of
}

// A Claim is the part of a memory that can be compared with another one: what it
// is about, and a range of numbers or words. "Opens with 10 minutes of talk" has the
// topic "opening.minutes" and the range 10 to 10.
type Claim struct {
	Topic string   `json:"topic"`
	Low   *float64 `json:"low,omitempty"` // both or none
	High  *float64 `json:"high,omitempty"`
	Unit  string   `json:"unit,omitempty"`
	Words []string `json:"words,omitempty"` // any of them is meant; canonical, lower case
	Not   bool     `json:"not,omitempty"`   // the words or the range are excluded
}

// A Node is one memory. Two times are kept apart: when it is true (Valid) and when
// the system knew it (Known).
type Node struct {
	ID     ID            `json:"id"`
	Tenant host.TenantID `json:"tenant"`
	User   host.UserID   `json:"user"`

	Text      string `json:"text"`
	IndexText string `json:"index_text,omitempty"` // what is searched: with the turn before, the speaker and the date; Text where empty

	Layer  Layer  `json:"layer"`
	Kind   Kind   `json:"kind"`
	Entity string `json:"entity,omitempty"` // what it is about: a product, a coupon
	Domain string `json:"domain,omitempty"` // of decisions, for trust: "pricing"
	Scene  string `json:"scene,omitempty"`  // "live", "planning": where it matters
	Claim  *Claim `json:"claim,omitempty"`
	Source Source `json:"source,omitzero"`

	At        time.Time `json:"at"` // when it was said or seen
	Valid     Span      `json:"valid,omitzero"`
	Known     Span      `json:"known,omitzero"`
	Freshness Freshness `json:"freshness"`

	Trust    float64   `json:"trust"`              // 0 to 1: how far it is to be believed
	Verified int       `json:"verified,omitempty"` // times that something agreed
	Agreed   time.Time `json:"agreed,omitzero"`    // when what agreed last was seen: the same is not counted twice
	Recalls  int       `json:"recalls,omitempty"`
	Adopts   int       `json:"adopts,omitempty"` // times that a hit was used
	LastUsed time.Time `json:"last_used,omitzero"`
	Pinned   bool      `json:"pinned,omitempty"`   // never forgotten by a job
	Lives    int       `json:"lives,omitempty"`    // of a habit: how many lives bear it out; one of a single live stands beside one of several
	Priority int       `json:"priority,omitempty"` // between two L1 that contradict each other; the higher wins, then the later

	Status       Status `json:"status"`
	SupersededBy ID     `json:"superseded_by,omitempty"`
}

// A Gap is one contradiction of an L1 memory by what the user did. It never changes
// the memory.
type Gap struct {
	ID       string         `json:"id"`
	Tenant   host.TenantID  `json:"tenant"`
	User     host.UserID    `json:"user"`
	Memory   ID             `json:"memory"` // the L1
	Topic    string         `json:"topic"`
	Said     Claim          `json:"said"`
	Seen     Claim          `json:"seen"`
	Evidence []ID           `json:"evidence"`         // the L3 memories, or what they were made of
	Habits   []ID           `json:"habits,omitempty"` // the L3 memories themselves, whose words Seen has
	At       time.Time      `json:"at"`
	Session  host.SessionID `json:"session,omitempty"`
	Live     host.LiveID    `json:"live,omitempty"`     // one gap of a live and memory at most; of none, of a session
	Question string         `json:"question,omitempty"` // id of the question that it led to
	Closed   string         `json:"closed,omitempty"`   // by which answer: "updated", "kept", "retired"; "unanswered" by none
}

// A Decision is what a user did with an agent's output.
type Decision string

// The decisions.
const (
	Accept Decision = "accept"
	Reject Decision = "reject"
	Modify Decision = "modify"
)

// A Trace is one decision point of an agent and a user, with its eight fields,
// written at three moments: when it is shown, when the user acts, and when the
// outcome is attributed.
type Trace struct {
	ID     string        `json:"id"`
	Tenant host.TenantID `json:"tenant"`
	User   host.UserID   `json:"user"`
	Domain string        `json:"domain"`

	// When shown. The session and the input are what Question quotes.
	Session       host.SessionID `json:"session,omitempty"`
	Input         host.InputID   `json:"input,omitempty"`
	Point         string         `json:"decision_point"`
	Question      string         `json:"question"`
	Output        string         `json:"agent_output"`
	Sources       []ID           `json:"sources,omitempty"` // what the output points to
	TrustAtMoment float64        `json:"trust_at_moment"`   // by which the form of the output was chosen
	Shown         time.Time      `json:"shown"`

	// When the user acted. What was read from their words is Heard, with the input of the
	// session that said it; somebody who puts it on record may correct that.
	Action      Decision     `json:"anchor_action,omitempty"`
	Alternative string       `json:"anchor_alternative,omitempty"`
	Acted       time.Time    `json:"acted,omitzero"`
	Heard       bool         `json:"acted_heard,omitempty"`
	ActedInput  host.InputID `json:"acted_input,omitempty"` // what Alternative quotes, where it was heard

	// When attributed.
	Lift       *float64  `json:"lift,omitempty"`
	AgentRight *bool     `json:"agent_right,omitempty"` // of a rejected output
	TrustDelta float64   `json:"trust_delta,omitempty"`
	TrustFrom  *float64  `json:"trust_from,omitempty"` // what the score was before: a replay begins with that of the first trace
	Attributed time.Time `json:"attributed,omitzero"`
}
