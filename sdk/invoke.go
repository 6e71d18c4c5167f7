package sdk

import (
	"runtime"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wording"
)

// maxCandidates bounds the near names that an unknown tool is answered with.
const maxCandidates = 5

// stackBytes bounds the stack that the log shows of a panic: half of what the
// log of a call may have by default.
const stackBytes = 32 << 10

// invoke serves one abi.Invocation and gives the abi.Reply. It never panics
// and always gives a reply.
func (s *skill) invoke(input []byte, e env) []byte {
	in, ok := readInvocation(input)
	if !ok {
		return refusal(abi.NewProblem(abi.NotJSON, "the invocation is not an envelope that this skill reads"))
	}
	return s.answer(Call{invocation: in, env: e})
}

// answer runs the handler and gives its reply. A panic, of the handler or of
// the author's types as they are written, becomes a problem; its value and
// stack go to the log only.
func (s *skill) answer(c Call) (reply []byte) {
	defer func() {
		if v := recover(); v != nil {
			log(c, wording.Sprintf("panic: %v\n%s", v, stack()))
			reply = refusal(abi.NewProblem(abi.Trap, "the handler of %s panicked", c.invocation.Tool))
		}
	}()
	data, err := s.handle(c)
	if err != nil {
		return refusal(problemOf(c, err))
	}
	reply, err = success(data)
	if err != nil {
		log(c, "error: "+err.Error())
		return refusal(abi.NewProblem(abi.Trap, "%s gave a result that cannot be written as JSON", c.invocation.Tool))
	}
	return reply
}

func stack() []byte {
	b := make([]byte, stackBytes)
	return b[:runtime.Stack(b, false)]
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
