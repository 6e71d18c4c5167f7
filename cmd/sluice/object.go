package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/dispatch"
)

// objection gives what stands behind /object, if the line is one.
func objection(line string) (words string, ok bool) {
	words, ok = strings.CutPrefix(line, "/object")
	return strings.TrimSpace(words), ok && (words == "" || words[0] == ' ')
}

// toldOf gives the last of the calls that the user was told of as they ran.
func toldOf(outcomes []host.Outcome, before host.CallID) host.CallID {
	for _, o := range outcomes {
		if o.OK() && o.Tier == abi.SoftGate {
			before = o.Call
		}
	}
	return before
}

// object puts an objection on record: to the call that the words begin with, or
// to the last one that the user was told of.
func (p *program) object(ctx context.Context, a *agent.Agent, session agent.Session, told host.CallID, words string) {
	if id, rest, _ := strings.Cut(words, " "); strings.HasPrefix(id, "call_") {
		told, words = host.CallID(id), strings.TrimSpace(rest)
	}
	s := speakIn(session.Locale)
	if told == "" {
		fmt.Fprint(p.stderr, s.pick("there was no change in this chat; name its call: /object CALL WORDS\n", "本次对话中没有改动；请指明调用：/object 调用编号 理由\n"))
		return
	}
	first, err := dispatch.Object(ctx, a.Store, session.Ref, told, words)
	switch {
	case err != nil:
		p.tell(err)
	case p.json:
		p.print(map[string]any{"objection": map[string]any{"call": told, "first": first}})
	case first:
		fmt.Fprint(p.stderr, s.pick("your objection to %s is on record; it stays done until you have it undone\n", "对 %s 的反对已记录；如需撤销请直接说明\n", told))
	default:
		fmt.Fprint(p.stderr, s.pick("an objection to %s is on record already\n", "对 %s 的反对早已记录\n", told))
	}
}
