// Command flood is a skill whose tools give as much data as they are asked for,
// for the tests of what does not fit into a model's window.
package main

import (
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

var _ = sdk.Skill("test.flood", "1.0.0", "Gives much.", sdk.Positioning("Use it in tests. Never elsewhere."), sdk.KV("flood"),
	sdk.Limit(abi.Limits{Fuel: 5_000_000_000, Deadline: abi.Duration(60 * time.Second), Memory: 512 * abi.MiB, Output: 64 * abi.MiB}))

// A Much says how much to give.
type Much struct {
	Bytes int    `json:"bytes" desc:"of the data" min:"4"`
	Kind  string `json:"kind,omitempty" desc:"what it is made of" enum:"list,text,fault" default:"list"`
}

var example = sdk.Example("a little", Much{Bytes: 100, Kind: "list"})

var (
	_ = sdk.Tool("list", list, sdk.Summary("Give much."), example)
	_ = sdk.Tool("fill", fill, sdk.Summary("Give much, and keep that it was given."), sdk.Write, sdk.Idempotent, sdk.Targets("['flood']"), example)
	_ = sdk.Tool("weigh", weigh, sdk.Summary("Keep something if there is much."), sdk.Write, sdk.Targets("['flood']"), example,
		sdk.Fact("all", abi.FactSpec{Tool: "list", Args: map[string]string{"bytes": "args.bytes"}}),
		sdk.Rule("size(facts.all) < 100", abi.Block, "There is not enough."))
)

func list(c sdk.Call, in Much) (abi.RawMessage, error) {
	if in.Kind == "fault" {
		return nil, sdk.Unavailable("the shop does not answer")
	}
	return data(in), nil
}

// item is one of a list. What is not plain in it must come back to the byte.
const item = `{"sku":"1001","title":"青柠 <b>\"&\"</b>","price":89.90}`

// data gives JSON of exactly so many bytes. The last item fills it up.
func data(in Much) abi.RawMessage {
	if in.Kind == "text" {
		return abi.RawMessage(`"` + strings.Repeat("x", in.Bytes-2) + `"`)
	}
	items := strings.Repeat(item+",", max(0, in.Bytes-4)/(len(item)+1))
	return abi.RawMessage("[" + items + `"` + strings.Repeat("x", in.Bytes-4-len(items)) + `"]`)
}

func fill(c sdk.Call, in Much) (abi.RawMessage, error) {
	if err := sdk.KVPut(c, "filled", []byte("1")); err != nil {
		return nil, err
	}
	return list(c, in)
}

func weigh(c sdk.Call, in Much) (int, error) { return in.Bytes, sdk.KVPut(c, "weighed", []byte("1")) }

// An Item is what is counted.
type Item struct {
	Item string `json:"item" minlen:"1"`
}

// The cheapest write that there is: one key is read, and written.
var _ = sdk.Tool("count", count, sdk.Summary("Count one more."), sdk.Write, sdk.Targets("[args.item]"), sdk.Example("count a pen", Item{Item: "pen"}))

func count(c sdk.Call, in Item) (n int, err error) {
	if _, err := sdk.KVGetJSON(c, "count/"+in.Item, &n); err != nil {
		return 0, err
	}
	n++
	return n, sdk.KVPutJSON(c, "count/"+in.Item, n)
}

func main() {}
