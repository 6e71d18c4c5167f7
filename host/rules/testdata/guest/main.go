// Command guest is a policy module that behaves in every way one can, for tests:
// it does what the word after "rule:" says, in a call's item or in an answer.
package main

import (
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

var (
	_ = sdk.Skill("test.rules", "1.0.0", "Judges in every way.")
	_ = sdk.Hook(obey, abi.PreToolCall, abi.PostToolCall, abi.PostReasoning)
)

func obey(o sdk.Occasion) abi.Opinion {
	var in struct {
		Item string `json:"item"`
	}
	if problem := o.Args(&in); problem != nil {
		return abi.Opinion{Problem: problem}
	}
	_, word, _ := strings.Cut(in.Item+o.Text(), "rule:")
	after := o.Point() == abi.PostToolCall
	switch word {
	case "refuse":
		return abi.Opinion{Problem: sdk.Refuse(abi.NotAllowed, "the rule says no to %s", o.Tool()).WithHint("Take a pen.")}
	case "ask":
		if !after {
			return abi.Opinion{Tier: abi.HardGate, Say: "The rule wants to be asked."}
		}
	case "block":
		if !after {
			return abi.Opinion{Tier: abi.Block, Say: "The rule never allows this."}
		}
	case "late": // after the call there is no tier to raise
		return abi.Opinion{Tier: abi.Block}
	case "auto":
		return abi.Opinion{Tier: abi.Auto, Say: "", Note: "let it run"}
	case "forbid":
		return abi.Opinion{Tier: "forbid"}
	case "host code":
		return abi.Opinion{Problem: abi.NewProblem(abi.PendingApproval, "wait")}
	case "panic":
		panic("secret detail")
	case "spin":
		for {
		}
	case "hoard":
		for all := [][]byte{}; ; {
			all = append(all, make([]byte, 1<<20))
		}
	case "result":
		if after {
			return abi.Opinion{Problem: sdk.Refuse(abi.NotAllowed, "not with the result %s", string(o.RawData()))}
		}
	case "long":
		long := strings.Repeat("很", 5000)
		o.Logf("%s", long)
		return abi.Opinion{Note: long, Problem: sdk.Refuse(abi.NotAllowed, "%s", long).WithHint("%s", long).WithField(long).WithCandidates(strings.Split(strings.Repeat(long+",", 20), ",")...)}
	case "tell":
		o.Logf("seen %s", o.Point())
		var goal string
		_, problem := o.State("goal", &goal)
		return abi.Opinion{Problem: problem, Note: sdk.Textf("%s|%s|%s|%s|%s|%s|%d|%s|%v|%s|%s|%v|%s|%d|%v|%v|%s",
			o.Point(), o.Session(), o.User(), o.Tenant(), o.Live(), o.Locale(), o.Input(), o.Skill(), o.Writes(), o.RawArgs(), o.Tier(), o.Targets(), o.RawData(), o.Round(), o.Calls(), o.Outcomes(), goal)}
	}
	return abi.Opinion{}
}

func main() {}
