// A guest that moves its payload as one by the sdk does, and does the same as
// the echo and head of testdata/pdk.
package main

import (
	"runtime"
	"unsafe"
)

func main() {}

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_offset
func inputOffset() uint64

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env output_set
func outputSet(at, n uint64)

//go:wasmimport extism:host/user sluice_block_read
//go:noescape
func blockRead(at uint64, p unsafe.Pointer, n uint32)

//go:wasmimport extism:host/user sluice_block_write
//go:noescape
func blockWrite(at uint64, p unsafe.Pointer, n uint32)

// As the sdk does, warm takes room for payloads, so that few calls have to grow
// the memory.
//
//go:wasmexport sluice_warm
func warm() {
	room = make([]byte, 2<<20)
	room = nil
	runtime.GC()
}

var room []byte // keeps the compiler from leaving warm's work out

//go:wasmexport echo
func echo() int32 {
	output(input())
	return 0
}

//go:wasmexport head
func head() int32 {
	b := input()
	output(b[:min(len(b), 64<<10)])
	return 0
}

func input() []byte {
	b := make([]byte, inputLength())
	blockRead(inputOffset(), unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
	return b
}

func output(b []byte) {
	at := alloc(uint64(len(b)))
	blockWrite(at, unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
	outputSet(at, uint64(len(b)))
}
