// A guest that tallies the fields of its input. The guests in C and in
// AssemblyScript do the same, to the byte:
//
//   - fields are separated by spaces; every one is kept in a list that only grows
//   - one that is longer than 64 bytes is an error, and "!" is a trap
//   - one of digits only is added to a sum, modulo 2^64, with some bytes of a
//     buffer of so many KiB, modulo 64
//   - what comes out is the number of the call, and the sum and a digest of all
//     that was ever kept, over a table that the start makes
//
// A second call in the same instance would show in all of it.
package main

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"

	"github.com/extism/go-pdk"
)

func main() {}

const (
	longest = 64
	prime   = 1099511628211
)

var (
	table  = makeTable()
	calls  int
	sum    uint64
	fields [][]byte
	room   []byte // keeps the compiler from leaving warm's work out
)

func makeTable() (t [256]uint64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = t[i-1]*6364136223846793005 + 1442695040888963407
	}
	return t
}

// warm takes memory and lets go of it, so that few calls have to grow it.
//
//go:wasmexport sluice_warm
func warm() {
	room = make([]byte, 1<<20)
	room = nil
	runtime.GC()
}

//go:wasmexport tally
func tally() int32 {
	calls++
	for field := range bytes.SplitSeq(pdk.Input(), []byte(" ")) {
		switch {
		case len(field) == 0:
			continue
		case len(field) > longest:
			pdk.SetErrorString("a field is too long")
			return 1
		case string(field) == "!":
			panic("as asked")
		}
		fields = append(fields, bytes.Clone(field))
		if isNumber(field) {
			add(field)
		}
	}
	pdk.OutputString(fmt.Sprintf("calls=%d fields=%d sum=%d digest=%016x", calls, len(fields), sum, digest()))
	return 0
}

func isNumber(field []byte) bool {
	return !slices.ContainsFunc(field, func(b byte) bool { return b < '0' || b > '9' })
}

func add(field []byte) {
	value := uint64(0)
	for _, b := range field {
		value = value*10 + uint64(b-'0')
	}
	sum += value
	buffer := make([]byte, value%64*1024)
	for i := range buffer {
		buffer[i] = byte(uint64(i)*7 + value)
	}
	for i := 0; i < len(buffer); i += 61 {
		sum += uint64(buffer[i])
	}
}

func digest() uint64 {
	h := uint64(14695981039346656037)
	slices.SortFunc(fields, bytes.Compare)
	for _, field := range fields {
		for _, b := range field {
			h = (h^uint64(b))*prime + table[b]
		}
		h = h*prime ^ uint64(len(field))
	}
	return h
}
