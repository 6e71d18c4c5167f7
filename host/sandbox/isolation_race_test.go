//go:build race

package sandbox_test

import "testing"

// Without the race detector, in which a call takes long, there are more calls.
func TestNothingOfACallIsFoundByTheNext(t *testing.T) { nothingOfACallIsFoundByTheNext(t, 1_000) }
