package grant

import (
	"context"
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
)

// stateGet serves sluice_state_get from the session state that was loaded for
// the call.
func stateGet(access *abi.StateAccess, session map[string]json.RawMessage) sandbox.Function {
	return sandbox.Function{Name: abi.FuncStateGet, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
		key := string(args[0])
		if !access.MayRead(key) {
			return nil, abi.NewProblem(abi.NotGranted, "the manifest does not declare that state key %.80q is read", key)
		}
		return session[key], nil
	}}
}
