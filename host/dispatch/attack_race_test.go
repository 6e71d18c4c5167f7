//go:build race

package dispatch

// attacksUnderRace is how many attacks of each kind are made under the race
// detector, which makes them ten times slower and looks for other things.
const attacksUnderRace = 2
