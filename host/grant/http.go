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

// HTTP sends a request of a guest, as sandbox.Request.HTTP does.
type HTTP = func(ctx context.Context, request abi.HTTPRequest, body []byte) (abi.HTTPResponse, *abi.Problem)

// addHTTP grants the way to the hosts that the manifest names: sluice_http, and
// what serves Extism's http_request.
//
// A server that fails is no failure of the host's: the guest may have another
// way, and what it answers does not rest on something that it could not read. So
// an attempt goes on after a problem here, where it does not after one of the
// store.
func (g *Grant) addHTTP(rules []abi.HTTPRule) {
	if g.config.Egress == nil {
		g.add(absent("way to other hosts", abi.FuncHTTP)...)
		return
	}
	policy, err := egress.Compile(rules)
	if err != nil {
		g.add(refusing(abi.FuncHTTP, func() *abi.Problem { return host.ProblemOf(err) }))
		return
	}
	call := &egress.Call{Policy: policy, Key: string(g.call.Key)}
	if g.config.Secrets != nil {
		call.Secrets = func(name string) (string, bool) { return g.config.Secrets(g.call.Session.Tenant, name) }
	}
	send := func(ctx context.Context, request abi.HTTPRequest, body []byte) (abi.HTTPResponse, *abi.Problem) {
		if g.call.Effect != abi.Write && !egress.Safe(request.Method) {
			return abi.HTTPResponse{}, abi.NewProblem(abi.NotGranted, "%.20s is not granted to a tool whose effect is read", request.Method).
				WithHint("declare the tool's effect as write in skill.yaml, so that it passes the gate as one")
		}
		return g.config.Egress.Do(ctx, call, request, body)
	}
	g.addRecorded(sandbox.Function{Name: abi.FuncHTTP, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
		request, problem := decodeHTTP(args[0])
		if problem != nil {
			return nil, problem
		}
		response, problem := send(ctx, request, args[1])
		return encodeHTTP(response, problem)
	}})
	g.HTTP = func(ctx context.Context, request abi.HTTPRequest, body []byte) (abi.HTTPResponse, *abi.Problem) {
		response, problem := send(ctx, request, body)
		result, _ := encodeHTTP(response, problem)
		g.recorder.note(abi.FuncHTTP, httpArgs(request, body), result, problem)
		return response, problem
	}
}

func encodeHTTP(response abi.HTTPResponse, problem *abi.Problem) ([]byte, *abi.Problem) {
	if problem != nil {
		return nil, problem
	}
	block, err := response.Encode()
	if err != nil {
		return nil, abi.NewProblem(abi.HostBug, "an answer does not encode")
	}
	return block, nil
}

// httpArgs is how a request of http_request is recorded: as one of sluice_http.
func httpArgs(request abi.HTTPRequest, body []byte) [][]byte {
	raw, err := json.Marshal(request)
	if err != nil {
		panic("BUG: a request does not encode: " + err.Error())
	}
	return [][]byte{raw, body}
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
