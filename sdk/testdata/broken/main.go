// A skill whose declarations have mistakes: it must still load, so that it can
// say what they are.
package main

import "github.com/sluicehq/sluice/sdk"

var (
	_ = sdk.Skill("Test", "1", "Is broken.")
	_ = sdk.Tool("twice", chain, sdk.Summary("Contains itself."))
	_ = sdk.Tool("twice", chain)
)

// Chain contains itself.
type Chain struct {
	Next *Chain `json:"next,omitempty"`
}

func chain(_ sdk.Call, in Chain) (Chain, error) { return in, nil }

func main() {}
