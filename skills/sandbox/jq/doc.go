// Jq is the skill by which a model takes values out of JSON that is too long for
// it: a filter in jq's language over a blob that it reads and cannot change.
// There are no files, modules or environment that a filter could reach.
//
// # Life of a query
//
//  1. The filter is parsed and compiled; what cannot be is refused before
//     anything is read.
//  2. The blob is read whole, up to 8 MiB: JSON, or one JSON document after the
//     other. With slurp they are one list.
//  3. The filter runs over each document; what it gives is written as JSON, with
//     members sorted by name, or as text, up to a bound.
//  4. What goes wrong in it is told with what the document looks like, so that the
//     next filter fits.
package main
