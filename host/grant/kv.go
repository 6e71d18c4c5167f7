package grant

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/state"
)

// kvReads serve sluice_kv_get and _scan from one call's view. Keys and sizes
// are the view's to check; it gives problems of its own.
func kvReads(view *state.View) []sandbox.Function {
	return []sandbox.Function{
		{Name: abi.FuncKVGet, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
			value, found, err := view.Get(ctx, string(args[0]))
			if err != nil || !found {
				return nil, host.ProblemOf(err)
			}
			if value == nil {
				value = []byte{} // found and empty is not the same as not found
			}
			return value, nil
		}},
		{Name: abi.FuncKVScan, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
			query, problem := decode[abi.ScanQuery](abi.FuncKVScan, args[0])
			if problem != nil {
				return nil, problem
			}
			page, err := view.Scan(ctx, query)
			if err != nil {
				return nil, host.ProblemOf(err)
			}
			return page.Encode(), nil
		}},
	}
}

// kvWrites serve sluice_kv_put and _delete.
func kvWrites(view *state.View) []sandbox.Function {
	return []sandbox.Function{
		{Name: abi.FuncKVPut, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
			return nil, host.ProblemOf(view.Put(string(args[0]), bytes.Clone(args[1])))
		}},
		{Name: abi.FuncKVDelete, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
			return nil, host.ProblemOf(view.Delete(string(args[0])))
		}},
	}
}

// decode reads the JSON argument of a host function: one object of bounded
// size. Unknown members are refused, so that a newer guest's wish is not
// silently dropped.
func decode[T any](function string, raw []byte) (v T, problem *abi.Problem) {
	if abi.Size(len(raw)) > abi.ArgumentBytes {
		return v, abi.NewProblem(abi.BadHostCall, "%s: its JSON argument has %d bytes; at most %s are read", function, len(raw), abi.ArgumentBytes)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(&v)
	if _, more := d.Token(); err != nil || more != io.EOF || bytes.TrimLeft(raw, " \t\r\n")[0] != '{' || !utf8.Valid(raw) {
		return v, abi.NewProblem(abi.BadHostCall, "%s: its argument is not the JSON it should be", function)
	}
	return v, nil
}
