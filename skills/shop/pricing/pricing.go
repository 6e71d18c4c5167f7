package main

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/shop"
)

var _ = sdk.Skill("shop.pricing", "1.0.0", "Quotes and changes the price of one product of the shop.",
	sdk.Positioning("Use it to quote or change the price of ONE product of this shop. A new price is never below the product's floor price. "+
		"Never for coupons (shop.coupons), for whole categories, for finding products (shop.catalog), or for products of another shop."),
	sdk.KV(shop.Namespace),
)

var _ = sdk.Tool("quote", quote,
	sdk.Summary("Quote the price of one product, with the lowest price that it may have."),
	sdk.Verify("data.sku == args.sku", "The price of {{args.sku}} was asked for, and the answer is about {{data.sku}}."),
	sdk.Example("1001 现在卖多少钱？", BySKU{SKU: "1001"}, thermos, sdk.Returns(Price{SKU: "1001", Title: "保温杯 Thermos 500ml", Price: 99, Floor: 69, Currency: "CNY"})),
	sdk.Example("How much is 1002? What is its price?", BySKU{SKU: "1002"}, mug, sdk.Returns(Price{SKU: "1002", Title: "马克杯 Coffee mug", Price: 39.9, Floor: 25, Currency: "CNY"})),
	sdk.Example("Quote product 9999", BySKU{SKU: "9999"}, thermos, sdk.Refuses(abi.NotFound)),
)

var _ = sdk.Tool("set_price", setPrice,
	sdk.Summary("Change the price of one product."),
	sdk.Write, sdk.Idempotent, sdk.Risk(abi.SoftGate), sdk.Breadth(abi.One), sdk.Targets("[args.sku]"),
	sdk.Fact("price", abi.FactSpec{Tool: "quote", Args: map[string]string{"sku": "args.sku"}, At: "price", MaxAge: abi.Minute}),
	sdk.Rule("args.price < facts.price * 0.7", abi.HardGate, "{{args.sku}} would go from {{facts.price}} to {{args.price}}, more than 30 % down."),
	sdk.Rule("args.price > facts.price * 3.0", abi.HardGate, "{{args.sku}} would go from {{facts.price}} to {{args.price}}, to more than three times as much."),
	sdk.Rule("facts.price <= 0.0", abi.HardGate, "{{args.sku}} costs {{facts.price}} now, which is no price to go by."),
	sdk.Verify("data.sku == args.sku && data.price == args.price", "{{args.sku}} was to cost {{args.price}}, and the answer is {{data.sku}} at {{data.price}}."),
	sdk.Verify("!has(args.currency) || data.currency == args.currency", "The price was to be in {{args.currency}}, and the answer is in {{data.currency}}."),
	sdk.Example("把 1001 改到 89 元", NewPrice{SKU: "1001", Price: 89, Currency: "CNY"}, thermos,
		sdk.Returns(Price{SKU: "1001", Title: "保温杯 Thermos 500ml", Price: 89, Floor: 69, Currency: "CNY"})),
	sdk.Example("Set the price of 1002 to 35.50", NewPrice{SKU: "1002", Price: 35.5}, mug,
		sdk.Returns(Price{SKU: "1002", Title: "马克杯 Coffee mug", Price: 35.5, Floor: 25, Currency: "CNY"})),
	sdk.Example("1001 改成 9.9 元", NewPrice{SKU: "1001", Price: 9.9, Currency: "CNY"}, thermos, sdk.Refuses(abi.OutOfBounds)),
	sdk.Example("Sell 1001 for 20 dollars", NewPrice{SKU: "1001", Price: 20, Currency: "USD"}, thermos, sdk.Refuses(abi.BadValue)),
)

// The products of the examples.
var (
	thermos = sdk.Seed(shop.ProductPrefix+"1001", shop.Product{SKU: "1001", Title: "保温杯 Thermos 500ml", Price: 99, Floor: 69, Stock: 120, Currency: "CNY"})
	mug     = sdk.Seed(shop.ProductPrefix+"1002", shop.Product{SKU: "1002", Title: "马克杯 Coffee mug", Price: 39.9, Floor: 25, Stock: 8, Currency: "CNY"})
)

// BySKU names one product.
type BySKU struct {
	SKU string `json:"sku" desc:"the product's number, such as 1001" minlen:"1" maxlen:"64"`
}

// NewPrice is what set_price is asked.
type NewPrice struct {
	SKU      string  `json:"sku" desc:"the product's number, such as 1001" minlen:"1" maxlen:"64"`
	Price    float64 `json:"price" desc:"the new price, at most two decimals" min:"0.01" max:"1000000"`
	Currency string  `json:"currency,omitempty" desc:"currency of the price; the product's own if left out" enum:"CNY,USD,EUR,HKD"`
}

// Price is the price of one product.
type Price struct {
	SKU      string  `json:"sku"`
	Title    string  `json:"title"`
	Price    float64 `json:"price"`
	Floor    float64 `json:"floor" desc:"the lowest price that set_price accepts"`
	Currency string  `json:"currency"`
}

func priceOf(p shop.Product) Price {
	return Price{SKU: p.SKU, Title: p.Title, Price: p.Price, Floor: p.Floor, Currency: p.Currency}
}

func quote(c sdk.Call, in BySKU) (Price, error) {
	p, err := shop.Load(c, in.SKU)
	return priceOf(p), err
}

func setPrice(c sdk.Call, in NewPrice) (sdk.Result[Price], error) {
	p, err := shop.Load(c, in.SKU)
	if err != nil {
		return sdk.Result[Price]{}, err
	}
	cents, err := checked(in, p)
	if err != nil {
		return sdk.Result[Price]{}, err
	}
	p.Price = shop.AmountOf(cents)
	if err := sdk.KVPutJSON(c, shop.ProductPrefix+in.SKU, p); err != nil {
		return sdk.Result[Price]{}, err
	}
	return sdk.Result[Price]{Data: priceOf(p), Preview: p.String() + " now costs " + shop.Decimal(cents) + " " + p.Currency + "."}, nil
}

// checked gives the new price in cents, or the reason why the product cannot
// have it.
func checked(in NewPrice, p shop.Product) (int64, error) {
	if in.Currency != "" && in.Currency != p.Currency {
		return 0, sdk.BadArgument("currency", "%s is sold in %s, not in %s", p.SKU, p.Currency, in.Currency).
			WithHint("Ask for the price in %s; this shop does not convert.", p.Currency).WithCandidates(p.Currency)
	}
	cents, err := shop.CentsOf("price", in.Price)
	if err != nil {
		return 0, err
	}
	// A record without a sound floor still has the shop's least price.
	floor, _ := shop.ToCents(p.Floor)
	floor = max(floor, 1)
	if cents < floor {
		return 0, sdk.Refuse(abi.OutOfBounds, "the price of %s must be from %s to %s %s (asked for %s)",
			p.SKU, shop.Decimal(floor), shop.Decimal(shop.MaxAmount*100), p.Currency, shop.Decimal(cents)).
			WithField("price").WithHint("The lowest price is %s.", shop.Decimal(floor)).WithCandidates(shop.Decimal(floor))
	}
	return cents, nil
}

func main() {}
