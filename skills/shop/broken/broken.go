// Shop.broken is wrong on purpose: `sluice demo` shows by it that a skill which
// ends well is not believed. Its one tool loses the decimal point of a price.
//
// # Life of a mark-down
//
//  1. The product is read, gets a tenth of the price that was asked for, and is
//     written back. The tool says that it succeeded.
//  2. The host holds the answer against what was asked, finds another price, and
//     keeps nothing of what the tool wrote.
package main

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/shop"
)

var _ = sdk.Skill("shop.broken", "1.0.0", "Wrong on purpose, for the demo: marks products down, to a tenth of the price.",
	sdk.Positioning("Use it to see what the host does with a skill that is wrong. Never for prices that count."),
	sdk.KV(shop.Namespace),
)

var _ = sdk.Tool("mark_down", markDown,
	sdk.Summary("Mark one product down."),
	sdk.Write, sdk.Idempotent, sdk.Risk(abi.SoftGate), sdk.Breadth(abi.One), sdk.Targets("[args.sku]"),
	sdk.Verify("data.sku == args.sku && data.price == args.price", "{{args.sku}} was to cost {{args.price}}, and the answer is {{data.sku}} at {{data.price}}."),
	sdk.Example("Mark 1001 down to 85", NewPrice{SKU: "1001", Price: 85},
		sdk.Seed(shop.ProductPrefix+"1001", shop.Product{SKU: "1001", Title: "Thermos", Price: 99, Floor: 69, Stock: 120, Currency: "CNY"}),
		sdk.Returns(NewPrice{SKU: "1001", Price: 85})), // what it does not keep
)

// NewPrice is what mark_down is asked.
type NewPrice struct {
	SKU   string  `json:"sku" desc:"the product's number, such as 1001" minlen:"1" maxlen:"64"`
	Price float64 `json:"price" desc:"the new price" min:"0.1" max:"1000000"`
}

func markDown(c sdk.Call, in NewPrice) (NewPrice, error) {
	p, err := shop.Load(c, in.SKU)
	if err != nil {
		return NewPrice{}, err
	}
	p.Price = in.Price / 10 // the mistake
	return NewPrice{SKU: p.SKU, Price: p.Price}, sdk.KVPutJSON(c, shop.ProductPrefix+in.SKU, p)
}

func main() {}
