package grant

import (
	"context"
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/egress"
	"github.com/sluicehq/sluice/host/sandbox"
)

// maxHTTPRequestBytes is the JSON of a request without its body: what egress
// takes of a URL and headers, each byte escaped.
const maxHTTPRequestBytes = 512 * abi.KiB

// httpFunctions serves sluice_http, and gives what serves Extism's http_request:
// both are one way out under one call's policy.
//
// A server that fails is no failure of the host's: the guest may have another
// way, and what it answers does not rest on something that it could not read. So
// an attempt goes on after a problem here, where it does not after one of the
// store.
func httpFunctions(client *egress.Client, call *egress.Call) ([]sandbox.Function, func(context.Context, abi.HTTPRequest, []byte) (abi.HTTPResponse, *abi.Problem)) {
	send := func(ctx context.Context, request abi.HTTPRequest, body []byte) (abi.HTTPResponse, *abi.Problem) {
		return client.Do(ctx, call, request, body)
	}
	return []sandbox.Function{{Name: abi.FuncHTTP, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
		request, problem := decodeHTTP(args[0])
		if problem != nil {
			return nil, problem
		}
		response, problem := send(ctx, request, args[1])
		if problem != nil {
			return nil, problem
		}
		block, err := response.Encode()
		if err != nil {
			return nil, abi.NewProblem(abi.HostBug, "an answer does not encode")
		}
		return block, nil
	}}}, send
}

// decodeHTTP reads a request in which every member stands once and by its exact
// name: what a reader beside this one would see is what is sent.
func decodeHTTP(raw []byte) (abi.HTTPRequest, *abi.Problem) {
	if len(raw) > int(maxHTTPRequestBytes) {
		return abi.HTTPRequest{}, abi.NewProblem(abi.BadHostCall, "%s: its request has %d bytes without the body; %v are taken", abi.FuncHTTP, len(raw), maxHTTPRequestBytes)
	}
	canonical, err := host.Canonical(raw)
	if err != nil {
		return abi.HTTPRequest{}, abi.NewProblem(abi.BadHostCall, "%s: its request is not JSON: %v", abi.FuncHTTP, err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(canonical, &members); err != nil {
		return abi.HTTPRequest{}, abi.NewProblem(abi.BadHostCall, "%s: its request is not an object", abi.FuncHTTP)
	}
	for name := range members {
		if name != "method" && name != "url" && name != "headers" {
			return abi.HTTPRequest{}, abi.NewProblem(abi.BadHostCall, "%s: a request has no member %.40q", abi.FuncHTTP, name).
				WithCandidates("method", "url", "headers")
		}
	}
	return decode[abi.HTTPRequest](abi.FuncHTTP, canonical)
}
