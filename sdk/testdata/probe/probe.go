// Package probe declares a skill that shows every way in which a handler can
// end and every host function. The tests run it natively and as a module.
package probe

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/sdk/clock"
)

var _ = sdk.Skill("test.probe", "1.2.3", "Shows what a handler can do.",
	sdk.Positioning("For tests only."), sdk.KV("probe"), sdk.StateAccess([]string{"live.*"}, []string{"live.current"}),
	sdk.Clock, sdk.Random, sdk.Guide("SKILL.md"), sdk.Limit(abi.Limits{Fuel: 1000, Memory: 16 * abi.MiB}))

var (
	_ = sdk.Tool("echo", echo, sdk.Summary("Give the arguments back."),
		sdk.Example("说 <你好>", Echo{Text: "<你好>", Mode: "loud", Count: 3}, sdk.Returns(Echo{Text: "<你好>", Mode: "loud", Count: 3})))
	_ = sdk.Tool("end", end, sdk.Summary("End in the way that is asked for."),
		sdk.Example("Refuse", End{How: "refuse"}, sdk.Refuses(abi.OutOfBounds)))
	_ = sdk.Tool("about", about, sdk.Summary("Tell about the call."), sdk.Repeatable,
		sdk.Fact("price", abi.FactSpec{Tool: "echo", At: "count"}),
		sdk.Example("Who?", struct{}{}, sdk.SeedState("live.current", "1001")))
	_ = sdk.Tool("store", store, sdk.Summary("Run operations on the store."), sdk.Write, sdk.Idempotent, sdk.Undo("store"),
		sdk.Breadth(abi.Batch), sdk.Risk(abi.SoftGate), sdk.Targets("['store']"), sdk.Scope("size(args.steps) < 10"),
		sdk.Rule("size(args.steps) > 5", abi.HardGate, "{{size(args.steps)}} steps"),
		sdk.Example("Read a", Store{Steps: []Step{{Do: "get", Key: "a"}}}, sdk.Seed("a", 1), sdk.Returns([]string{"1"})))
	_ = sdk.Reduce(reduce)
	_ = sdk.Tool("act", act, sdk.Summary("Change the state by an action."), sdk.Write, sdk.Example("Put 1002 on", Act{Put: "1002"}))
	_ = sdk.Tool("patch", patch, sdk.Summary("Change the state."), sdk.Write,
		sdk.Example("Switch", struct{}{}, sdk.Returns("done")))
)

// Echo is what echo takes and gives.
type Echo struct {
	Text   string            `json:"text" desc:"any text" minlen:"1"`
	Mode   string            `json:"mode,omitempty" enum:"loud,quiet" default:"quiet"`
	Count  int               `json:"count,omitempty" default:"3"`
	Ratio  *float64          `json:"ratio,omitempty"`
	When   time.Time         `json:"when,omitzero"`
	Nested []Inner           `json:"nested,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Bytes  []byte            `json:"bytes,omitempty"`
}

// Inner is a part of Echo.
type Inner struct {
	Name string `json:"name"`
	Size uint8  `json:"size"`
}

func echo(_ sdk.Call, in Echo) (Echo, error) { return in, nil }

// End says how end is to end.
type End struct {
	How string `json:"how"`
}

func end(c sdk.Call, in End) (any, error) {
	sdk.Logf(c, "ending by %s", in.How)
	switch in.How {
	case "refuse":
		return nil, sdk.Refuse(abi.OutOfBounds, "it is %d too many", 3).WithHint("Take fewer.").WithCandidates("1", "2")
	case "own code":
		return nil, sdk.Refuse(abi.SkillRefused+7, "no")
	case "bad argument":
		return nil, sdk.BadArgument("flights[1].date", "it is not a date")
	case "unavailable":
		return nil, &abi.Problem{Code: abi.Unavailable, Message: "the shop does not answer", RetryAfterMS: 1500}
	case "wrapped problem":
		return nil, fmt.Errorf("secret detail: %w", sdk.Unavailable("the shop does not answer"))
	case "plain error":
		return nil, errors.New("secret detail")
	case "verdict of the host":
		return nil, abi.NewProblem(abi.PendingApproval, "ask somebody").WithHint("Wait.")
	case "nil problem":
		var p *abi.Problem
		return nil, p
	case "panic":
		panic("secret detail")
	case "nil pointer":
		var p *End
		return p.How, nil
	case "index":
		return []int{}[len(in.How)], nil
	case "panic when written":
		return touchy{}, nil
	case "no JSON":
		return make(chan int), nil
	}
	return nil, nil
}

type touchy struct{}

func (touchy) MarshalJSON() ([]byte, error) { panic("secret detail") }

// About is what a handler knows of its call.
type About struct {
	ID, Key, Tenant, Live, Locale string
	Attempt                       int
	Now                           time.Time
	Current                       string
	Price                         float64
	Found                         []bool
}

func about(c sdk.Call, _ struct{}) (About, error) {
	a := About{ID: c.ID(), Key: c.Key(), Tenant: c.Tenant(), Live: c.Live(), Locale: c.Locale(), Attempt: c.Attempt(), Now: clock.Now(c)}
	current, err := sdk.StateOf(c, "live.current", &a.Current)
	if err != nil {
		return About{}, err
	}
	price, err := sdk.FactOf(c, "price", &a.Price)
	a.Found = []bool{current, price}
	return a, err
}

// Store is what store runs, in order.
type Store struct {
	Steps []Step `json:"steps"`
}

// Step is one operation on the store.
type Step struct {
	Do    string `json:"do" enum:"get,get json,put,put json,delete,scan,keys,each,each json,fail"`
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
	Times int    `json:"times,omitempty" desc:"repeats the value, or limits a scan"`
}

func store(c sdk.Call, in Store) ([]string, error) {
	said := []string{}
	for _, step := range in.Steps {
		text, err := run(c, step)
		if err != nil {
			return nil, err
		}
		said = append(said, text)
	}
	return said, nil
}

func run(c sdk.Call, step Step) (string, error) {
	switch step.Do {
	case "get":
		value, found, err := sdk.KVGet(c, step.Key)
		if !found {
			return "nothing", err
		}
		return string(value), err
	case "get json":
		var v any
		found, err := sdk.KVGetJSON(c, step.Key, &v)
		return fmt.Sprint(v, found), err
	case "put":
		return "put", sdk.KVPut(c, step.Key, step.bytes())
	case "put json":
		return "put", sdk.KVPutJSON(c, step.Key, step.Value)
	case "delete":
		return "deleted", sdk.KVDelete(c, step.Key)
	case "scan", "keys":
		page, err := sdk.KVScan(c, abi.ScanQuery{Prefix: step.Key, After: step.Value, Limit: step.Times, KeysOnly: step.Do == "keys"})
		return fmt.Sprintf("%s after %q", page.Entries, page.After), err
	case "each":
		return each(c, step.Key)
	case "each json":
		return eachJSON(c, step.Key, step.Times)
	}
	return "", sdk.Refuse(abi.Refused, "as asked")
}

func (s Step) bytes() []byte {
	b := []byte(s.Value)
	for range s.Times {
		b = append(b, s.Value...)
	}
	return b
}

func each(c sdk.Call, prefix string) (string, error) {
	n, last := 0, ""
	for e, err := range sdk.KVEach(c, prefix) {
		if err != nil {
			return "", err
		}
		n, last = n+1, e.Key
	}
	return fmt.Sprint(n, " ", last), nil
}

// eachJSON reads at most so many numbers.
func eachJSON(c sdk.Call, prefix string, most int) (string, error) {
	var all []int
	for n, err := range sdk.KVEachJSON[int](c, prefix) {
		if err != nil {
			return "", err
		}
		if all = append(all, n); len(all) == most {
			break
		}
	}
	return fmt.Sprint(all), nil
}

func patch(_ sdk.Call, _ struct{}) (sdk.Result[string], error) {
	return sdk.Result[string]{Data: "done", Preview: "It is done.", State: map[string]any{"live.current": "1002"}}, nil
}

// Act is what act takes, and the action that it gives.
type Act struct {
	Put string `json:"put,omitempty"`
	How string `json:"how,omitempty"`
}

func act(_ sdk.Call, in Act) (sdk.Result[string], error) {
	return sdk.Result[string]{Data: "done", Action: in}, nil
}

// Board is the state of the probe as its reducer knows it.
type Board struct {
	Current string            `json:"live.current,omitempty"`
	Title   *string           `json:"live.title"`
	Notes   map[string]string `json:"live.notes,omitempty"`
}

func reduce(b Board, a Act) (Board, error) {
	switch a.How {
	case "retitle":
		*b.Title = "another" // what it points to, not the field
	case "untitle":
		b.Title = nil
	case "note":
		b.Notes[a.Put] = "noted"
	case "panic":
		panic("secret detail")
	case "refuse":
		return b, sdk.Refuse(abi.OutOfBounds, "not %s", a.Put).WithField("put")
	case "unavailable":
		return b, sdk.Unavailable("nobody there")
	case "plain error":
		return b, errors.New("secret detail")
	case "nil problem":
		var none *abi.Problem
		return b, none
	default:
		b.Current = a.Put
	}
	return b, nil
}
