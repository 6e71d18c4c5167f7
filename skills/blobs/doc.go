// Blobs is the skill by which a model reads parts of what is too long for it:
// results of tools that were left out, and files that people uploaded. Whoever
// has the id of a blob of the session reads a range of it, looks for a text in
// it, or takes one value out of its JSON. What it gives is always short enough
// to be read whole.
//
// # Life of a value
//
//  1. The path is parsed; what it cannot say is refused with an example.
//  2. The blob comes in pieces, and everything before the value is passed over,
//     so that no more than a piece is in memory.
//  3. The value is copied as far as there is room: whole items, whole members.
//     The rest is counted, and named.
//  4. Where the path leads to nothing, the problem says what is there.
package main
