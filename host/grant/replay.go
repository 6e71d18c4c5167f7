package grant

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
)

// A Replay plays a recording back to the guest that made it. It is for one run.
type Replay struct {
	Functions []sandbox.Function
	HTTP      HTTP   // for http_request of Extism's ABI
	OnParting func() // called once, as soon as the guest leaves the recording; may be nil

	calls   []HostCall
	next    int
	cut     bool
	parting *Parting
}

// NewReplay makes the functions that answer as they did. Nothing is read and
// nothing is written.
func NewReplay(r Recording) *Replay {
	p := &Replay{calls: r.Calls, cut: r.Cut}
	for _, name := range r.Granted {
		p.Functions = append(p.Functions, sandbox.Function{Name: name, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
			return p.answer(name, args)
		}})
		if name == abi.FuncHTTP {
			p.HTTP = p.http
		}
	}
	return p
}

func (p *Replay) http(_ context.Context, request abi.HTTPRequest, body []byte) (abi.HTTPResponse, *abi.Problem) {
	block, problem := p.answer(abi.FuncHTTP, httpArgs(request, body))
	if problem != nil {
		return abi.HTTPResponse{}, problem
	}
	response, err := abi.DecodeHTTPResponse(block)
	return response, host.ProblemOf(err)
}

// answer gives what was recorded as long as the guest asks as it did. From where
// it does not, it gets nothing any more.
func (p *Replay) answer(name string, args [][]byte) ([]byte, *abi.Problem) {
	if p.parting == nil && !p.follows(name, args) {
		p.parting = p.partingAt(HostCall{Function: name, Args: args})
		if p.OnParting != nil {
			p.OnParting()
		}
	}
	if p.parting != nil {
		return nil, p.parting.problem()
	}
	c := p.calls[p.next]
	p.next++
	return c.Result, c.Problem
}

func (p *Replay) follows(name string, args [][]byte) bool {
	return p.next < len(p.calls) && p.calls[p.next].Function == name && slices.EqualFunc(p.calls[p.next].Args, args, bytes.Equal)
}

// partingAt compares the next recorded host call with what the guest asked for.
func (p *Replay) partingAt(got HostCall) *Parting {
	parting := &Parting{Call: p.next + 1, Got: got.Function, GotSHA256: got.digest(), Recorded: len(p.calls)}
	if p.next < len(p.calls) {
		parting.Wanted, parting.WantedSHA256 = p.calls[p.next].Function, p.calls[p.next].digest()
	} else {
		parting.Cut = p.cut
	}
	return parting
}

// digest is that of the request: each argument with its length before it.
func (c HostCall) digest() string {
	var b []byte
	for _, a := range c.Args {
		b = append(binary.AppendUvarint(b, uint64(len(a))), a...)
	}
	return host.Digest(b)
}

// A Parting is where a guest left its recording.
type Parting struct {
	Call         int    `json:"call"`                    // the host call, from 1
	Recorded     int    `json:"recorded"`                // host calls that the recording has
	Wanted       string `json:"wanted,omitempty"`        // the recorded function; empty behind the last one
	WantedSHA256 string `json:"wanted_sha256,omitempty"` // of its arguments
	Got          string `json:"got,omitempty"`           // the function that the guest asked for; empty where it ended
	GotSHA256    string `json:"got_sha256,omitempty"`    // of its arguments
	Cut          bool   `json:"cut,omitempty"`           // the recording was cut here: what came next nobody knows
}

func (p *Parting) problem() *abi.Problem {
	switch {
	case p.Cut:
		return abi.NewProblem(abi.BadHostCall, "the recording was cut after %d host calls, and the guest asks for more", p.Recorded)
	case p.Got == "":
		return abi.NewProblem(abi.BadHostCall, "the guest made %d of %d recorded host calls", p.Call-1, p.Recorded)
	case p.Wanted == "":
		return abi.NewProblem(abi.BadHostCall, "the guest asks for %s after the last of %d recorded host calls", p.Got, p.Recorded)
	}
	return abi.NewProblem(abi.BadHostCall, "host call %d is another %s than the recorded %s", p.Call, p.Got, p.Wanted)
}

// Parting says where the guest left the recording, or gives nil. Ask it after
// the run: a guest may have passed over the problem that it got.
func (p *Replay) Parting() *Parting {
	if p.parting == nil && p.next < len(p.calls) {
		next := p.calls[p.next]
		return &Parting{Call: p.next + 1, Recorded: len(p.calls), Wanted: next.Function, WantedSHA256: next.digest()}
	}
	return p.parting
}

// Differs says the same in words, or gives nil.
func (p *Replay) Differs() *abi.Problem {
	if parting := p.Parting(); parting != nil {
		return parting.problem()
	}
	return nil
}
