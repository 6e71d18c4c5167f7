package sdk

import "encoding/binary"

// The part of Extism's guest ABI that the sdk uses. Blocks lie in a memory of
// the host and are reached through handles; 8 bytes move with one call where
// they can.

//go:wasmimport extism:host/env input_length
func extismInputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func extismInputLoadU8(offset uint64) uint32

//go:wasmimport extism:host/env input_load_u64
func extismInputLoadU64(offset uint64) uint64

//go:wasmimport extism:host/env alloc
func extismAlloc(length uint64) uint64

//go:wasmimport extism:host/env free
func extismFree(handle uint64)

//go:wasmimport extism:host/env length
func extismLength(handle uint64) uint64

//go:wasmimport extism:host/env load_u8
func extismLoadU8(offset uint64) uint32

//go:wasmimport extism:host/env load_u64
func extismLoadU64(offset uint64) uint64

//go:wasmimport extism:host/env store_u8
func extismStoreU8(offset uint64, v uint32)

//go:wasmimport extism:host/env store_u64
func extismStoreU64(offset, v uint64)

//go:wasmimport extism:host/env output_set
func extismOutputSet(handle, length uint64)

//go:wasmimport extism:host/env error_set
func extismErrorSet(handle uint64)

//go:wasmimport extism:host/env log_info
func extismLogInfo(handle uint64)

// input gives the whole input of the call.
func input() []byte {
	b := make([]byte, extismInputLength())
	whole := len(b) &^ 7
	for i := 0; i < whole; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], extismInputLoadU64(uint64(i)))
	}
	for i := whole; i < len(b); i++ {
		b[i] = byte(extismInputLoadU8(uint64(i)))
	}
	return b
}

// newBlock copies b into a new block and gives its handle, which is 0 where b
// is empty.
func newBlock(b []byte) uint64 {
	handle := extismAlloc(uint64(len(b)))
	whole := len(b) &^ 7
	for i := 0; i < whole; i += 8 {
		extismStoreU64(handle+uint64(i), binary.LittleEndian.Uint64(b[i:]))
	}
	for i := whole; i < len(b); i++ {
		extismStoreU8(handle+uint64(i), uint32(b[i]))
	}
	return handle
}

// takeBlock copies a block out and frees it.
func takeBlock(handle uint64) []byte {
	b := make([]byte, extismLength(handle))
	whole := len(b) &^ 7
	for i := 0; i < whole; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], extismLoadU64(handle+uint64(i)))
	}
	for i := whole; i < len(b); i++ {
		b[i] = byte(extismLoadU8(handle + uint64(i)))
	}
	extismFree(handle)
	return b
}

// The host reads the output after the call, so its block is not freed here.
func output(b []byte) { extismOutputSet(newBlock(b), uint64(len(b))) }

func log(_ Call, line string) {
	handle := newBlock([]byte(line))
	extismLogInfo(handle)
	extismFree(handle)
}
