package shop

import (
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// Where the shop's data is.
const (
	Namespace     = "shop"     // the kv namespace that its skills share
	ProductPrefix = "product/" // and the sku: a Product
)

// maxNear bounds the products that a refusal names.
const maxNear = 3

// A Product is one article of the shop. Amounts of money are numbers with at
// most two decimals.
type Product struct {
	SKU      string  `json:"sku" desc:"the product's number"`
	Title    string  `json:"title"`
	Price    float64 `json:"price" desc:"what it sells for now"`
	Floor    float64 `json:"floor" desc:"the lowest price that the shop accepts"`
	Stock    int     `json:"stock" desc:"pieces that can be sold"`
	Currency string  `json:"currency" desc:"ISO 4217, such as CNY"`
}

// String names the product for people, such as "1001 (Thermos)".
func (p Product) String() string { return p.SKU + " (" + p.Title + ")" }

// Load reads one product, or refuses and names the nearest ones.
func Load(c sdk.Call, sku string) (Product, error) {
	var p Product
	found, err := sdk.KVGetJSON(c, ProductPrefix+sku, &p)
	if err != nil || found {
		return p, err
	}
	return p, missing(c, sku)
}

// missing looks for products whose number or title comes close: people, and
// models, name a product by either.
func missing(c sdk.Call, sku string) error {
	byName := map[string]Product{}
	var names []string
	for p, err := range sdk.KVEachJSON[Product](c, ProductPrefix) {
		if err != nil {
			return err
		}
		names = append(names, p.SKU, p.Title)
		byName[p.SKU], byName[p.Title] = p, p
	}
	var skus, titles []string
	for _, name := range abi.Nearest(sku, names, maxNear) {
		if p := byName[name]; !slices.Contains(skus, p.SKU) {
			skus, titles = append(skus, p.SKU), append(titles, p.String())
		}
	}
	refusal := sdk.Refuse(abi.NotFound, "there is no product %.80q", sku).WithField("sku")
	if len(skus) == 0 {
		return refusal.WithHint("Look it up by words of its title first.")
	}
	return refusal.WithHint("The nearest are %s.", strings.Join(titles, ", ")).WithCandidates(skus...)
}
