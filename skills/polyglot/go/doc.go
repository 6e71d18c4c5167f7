// Polyglot/go is the skill shop.reserve in Go: it reserves pieces of a product
// for viewers of a live show. The folders beside this one have the same skill
// in Rust, AssemblyScript and C, and all four give the same bytes for the same
// call.
//
// It reads product/<sku> and keeps hold/<sku>/<buyer>. What is left of a product
// is its stock without what others have reserved.
//
// # Life of a reservation
//
//  1. The product is read; where there is none the call is refused.
//  2. What others have reserved is added up. Where too few pieces are left, or
//     the live show allows one buyer fewer, the call is refused with how many
//     there could be.
//  3. The buyer's hold is written; the same call again gives the same.
package main
