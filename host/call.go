package host

import (
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// A Call is one tool call on its way through the gate. The agent makes it from
// the model's request; Args is what the model sent, to the letter.
type Call struct {
	ID      CallID
	Session SessionRef
	Fence   Fence // of the session's lease that the caller has
	Live    LiveID
	Locale  string // of the user, BCP 47
	Tool    string // as the model named it
	Args    string // as the model sent them: JSON, if it did well
	CutOff  bool   // the model's output ended inside the arguments
	Input   int    // ordinal of the user input that the call serves, from 1
	Ordinal int    // earlier successes of the same tool and arguments for that input, or for what it serves

	// Recent are the session's calls with a result before the model's answer
	// that asks for this one, oldest first; the last few are looked at. Round is
	// the ordinal of that answer, and Trips how many calls of this turn the loop
	// breaker has cut off before. Resumed says that the host itself asks again.
	Recent  []Past
	Round   int
	Trips   int
	Resumed bool

	// Approval is the question because of whose answer the host makes the call
	// by itself; empty for a model's. It then runs with that approval or, if it
	// is still the call that was asked about, not at all.
	Approval ApprovalID

	// Asked are the questions that were put so far for the user's words that the
	// call serves, answered or not. After a no to one of them, another write of
	// the same tool to the same thing is asked about, too.
	Asked []ApprovalID

	// Serves is the ordinal of the user's own input that the call serves where
	// Input is an answer to a question; 0 means Input. Ordinal counts since then.
	Serves int

	// Budgets are those of the turn, the task, the session and the live, as far
	// as there are bounds: a call that is more than one of them has left is
	// refused. Whoever makes the call counts it in them.
	Budgets []Budget

	// Mode is the session's: it can only raise the tier of writes.
	Mode Mode

	// Timeout shrinks the deadline that the skill's limits give to each attempt;
	// 0, and more than that deadline, leave it.
	Timeout time.Duration

	// Progress gets the call's reports while it runs, some each second at most;
	// nil drops them. It must not block.
	Progress func(abi.ProgressReport)

	// Notice gets the words for the user about a call of the tier soft-gate that
	// is about to run; nil drops them. It must not block.
	Notice func(words string)
}

// A CallRef names a call, and where it was made.
type CallRef struct {
	Session SessionRef
	Live    LiveID // empty for none
	Call    CallID
}

// A Mode says how much a session's user lets the assistant do by itself. Any
// other word counts as the strictest.
type Mode string

// Modes, mildest first. Reads are exempt.
const (
	ModeAuto    Mode = "auto"    // what the tiers say; the default
	ModeSuggest Mode = "suggest" // every write is asked for
	ModeNever   Mode = "never"   // no write runs
)

// A Status says how a call ended.
type Status string

// Statuses.
const (
	Done    Status = "done"    // the tool ran and its result is kept
	Failed  Status = "failed"  // it ran, or was refused, and nothing is kept
	Pending Status = "pending" // a person must answer first
	Unknown Status = "unknown" // it began and its end was never seen
)

// Usage is what a call cost.
type Usage struct {
	Fuel        int64         `json:"fuel"`         // instructions, all attempts, with the skill's checks of the call
	PeakMemory  abi.Size      `json:"peak_memory"`  // of the largest attempt
	HostCalls   int           `json:"host_calls"`   // all attempts
	InputBytes  int           `json:"input_bytes"`  // of the envelope, last attempt
	OutputBytes int           `json:"output_bytes"` // of the envelope, last attempt
	Elapsed     time.Duration `json:"elapsed"`      // inside the sandbox, all attempts
}

// Add adds another attempt's cost.
func (u *Usage) Add(a Usage) {
	u.Fuel += a.Fuel
	u.PeakMemory = max(u.PeakMemory, a.PeakMemory)
	u.HostCalls += a.HostCalls
	u.InputBytes, u.OutputBytes = a.InputBytes, a.OutputBytes
	u.Elapsed += a.Elapsed
}

// An Outcome is the end of a call: data or a problem, and what it cost.
type Outcome struct {
	Call     CallID          `json:"call"`
	Tool     string          `json:"tool"`
	Release  string          `json:"release,omitempty"` // name@version
	Tier     abi.Tier        `json:"tier,omitempty"`    // as the gate decided
	Status   Status          `json:"status"`
	Data     json.RawMessage `json:"data,omitempty"`
	Blob     *BlobRef        `json:"blob,omitempty"` // where all of the data lies, if a model does not see it whole
	Cut      bool            `json:"cut,omitempty"`  // Data is a shorter form; all of it is only in Blob
	Preview  string          `json:"preview,omitempty"`
	Findings []string        `json:"findings,omitempty"` // what is wrong with files that it wrote: for the model, and no failure
	Problem  *abi.Problem    `json:"problem,omitempty"`
	Key      Key             `json:"key,omitempty"`
	Approval ApprovalID      `json:"approval,omitempty"` // the question that it waits for, or ran with
	Attempts int             `json:"attempts,omitempty"`
	Repairs  []string        `json:"repairs,omitempty"`  // what the host mended in the arguments
	Replayed bool            `json:"replayed,omitempty"` // the stored outcome of an earlier delivery
	Usage    Usage           `json:"usage"`
}

// A BlobRef names a blob of the call's session, and says what it is.
type BlobRef struct {
	ID   string `json:"id"`
	Size int64  `json:"size"` // bytes
	abi.BlobInfo
}

// OK reports whether the tool ran and its result is kept.
func (o Outcome) OK() bool { return o.Status == Done }
