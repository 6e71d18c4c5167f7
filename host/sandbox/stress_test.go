//go:build stress

package sandbox_test

import "testing"

// What `make test` shows with a tenth of the inputs.
func TestStressGuestsOfThreeLanguagesAreTheSameFrozen(t *testing.T) { guestsAreTheSameFrozen(t, 1000) }

func TestStressSkillsAreTheSameFrozen(t *testing.T) { skillsAreTheSameFrozen(t, 1000) }
