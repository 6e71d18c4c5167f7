//go:build race

package eval

// raced says that the race detector is on, under which guests take many times
// as long.
const raced = true
