// Package sandbox runs the modules of skills. It owns WebAssembly: it is the
// only importer of the engine, wazero, and nothing above it knows what a module
// is made of. A caller loads bytes, calls exports with bytes, and gets bytes or
// a problem.
//
// A guest gets Extism's ABI (extism:host/env, implemented here natively), the
// host functions of the contract (extism:host/user, handed in for each call),
// and WASI preview 1 without files, environment, arguments and sockets. Every
// call has an instance of its own, held to the module's limits, and leaves
// nothing behind.
//
// # Life of a load
//
//  1. The size is held against its cap, and the limits against the ceiling,
//     before a byte is read.
//  2. The bytes' digest is looked up. If the same module is loaded, or being
//     loaded, its code is shared: the caller waits, and may give up without
//     spoiling it for the others.
//  3. The outline is read: what the module imports, what it starts with, and
//     whether every count in it is backed by bytes. What the host does not have
//     is refused, all of it by name.
//  4. Machine code is taken from the disk, if it is there and fits its sums;
//     else the engine validates and compiles, and leaves the code there. A
//     cache that is broken, read-only or gone costs time and nothing else.
//  5. The module counts as a user of its code. The last one that is closed
//     closes the code.
//
// # Life of a call
//
//  1. Export, input and deadline are checked; the context gets the deadline.
//  2. An instance is made, with a memory that refuses to grow above its limit.
//     A start function runs here, and is bounded like everything after it.
//  3. The input becomes a block of the call's kernel, which holds what guest
//     and host exchange. The guest's language runtime is started.
//  4. The export runs. Host functions are found by the call that the context
//     carries, are counted, and end the guest where a quota is reached.
//  5. The end is judged, in this order: what the host ended; the context; memory
//     that was refused to a guest that died; exit; trap; a return other than 0
//     or an error text; output above its limit. Only what is left is a success.
//  6. Output and logs are copied out; instance, memory and kernel are dropped.
//
// # The reference host
//
// Output, error text, exit code and the numbers that a guest sees are those of
// Extism's Go host (extism/go-sdk 1.7.1), except that
//
//   - a handle that is not one, and an address outside the blocks, end the call
//     with abi.BadHostCall, where the reference drops the data, reads zeros, or
//     cuts the address to 32 bits;
//   - a block that cannot be had ends the call with abi.OutOfMemory, where the
//     reference answers 0;
//   - a guest that ends its process has failed, also with exit code 0;
//   - an export must be () -> i32;
//   - too many variables are abi.QuotaReached and no trap;
//   - http_request is always refused: requests go through the http capability;
//   - get_log_level answers trace: what is too much is cut here;
//   - the second part of a freed block that is split lies in the block, where
//     the reference puts it over the next one.
//
// # What is not bounded
//
// A deadline is noticed at loops and in host functions. A guest that runs long
// by recursion alone is stopped only by the depth of its stack, and the growth
// of its tables only by the engine. Work is not metered: Usage.Fuel is 0.
package sandbox
