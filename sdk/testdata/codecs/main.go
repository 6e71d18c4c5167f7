// A skill that does as little as a skill of a shop can, so that what a call
// costs is its JSON; and the same call by encoding/json, as the sdk was before
// it had a codec of its own.
package main

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/shop"
)

var (
	_ = sdk.Skill("test.codecs", "1.0.0", "Costs JSON.")
	_ = sdk.Tool("quote", quote, sdk.Summary("As shop.pricing: one product in, one price out."))
	_ = sdk.Tool("find", find, sdk.Summary("As shop.catalog: a query in, twenty products out."))
	_ = sdk.Tool("issue", issue, sdk.Summary("As shop.coupons: a coupon in, with a time out."))
	_ = sdk.Tool("switch", echo, sdk.Summary("As shop.stage: a list in and out."))
)

// BySKU, Price, Query, Found, NewCoupon, Coupon and Queue are shaped as those
// of the shop's skills.
type BySKU struct {
	SKU string `json:"sku" desc:"the product's number" minlen:"1"`
}
type Price struct {
	SKU      string  `json:"sku"`
	Title    string  `json:"title"`
	Price    float64 `json:"price"`
	Floor    float64 `json:"floor"`
	Currency string  `json:"currency"`
}
type Query struct {
	Query string `json:"query,omitempty"`
}
type Found struct {
	Products []shop.Product `json:"products"`
	Total    int            `json:"total"`
}
type NewCoupon struct {
	SKU    string  `json:"sku,omitempty"`
	Amount float64 `json:"amount"`
	Count  int     `json:"count"`
}
type Coupon struct {
	ID string `json:"id"`
	NewCoupon
	Currency string    `json:"currency"`
	IssuedAt time.Time `json:"issued_at"`
}
type Queue struct {
	SKUs   []string          `json:"skus"`
	Labels map[string]string `json:"labels,omitempty"`
}

var product = shop.Product{SKU: "1001", Title: "保温杯 Thermos 500ml", Price: 99, Floor: 69, Stock: 120, Currency: "CNY"}

func quote(_ sdk.Call, in BySKU) (Price, error) {
	return Price{in.SKU, product.Title, product.Price, product.Floor, product.Currency}, nil
}

func find(_ sdk.Call, in Query) (Found, error) {
	f := Found{Total: 20}
	for range f.Total {
		f.Products = append(f.Products, product)
	}
	return f, nil
}

func issue(_ sdk.Call, in NewCoupon) (Coupon, error) {
	return Coupon{"C0000000000001", in, "CNY", time.Unix(1_768_000_000, 0).UTC()}, nil
}

func echo(_ sdk.Call, in Queue) (Queue, error) { return in, nil }

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func inputByte(at uint64) uint32

//go:wasmimport extism:host/env input_load_u64
func inputWord(at uint64) uint64

//go:wasmimport extism:host/env alloc
func alloc(length uint64) uint64

//go:wasmimport extism:host/env store_u8
func storeByte(at uint64, b uint32)

//go:wasmimport extism:host/env store_u64
func storeWord(at, word uint64)

//go:wasmimport extism:host/env output_set
func setOutput(handle, length uint64)

//go:wasmexport by_encoding_json
func byEncodingJSON() int32 {
	b := read()
	out := answer(b)
	write(out)
	return 0
}

// empty is what a call costs without its JSON: the input is copied in, and as
// many bytes out.
//
//go:wasmexport by_nothing
func byNothing() int32 {
	write(read())
	return 0
}

func read() []byte {
	b := make([]byte, inputLength())
	i := 0
	for ; i+8 <= len(b); i += 8 {
		word := inputWord(uint64(i))
		for k := range 8 {
			b[i+k] = byte(word >> (8 * k))
		}
	}
	for ; i < len(b); i++ {
		b[i] = byte(inputByte(uint64(i)))
	}
	return b
}

func write(b []byte) {
	handle := alloc(uint64(len(b)))
	i := 0
	for ; i+8 <= len(b); i += 8 {
		var word uint64
		for k := range 8 {
			word |= uint64(b[i+k]) << (8 * k)
		}
		storeWord(handle+uint64(i), word)
	}
	for ; i < len(b); i++ {
		storeByte(handle+uint64(i), uint32(b[i]))
	}
	setOutput(handle, uint64(len(b)))
}

// An invocation is an abi.Invocation with the types of encoding/json.
type invocation struct {
	ABI   int                        `json:"abi"`
	Tool  string                     `json:"tool"`
	Args  json.RawMessage            `json:"args"`
	Call  callInfo                   `json:"call"`
	State map[string]json.RawMessage `json:"state,omitempty"`
	Facts map[string]json.RawMessage `json:"facts,omitempty"`
}

// A callInfo is an abi.CallInfo, which guests do not have.
type callInfo struct {
	ID      string    `json:"id"`
	Key     string    `json:"key,omitempty"`
	Attempt int       `json:"attempt"`
	Now     time.Time `json:"now"`
	Tenant  string    `json:"tenant"`
	Live    string    `json:"live,omitempty"`
	Locale  string    `json:"locale,omitempty"`
}

// A reply is an abi.Reply with them.
type reply struct {
	OK      bool            `json:"ok"`
	Data    json.RawMessage `json:"data,omitempty"`
	State   json.RawMessage `json:"state,omitempty"`
	Action  json.RawMessage `json:"action,omitempty"`
	Preview string          `json:"preview,omitempty"`
	Problem *abi.Problem    `json:"problem,omitempty"`
}

func answer(input []byte) []byte {
	var in invocation
	if err := json.Unmarshal(input, &in); err != nil {
		return encode(reply{Problem: abi.NewProblem(abi.NotJSON, "%s", err)})
	}
	switch in.Tool {
	case "quote":
		return serve(in.Args, quote)
	case "find":
		return serve(in.Args, find)
	case "issue":
		return serve(in.Args, issue)
	}
	return serve(in.Args, echo)
}

func serve[In, Out any](args []byte, handler func(sdk.Call, In) (Out, error)) []byte {
	var in In
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return encode(reply{Problem: abi.NewProblem(abi.BadArguments, "%s", err)})
	}
	_, _ = d.Token() // the end
	out, _ := handler(sdk.Call{}, in)
	return encode(reply{OK: true, Data: encode(out)})
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// warm fills encoding/json's caches before the image is taken, as the sdk's
// plans are made.
var warm = func() (n int) {
	for _, tool := range []string{"quote", "find", "issue", "switch"} {
		n += len(answer([]byte(`{"tool":"` + tool + `","args":{},"state":{"a":1},"facts":{"a":1}}`)))
	}
	return n
}()

func main() {}
