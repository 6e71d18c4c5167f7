// The skill of a script: it remembers something for its user.
package main

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

var _ = sdk.Skill("test.keepsake", "1.0.0", "Notes the size of a customer.", sdk.Positioning("For tests only."), sdk.Memory(nil, []string{"fact"}))

// A Nothing has no members.
type Nothing struct{}

var _ = sdk.Tool("note_size", noteSize, sdk.Summary("Note the size that the customer wears."), sdk.Write, sdk.Idempotent, sdk.Breadth(abi.One), sdk.Targets("['size']"),
	sdk.Example("Note the size of the customer", Nothing{}))

func noteSize(c sdk.Call, _ Nothing) (Nothing, error) {
	return Nothing{}, sdk.Remember(c, abi.Memory{Kind: "fact", Text: "the customer wears size 38", Entity: "size"})
}

func main() {}
