package sdk

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wire"
	"github.com/sluicehq/sluice/abi/wording"
)

// An Occasion is what a rule is asked about: a call before it runs, a call and
// what it gives, or an answer of the model. It is a value, valid until the rule
// returns. What belongs to another point is empty.
type Occasion struct {
	occasion *occasion
	env      env
}

// Point says at which point the rule is asked.
func (o Occasion) Point() abi.HookPoint { return o.occasion.Point }

// Session gives the session's id.
func (o Occasion) Session() string { return o.occasion.Session.ID }

// User gives the user's id.
func (o Occasion) User() string { return o.occasion.Session.User }

// Tenant gives the id of the merchant or organisation that is served.
func (o Occasion) Tenant() string { return o.occasion.Session.Tenant }

// Live gives the id of the business occasion, or nothing outside of one.
func (o Occasion) Live() string { return o.occasion.Session.Live }

// Locale gives the user's language as BCP 47, such as zh-CN, of a call and if known.
func (o Occasion) Locale() string { return o.occasion.Session.Locale }

// Input gives the ordinal of the user input that is served.
func (o Occasion) Input() int { return o.occasion.Input }

// Now gives the host's clock, in UTC.
func (o Occasion) Now() Instant { return o.occasion.Now }

// Call gives the id of the call, and nothing after reasoning.
func (o Occasion) Call() string { return o.occasion.Call.ID }

// Tool gives the name of the tool that is called.
func (o Occasion) Tool() string { return o.occasion.Call.Tool }

// Skill gives the release that the tool belongs to, as name@version.
func (o Occasion) Skill() string { return o.occasion.Call.Skill }

// Writes reports whether the tool changes anything. A tool of which that is not
// known counts as one that does.
func (o Occasion) Writes() bool { return o.occasion.Call.Effect != abi.Read }

// Tier gives the tier that was decided, after the call.
func (o Occasion) Tier() abi.Tier { return o.occasion.Call.Tier }

// Targets gives the ids that a write touched, after the call and where known.
func (o Occasion) Targets() []string { return o.occasion.Call.Targets }

// RawArgs gives the arguments of the call as JSON.
func (o Occasion) RawArgs() abi.RawMessage { return o.occasion.Call.Args }

// Args reads the arguments of the call into a pointer. Members that its type
// does not have are passed over. What does not fit is a problem, for the rule to
// refuse with: what it cannot read it cannot let through.
func (o Occasion) Args(into any) *abi.Problem {
	_, problem := o.read("the arguments", o.occasion.Call.Args, into)
	return problem
}

// State reads a key of the session's state into a pointer, as the tool's skill
// sees it. It reports false where there is none, or where that skill does not
// read it; the problem is as that of Args.
func (o Occasion) State(key string, into any) (found bool, problem *abi.Problem) {
	return o.read("state "+key, o.occasion.Call.State[key], into)
}

// Data reads what the call gave into a pointer. It reports false at other points;
// the problem is as that of Args.
func (o Occasion) Data(into any) (found bool, problem *abi.Problem) {
	return o.read("the data", o.occasion.Reply.Data, into)
}

func (o Occasion) read(what string, b abi.RawMessage, into any) (bool, *abi.Problem) {
	if len(b) == 0 {
		return false, nil
	}
	if err := wire.Unmarshal(b, into); err != nil {
		o.Logf("%s cannot be read: %s", what, err.Error())
		return false, abi.NewProblem(abi.Refused, "%s cannot be judged by the rules: it has another form than they read", what)
	}
	return true, nil
}

// RawData gives what the call gave as JSON.
func (o Occasion) RawData() abi.RawMessage { return o.occasion.Reply.Data }

// Text gives the model's answer.
func (o Occasion) Text() string { return o.occasion.Answer.Text }

// Round counts the model's answers for the input, from 1.
func (o Occasion) Round() int { return o.occasion.Answer.Round }

// Calls gives the tools that the answer asks for.
func (o Occasion) Calls() []string { return o.occasion.Answer.Calls }

// Outcomes gives the ends of the calls for the input so far.
func (o Occasion) Outcomes() []Outcome { return o.occasion.Answer.Outcomes }

// Logf writes one line to the log of the rule, which stands on the call's record.
func (o Occasion) Logf(format string, args ...any) {
	log(Call{env: o.env}, wording.Sprintf(format, args...))
}

// An Outcome is the end of an earlier call, in short.
type Outcome struct {
	Tool    string
	Status  string // done, failed, pending or unknown
	Problem abi.Code
	Preview string // the beginning of what it gave
}

// An occasion is an abi.Occasion as the sdk keeps it.
type occasion struct {
	ABI     int
	Point   abi.HookPoint
	Session struct{ ID, User, Tenant, Live, Locale string }
	Input   int
	Now     Instant
	Call    struct {
		ID, Tool, Skill string
		Effect          abi.Effect
		Tier            abi.Tier
		Args            abi.RawMessage
		State           map[string]abi.RawMessage
		Targets         []string
	}
	Reply  struct{ Data abi.RawMessage }
	Answer struct {
		Round    int
		Text     string
		Calls    []string
		Outcomes []Outcome
	}
}

// readOccasion reads an abi.Occasion as readInvocation reads an invocation.
func readOccasion(b []byte) (*occasion, bool) {
	o := new(occasion)
	if !wire.Valid(b) || wire.KindOf(b) != wire.Object {
		return o, false
	}
	return o, readMembers(b, members{
		"abi": intTo(&o.ABI), "point": textTo(&o.Point), "input": intTo(&o.Input),
		"now": func(v []byte) bool { return readInstant(&o.Now, v) },
		"session": inside(members{
			"id": textTo(&o.Session.ID), "user": textTo(&o.Session.User), "tenant": textTo(&o.Session.Tenant),
			"live": textTo(&o.Session.Live), "locale": textTo(&o.Session.Locale),
		}),
		"call": inside(members{
			"id": textTo(&o.Call.ID), "tool": textTo(&o.Call.Tool), "skill": textTo(&o.Call.Skill),
			"effect": textTo(&o.Call.Effect), "tier": textTo(&o.Call.Tier), "args": rawTo(&o.Call.Args),
			"state": func(v []byte) bool { return readTable(&o.Call.State, v) }, "targets": textsTo(&o.Call.Targets),
		}),
		"reply": inside(members{"data": rawTo(&o.Reply.Data)}),
		"answer": inside(members{
			"round": intTo(&o.Answer.Round), "text": textTo(&o.Answer.Text), "calls": textsTo(&o.Answer.Calls),
			"outcomes": func(v []byte) bool { return readOutcomes(&o.Answer.Outcomes, v) },
		}),
	})
}

// members says by name how the members of an object are read. Others are passed
// over.
type members map[string]func(value []byte) bool

func readMembers(b []byte, by members) bool {
	return eachMember(b, func(name, value []byte) bool {
		for wanted, read := range by {
			if wire.Named(name, wanted) {
				return read(value)
			}
		}
		return true
	})
}

func inside(by members) func([]byte) bool { return func(b []byte) bool { return readMembers(b, by) } }

func intTo(to *int) func([]byte) bool { return func(b []byte) bool { return readInt(to, b) } }

func rawTo(to *abi.RawMessage) func([]byte) bool {
	return func(b []byte) bool { *to = b; return true }
}

func textTo[T ~string](to *T) func([]byte) bool {
	return func(b []byte) bool {
		text := string(*to)
		ok := readText(&text, b)
		*to = T(text)
		return ok
	}
}

func textsTo(to *[]string) func([]byte) bool {
	return func(b []byte) bool { return wire.Unmarshal(b, to) == nil }
}

func readOutcomes(to *[]Outcome, b []byte) bool {
	var all []abi.RawMessage
	if wire.Unmarshal(b, &all) != nil {
		return false
	}
	for _, one := range all {
		var o Outcome
		problem := 0
		if !readMembers(one, members{"tool": textTo(&o.Tool), "status": textTo(&o.Status), "problem": intTo(&problem), "preview": textTo(&o.Preview)}) {
			return false
		}
		o.Problem = abi.Code(problem)
		*to = append(*to, o)
	}
	return true
}
