package precheck

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/egress"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/sandbox"
)

// trialKey is the idempotency key of writes that are tried past the gate.
const trialKey = "018d0d5a-7f3c-7000-8000-000000000001"

// A deed is one thing that a call did to what others see.
type deed struct {
	what string // such as "the kv key stock/1001"
	how  string // what it became, or what was sent
	away bool   // it went to another host: nobody can take it back
}

// A stand is where a tool is tried past the gate: what an example begins with, and the
// host functions that its capabilities grant. What it writes is seen by itself and kept
// nowhere. Other hosts answer everything with an empty object.
type stand struct {
	skill   *manifest.Skill
	tool    *manifest.Tool
	example abi.Example
	session host.SessionRef
	grant   *grant.Grant
	deeds   []deed // of one call, in their order
}

// stand makes one. All of one example's see the same.
func (t *trial) stand(ctx context.Context, skill *manifest.Skill, tool *manifest.Tool, e abi.Example) (*stand, error) {
	ref, err := t.session(ctx, skill, e)
	if err != nil {
		return nil, err
	}
	return t.standIn(ref, skill, tool, e), nil
}

// standIn makes another one in the session of a first.
func (t *trial) standIn(ref host.SessionRef, skill *manifest.Skill, tool *manifest.Tool, e abi.Example) *stand {
	s := &stand{skill: skill, tool: tool, example: e, session: ref}
	s.grant = grant.For(grant.Config{Store: t.store, Blobs: t.blobs, Files: t.files}, grant.Call{
		Session: ref, Capabilities: skill.Capabilities, Effect: tool.Effect, Key: trialKey, State: s.readable()})
	return s
}

func (s *stand) readable() map[string]json.RawMessage {
	state := map[string]json.RawMessage{}
	for key, value := range s.example.State {
		if s.skill.Capabilities.State.MayRead(key) {
			state[key] = value
		}
	}
	return state
}

// request gives the call of the example's tool as that attempt makes it at that time.
func (s *stand) request(attempt int, now time.Time) (sandbox.Request, error) {
	call := abi.CallInfo{ID: "call_trial", Attempt: attempt, Now: now, Tenant: "trial", Locale: "zh-CN"}
	if s.tool.Effect == abi.Write {
		call.Key = trialKey
	}
	args := s.example.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	input, err := json.Marshal(abi.Invocation{ABI: abi.Version, Tool: s.tool.Name, Args: args, Call: call, State: s.readable()})
	return sandbox.Request{Export: abi.ExportInvoke, Input: input, Functions: s.functions(), HTTP: s.send, Now: now}, err
}

// functions are those of the grant, and note what they do.
func (s *stand) functions() []sandbox.Function {
	var noting []sandbox.Function
	for _, f := range s.grant.Functions {
		noting = append(noting, sandbox.Function{Name: f.Name, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
			if f.Name == abi.FuncHTTP {
				return s.serveHTTP(ctx, args)
			}
			result, problem := f.Call(ctx, args)
			if what := changes(f.Name, args); what != "" && problem == nil {
				s.deeds = append(s.deeds, deed{what: what, how: string(bytes.Join(args[1:], []byte{0}))})
			}
			return result, problem
		}})
	}
	return noting
}

// changes names what a host function changes; nothing for one that reads.
func changes(function string, args [][]byte) string {
	switch function {
	case abi.FuncKVPut, abi.FuncKVDelete:
		return fmt.Sprintf("the kv key %.80q", args[0])
	case abi.FuncFilesWrite, abi.FuncFilesRemove:
		return fmt.Sprintf("the file %.80q", args[0])
	case abi.FuncMemoryRemember:
		return fmt.Sprintf("the memory %.80q", args[0])
	case abi.FuncBlobWrite:
		return "the blob " + host.Digest(args[0])
	}
	return ""
}

func (s *stand) serveHTTP(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
	var request abi.HTTPRequest
	if err := json.Unmarshal(args[0], &request); err != nil {
		return nil, abi.NewProblem(abi.BadHostCall, "%s: its request is not JSON", abi.FuncHTTP)
	}
	response, problem := s.send(ctx, request, args[1])
	if problem != nil {
		return nil, problem
	}
	block, err := response.Encode()
	if err != nil {
		return nil, abi.NewProblem(abi.HostBug, "an answer does not encode")
	}
	return block, nil
}

// send answers for all other hosts.
func (s *stand) send(_ context.Context, request abi.HTTPRequest, body []byte) (abi.HTTPResponse, *abi.Problem) {
	if !egress.Safe(request.Method) {
		s.deeds = append(s.deeds, deed{what: fmt.Sprintf("%.20s %.200s", request.Method, request.URL), how: string(body), away: true})
	}
	return abi.HTTPResponse{Status: 200, Headers: map[string]string{"content-type": "application/json"}, Body: []byte("{}")}, nil
}

// taken gives the deeds since it was last asked.
func (s *stand) taken() []deed {
	deeds := s.deeds
	s.deeds = nil
	return deeds
}

// another gives a deed that goes to another host and is not among those before it, each
// of which allows one.
func another(before, after []deed) (deed, bool) {
	before = slices.Clone(before)
	for _, d := range after {
		if !d.away {
			continue
		}
		at := slices.Index(before, d)
		if at < 0 {
			return d, true
		}
		before = slices.Delete(before, at, at+1)
	}
	return deed{}, false
}

// anew gives a deed after which something kept here is not what it was before.
func anew(before, after []deed) (deed, bool) {
	was, is := map[string]string{}, map[string]string{}
	for _, d := range before {
		was[d.what] = d.how
	}
	for _, d := range after {
		is[d.what] = d.how
	}
	for _, d := range after {
		if how, done := was[d.what]; !d.away && (!done || how != is[d.what]) {
			return d, true
		}
	}
	return deed{}, false
}
