package factcheck_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/factcheck"
)

// knownOf gives known data of about so many bytes: results of searches.
func knownOf(bytes int) factcheck.Known {
	known := factcheck.Known{User: "把1001改到89元", Tools: []factcheck.Tool{{Name: "search", Effect: abi.Read}, {Name: "set_price", Summary: "改价", Effect: abi.Write}}}
	for size, i := 0, 0; size < bytes; i++ {
		var b strings.Builder
		for j := range 25 {
			fmt.Fprintf(&b, `{"id":"%d","name":"商品 %d","price":%d.5,"stock":%d,"status":"on_sale"},`, 1000+25*i+j, j, 20+j, 100+j)
		}
		known.Calls = append(known.Calls, factcheck.Call{Tool: "search", Args: `{"page":1}`, Result: "[" + b.String() + "]", OK: true, Now: true})
		size += b.Len()
	}
	known.Calls = append(known.Calls, factcheck.Call{Tool: "set_price", Args: `{"id":"1001","price":89}`, Result: `{"id":"1001","price":89}`, OK: true, Now: true})
	return known
}

func answerOf(bytes int, line func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		b.WriteString(line(i))
	}
	return b.String()
}

func BenchmarkCheck(b *testing.B) {
	known := knownOf(50 << 10)
	for _, bb := range []struct{ name, answer string }{
		{"small talk", answerOf(2<<10, func(int) string { return "You're welcome, I am glad that I could help you today. " })},
		{"prices", answerOf(2<<10, func(i int) string {
			return fmt.Sprintf("1. 商品 %d：现价 %d.5 元，库存 %d 件。\n", i%25, 20+i%25, 100+i%25)
		})},
		{"actions", answerOf(2<<10, func(int) string { return "已经把 1001 改到 89 元了。I've updated 1001 to 89. " })},
		{"lies", answerOf(2<<10, func(i int) string { return fmt.Sprintf("现价 %d 元，库存 %d 件。", 7001+13*i, 9001+17*i) })},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.answer)))
			for b.Loop() {
				factcheck.Check(bb.answer, known)
			}
		})
	}
}
