//go:build anyhost

package sdk

import "encoding/binary"

// With the build tag anyhost a skill imports what Extism's ABI has, and runs
// under its other hosts, too, where it uses no host function of ours: 8 bytes
// move with one call where they can.

//go:wasmimport extism:host/env load_u8
func extismLoadU8(at uint64) uint32

//go:wasmimport extism:host/env load_u64
func extismLoadU64(at uint64) uint64

//go:wasmimport extism:host/env store_u8
func extismStoreU8(at uint64, v uint32)

//go:wasmimport extism:host/env store_u64
func extismStoreU64(at, v uint64)

// readBlock fills b with what lies at an address in the blocks.
func readBlock(b []byte, at uint64) {
	whole := len(b) &^ 7
	for i := 0; i < whole; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], extismLoadU64(at+uint64(i)))
	}
	for i := whole; i < len(b); i++ {
		b[i] = byte(extismLoadU8(at + uint64(i)))
	}
}

// writeBlock copies b to an address in the blocks.
func writeBlock(at uint64, b []byte) {
	whole := len(b) &^ 7
	for i := 0; i < whole; i += 8 {
		extismStoreU64(at+uint64(i), binary.LittleEndian.Uint64(b[i:]))
	}
	for i := whole; i < len(b); i++ {
		extismStoreU8(at+uint64(i), uint32(b[i]))
	}
}
