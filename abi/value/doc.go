// Package value does what Interface, Set and SetMapIndex of a reflect.Value do.
// On a host those do it. In a guest it is done here, on what a reflect.Value
// consists of: each of the three may meet a method that is a value, for which
// package reflect links how functions are called and made at run time, some
// 150 KB of every module. Values of this package's callers are never methods.
//
// The guest's way stands on three things that package reflect does not promise:
// what a reflect.Value consists of, which has been the same since Go 1.4, and
// two functions that the runtime keeps for those who link to them (see
// go.dev/issue/67401). The tests hold it against package reflect over types of
// every kind, so another Go that differs is noticed before a skill is built. With
// the build tag sluice_guest a host takes the guest's way, too: so run the tests
// that hold the JSON and the messages against encoding/json and fmt.
package value
