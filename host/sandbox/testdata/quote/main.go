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

// warm reads and writes once, so that what encoding/json remembers of the types
// is there in every call.
//
//go:wasmexport sluice_warm
func warm() {
	_, _ = answer([]byte(`{"tool":"quote","args":{"sku":"1","quantity":10,"price":1.5,"currency":"CNY"}}`))
}

//go:wasmexport quote
func quote() int32 {
	out, err := answer(pdk.Input())
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	pdk.Output(out)
	return 0
}

func answer(input []byte) ([]byte, error) {
	var in request
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, err
	}
	out := reply{OK: true}
	out.Data.SKU, out.Data.Currency = in.Args.SKU, in.Args.Currency
	if in.Args.Quantity >= 10 {
		out.Data.Discount = 0.1
	}
	out.Data.Total = float64(in.Args.Quantity) * in.Args.Price * (1 - out.Data.Discount)
	return json.Marshal(out)
}
