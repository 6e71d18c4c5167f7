//go:build race

package agent

// crashEvery: the race detector makes a crash ten times slower, and looks for
// other things; without it every point is tried.
const crashEvery = 4
