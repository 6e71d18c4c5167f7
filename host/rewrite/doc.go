// Package rewrite reads and writes WebAssembly, and changes a guest's module
// so that a host can meter it and start it where it stood. It owns what is
// written into a guest: the cost table, the names that are the host's, and the
// form of metered code. It is pure: bytes in, bytes out.
//
// It reads WebAssembly 2.0 as wazero runs it by default: multi-value, mutable
// globals, sign extension, saturating conversions, bulk memory, reference
// types and SIMD. Everything else is refused by name, with the flag by which a
// toolchain leaves it out. No bytes make it panic, and it takes memory in
// proportion to the bytes that it was given, never to a count in them.
//
// Pack is for who builds a module, not for who runs it: it makes one of Go
// smaller, and what comes out is published and rewritten as any other.
//
// # Life of a rewriting
//
//  1. The host has an engine validate the original. Metering moves indices, so
//     that a module which names what does not exist could be made to name what
//     the rewriter adds. Indices are checked here, types are not.
//  2. Inspect says what the module is, or refuses it: a feature that is not
//     run, a name that is the host's, bytes that are no module.
//  3. Expose exports its memory and its mutable globals. The host runs the
//     start function, _initialize and what else warms it up, once, and takes
//     the image. A module with state that cannot be set back is refused here;
//     it skips steps 3 and 4 and runs in a fresh instance for each call.
//  4. Freeze writes the image into the module: its instances begin where that
//     run ended.
//  5. Meter makes it count. Before each run of instructions that are executed
//     all or none, their cost is taken from the fuel; copies, fills and growth
//     pay for their size before they act. At the heads of loops, at entries
//     and at least every 4096 units of fuel on any path between, fuel below
//     zero calls the host, which grants more or panics. A function that calls
//     others counts its depth.
//  6. The host compiles the result and keeps it under a key that holds
//     Version.
//
// # Fuel
//
// The fuel that is left is a mutable i64 global of the guest. A function in
// which something loops keeps it in a local while it does not call: the local
// is saved before a call, a return and an unreachable, and loaded after a
// call. A call that returns has therefore cost exactly the sum of the table's
// costs of what it executed, however the host slices what it grants. After a
// trap the global lags behind, by what the trapping function took since it
// last saved: always by the same for the same call, and never by more than it
// took since its last check and the slice of that check.
//
// What a guest executes between two checks is bounded by 4096 units in each
// function on its stack, so that a deadline is overrun by milliseconds at most.
//
// # Depth
//
// The stack units that are left are another global. A function that calls
// other functions of the guest takes units for its frame, by its locals and
// its code, when it is entered, and gives them back on every way out but a
// trap; below zero it calls the host, which must panic. After a call that did
// not return, the host sets the global back.
package rewrite
