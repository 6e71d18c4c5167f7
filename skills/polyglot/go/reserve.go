package main

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// soldOut is this skill's own code: fewer pieces are left than were asked for.
const soldOut = abi.SkillRefused + 1

// maxNear bounds the buyers that a refusal names.
const maxNear = 3

// maxPrice is far above any price, and far below where a float64 loses a cent.
const maxPrice = 1_000_000

var _ = sdk.Skill("shop.reserve", "1.0.0", "Reserves pieces of a product for viewers of a live show.",
	sdk.Positioning("Use it to hold pieces of ONE product for ONE viewer of the current live show, to give them back, and to see who holds what. "+
		"Never for payment, for prices (shop.pricing), or for products of another shop."),
	sdk.KV("shop"),
	sdk.StateAccess([]string{"live.most"}, []string{"live.reserved"}),
)

var _ = sdk.Tool("reserve", reserve,
	sdk.Summary("Hold pieces of one product for one viewer; again for the same viewer replaces what was held."),
	sdk.Write, sdk.Idempotent, sdk.Risk(abi.SoftGate), sdk.Targets("[args.sku]"), sdk.Undo("release"),
	sdk.Example("给小美留两个 1001", Wish{SKU: "1001", Buyer: "小美", Pieces: 2}, thermos,
		sdk.Returns(Reserved{SKU: "1001", Title: "保温杯", Buyer: "小美", Pieces: 2, Left: 5, Total: 199.8})),
	sdk.Example("Keep eight of 1001 for Tom", Wish{SKU: "1001", Buyer: "Tom", Pieces: 8}, thermos, sdk.Refuses(soldOut)),
	sdk.Example("Hold a 9999 for Tom", Wish{SKU: "9999", Buyer: "Tom", Pieces: 1}, thermos, sdk.Refuses(abi.NotFound)),
)

var _ = sdk.Tool("release", release,
	sdk.Summary("Give back what one viewer holds of one product."),
	sdk.Write, sdk.Idempotent, sdk.Risk(abi.SoftGate), sdk.Targets("[args.sku]"),
	sdk.Example("小美不要 1001 了", Holder{SKU: "1001", Buyer: "小美"}, thermos, meimei,
		sdk.Returns(Released{SKU: "1001", Buyer: "小美", Pieces: 2})),
	sdk.Example("Tom does not want the 1001 any more", Holder{SKU: "1001", Buyer: "Tom"}, thermos, meimei, sdk.Refuses(abi.NotFound)),
)

var _ = sdk.Tool("holds", holds,
	sdk.Summary("List who holds how many pieces of one product, by name."),
	sdk.Example("1001 谁留了货？", Which{SKU: "1001"}, thermos, meimei,
		sdk.Returns(Holds{SKU: "1001", Buyers: 1, Pieces: 2, Holds: []Hold{{Buyer: "小美", Pieces: 2, At: "2026-01-15T12:00:00Z"}}})),
)

// What the store holds in the examples.
var (
	thermos = sdk.Seed("product/1001", Product{SKU: "1001", Title: "保温杯", Price: 99.9, Stock: 7})
	meimei  = sdk.Seed("hold/1001/小美", Hold{Buyer: "小美", Pieces: 2, At: "2026-01-15T12:00:00Z"})
)

// Wish is what reserve is asked.
type Wish struct {
	SKU    string `json:"sku" desc:"the product's number, such as 1001" pattern:"^[A-Za-z0-9-]{1,32}$"`
	Buyer  string `json:"buyer" desc:"the viewer's name as the live show has it" minlen:"1" maxlen:"40"`
	Pieces int    `json:"pieces" desc:"how many to hold" min:"1" max:"99"`
	Note   string `json:"note,omitempty" desc:"one line for whoever packs it" maxlen:"80"`
}

// Holder names what one viewer holds of one product.
type Holder struct {
	SKU   string `json:"sku" desc:"the product's number, such as 1001" pattern:"^[A-Za-z0-9-]{1,32}$"`
	Buyer string `json:"buyer" desc:"the viewer's name as the live show has it" minlen:"1" maxlen:"40"`
}

// Which is what holds is asked.
type Which struct {
	SKU  string `json:"sku" desc:"the product's number, such as 1001" pattern:"^[A-Za-z0-9-]{1,32}$"`
	Most int    `json:"most,omitempty" desc:"how many buyers to list at most" min:"1" max:"100" default:"20"`
}

// Reserved is what one viewer holds now.
type Reserved struct {
	SKU    string  `json:"sku"`
	Title  string  `json:"title"`
	Buyer  string  `json:"buyer"`
	Pieces int     `json:"pieces"`
	Left   int     `json:"left" desc:"pieces that others can still reserve"`
	Total  float64 `json:"total" desc:"what the pieces cost"`
}

// Released is what one viewer gave back.
type Released struct {
	SKU    string `json:"sku"`
	Buyer  string `json:"buyer"`
	Pieces int    `json:"pieces"`
}

// Holds is who holds what of one product.
type Holds struct {
	SKU    string `json:"sku"`
	Buyers int    `json:"buyers" desc:"all of them, listed or not"`
	Pieces int    `json:"pieces" desc:"of all of them"`
	Holds  []Hold `json:"holds"`
}

// Hold is the record of what one viewer holds.
type Hold struct {
	Buyer  string `json:"buyer"`
	Pieces int    `json:"pieces"`
	Note   string `json:"note,omitempty"`
	At     string `json:"at" desc:"when it was reserved"`
}

// Product is what this skill reads of a product's record.
type Product struct {
	SKU   string  `json:"sku"`
	Title string  `json:"title"`
	Price float64 `json:"price"`
	Stock int     `json:"stock"`
}

func reserve(c sdk.Call, in Wish) (sdk.Result[Reserved], error) {
	none := sdk.Result[Reserved]{}
	if err := cmp.Or(oneLine("buyer", in.Buyer), oneLine("note", in.Note)); err != nil {
		return none, err
	}
	p, err := load(c, in.SKU)
	if err != nil {
		return none, err
	}
	left, err := leftFor(c, p, in)
	if err != nil {
		return none, err
	}
	hold := Hold{Buyer: in.Buyer, Pieces: in.Pieces, Note: in.Note, At: c.Now().String()}
	if err := sdk.KVPutJSON(c, holdKey(in.SKU, in.Buyer), hold); err != nil {
		return none, err
	}
	sdk.Logf(c, "reserve %s: %d for %s, %d left", in.SKU, in.Pieces, in.Buyer, left)
	return sdk.Result[Reserved]{
		Data: Reserved{SKU: in.SKU, Title: p.Title, Buyer: in.Buyer, Pieces: in.Pieces, Left: left,
			Total: math.Round(p.Price*100) * float64(in.Pieces) / 100},
		State:   map[string]any{"live.reserved": Holder{SKU: in.SKU, Buyer: in.Buyer}},
		Preview: sdk.Textf("%s holds %d of %s (%s); %d left.", in.Buyer, in.Pieces, in.SKU, p.Title, left),
	}, nil
}

// oneLine refuses a text of several lines, or with other control characters.
func oneLine(field, text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
		return sdk.BadArgument(field, "the %s must be one line of text", field)
	}
	return nil
}

func load(c sdk.Call, sku string) (Product, error) {
	var p Product
	found, err := sdk.KVGetJSON(c, "product/"+sku, &p)
	switch {
	case err != nil:
		return p, err
	case !found:
		return p, sdk.Refuse(abi.NotFound, "there is no product %s", sku).WithField("sku").
			WithHint("Look it up by words of its title first.")
	case p.Price < 0 || p.Price > maxPrice:
		return p, sdk.Unavailable("the price of %s cannot be right", sku)
	}
	return p, nil
}

// leftFor gives what is left of a product once the wish is granted, or the
// reason why it is not.
func leftFor(c sdk.Call, p Product, in Wish) (int, error) {
	left := p.Stock
	for e, err := range sdk.KVEachJSON[Hold](c, holdKey(in.SKU, "")) {
		if err != nil {
			return 0, err
		}
		if e.Buyer != in.Buyer {
			left -= e.Pieces
		}
	}
	most := 0
	if _, err := sdk.StateOf(c, "live.most", &most); err != nil {
		return 0, err
	}
	switch {
	case left <= 0:
		return 0, sdk.Refuse(soldOut, "%s (%s) is sold out", in.SKU, p.Title).WithField("sku").
			WithHint("Offer another product.")
	case in.Pieces > left:
		return 0, sdk.Refuse(soldOut, "only %d of %s (%s) are left", left, in.SKU, p.Title).WithField("pieces").
			WithHint("Offer what is left, or another product.").WithCandidates(strconv.Itoa(left))
	case most > 0 && in.Pieces > most:
		return 0, sdk.Refuse(abi.OutOfBounds, "one buyer may reserve at most %d pieces in this live show", most).WithField("pieces").
			WithCandidates(strconv.Itoa(most))
	}
	return left - in.Pieces, nil
}

func release(c sdk.Call, in Holder) (Released, error) {
	var hold Hold
	key := holdKey(in.SKU, in.Buyer)
	found, err := sdk.KVGetJSON(c, key, &hold)
	if err != nil {
		return Released{}, err
	}
	if !found {
		return Released{}, holdsNothing(c, in)
	}
	if err := sdk.KVDelete(c, key); err != nil {
		return Released{}, err
	}
	sdk.Logf(c, "release %s: %d of %s", in.SKU, hold.Pieces, in.Buyer)
	return Released{SKU: in.SKU, Buyer: in.Buyer, Pieces: hold.Pieces}, nil
}

// holdsNothing refuses, and names the first who do hold something.
func holdsNothing(c sdk.Call, in Holder) error {
	page, err := sdk.KVScan(c, abi.ScanQuery{Prefix: holdKey(in.SKU, ""), Limit: maxNear, KeysOnly: true})
	if err != nil {
		return err
	}
	refusal := sdk.Refuse(abi.NotFound, "%s holds nothing of %s", in.Buyer, in.SKU).WithField("buyer")
	for _, e := range page.Entries {
		refusal.Candidates = append(refusal.Candidates, strings.TrimPrefix(e.Key, holdKey(in.SKU, "")))
	}
	return refusal
}

func holds(c sdk.Call, in Which) (Holds, error) {
	out := Holds{SKU: in.SKU, Holds: []Hold{}}
	for hold, err := range sdk.KVEachJSON[Hold](c, holdKey(in.SKU, "")) {
		if err != nil {
			return Holds{}, err
		}
		out.Buyers++
		out.Pieces += hold.Pieces
		if len(out.Holds) < in.Most {
			out.Holds = append(out.Holds, hold)
		}
	}
	return out, nil
}

func holdKey(sku, buyer string) string { return "hold/" + sku + "/" + buyer }

func main() {}
