// A small business guest over JSON, which the benchmarks run.
package main

import (
	"encoding/json"

	"github.com/extism/go-pdk"
)

func main() {}

type request struct {
	Tool string `json:"tool"`
	Args struct {
		SKU      string  `json:"sku"`
		Quantity int     `json:"quantity"`
		Price    float64 `json:"price"`
		Currency string  `json:"currency"`
	} `json:"args"`
}

type reply struct {
	OK   bool `json:"ok"`
	Data struct {
		SKU      string  `json:"sku"`
		Total    float64 `json:"total"`
		Discount float64 `json:"discount"`
		Currency string  `json:"currency"`
	} `json:"data"`
}

//go:wasmexport quote
func quote() int32 {
	var in request
	if err := json.Unmarshal(pdk.Input(), &in); err != nil {
		pdk.SetError(err)
		return 1
	}
	out := reply{OK: true}
	out.Data.SKU, out.Data.Currency = in.Args.SKU, in.Args.Currency
	if in.Args.Quantity >= 10 {
		out.Data.Discount = 0.1
	}
	out.Data.Total = float64(in.Args.Quantity) * in.Args.Price * (1 - out.Data.Discount)
	b, err := json.Marshal(out)
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	pdk.Output(b)
	return 0
}
