package sdk

// The part of Extism's guest ABI that the sdk uses. Blocks lie in a memory of
// the host and are reached through handles; readBlock and writeBlock copy.

//go:wasmimport extism:host/env input_length
func extismInputLength() uint64

//go:wasmimport extism:host/env input_offset
func extismInputOffset() uint64

//go:wasmimport extism:host/env alloc
func extismAlloc(length uint64) uint64

//go:wasmimport extism:host/env free
func extismFree(handle uint64)

//go:wasmimport extism:host/env length
func extismLength(handle uint64) uint64

//go:wasmimport extism:host/env output_set
func extismOutputSet(handle, length uint64)

//go:wasmimport extism:host/env error_set
func extismErrorSet(handle uint64)

//go:wasmimport extism:host/env log_info
func extismLogInfo(handle uint64)

// input gives the whole input of the call.
func input() []byte {
	b := make([]byte, extismInputLength())
	readBlock(b, extismInputOffset())
	return b
}

// newBlock copies b into a new block and gives its handle, which is 0 where b
// is empty.
func newBlock(b []byte) uint64 {
	handle := extismAlloc(uint64(len(b)))
	writeBlock(handle, b)
	return handle
}

// takeBlock copies a block out and frees it.
func takeBlock(handle uint64) []byte {
	b := make([]byte, extismLength(handle))
	readBlock(b, handle)
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
