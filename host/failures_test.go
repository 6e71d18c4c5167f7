package host_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestFailuresTellTheFirstOnesAndCountTheRest(t *testing.T) {
	var f host.Failures
	f.Add(nil)
	if err := f.Err(); err != nil {
		t.Fatalf("without a failure: %v", err)
	}
	cause := errors.New("gone")
	for i := range 1000 {
		f.Add(host.Fail("it.Does", abi.NewProblem(abi.StoreFailure, "number %d", i), cause))
	}
	err := f.Err()
	if text := fmt.Sprint(err); !errors.Is(err, cause) || host.ProblemOf(err).Code != abi.StoreFailure ||
		!strings.Contains(text, "number 0") || !strings.HasSuffix(text, "and 992 more failed") || strings.Count(text, "\n") != 8 {
		t.Errorf("it tells %v", err)
	}
}
