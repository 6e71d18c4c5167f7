// Package wire reads and writes JSON as encoding/json does, for guests: in a
// third of the instructions, and without linking encoding/json and fmt, which
// together make a module 0.8 MB larger. Values, bytes and which input is an
// error are those of encoding/json with SetEscapeHTML(false); the tests and a
// fuzz target hold both against each other over a table of types.
//
// It keeps one plan for each type that it has met, made by reflection once. A
// guest that meets its types while it is prepared has the plans in the image
// that every call starts from.
//
// Json.Number and json.RawMessage are known by their names, so that a module
// links their package only when its own code does. What package reflect links
// for methods that are values is left out by package abi/value, and what
// encoding/base64 does is done here.
//
// # Life of a decoded value
//
//  1. Valid walks the text once: what is not JSON, or is nested deeper than
//     MaxDepth, changes nothing and is ErrSyntax.
//  2. The plan of the target's type is found, or made.
//  3. A decoder walks the text again, which it may now trust, and stores what
//     it reads. A value of another type is remembered as a TypeError with the
//     path of its field, and passed over; the first one is the result.
//  4. An error of a type's own UnmarshalJSON or UnmarshalText ends the walk.
//
// # Life of an encoded value
//
//  1. The plan of the value's type is found, or made.
//  2. An encoder appends to one buffer. Members of maps are sorted by name.
//     Beyond a depth of pointers that no honest value has, it looks for cycles.
//  3. What a type's own MarshalJSON gives is checked and stripped of spaces.
//     The first error ends the walk.
package wire
