// A skill that uses no host function.
package main

import "github.com/sluicehq/sluice/sdk"

var (
	_ = sdk.Skill("test.plain", "1.0.0", "Doubles numbers.")
	_ = sdk.Tool("double", double, sdk.Summary("Double a number."), sdk.Example("Double 2", In{N: 2}, sdk.Returns(4)))
)

// In is what double takes.
type In struct {
	N int `json:"n"`
}

func double(_ sdk.Call, in In) (int, error) { return 2 * in.N, nil }

func main() {}
