//go:build !anyhost

package sdk

import "unsafe"

// The host copies whole blocks: from about a hundred bytes on that takes less
// time than moving eight bytes with each call, and below it is as good as none.

//go:wasmimport extism:host/user sluice_block_read
//go:noescape
func sluiceBlockRead(at uint64, pointer unsafe.Pointer, length uint32)

//go:wasmimport extism:host/user sluice_block_write
//go:noescape
func sluiceBlockWrite(at uint64, pointer unsafe.Pointer, length uint32)

// readBlock fills b with what lies at an address in the blocks.
func readBlock(b []byte, at uint64) {
	sluiceBlockRead(at, unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
}

// writeBlock copies b to an address in the blocks.
func writeBlock(at uint64, b []byte) {
	sluiceBlockWrite(at, unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
}
