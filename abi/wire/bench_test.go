package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/sluicehq/sluice/abi/wire"
)

const productJSON = `{"sku":"1001","title":"保温杯 Thermos 500ml","price":99.5,"floor":69,"stock":120,"currency":"CNY"}`

func BenchmarkReadAProduct(b *testing.B) {
	b.Run("wire", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var p product
			if err := wire.Unmarshal([]byte(productJSON), &p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var p product
			if err := json.Unmarshal([]byte(productJSON), &p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWriteAProduct(b *testing.B) {
	p := product{SKU: "1001", Title: "保温杯 Thermos 500ml", Price: 99.5, Floor: 69, Stock: 120, Currency: "CNY"}
	b.Run("wire", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := wire.Marshal(p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := written(p); err != nil {
				b.Fatal(err)
			}
		}
	})
}
