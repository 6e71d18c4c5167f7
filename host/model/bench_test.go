package model

import (
	"context"
	"fmt"
	"testing"
)

func BenchmarkOffline(b *testing.B) {
	for _, n := range []int{8, 500} {
		tools := liveShop()
		for i := len(tools); i < n; i++ {
			t := liveShop()[i%8]
			t.Name = fmt.Sprintf("%s_%d", t.Name, i)
			tools = append(tools, t)
		}
		req := user("请把 1002 改到 79.5 元")
		req.Tools = tools
		b.Run(fmt.Sprintf("%d tools", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := (Offline{}).Complete(context.Background(), req, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
