package sdk

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/sluicehq/sluice/abi"
)

// maxCandidates bounds the near names that an unknown tool is answered with.
const maxCandidates = 5

// invoke serves one abi.Invocation and gives the abi.Reply. It never panics
// and always gives a reply.
func (s *skill) invoke(input []byte, e env) []byte {
	var in abi.Invocation
	if err := json.Unmarshal(input, &in); err != nil {
		return encodeReply(refusal(abi.NewProblem(abi.NotJSON, "the invocation is not an envelope that this skill reads")))
	}
	return encodeReply(s.answer(Call{invocation: &in, env: e}))
}

// answer runs the handler and gives its reply. A panic, of the handler or of
// the author's types as they are written, becomes a problem; its value and
// stack go to the log only.
func (s *skill) answer(c Call) (reply abi.Reply) {
	defer func() {
		if v := recover(); v != nil {
			log(c, fmt.Sprintf("panic: %v\n%s", v, debug.Stack()))
			reply = refusal(abi.NewProblem(abi.Trap, "the handler of %s panicked", c.invocation.Tool))
		}
	}()
	data, err := s.handle(c)
	if err != nil {
		return refusal(problemOf(c, err))
	}
	reply, err = replyOf(data)
	if err != nil {
		log(c, "error: "+err.Error())
		return refusal(abi.NewProblem(abi.Trap, "%s gave a result that cannot be written as JSON", c.invocation.Tool))
	}
	return reply
}

// handle finds the tool and runs its handler.
func (s *skill) handle(c Call) (any, error) {
	if v := c.invocation.ABI; v != abi.Version {
		return nil, abi.NewProblem(abi.BadArguments, "the invocation has version %d of the contract; this skill speaks version %d", v, abi.Version)
	}
	t := s.find(c.invocation.Tool)
	if t == nil {
		return nil, abi.NewProblem(abi.UnknownTool, "%s has no tool %.*q", s.manifest.Name, maxEcho, c.invocation.Tool).
			WithCandidates(abi.Nearest(c.invocation.Tool, s.toolNames(), maxCandidates)...)
	}
	return t.serve(c, c.invocation.Args)
}

func refusal(p *abi.Problem) abi.Reply { return abi.Reply{Problem: p} }

func replyOf(out any) (abi.Reply, error) {
	reply := abi.Reply{OK: true}
	var state map[string]any
	if w, ok := out.(wrapped); ok {
		out, reply.Preview, state = w.parts()
	}
	var err error
	if reply.Data, err = encode(out); err != nil {
		return abi.Reply{}, err
	}
	if len(state) > 0 {
		reply.State, err = encode(state)
	}
	return reply, err
}

func encodeReply(r abi.Reply) []byte {
	b, err := encode(r)
	if err != nil {
		panic("BUG: a reply of encoded parts cannot be encoded: " + err.Error())
	}
	return b
}
