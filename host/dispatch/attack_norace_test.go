//go:build !race

package dispatch

// attacksUnderRace is beyond what there are of any kind.
const attacksUnderRace = 1000
