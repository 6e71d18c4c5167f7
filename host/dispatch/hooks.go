package dispatch

import (
	"context"

	"github.com/sluicehq/sluice/abi"
)

// beforeHooks asks the hooks before the call.
func (f *flight) beforeHooks(context.Context) *abi.Problem { return nil }
