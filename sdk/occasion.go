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
	return o, eachMember(b, func(name, value []byte) bool {
		switch {
		case wire.Named(name, "abi"):
			return readInt(&o.ABI, value)
		case wire.Named(name, "point"):
			return readWord(&o.Point, value)
		case wire.Named(name, "session"):
			return o.readSession(value)
		case wire.Named(name, "input"):
			return readInt(&o.Input, value)
		case wire.Named(name, "now"):
			return readInstant(&o.Now, value)
		case wire.Named(name, "call"):
			return o.readCall(value)
		case wire.Named(name, "reply"):
			return o.readReply(value)
		case wire.Named(name, "answer"):
			return o.readAnswer(value)
		}
		return true
	})
}

func (o *occasion) readSession(b []byte) bool {
	return eachMember(b, func(name, value []byte) bool {
		switch {
		case wire.Named(name, "id"):
			return readText(&o.Session.ID, value)
		case wire.Named(name, "user"):
			return readText(&o.Session.User, value)
		case wire.Named(name, "tenant"):
			return readText(&o.Session.Tenant, value)
		case wire.Named(name, "live"):
			return readText(&o.Session.Live, value)
		case wire.Named(name, "locale"):
			return readText(&o.Session.Locale, value)
		}
		return true
	})
}

func (o *occasion) readCall(b []byte) bool {
	return eachMember(b, func(name, value []byte) bool {
		switch {
		case wire.Named(name, "id"):
			return readText(&o.Call.ID, value)
		case wire.Named(name, "tool"):
			return readText(&o.Call.Tool, value)
		case wire.Named(name, "skill"):
			return readText(&o.Call.Skill, value)
		case wire.Named(name, "effect"):
			return readWord(&o.Call.Effect, value)
		case wire.Named(name, "tier"):
			return readWord(&o.Call.Tier, value)
		case wire.Named(name, "args"):
			o.Call.Args = value
		case wire.Named(name, "state"):
			return readTable(&o.Call.State, value)
		case wire.Named(name, "targets"):
			return wire.Unmarshal(value, &o.Call.Targets) == nil
		}
		return true
	})
}

func (o *occasion) readReply(b []byte) bool {
	return eachMember(b, func(name, value []byte) bool {
		switch {
		case wire.Named(name, "data"):
			o.Reply.Data = value
		case wire.Named(name, "preview"):
			return readText(new(string), value)
		}
		return true
	})
}

func (o *occasion) readAnswer(b []byte) bool {
	return eachMember(b, func(name, value []byte) bool {
		switch {
		case wire.Named(name, "round"):
			return readInt(&o.Answer.Round, value)
		case wire.Named(name, "text"):
			return readText(&o.Answer.Text, value)
		case wire.Named(name, "calls"):
			return wire.Unmarshal(value, &o.Answer.Calls) == nil
		case wire.Named(name, "outcomes"):
			return readOutcomes(&o.Answer.Outcomes, value)
		}
		return true
	})
}

func readOutcomes(to *[]Outcome, b []byte) bool {
	var all []abi.RawMessage
	if wire.Unmarshal(b, &all) != nil {
		return false
	}
	*to = make([]Outcome, len(all))
	for i, one := range all {
		if !readOutcome(&(*to)[i], one) {
			return false
		}
	}
	return true
}

func readOutcome(to *Outcome, b []byte) bool {
	return eachMember(b, func(name, value []byte) bool {
		switch {
		case wire.Named(name, "tool"):
			return readText(&to.Tool, value)
		case wire.Named(name, "status"):
			return readText(&to.Status, value)
		case wire.Named(name, "problem"):
			return readInt((*int)(&to.Problem), value)
		case wire.Named(name, "preview"):
			return readText(&to.Preview, value)
		}
		return true
	})
}

// readWord reads a text of a type of its own.
func readWord[T ~string](to *T, b []byte) bool {
	text := string(*to)
	ok := readText(&text, b)
	*to = T(text)
	return ok
}
