//go:build !race

package dispatch

// underRace is false: see the other one.
const underRace = false
