//go:build race

package dispatch

// underRace thins what the race detector makes ten times slower, and what looks
// for other things than races; without it everything is tried.
const underRace = true
