// Package wording fills in the formats of messages. On a host that is
// fmt.Sprintf. In a guest it is a formatter of this package, which saves a
// module the 0.5 MB that fmt links; a skill that imports fmt itself pays for
// it as any Go program does.
//
// The guest's formatter gives what fmt gives for every verb and flag on
// truth values, numbers, texts, bytes, errors and Stringers, and on lists, maps,
// structs and pointers made of them. It leaves out what no message needs: Go
// syntax (%#v is %+v), # on floats, complex numbers, fmt.Formatter and the order
// of map keys that are neither numbers nor texts.
//
// # Life of a message
//
//  1. The format is walked once; text is copied, a verb is read with its flags.
//  2. Its argument is taken in order, or the lack of one is said in the text:
//     a message never fails.
//  3. The argument is written by its own Error or String, or by its kind.
//  4. What is left over is listed at the end, as fmt does.
package wording
