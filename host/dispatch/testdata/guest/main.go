// Command guest is a skill that behaves in every way a skill can, well and
// badly, for the tests of the gate.
package main

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

var _ = sdk.Skill("test.guest", "1.0.0", "Behaves in every way.",
	sdk.Positioning("Use it in tests. Never elsewhere."), sdk.KV("test"), sdk.StateAccess([]string{"goal", "rate", "score.*"}, []string{"goal", "score.*"}),
	sdk.Limit(abi.Limits{Fuel: 5_000_000_000, Deadline: abi.Duration(20 * time.Second), Memory: 32 * abi.MiB, Input: 64 * abi.KiB, Output: 64 * abi.KiB}))

// An Order is the argument of most tools.
type Order struct {
	Item  string  `json:"item" desc:"what" minlen:"1" maxlen:"20"`
	Count int     `json:"count" desc:"how many" min:"1" max:"100"`
	Price float64 `json:"price,omitempty" desc:"at what price" min:"0"`
}

// A Total is what most tools return.
type Total struct {
	Item  string `json:"item"`
	Total int    `json:"total"`
}

// An Empty has nothing.
type Empty struct{}

var order = sdk.Example("order 2 pens", Order{Item: "pen", Count: 2})

var _ = sdk.Tool("total", total, sdk.Summary("Say how many were ordered."), sdk.Example("how many pens", Named{Item: "pen"}))

// A Named names an item.
type Named struct {
	Item string `json:"item"`
}

func total(c sdk.Call, in Named) (Total, error) {
	switch in.Item {
	case "ghost":
		return Total{}, sdk.Refuse(abi.NotFound, "there is no %s", in.Item).WithField("item").WithCandidates("pen")
	case "riddle":
		return Total{}, sdk.Refuse(abi.OutOfFuel, "too much to think about")
	case "everything":
		for range 60 { // pages: more than whoever writes may rest on
			if _, err := sdk.KVScan(c, abi.ScanQuery{KeysOnly: true}); err != nil {
				return Total{}, err
			}
		}
		return Total{Item: in.Item}, nil
	case "far away":
		return Total{}, sdk.Unavailable("it does not answer")
	}
	n, err := count(c, in.Item)
	return Total{in.Item, n}, err
}

func count(c sdk.Call, item string) (int, error) {
	var n int
	_, err := sdk.KVGetJSON(c, "total/"+item, &n)
	return n, err
}

var _ = sdk.Tool("order", add, sdk.Summary("Order some."), sdk.Write, sdk.Idempotent, sdk.Targets("[args.item]"), order,
	sdk.Scope("args.item != 'weapon'"), sdk.Fact("now", abi.FactSpec{Tool: "total", Args: map[string]string{"item": "args.item"}, At: "total"}),
	sdk.Rule("args.count + facts.now > 50", abi.HardGate, "{{args.item}} would go from {{facts.now}} to more than 50."),
	sdk.Rule("args.item == 'poison'", abi.Block, "Never poison."))

var _ = sdk.Tool("order_once", add, sdk.Summary("Order some, not safe to repeat."), sdk.Write, sdk.Targets("[args.item]"), order)

func add(c sdk.Call, in Order) (Total, error) {
	n, err := count(c, in.Item)
	if err != nil {
		return Total{}, err
	}
	n += in.Count
	if in.Item == "sold out" {
		return Total{}, sdk.Refuse(abi.OutOfBounds, "no more than 0 are left").WithField("count").WithCandidates("0")
	}
	return Total{in.Item, n}, sdk.KVPutJSON(c, "total/"+in.Item, n)
}

var _ = sdk.Tool("reorder", add, sdk.Summary("Order more of what was ordered."), sdk.Write, sdk.Targets("[args.item]"), order,
	sdk.Fact("now", abi.FactSpec{Tool: "total", Args: map[string]string{"item": "args.item"}, At: "total"}),
	sdk.Scope("facts.now > 0"))

// A How names a way to misbehave.
type How struct {
	How string `json:"how"`
}

var _ = sdk.Tool("misbehave", misbehave, sdk.Summary("Do it badly."), sdk.Write, sdk.Targets("[args.how]"), sdk.Example("panic", How{How: "panic"}))

func misbehave(c sdk.Call, in How) (json.RawMessage, error) {
	// Whatever happens next, this must not be kept.
	if err := sdk.KVPut(c, "dirt", []byte("1")); err != nil {
		return nil, err
	}
	switch in.How {
	case "panic":
		panic("told to")
	case "loop":
		for i := 0; ; i++ {
			_ = i
		}
	case "allocate":
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
		}
	case "print":
		for {
			os.Stdout.WriteString(strings.Repeat("noise ", 10_000))
		}
	case "exit":
		os.Exit(3)
	case "big":
		return json.Marshal(strings.Repeat("x", 100<<10))
	case "verdict":
		return nil, &abi.Problem{Code: abi.PendingApproval, Message: "not mine to give"}
	case "unavailable":
		return nil, sdk.Unavailable("the shop does not answer")
	case "busy":
		busy := sdk.Unavailable("the shop is busy")
		busy.RetryAfterMS = 3_600_000
		return nil, busy
	case "flaky":
		if c.Attempt() < 3 {
			return nil, sdk.Unavailable("the shop does not answer, attempt %d", c.Attempt())
		}
		return json.RawMessage(strconv.Itoa(c.Attempt())), nil
	}
	return nil, sdk.BadArgument("how", "no such way")
}

var _ = sdk.Tool("shrug", shrug, sdk.Summary("Order one, whatever the store says."), sdk.Write, sdk.Targets("[args.item]"), sdk.Example("shrug", Named{Item: "pen"}))

func shrug(c sdk.Call, in Named) (Total, error) {
	n, _ := count(c, in.Item)
	_ = sdk.KVPutJSON(c, "total/"+in.Item, n+1)
	return Total{in.Item, n + 1}, nil
}

var _ = sdk.Tool("sneak", sneak, sdk.Summary("A read that writes."), sdk.Example("sneak", Empty{}))

func sneak(c sdk.Call, _ Empty) (Empty, error) { return Empty{}, sdk.KVPut(c, "sneaked", []byte("1")) }

// A Goal is the state that set_goal writes.
type Goal struct {
	Text string `json:"text"`
}

var _ = sdk.Tool("set_goal", setGoal, sdk.Summary("Set the session's goal."), sdk.Write, sdk.Targets("['goal']"), sdk.Example("sell more", Goal{Text: "sell more"}))

func setGoal(c sdk.Call, in Goal) (sdk.Result[Goal], error) {
	key := "goal"
	if in.Text == "elsewhere" {
		key = "secret"
	}
	return sdk.Result[Goal]{Data: in, Preview: "goal set", State: map[string]any{key: in}}, nil
}

// The fact is fetched after the state is loaded and before the tool runs.
var _ = sdk.Tool("emphasise", emphasise, sdk.Summary("Add a mark to the goal."), sdk.Write, sdk.Targets("['goal']"), sdk.Example("emphasise", Empty{}),
	sdk.Fact("pens", abi.FactSpec{Tool: "total", Args: map[string]string{"item": "'pen'"}, At: "total"}))

func emphasise(c sdk.Call, _ Empty) (sdk.Result[Goal], error) {
	var goal Goal
	if _, err := sdk.StateOf(c, "goal", &goal); err != nil {
		return sdk.Result[Goal]{}, err
	}
	goal.Text += "!"
	return sdk.Result[Goal]{Data: goal, State: map[string]any{"goal": goal}}, nil
}

var _ = sdk.Tool("lie", lie, sdk.Summary("Return something else than the schema."), sdk.Example("lie", Empty{}))

// A Liar is in a mood that its schema does not have.
type Liar struct {
	Mood string `json:"mood" enum:"good,bad"`
}

func lie(sdk.Call, Empty) (Liar, error) { return Liar{Mood: "ugly"}, nil }

func main() {}
