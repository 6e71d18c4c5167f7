package main

import (
	"errors"
	"testing"

	"github.com/sluicehq/sluice/host/agent"
)

func TestClaimsTakeThreeWords(t *testing.T) {
	for word, want := range map[agent.Claims]bool{"": true, "stop": true, "report": true, "off": true, "loud": false, "Stop": false} {
		err := (&program{claims: word}).validClaims()
		if (err == nil) != want || err != nil && !errors.Is(err, errUsage) {
			t.Errorf("--claims %q gives %v", word, err)
		}
	}
}
