// Package documents cuts documents into memories. It owns where a text is cut, and
// how a piece leads back to the part of the document that it is from. It reads a
// stream once and keeps a few thousand characters of it, however long it is. All
// lengths of chunks are in runes (Unicode code points), offsets in bytes of the source.
//
// # Life of a document
//
//  1. A [Splitter] reads UTF-8, with or without a byte order mark. What is not text is
//     refused, with the place and what to do: UTF-16, NUL bytes, invalid bytes.
//  2. The text is cut into segments: at blank lines, and at the ends of sentences
//     (。！？； and . ! ? before a space). A sentence of more than 412 is cut where it
//     hurts least: at a line end, else between words, else between characters that a
//     reader sees as one. In Markdown a heading begins a section; cuts go there first.
//  3. Segments of one paragraph fill a piece. A paragraph that fits is one piece; what
//     is shorter than 100 goes to the piece before it, if that has room.
//  4. A piece and up to 100 runes from the end of the piece before it, of the same
//     section, are a [Chunk], of 512 at most. The pieces together are the whole text,
//     each rune once, in order.
//  5. Chunks belong to a [Parent]: the document, or, of one larger than 1 MiB, a part
//     of that size, as a range of bytes and their digest.
//  6. A chunk becomes a [Piece]: a memory.Node of kind fact and layer L2, and its place.
//     Its index text also has the title and the headings above it. What is blank is none.
//  7. The keeper keeps the pieces, with the document's digest and its parents. Where a
//     search finds a piece, the pieces beside it in its parent are the text around it:
//     the keeper puts them together without their overlaps.
//  8. The same document again is cut the same way, so that what is still there word for
//     word is the same piece. [Parent.Read] tells whether a source is what it was.
package documents
