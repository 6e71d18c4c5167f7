package sdk

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wording"
)

// vet serves one abi.Invocation to a skill's own check and gives the
// abi.Verdict. A check that panics gives none, which the host takes for the
// stricter answer.
func (s *skill) vet(input []byte, e env, check func(Call) abi.Verdict) (verdict []byte, ok bool) {
	in, read := readInvocation(input)
	c := Call{invocation: in, env: e}
	defer func() {
		if v := recover(); v != nil {
			log(c, wording.Sprintf("panic: %v\n%s", v, stack()))
			verdict, ok = nil, false
		}
	}()
	if !read || in.ABI != abi.Version {
		return nil, false
	}
	verdict, err := encode(check(c))
	return verdict, err == nil
}

// Tool gives the name of the tool that is called. A handler knows its own; a
// check serves all tools of the skill.
func (c Call) Tool() string { return c.invocation.Tool }

// Args reads the arguments of the call into a pointer, for a check. A
// handler's come with it.
func Args(c Call, into any) (found bool, err error) {
	return decodeValue("the arguments", c.invocation.Args, into)
}
