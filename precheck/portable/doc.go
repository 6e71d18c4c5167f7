// Package portable runs a skill's module in the reference host of Extism's plug-ins,
// which shares the engine with ours and nothing else: its kernel, its way to start a
// guest and its functions are its own. What gives the same there does not rest on what
// only our host does. It is for judging skills, never for serving them: it counts no
// fuel, and is bounded by time, memory and the host functions that it is given.
//
// # Life of a call
//
//  1. The module was compiled once, with the largest memory that its limits allow;
//     its machine code is kept in a folder that only the user may write.
//  2. The call gets an instance of its own, which starts as the reference host starts
//     it. Clock and random bytes are those that the caller says.
//  3. The contract's host functions are served by the caller, as in our sandbox, and
//     the block functions by copying between the two memories.
//  4. The export runs until it returns, traps, or the time is over; the instance is
//     thrown away. A panic of the reference host is an error like any other.
package portable
