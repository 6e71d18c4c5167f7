// Package tokens cuts text into weighted terms for full-text search, in English and
// Chinese, the same for every index. It is pure: no state, no I/O.
//
// # Life of a text
//
//  1. It is cut at [MaxTextBytes], and composed (NFKC). Each letter is folded: lower
//     case, full width to half width, traditional Chinese to simplified, accents of
//     Latin letters off.
//  2. It falls into runs. A run of letters and digits is a word: its possessive is
//     cut off, and an English word is stemmed. A run of Chinese, Japanese or Korean
//     letters, which does not show where words end, gives each pair of neighbours,
//     and where it has one letter, that one. A picture (☕) is a term by itself.
//  3. Each term is hashed to 32 bits and counted. [Document] weighs the counts as
//     BM25 does, but for the rarity of the term, which only an index knows.
//     [Query] weighs each term by how much it tells. A document also gives each of
//     its Han letters as a term of another kind, which only a letter that stands alone
//     in a question asks for, so that 茶 finds 喝茶 and pairs weigh as they did.
//  4. An index multiplies the weights of a query and of a document, and the rarity
//     of the term among its documents, and adds up.
package tokens
