package main

import (
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/shop"
)

// OutOfStock refuses a product of which nothing is left.
const OutOfStock = abi.SkillRefused + 1

// stageKey is where the shop keeps what is on stage.
const stageKey = "stage/current"

// maxInStock bounds the products that a refusal offers instead.
const maxInStock = 3

var _ = sdk.Skill("shop.stage", "1.0.0", "Says which product is on stage in the live shop and switches to another one.",
	sdk.Positioning("Use it to see which product is on stage, or to put ONE other product there. "+
		"Never to change a price (shop.pricing), to find products (shop.catalog) or for coupons (shop.coupons)."),
	sdk.KV(shop.Namespace), sdk.StateAccess([]string{"live.*"}, []string{"live.current", "live.shown"}),
)

var _ = sdk.Reduce(show)

var _ = sdk.Tool("current_product", currentProduct,
	sdk.Summary("Show the product that is on stage now."), sdk.Repeatable,
	sdk.Example("现在台上是哪个商品？", Nothing{}, thermos, sdk.Seed(stageKey, current{SKU: "1001", Since: noon}),
		sdk.Returns(Stage{OnStage: true, Product: &thermosProduct, Since: noon})),
	sdk.Example("What is on stage?", Nothing{}, thermos, sdk.Returns(Stage{})),
)

var _ = sdk.Tool("switch_product", switchProduct,
	sdk.Summary("Put another product on stage. Products without stock are refused."),
	sdk.Write, sdk.Idempotent, sdk.Risk(abi.SoftGate), sdk.Breadth(abi.One), sdk.Targets("['stage']"),
	sdk.Example("切到 1001", BySKU{SKU: "1001"}, thermos, soldOut),
	sdk.Example("Switch to product 1001", BySKU{SKU: "1001"}, thermos, sdk.Seed(stageKey, current{SKU: "1001", Since: noon}),
		sdk.Returns(Stage{OnStage: true, Product: &thermosProduct, Since: noon})),
	sdk.Example("上 1003", BySKU{SKU: "1003"}, thermos, soldOut, sdk.Refuses(OutOfStock)),
	sdk.Example("Next one: 9999", BySKU{SKU: "9999"}, thermos, sdk.Refuses(abi.NotFound)),
)

// What the examples find.
var (
	noon           = sdk.Unix(1_768_478_400, 0) // 2026-01-15 12:00
	thermosProduct = shop.Product{SKU: "1001", Title: "保温杯 Thermos 500ml", Price: 99, Floor: 69, Stock: 120, Currency: "CNY"}
	thermos        = sdk.Seed(shop.ProductPrefix+"1001", thermosProduct)
	soldOut        = sdk.Seed(shop.ProductPrefix+"1003", shop.Product{SKU: "1003", Title: "围巾 Scarf", Price: 59, Floor: 40, Currency: "CNY"})
)

// Nothing is what a tool without arguments is asked.
type Nothing struct{}

// BySKU names one product.
type BySKU struct {
	SKU string `json:"sku" desc:"the product's number, such as 1001" minlen:"1" maxlen:"64"`
}

// Stage is what is on stage.
type Stage struct {
	OnStage bool          `json:"on_stage" desc:"false when nothing is on stage"`
	Product *shop.Product `json:"product,omitempty"`
	Since   sdk.Instant   `json:"since,omitzero" desc:"when it came on stage"`
}

// current is the record of what is on stage.
type current struct {
	SKU   string      `json:"sku"`
	Since sdk.Instant `json:"since"`
}

func currentProduct(c sdk.Call, _ Nothing) (Stage, error) {
	var now current
	found, err := sdk.KVGetJSON(c, stageKey, &now)
	if err != nil || !found {
		return Stage{}, err
	}
	p, err := shop.Load(c, now.SKU)
	if err != nil {
		return Stage{}, err
	}
	return Stage{OnStage: true, Product: &p, Since: now.Since}, nil
}

func switchProduct(c sdk.Call, in BySKU) (sdk.Result[Stage], error) {
	p, err := shop.Load(c, in.SKU)
	if err != nil {
		return sdk.Result[Stage]{}, err
	}
	if p.Stock <= 0 {
		return sdk.Result[Stage]{}, outOfStock(c, p)
	}
	now, err := put(c, in.SKU)
	if err != nil {
		return sdk.Result[Stage]{}, err
	}
	return sdk.Result[Stage]{
		Data:    Stage{OnStage: true, Product: &p, Since: now.Since},
		Preview: p.String() + " is on stage.",
		Action:  Switch{SKU: p.SKU, Title: p.Title, Since: now.Since},
	}, nil
}

// put brings a product on stage. One that is there already stays, with the
// time at which it came.
func put(c sdk.Call, sku string) (current, error) {
	var now current
	found, err := sdk.KVGetJSON(c, stageKey, &now)
	if err != nil || found && now.SKU == sku {
		return now, err
	}
	now = current{SKU: sku, Since: c.Now()}
	return now, sdk.KVPutJSON(c, stageKey, now)
}

func outOfStock(c sdk.Call, p shop.Product) error {
	var skus, titles []string
	for other, err := range sdk.KVEachJSON[shop.Product](c, shop.ProductPrefix) {
		if err != nil {
			return err
		}
		if other.Stock > 0 {
			skus, titles = append(skus, other.SKU), append(titles, other.String())
		}
		if len(skus) == maxInStock {
			break
		}
	}
	refusal := sdk.Refuse(OutOfStock, "%s is out of stock and cannot go on stage", p).WithField("sku")
	if len(skus) == 0 {
		return refusal.WithHint("Nothing else is in stock either.")
	}
	return refusal.WithHint("In stock are, for example, %s.", strings.Join(titles, ", ")).WithCandidates(skus...)
}

func main() {}
