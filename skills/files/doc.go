// Files is the skill by which a model works on the session's own files: it
// lists, reads and writes them, and replaces a block of one.
//
// There is no appending: both writes may be repeated. write_file_with_hash
// replaces what the model has seen, by its hash, and nothing else;
// replace_block changes text that stands in a file exactly once.
//
// # Life of a replaced block
//
//  1. The file is read. If the caller says what hash it saw, it must have that.
//  2. The old text must stand there once. Where it does not stand there and the
//     new text does, once, the block was replaced before: that is a success.
//  3. The file is written on the condition that it still is what was read.
package main
