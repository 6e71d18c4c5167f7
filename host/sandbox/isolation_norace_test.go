//go:build !race

package sandbox_test

import "testing"

func TestNothingOfACallIsFoundByTheNext(t *testing.T) {
	calls := 10_000
	if testing.Short() {
		calls = 1_000
	}
	nothingOfACallIsFoundByTheNext(t, calls)
}
