package abi

// Names of the block functions in NamespaceHost, which every module may import
// and which need no capability. They copy between the guest's own memory and
// the blocks that it exchanges with the host: what Extism's load and store do
// for eight bytes, for any number at once. A guest for other hosts of Extism
// does without them.
//
// Their parameters are an i64, an address in the blocks, which is a handle or
// lies up to a block's length behind it; an i32, an address in the guest's
// memory; and an i32, a number of bytes, where 0 does nothing. They give
// nothing. Addresses that do not exist end the call with BadHostCall.
const (
	FuncBlockRead  = "sluice_block_read"  // from the blocks to the guest's memory
	FuncBlockWrite = "sluice_block_write" // from the guest's memory to the blocks
)

// BlockFuncs gives the names of the block functions.
func BlockFuncs() []string { return []string{FuncBlockRead, FuncBlockWrite} }
