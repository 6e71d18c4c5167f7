package host

import (
	"errors"
	"fmt"
)

// maxFailures bounds the failures that are told in full: the first ones say what is
// wrong, and a database that is away fails for everybody in the same words.
const maxFailures = 8

// Failures collect what failed where many are gone through and what fails for one keeps
// no other one from it. The zero value has none. They are for one goroutine.
type Failures struct {
	first []error
	more  int
}

// Add notes an error. Nil is none.
func (f *Failures) Add(err error) {
	switch {
	case err == nil:
	case len(f.first) < maxFailures:
		f.first = append(f.first, err)
	default:
		f.more++
	}
}

// Err gives the first failures and how many there are beside them, joined, or nil where
// nothing failed.
func (f *Failures) Err() error {
	if f.more == 0 {
		return errors.Join(f.first...)
	}
	return errors.Join(errors.Join(f.first...), fmt.Errorf("and %d more failed", f.more))
}
