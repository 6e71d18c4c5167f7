// Package goskill owns how a skill in Go becomes a module. It runs the go
// command and packs what that makes; who calls it asks the module what it is,
// in a sandbox.
//
// # Life of a module
//
//  1. The skill is compiled as any Go program for wasip1. What it declares is
//     made into a description by its own code, when it is asked.
//  2. If the package sdk is in it, the module is asked for that description.
//  3. It is compiled again with the tag sluice_described, and with one more
//     file, which no folder has: it gives the sdk the description as a constant.
//     What only a description needs is not in this module: schemas, options,
//     examples and their data.
//  4. It is packed: a table of Go's runtime, a tenth of the module, is made by
//     a start function instead. See rewrite.Pack.
package goskill
