package main

import (
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/shop"
)

var _ = sdk.Skill("shop.catalog", "1.0.0", "Finds the products of the shop and shows what they cost and how many are left.",
	sdk.Positioning("Use it to find products by words of their title, or to look one product up by its number. "+
		"It only reads. Never use it to change a price (shop.pricing), to put a product on stage (shop.stage) or for coupons (shop.coupons)."),
	sdk.KV(shop.Namespace),
)

var _ = sdk.Tool("find_products", findProducts,
	sdk.Summary("Find products by words of their title or by their number; without words, list them."),
	sdk.Example("有什么保温杯？", Query{Query: "保温杯"}, thermos, mug,
		sdk.Returns(Found{Products: []shop.Product{thermosProduct}, Total: 1})),
	sdk.Example("Find me a mug", Query{Query: "mug"}, thermos, mug,
		sdk.Returns(Found{Products: []shop.Product{mugProduct}, Total: 1})),
	sdk.Example("今天有哪些商品？", Query{}, thermos, mug,
		sdk.Returns(Found{Products: []shop.Product{thermosProduct, mugProduct}, Total: 2})),
)

var _ = sdk.Tool("get_product", getProduct,
	sdk.Summary("Show one product by its number: title, price, floor price and stock."),
	sdk.Example("1001 多少钱，还有货吗？", BySKU{SKU: "1001"}, thermos, sdk.Returns(thermosProduct)),
	sdk.Example("How much is product 1002?", BySKU{SKU: "1002"}, thermos, mug, sdk.Returns(mugProduct)),
	sdk.Example("Show me product 9999", BySKU{SKU: "9999"}, thermos, sdk.Refuses(abi.NotFound)),
)

// The products of the examples.
var (
	thermosProduct = shop.Product{SKU: "1001", Title: "保温杯 Thermos 500ml", Price: 99, Floor: 69, Stock: 120, Currency: "CNY"}
	mugProduct     = shop.Product{SKU: "1002", Title: "马克杯 Coffee mug", Price: 39.9, Floor: 25, Stock: 8, Currency: "CNY"}
	thermos        = sdk.Seed(shop.ProductPrefix+"1001", thermosProduct)
	mug            = sdk.Seed(shop.ProductPrefix+"1002", mugProduct)
)

// Query is what find_products is asked.
type Query struct {
	Query string `json:"query,omitempty" desc:"words of the title, or a product number; leave it out to list all" maxlen:"200"`
}

// Found is what find_products gives.
type Found struct {
	Products []shop.Product `json:"products" desc:"the best matches first, at most 20"`
	Total    int            `json:"total" desc:"how many products match in all"`
}

// BySKU names one product.
type BySKU struct {
	SKU string `json:"sku" desc:"the product's number, such as 1001" minlen:"1" maxlen:"64"`
}

func findProducts(c sdk.Call, in Query) (Found, error) {
	query := strings.ToLower(strings.TrimSpace(in.Query))
	words := terms(query)
	var hits []hit
	for p, err := range sdk.KVEachJSON[shop.Product](c, shop.ProductPrefix) {
		if err != nil {
			return Found{}, err
		}
		if n := score(p, query, words); n > 0 {
			hits = append(hits, hit{p, n})
		}
	}
	return best(hits), nil
}

func getProduct(c sdk.Call, in BySKU) (shop.Product, error) { return shop.Load(c, in.SKU) }

func main() {}
