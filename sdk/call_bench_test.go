package sdk

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

type quoteArgs struct {
	SKU string `json:"sku"`
}

type quoted struct {
	SKU      string  `json:"sku"`
	Title    string  `json:"title"`
	Price    float64 `json:"price"`
	Floor    float64 `json:"floor"`
	Currency string  `json:"currency"`
}

func quoteOf(_ Call, in quoteArgs) (quoted, error) {
	return quoted{in.SKU, "保温杯 Thermos 500ml", 99, 69, "CNY"}, nil
}

// BenchmarkAQuote runs one call natively: by the sdk, and with encoding/json in
// its place.
func BenchmarkAQuote(b *testing.B) {
	input := []byte(`{"abi":1,"tool":"quote","args":{"sku":"1001"},"call":{"id":"call_01J8ZQ6Y","key":"3f0c2b8e-3d5e-5b7a-9a64-0c7a52f0a001","attempt":1,"now":"2026-01-15T12:00:00Z","tenant":"shop-17","live":"live-20260115","locale":"zh-CN"}}`)
	b.Run("sdk", func(b *testing.B) {
		var s skill
		s.add(newTool("quote", quoteOf, nil))
		b.ReportAllocs()
		for b.Loop() {
			s.invoke(input, nil)
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var in abi.Invocation
			var args quoteArgs
			if err := json.Unmarshal(input, &in); err != nil {
				b.Fatal(err)
			}
			d := json.NewDecoder(bytes.NewReader(in.Args))
			d.DisallowUnknownFields()
			if err := d.Decode(&args); err != nil {
				b.Fatal(err)
			}
			out, _ := quoteOf(Call{}, args)
			jsonEncode(b, abi.Reply{OK: true, Data: jsonEncode(b, out)})
		}
	})
}

func jsonEncode(b *testing.B, v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		b.Fatal(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
