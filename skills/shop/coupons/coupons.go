package main

import (
	"errors"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/shop"
)

// What one call may issue, in pieces and in cents. A mistake of a model stays
// a mistake that a shop can carry.
const (
	maxCount      = 500
	maxEachCents  = 200_00
	maxTotalCents = 20_000_00
)

// maxListed bounds the coupons of one list.
const maxListed = 50

// couponPrefix begins the key of every coupon.
const couponPrefix = "coupon/"

// currency of coupons that are not for one product.
const currency = "CNY"

var _ = sdk.Skill("shop.coupons", "1.0.0", "Issues coupons of the shop and lists them.",
	sdk.Positioning("Use it to issue coupons, for the whole shop or for ONE product, or to list those that were issued. "+
		"At most 500 coupons of 200 each and 20000 together at a time. Never to change a price (shop.pricing) or to find products (shop.catalog)."),
	sdk.KV(shop.Namespace),
)

var _ = sdk.Tool("issue_coupon", issueCoupon,
	sdk.Summary("Issue a number of coupons of one amount, for the whole shop or for one product."),
	sdk.Write, sdk.Idempotent, sdk.Risk(abi.SoftGate), sdk.Breadth(abi.One), sdk.Targets("['coupons']"),
	sdk.Rule("args.amount * double(args.count) > 5000.0", abi.HardGate, "{{args.count}} coupons of {{args.amount}} are worth more than 5000."),
	sdk.Example("给 1001 发 100 张 10 元优惠券", NewCoupon{SKU: "1001", Amount: 10, Count: 100}, thermos),
	sdk.Example("Issue 20 coupons of 5.50 for the whole shop", NewCoupon{Amount: 5.5, Count: 20}),
	sdk.Example("发 300 张 150 元的券", NewCoupon{Amount: 150, Count: 300}, sdk.Refuses(abi.OutOfBounds)),
	sdk.Example("Give everybody 120 off product 1001", NewCoupon{SKU: "1001", Amount: 120, Count: 10}, thermos, sdk.Refuses(abi.OutOfBounds)),
)

var _ = sdk.Tool("list_coupons", listCoupons,
	sdk.Summary("List the coupons that were issued."),
	sdk.Example("发过哪些优惠券？", Nothing{}, sdk.Seed(couponPrefix+issued.ID, record{Coupon: issued, Key: "k"}),
		sdk.Returns(List{Coupons: []Coupon{issued}, Total: 1})),
	sdk.Example("Which coupons are there?", Nothing{}, sdk.Returns(List{Coupons: []Coupon{}})),
)

// What the examples find.
var (
	noon    = sdk.Unix(1_768_478_400, 0) // 2026-01-15 12:00
	issued  = Coupon{ID: "C0000000000001", SKU: "1001", Amount: 10, Count: 100, Currency: currency, IssuedAt: noon}
	thermos = sdk.Seed(shop.ProductPrefix+"1001", shop.Product{SKU: "1001", Title: "保温杯 Thermos 500ml", Price: 99, Floor: 69, Stock: 120, Currency: "CNY"})
)

// Nothing is what a tool without arguments is asked.
type Nothing struct{}

// NewCoupon is what issue_coupon is asked.
type NewCoupon struct {
	SKU    string  `json:"sku,omitempty" desc:"the number of the product that it is for; leave it out for the whole shop" minlen:"1" maxlen:"64"`
	Amount float64 `json:"amount" desc:"what one coupon is worth, at most two decimals" min:"0.01"`
	Count  int     `json:"count" desc:"how many coupons" min:"1"`
}

// Coupon is one issue of equal coupons.
type Coupon struct {
	ID       string      `json:"id"`
	SKU      string      `json:"sku,omitempty" desc:"the product that it is for; none means the whole shop"`
	Amount   float64     `json:"amount"`
	Count    int         `json:"count"`
	Currency string      `json:"currency"`
	IssuedAt sdk.Instant `json:"issued_at"`
}

// List is what list_coupons gives.
type List struct {
	Coupons []Coupon `json:"coupons" desc:"at most 50"`
	Total   int      `json:"total" desc:"how many there are in all"`
}

// A record is a coupon as it is kept, with the key of the call that issued it.
type record struct {
	Coupon
	Key string `json:"key"`
}

func issueCoupon(c sdk.Call, in NewCoupon) (sdk.Result[Coupon], error) {
	if c.Key() == "" {
		return sdk.Result[Coupon]{}, errors.New("the call has no idempotency key to make a coupon's id from")
	}
	id := couponID(c.Key())
	before, found, err := issuedBefore(c, id)
	if err != nil || found {
		return before, err
	}
	coupon, err := checked(c, in)
	if err != nil {
		return sdk.Result[Coupon]{}, err
	}
	coupon.ID, coupon.IssuedAt = id, c.Now()
	return result(coupon), sdk.KVPutJSON(c, couponPrefix+id, record{coupon, c.Key()})
}

// issuedBefore gives the coupon that the same call has issued before.
func issuedBefore(c sdk.Call, id string) (sdk.Result[Coupon], bool, error) {
	var r record
	found, err := sdk.KVGetJSON(c, couponPrefix+id, &r)
	if err != nil || !found {
		return sdk.Result[Coupon]{}, false, err
	}
	if r.Key != c.Key() {
		return sdk.Result[Coupon]{}, false, sdk.Refuse(abi.Conflict, "another coupon has the id %s", id).WithHint("Issue it again.")
	}
	return result(r.Coupon), true, nil
}

func result(coupon Coupon) sdk.Result[Coupon] {
	cents, _ := shop.ToCents(coupon.Amount)
	return sdk.Result[Coupon]{Data: coupon,
		Preview: coupon.ID + ": " + strconv.Itoa(coupon.Count) + " coupons of " + shop.Decimal(cents) + " " + coupon.Currency + "."}
}

// couponID gives the id that belongs to an idempotency key: the same call has
// the same coupon, however often it is delivered.
func couponID(key string) string {
	sum := fnv.New64a()
	sum.Write([]byte(key))
	text := strings.ToUpper(strconv.FormatUint(sum.Sum64(), 36))
	return "C" + strings.Repeat("0", 13-len(text)) + text
}

// checked gives the coupon that is asked for, or the reason why not.
func checked(c sdk.Call, in NewCoupon) (Coupon, error) {
	cents, err := shop.CentsOf("amount", in.Amount)
	if err != nil {
		return Coupon{}, err
	}
	coupon := Coupon{SKU: in.SKU, Amount: shop.AmountOf(cents), Count: in.Count, Currency: currency}
	if err := withinCeilings(cents, in.Count); err != nil {
		return Coupon{}, err
	}
	if in.SKU == "" {
		return coupon, nil
	}
	p, err := shop.Load(c, in.SKU)
	if err != nil {
		return Coupon{}, err
	}
	coupon.Currency = p.Currency
	return coupon, belowPrice(cents, p)
}

func withinCeilings(cents int64, count int) error {
	switch {
	case cents < 1 || cents > maxEachCents:
		return bounds("amount", "one coupon is worth 0.01 to "+shop.Decimal(maxEachCents), shop.Decimal(maxEachCents))
	case count < 1 || count > maxCount:
		return bounds("count", "one call issues 1 to "+strconv.Itoa(maxCount)+" coupons", strconv.Itoa(maxCount))
	case cents*int64(count) > maxTotalCents:
		most := strconv.FormatInt(maxTotalCents/cents, 10)
		return bounds("count", "the coupons of one call are worth at most "+shop.Decimal(maxTotalCents)+" together; of "+shop.Decimal(cents)+" that is "+most+" coupons", most)
	}
	return nil
}

func belowPrice(cents int64, p shop.Product) error {
	price, ok := shop.ToCents(p.Price)
	if !ok {
		return abi.NewProblem(abi.SystemFailure, "the price of %s cannot be read", p.SKU)
	}
	if cents < price {
		return nil
	}
	most := shop.Decimal(price - 1)
	return bounds("amount", "a coupon for "+p.SKU+" must be worth less than its price of "+shop.Decimal(price)+" "+p.Currency, most)
}

func bounds(field, message, most string) error {
	return sdk.Refuse(abi.OutOfBounds, "%s", message).WithField(field).WithHint("The most is %s.", most).WithCandidates(most)
}

func listCoupons(c sdk.Call, _ Nothing) (List, error) {
	list := List{Coupons: []Coupon{}}
	for r, err := range sdk.KVEachJSON[record](c, couponPrefix) {
		if err != nil {
			return List{}, err
		}
		if list.Total++; list.Total > maxListed {
			continue
		}
		list.Coupons = append(list.Coupons, r.Coupon)
	}
	return list, nil
}

func main() {}
