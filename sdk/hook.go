package sdk

import (
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wording"
)

// Hook declares a rule of a policy module and the points at which it is asked.
// A program with a Hook is such a module: it has no tools and no capabilities,
// and an operator names it in the host's policy.
//
//	var (
//		_ = sdk.Skill("acme.rules", "1.0.0", "What Acme sells by.")
//		_ = sdk.Hook(noFours, abi.PreToolCall)
//	)
//
//	func noFours(o sdk.Occasion) abi.Opinion {
//		var in struct{ Price float64 `json:"price"` }
//		if o.Tool() != "set_price" {
//			return abi.Opinion{}
//		}
//		if problem := o.Args(&in); problem != nil {
//			return abi.Opinion{Problem: problem}
//		}
//		if endsInFour(in.Price) {
//			return abi.Opinion{Problem: sdk.Refuse(abi.NotAllowed, "no price of ours ends in 4").WithField("price")}
//		}
//		return abi.Opinion{}
//	}
//
// Before a call, a rule may raise the tier and say why, or refuse with a problem
// of a 3xxx or 4xxx code; after a call and after reasoning it may refuse. What
// it asks for never loosens anything. All rules of a point are asked in the order
// of their declaration, and the strictest counts. A rule that panics has not
// consented: the host refuses then.
func Hook(rule func(Occasion) abi.Opinion, points ...abi.HookPoint) Declared {
	declared.hooks.add(rule, points)
	return Declared{}
}

// hooks are the rules that Hook declared. What serves them is reached through
// serve, so that a skill without rules has none of it in its module.
type hooks struct {
	points []abi.HookPoint // of all rules, in the order of a turn
	faults []string
	rules  []rule
	serve  func(h *hooks, input []byte, e env) (opinion []byte, ok bool) // nil without rules
	warm   func()                                                        // makes what every question would make again
}

type rule struct {
	points []abi.HookPoint
	ask    func(Occasion) abi.Opinion
}

func (h *hooks) add(ask func(Occasion) abi.Opinion, points []abi.HookPoint) {
	h.serve, h.warm = (*hooks).answer, warmHooks
	h.rules = append(h.rules, rule{points, ask})
	if ask == nil {
		h.faults = append(h.faults, "the rule of an sdk.Hook is nil")
	}
	if len(points) == 0 {
		h.faults = append(h.faults, "an sdk.Hook names no point at which it is asked")
	}
	known := abi.HookPoints()
	for _, p := range points {
		if !slices.Contains(known, p) {
			h.faults = append(h.faults, "an sdk.Hook names the point "+quote(string(p))+", which there is not")
		}
	}
	h.points = nil
	for _, p := range known {
		if slices.ContainsFunc(h.rules, func(r rule) bool { return slices.Contains(r.points, p) }) {
			h.points = append(h.points, p)
		}
	}
}

// describe marks the manifest, and gives what is wrong with the declarations.
func (h *hooks) describe(m *abi.Manifest, tools int) []string {
	if h.serve == nil {
		return nil
	}
	m.Hooks = h.points
	faults := h.faults
	if tools > 0 {
		faults = append(faults, "a policy module has no tools; put them into a skill of their own")
	}
	return faults
}

// answer serves one abi.Occasion to the rules of its point and gives the
// abi.Opinion. A rule that panics gives none, and neither does an occasion that
// cannot be read or that no rule is for: the host refuses then.
func (h *hooks) answer(input []byte, e env) (opinion []byte, ok bool) {
	o, read := readOccasion(input)
	defer func() {
		if v := recover(); v != nil {
			log(Call{env: e}, wording.Sprintf("panic: %v\n%s", v, stack()))
			opinion, ok = nil, false
		}
	}()
	if !read || o.ABI != abi.Version || !slices.Contains(h.points, o.Point) {
		return nil, false
	}
	opinion, err := encode(h.ask(Occasion{o, e}))
	return opinion, err == nil
}

// warmHooks reads and writes what has every member, and asks no rule.
func warmHooks() {
	readOccasion([]byte(`{"abi":1,"point":"","session":{"id":""},"input":1,"now":"2026-01-15T12:00:00Z","call":{"args":{},"state":{"":1},"targets":[""]},"reply":{"data":1},"answer":{"calls":[""],"outcomes":[{"tool":""}]}}`))
	_, _ = encode(abi.Opinion{Problem: &abi.Problem{Candidates: []string{""}}})
}

// ask asks the rules of a point. The first refusal and the strictest tier count,
// and everything that is said.
func (h *hooks) ask(o Occasion) (all abi.Opinion) {
	for _, r := range h.rules {
		if !slices.Contains(r.points, o.Point()) {
			continue
		}
		one := r.ask(o)
		if one.Tier != "" {
			all.Tier = stricter(all.Tier, one.Tier)
		}
		all.Say = joined(all.Say, " ", one.Say)
		all.Note = joined(all.Note, "; ", one.Note)
		if all.Problem == nil {
			all.Problem = one.Problem
		}
	}
	return all
}

// stricter gives the stricter of two tiers, of which the first may be none. Of
// an unknown one the host has to learn.
func stricter(so, other abi.Tier) abi.Tier {
	if so == "" || other.Rank() > so.Rank() {
		return other
	}
	return so
}

func joined(a, between, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + between + b
}
