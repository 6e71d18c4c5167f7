package audit

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// Schemas finds the input and output schema of a tool of a release, each
// self-contained; ok is false where the release or the tool is not known. Output
// may be empty.
type Schemas func(ctx context.Context, release, tool string) (input, output json.RawMessage, ok bool)

// A Line is one call of an export for training. Session and user are names of
// this export alone. What the schemas mark as sensitive is Masked, and so is
// everything of a call whose release is not known.
type Line struct {
	Session   string     `json:"session"`
	User      string     `json:"user"`
	Call      string     `json:"call"`
	Time      time.Time  `json:"time"`
	Tool      string     `json:"tool"`
	Release   string     `json:"release,omitempty"`
	Input     int        `json:"input,omitempty"` // ordinal of the user input that it served
	Args      any        `json:"args,omitempty"`
	Tier      abi.Tier   `json:"tier,omitempty"`
	Repaired  bool       `json:"repaired,omitempty"`
	Asked     bool       `json:"asked,omitempty"`    // a person was
	Approved  bool       `json:"approved,omitempty"` // and said yes
	Retries   int        `json:"retries,omitempty"`
	Objected  bool       `json:"objected,omitempty"`  // the user said no to it afterwards
	Undone    bool       `json:"undone,omitempty"`    // by a later call
	Corrected bool       `json:"corrected,omitempty"` // by a later call, after new words of the user
	Status    string     `json:"status"`              // refused, or that of the outcome; open without one, also while a person is asked
	Problem   *lineFault `json:"problem,omitempty"`
	Data      any        `json:"data,omitempty"`
	Fuel      int64      `json:"fuel,omitempty"`
	Memory    abi.Size   `json:"peak_memory,omitempty"`
}

type lineFault struct {
	Code    abi.Code `json:"code"`
	Message string   `json:"message"`
	Field   string   `json:"field,omitempty"`
}

// maxOpenCalls bounds the calls that an export holds while it waits for their
// ends; the oldest is written as it is then.
const maxOpenCalls = 10_000

// maxSteppedIn bounds the calls of an export that users stepped in after, which
// are known before the first line.
const maxSteppedIn = 100_000

// Training writes the tenant's calls as JSON lines, one for each call, in the
// order of their ends. A record that was erased is left out. It gives the number
// of lines. It fails with BadValue if users stepped in after too many calls.
func (q *Sequencer) Training(ctx context.Context, filter state.RecordFilter, tenant host.TenantID, schemas Schemas, out io.Writer) (lines int, err error) {
	x := &training{out: out, schemas: schemas, names: make([]byte, 32), open: map[host.CallID]*pending{}}
	rand.Read(x.names)
	if filter.UpToSeq, err = q.Store.SettledSeq(ctx, tenant); err != nil || filter.UpToSeq == 0 {
		return 0, err
	}
	if x.stepped, err = q.steppedIn(ctx, filter, tenant); err != nil {
		return 0, err
	}
	filter.Kinds = []host.RecordKind{host.RecordIntent, host.RecordQuestion, host.RecordApproved, host.RecordRetry, host.RecordOutcome, host.RecordRefusal}
	for {
		records, err := q.Store.Records(ctx, tenant, filter)
		if err != nil {
			return x.lines, err
		}
		if len(records) == 0 {
			return x.lines, x.rest(ctx)
		}
		for _, r := range records {
			if err := x.record(ctx, r); err != nil {
				return x.lines, err
			}
		}
		filter.AfterSeq = records[len(records)-1].Seq
	}
}

// steppedIn finds the calls that users objected to, or had undone or corrected: it
// is told behind their ends.
func (q *Sequencer) steppedIn(ctx context.Context, filter state.RecordFilter, tenant host.TenantID) (map[host.CallID]map[host.RecordKind]bool, error) {
	calls := map[host.CallID]map[host.RecordKind]bool{}
	filter.Kinds = []host.RecordKind{host.RecordObjection, host.RecordUndo, host.RecordCorrection}
	for {
		records, err := q.Store.Records(ctx, tenant, filter)
		if err != nil || len(records) == 0 {
			return calls, err
		}
		for _, r := range records {
			var said struct {
				Of host.CallID `json:"of"`
			}
			if json.Unmarshal(r.Detail, &said) != nil || said.Of == "" {
				continue // erased
			}
			if calls[said.Of] == nil {
				calls[said.Of] = map[host.RecordKind]bool{}
			}
			calls[said.Of][r.Kind] = true
		}
		if len(calls) > maxSteppedIn {
			return nil, host.Fail("audit.Training", abi.NewProblem(abi.BadValue, "users stepped in after more than %d calls", maxSteppedIn).
				WithHint("export one user at a time, or what follows on a later number"), nil)
		}
		filter.AfterSeq = records[len(records)-1].Seq
	}
}

type training struct {
	out     io.Writer
	schemas Schemas
	names   []byte // the key of this export's names
	open    map[host.CallID]*pending
	stepped map[host.CallID]map[host.RecordKind]bool // after which calls, and how
	order   []host.CallID
	lines   int
}

// A pending is a call whose end has not been read.
type pending struct {
	line        Line
	args, data  json.RawMessage
	tool        string
	problemText *abi.Problem
}

// name hides an id behind one that is the same all over this export.
func (x *training) name(kind, id string) string {
	mac := hmac.New(sha256.New, x.names)
	io.WriteString(mac, kind+"\x00"+id)
	return kind + "_" + hex.EncodeToString(mac.Sum(nil)[:8])
}

// record takes what a record tells of its call.
func (x *training) record(ctx context.Context, r host.Record) error {
	if r.Call == "" {
		return nil
	}
	c := x.open[r.Call]
	if c == nil {
		if len(x.open) >= maxOpenCalls {
			if err := x.write(ctx, x.order[0]); err != nil {
				return err
			}
		}
		c = &pending{line: Line{Session: x.name("session", r.Session.String()), User: x.name("user", string(r.Session.User)), Call: x.name("call", string(r.Call)), Status: "open"}}
		x.open[r.Call] = c
		x.order = append(x.order, r.Call)
	}
	if r.Release != "" || c.tool == "" {
		c.tool, c.line.Release = r.Tool, r.Release
	}
	c.line.Time = r.Time
	return x.tell(ctx, r, c)
}

func (x *training) tell(ctx context.Context, r host.Record, c *pending) error {
	var intent struct {
		Args    json.RawMessage `json:"args"`
		Tier    abi.Tier        `json:"tier"`
		Input   int             `json:"input"`
		Repairs []string        `json:"repairs"`
		Problem *abi.Problem    `json:"problem"`
	}
	var outcome host.Outcome
	switch r.Kind {
	case host.RecordIntent:
		if json.Unmarshal(r.Detail, &intent) == nil {
			c.args, c.line.Tier, c.line.Input, c.line.Repaired = intent.Args, intent.Tier, intent.Input, len(intent.Repairs) > 0
		}
	case host.RecordQuestion:
		c.line.Asked = true
	case host.RecordApproved:
		c.line.Approved = true
	case host.RecordRetry:
		c.line.Retries++
	case host.RecordRefusal:
		if json.Unmarshal(r.Detail, &intent) == nil {
			c.problemText = intent.Problem
		}
		if p := c.problemText; p != nil && p.Code == abi.PendingApproval {
			c.problemText = nil // not the end: it runs if a person says yes
			return nil
		}
		c.line.Status = "refused"
		return x.write(ctx, r.Call)
	case host.RecordOutcome:
		if json.Unmarshal(r.Detail, &outcome) == nil {
			c.data, c.problemText = outcome.Data, outcome.Problem
			c.line.Fuel, c.line.Memory = outcome.Usage.Fuel, outcome.Usage.PeakMemory
			c.line.Status = string(outcome.Status)
		}
		if c.line.Status == "" {
			c.line.Status = string(host.Failed) // a failure's record has its problem and no status
		}
		return x.write(ctx, r.Call)
	}
	return nil
}

// rest writes the calls of which no end was read.
func (x *training) rest(ctx context.Context) error {
	for len(x.order) > 0 {
		if err := x.write(ctx, x.order[0]); err != nil {
			return err
		}
	}
	return nil
}

// write masks and writes a call's line.
func (x *training) write(ctx context.Context, id host.CallID) error {
	c := x.open[id]
	delete(x.open, id)
	for i := range x.order {
		if x.order[i] == id {
			x.order = append(x.order[:i], x.order[i+1:]...)
			break
		}
	}
	how := x.stepped[id]
	c.line.Objected, c.line.Undone, c.line.Corrected = how[host.RecordObjection], how[host.RecordUndo], how[host.RecordCorrection]
	input, output, known := x.schemas(ctx, c.line.Release, c.tool)
	c.line.Tool = Masked // of a tool that there is not, a model may have written anything
	if known {
		c.line.Tool = c.tool
	}
	if c.args != nil {
		c.line.Args = maskedUnless(known && len(input) > 0, input, c.args)
	}
	if c.data != nil {
		c.line.Data = maskedUnless(known && len(output) > 0, output, c.data)
	}
	if p := c.problemText; p != nil {
		c.line.Problem = &lineFault{Code: p.Code, Message: Masked}
		// Its words may quote any value.
		if known && !marksAny(input) && (len(output) == 0 || !marksAny(output)) {
			c.line.Problem.Message, c.line.Problem.Field = p.Message, p.Field
		}
	}
	x.lines++
	return writeLine(x.out, c.line)
}

func maskedUnless(known bool, schema, document json.RawMessage) any {
	if !known {
		return Masked
	}
	return maskBy(schema, document)
}
