//go:build !race

package agent

// crashEvery says that a turn crashes after each of its transactions.
const crashEvery = 1
