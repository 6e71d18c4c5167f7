// Command guest is the Go guest on which metering is measured: each export is
// one workload and gives a number that depends on all of its work.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"regexp"
	"sort"
	"strings"
)

type item struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Price float64           `json:"price"`
	Tags  []string          `json:"tags"`
	Attrs map[string]string `json:"attrs"`
}

var (
	document = makeDocument()
	text     = strings.Repeat("order 4711 of alice@example.com for 12.50 EUR, ref AB-99; ", 1100)
	pattern  = regexp.MustCompile(`[a-z]+@[a-z]+\.com|[A-Z]{2}-\d+`)
	bulk     = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
)

func makeDocument() []byte {
	var items []item
	for i := range 600 {
		items = append(items, item{i, "product " + strings.Repeat("x", i%17), float64(i) * 1.25,
			[]string{"new", "sale", "blue"}, map[string]string{"size": "L", "origin": "here"}})
	}
	b, err := json.Marshal(items)
	if err != nil {
		panic(err)
	}
	return b
}

//go:wasmexport json
func jsonWork() int64 {
	var items []item
	if err := json.Unmarshal(document, &items); err != nil {
		return -1
	}
	b, err := json.Marshal(items)
	if err != nil {
		return -2
	}
	return int64(len(b))
}

//go:wasmexport sort
func sortWork() int64 {
	values := make([]int, 200_000)
	x := uint64(1)
	for i := range values {
		x = x*6364136223846793005 + 1442695040888963407
		values[i] = int(x >> 33)
	}
	sort.Ints(values)
	return int64(values[len(values)/2])
}

//go:wasmexport sha256
func shaWork() int64 {
	sum := sha256.Sum256(bulk)
	return int64(binary.LittleEndian.Uint64(sum[:]))
}

//go:wasmexport regexp
func regexpWork() int64 { return int64(len(pattern.FindAllString(text, -1))) }

//go:wasmexport spin
func spinWork() int64 {
	x := uint64(1)
	for range 20_000_000 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return int64(x)
}

func main() {}
