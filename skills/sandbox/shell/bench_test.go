package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/skills/sandbox/shell/text"
)

// tenMB is a log of 10 MB: what people ask of one is how many of each kind.
func tenMB() []byte {
	var b strings.Builder
	for i := 0; b.Len() < 10<<20; i++ {
		fmt.Fprintf(&b, "2026-01-%02d %s sku=%d refund of order %d was asked for\n", i%28+1, []string{"INFO", "WARN", "ERROR"}[i%3], 1000+i%50, i)
	}
	return []byte(b.String())
}

func BenchmarkTenMegabytes(b *testing.B) {
	data := tenMB()
	for _, script := range []string{
		"grep ERROR | cut -d ' ' -f 3 | sort | uniq -c | sort -rn | head", "grep -c 'sku=10[0-4]'", "sort -k3,3 | head -n 3", "tail -n 2", "tr a-z A-Z | tail -n 1", "wc",
		"sed -E 's/order ([0-9]+)/#\\1/' | tail -n 1",
	} {
		b.Run(script, func(b *testing.B) {
			for b.Loop() {
				p, err := evaluate(Script{Script: script, Input: "blob:x"}, limits{maxSteps, maxMoved, maxHeld}, func(bu *text.Budget, _ string) *text.Source {
					at := 0
					return text.NewSource(bu, func() []byte {
						piece := data[at:min(at+pieceBytes, len(data))]
						at += len(piece)
						return piece
					})
				})
				if err != nil || p.Status != 0 {
					b.Fatal(p, err)
				}
			}
		})
	}
}
