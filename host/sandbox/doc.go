// Package sandbox runs the modules of skills. It owns WebAssembly: it is the
// only importer of the engine, wazero, and nothing above it knows what a module
// is made of. A caller loads bytes, calls exports with bytes, and gets bytes or
// a problem.
//
// A guest gets Extism's ABI (extism:host/env, implemented here), the host
// functions of the contract (extism:host/user, handed in for each call), the
// block functions beside them, and WASI preview 1 without files, environment, arguments and sockets. Every
// call finds the module as its start left it, is held to the module's limits,
// and leaves nothing behind.
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
//  4. The prepared module and its machine code are taken from the disk, if they
//     are there and fit their sums. A cache that is broken, read-only or gone
//     costs time and nothing else.
//  5. Else the module is prepared: see below; and the engine compiles what came
//     of it, and leaves the code on the disk.
//  6. The module counts as a user of its code. The last one that is closed
//     closes the code and its slots.
//
// # Life of a preparation
//
// What comes of it depends on the bytes alone.
//
//  1. The engine validates the original: what is rewritten is valid even where
//     the original was not.
//  2. The module's start runs once, metered, in the interpreter: its start
//     function, _initialize and the like, and sluice_warm. It sees a fixed clock
//     and fixed random bytes and may call nothing of the host.
//  3. Its memory becomes the image, and its globals their first values
//     (package rewrite). Images are kept beside the module, not in it.
//  4. Fuel and depth are counted from then on (package rewrite).
//  5. Where one of these cannot be, because the start fails or the module
//     changes what cannot be set back, the module is metered only. Every call of
//     it has a fresh instance, whose start sees the same clock and random
//     bytes; Module.Info says why.
//
// # Life of a call
//
//  1. Export, input and deadline are checked; the context gets the deadline.
//  2. A slot is taken: an instance that served before and was restored, or the
//     room to make one; then a core. Who finds none waits; the bounds and who is
//     next are those of the pool and of the cores.
//  3. The input becomes a block of the call's kernel, which holds what guest
//     and host exchange, in a memory that is the slot's. Clock, random bytes,
//     logs, variables and functions are the call's own.
//  4. The export runs, a slice of fuel at a time. Between two slices its limit,
//     its deadline, its caller and its tenant's budget are looked at, and the
//     core goes to a guest of a tenant that has fewer. Host functions are found
//     by the call that the context carries, are counted, and end the guest
//     where a quota is reached; a guest that waits for one has no core.
//  5. The end is judged, in this order: what the host ended; fuel; the context;
//     memory that was refused to a guest that died; exit; trap; a return other
//     than 0 or an error text; output above its limit. Only what is left is a
//     success.
//  6. Output and logs are copied out. If the guest returned by itself, did not
//     grow its memory and left its standard streams alone, the slot is restored:
//     its globals are set, the pages that are no longer the image's are
//     copied back, and its kernel's memory is cleared. Else it is thrown away,
//     as is one whose kernel became large.
//
// # Life of a block
//
//  1. alloc, or the host that has something for the guest, takes the next
//     addresses of the kernel. What is known of the block lies with the host,
//     where no guest can write; its bytes lie in a memory of WebAssembly.
//  2. The kernel's module is told how far the blocks reach. Below that, the
//     guest's loads and stores are served by it, and need no call of the host.
//  3. All other addresses go to the host, which gives zeros for what was never
//     written, makes the memory larger, or ends the call.
//  4. The block functions copy any number of bytes at once. The host works for
//     them, as it does for names and texts; after every megabyte of such work it
//     looks whether the call is over.
//  5. A freed block keeps its bytes until its room is needed. When the call is
//     over, or the guest asks for it, all bytes that were touched are cleared.
//
// # What a frozen start means
//
// A start sees no call: neither its clock, nor its seed. A sequence of random
// numbers that a language seeds at its start is the same in every call; Go's
// math/rand and the order of its maps are such. Bytes that a guest asks for,
// as crypto/rand does, are the call's. What a start prints is not logged.
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
//   - input_load_u64 reads the input that input_set named, as input_load_u8 does;
//     the reference's reads the call's;
//   - http_request goes where Request.HTTP decides, and is refused without one;
//     the reference asks its list of host names once, and follows redirects;
//   - http_request of more than 256 KiB of JSON is abi.BadHostCall;
//   - http_headers gives the headers of every answer, and 0 before the first;
//     the reference always 0, or if it is set to, the headers, {} at first;
//   - get_log_level answers trace: what is too much is cut here;
//   - the second part of a freed block that is split lies in the block, where
//     the reference puts it over the next one.
//
// # What is not bounded
//
// Time in host functions is bounded by the deadline, not by fuel. The
// memory of blocks is bounded for each call, by limits.memory, input and output
// together, beside the guest's own. A trap loses what was used since the last
// check, at most a slice.
package sandbox
