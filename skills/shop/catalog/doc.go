// Shop.catalog is the skill that finds the products of a live shop. It reads
// product/<sku> and writes nothing.
//
// # Life of a search
//
//  1. The query is cut into words, and Chinese, which has no spaces, into
//     pairs of characters.
//  2. Every product is rated: its number, its whole title, or a share of the
//     words.
//  3. The best twenty are given, with the number of all that match.
package main
