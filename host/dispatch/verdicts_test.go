package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A judged is what is read of any record that has verdicts.
type judged struct {
	Kind     host.RecordKind
	Verdicts Verdicts
	Repairs  []string
	Notes    []string
	Usage    host.Usage
	Run      *Ran
}

func (g *gate) judged(id host.CallID) (all []judged) {
	g.t.Helper()
	for _, r := range g.records(id) {
		var j judged
		if err := json.Unmarshal(r.Detail, &j); err != nil {
			g.t.Fatal(err)
		}
		j.Kind = r.Kind
		all = append(all, j)
	}
	return all
}

// briefly tells verdicts in one line: who allowed, then by, tier or code of the
// others.
func (v Verdicts) briefly() string {
	var others []string
	for _, o := range v.Others {
		said := o.By + "=" + string(o.Tier)
		if o.Code != 0 {
			said = fmt.Sprint(o.By, "!", int(o.Code))
		}
		others = append(others, said)
	}
	return strings.Join(v.Allowed, " ") + "; " + strings.Join(others, " ")
}

// hookThatSays has an opinion of orders.
func hookThatSays(name string, o host.Opinion) host.Hook {
	return host.Hook{Name: name, PreToolCall: func(_ context.Context, c host.ToolCall) (host.Opinion, error) {
		if c.Call.Tool != "order" {
			return host.Opinion{}, nil // such as the facts that a rule needs
		}
		return o, nil
	}}
}

func TestEveryVerdictStandsOnTheRecordOfItsCall(t *testing.T) {
	refuses := host.Opinion{Problem: abi.NewProblem(abi.NotAllowed, "not today")}
	for _, tt := range []struct {
		name, tool, args string
		hooks            []host.Hook
		mode             host.Mode
		kind             host.RecordKind // that has the verdicts
		want             string
	}{
		{"a read", "total", `{"item":"pen"}`, nil, "", host.RecordIntent,
			"hook quiet risk effect red lines; "},
		{"a write", "order", `{"item":"pen","count":2}`, nil, "", host.RecordIntent,
			"scope hook quiet rule 1 rule 2 mode repetition red lines; risk=soft-gate effect=soft-gate check="},
		{"rules by their place", "order", `{"item":"poison","count":60}`, nil, "", host.RecordRefusal,
			"scope hook quiet mode repetition red lines; risk=soft-gate rule 1=hard-gate rule 2=block effect=soft-gate"},
		{"a red line", "order", `{"item":"ink","count":2}`, nil, "", host.RecordRefusal,
			"scope hook quiet rule 1 rule 2 mode repetition; risk=soft-gate effect=soft-gate red line no-ink=block"},
		{"the skill's check", "order", `{"item":"tiger","count":2}`, nil, "", host.RecordRefusal,
			"scope hook quiet rule 1 rule 2 mode repetition red lines; risk=soft-gate effect=soft-gate check!" + fmt.Sprint(int(abi.NotAllowed))},
		{"a mode", "order", `{"item":"pen","count":2}`, nil, host.ModeSuggest, host.RecordRefusal,
			"scope hook quiet rule 1 rule 2 repetition red lines; risk=soft-gate effect=soft-gate mode=hard-gate check="},
		{"the scope", "order", `{"item":"weapon","count":2}`, nil, "", host.RecordRefusal,
			"; scope!" + fmt.Sprint(int(abi.OutOfScope))},
		{"hooks", "order", `{"item":"pen","count":2}`, []host.Hook{hookThatSays("asks", host.Opinion{Tier: abi.HardGate, Say: "why"}), hookThatSays("says", host.Opinion{Say: "so"})}, "", host.RecordRefusal,
			"scope hook quiet rule 1 rule 2 mode repetition red lines; hook asks=hard-gate hook says= risk=soft-gate effect=soft-gate check="},
		{"a hook that refuses", "order", `{"item":"pen","count":2}`, []host.Hook{hookThatSays("no", refuses)}, "", host.RecordRefusal,
			"scope hook quiet; hook no!" + fmt.Sprint(int(abi.NotAllowed))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t)
			g.d.Policy = policy(t, "- {name: no-ink, tools: [order], when: \"args.item == 'ink'\", tier: block}\n")
			g.hook(append(tt.hooks, hookThatSays("quiet", host.Opinion{}))...)
			c := call(tt.tool, tt.args)
			c.Mode = tt.mode
			g.run(c)
			found := false
			for _, j := range g.judged(c.ID) {
				if j.Kind != tt.kind {
					continue
				}
				found = true
				if got := j.Verdicts.briefly(); got != tt.want {
					t.Errorf("the verdicts are\n%s, want\n%s", got, tt.want)
				}
			}
			if !found {
				t.Errorf("there is no %s", tt.kind)
			}
		})
	}
}

func TestTheBreakersVerdictIsOnRecord(t *testing.T) {
	g := newGate(t)
	c := call("total", `{"item":"pen"}`)
	c.Round, c.Recent = 9, []host.Past{{Tool: "total", Args: `{"item":"ink"}`, Status: host.Done}}
	g.run(c)
	if got := g.judged(c.ID)[0].Verdicts.Allowed; !slices.Contains(got, "breaker") {
		t.Errorf("it is not among %q", got)
	}
}

func TestWhoSaidYesStandsOnTheRecordOfTheCall(t *testing.T) {
	g := asksFor(t)
	c := call("order", `{"item":"pen","count":6}`)
	a := g.pend(c)
	g.answer(a, true, "")
	c = again(c)
	g.run(c)
	if got, want := g.judged(c.ID)[1].Verdicts.Allowed, fmt.Sprintf("approval %s of boss", a.ID); !slices.Contains(got, want) {
		t.Errorf("%q is not among %q", want, got)
	}
	c = call("order", `{"item":"pen","count":7}`)
	g.answer(g.pend(c), false, "never")
	c = again(c)
	g.run(c)
	if got := g.judged(c.ID)[0].Verdicts.briefly(); !strings.Contains(got, fmt.Sprint("!", int(abi.Rejected))) {
		t.Errorf("the no is not on record: %s", got)
	}
}

// TestNoVerdictIsLeftOutHoweverManyHooksThereAre: notes have a bound, and say so.
func TestNoVerdictIsLeftOutHoweverManyHooksThereAre(t *testing.T) {
	g := newGate(t)
	var hooks []host.Hook
	for n := range host.MaxHooks {
		hooks = append(hooks, hookThatSays(fmt.Sprint(n), host.Opinion{Tier: abi.SoftGate, Say: strings.Repeat("so ", 500), Note: strings.Repeat("n", 600)}))
	}
	g.hook(hooks...)
	c := call("order", `{"item":"pen","count":2}`)
	if o := g.run(c); !o.OK() {
		t.Fatal(o.Problem)
	}
	j := g.judged(c.ID)[0]
	for n := range host.MaxHooks {
		if !slices.ContainsFunc(j.Verdicts.Others, func(v Verdict) bool {
			return v.By == fmt.Sprint("hook ", n) && v.Tier == abi.SoftGate && len(v.Words) <= verdictText+len("…")
		}) {
			t.Errorf("the verdict of hook %d is not on record", n)
		}
	}
	if len(j.Notes) != noteCount+1 || j.Notes[noteCount] != fmt.Sprintf("%d more notes are left out", host.MaxHooks-noteCount) {
		t.Errorf("%d notes, the last is %q", len(j.Notes), j.Notes[len(j.Notes)-1])
	}
}

func TestAnAttemptsVerdictsAreOnItsOwnRecord(t *testing.T) {
	g := newGate(t)
	asked := 0
	g.hook(host.Hook{Name: "guard",
		PreToolCall: func(context.Context, host.ToolCall) (host.Opinion, error) {
			asked++
			return host.Opinion{Say: fmt.Sprint("time ", asked)}, nil
		},
		PostToolCall: func(context.Context, host.ToolCall, host.Reply) (host.Opinion, error) { return host.Opinion{}, nil },
	})
	c := call("misbehave", `{"how":"flaky"}`)
	g.run(c)
	words := map[string]int{}
	for _, j := range g.judged(c.ID) {
		for _, v := range j.Verdicts.Others {
			if v.By == "hook guard" {
				words[v.Words]++
			}
		}
	}
	if asked < 2 || len(words) != asked {
		t.Errorf("asked %d times, on record %v", asked, words)
	}
	for said, times := range words {
		if times != 1 {
			t.Errorf("%q is on record %d times", said, times)
		}
	}
	c = call("total", `{"item":"pen"}`)
	g.run(c)
	if last := g.judged(c.ID)[1]; last.Kind != host.RecordOutcome || last.Verdicts.briefly() != "hook guard; " {
		t.Errorf("after the call: %s of %s", last.Verdicts.briefly(), last.Kind)
	}
}

func TestADuplicateAndARefusalHaveWhatWasMendedAndSaid(t *testing.T) {
	g := asksFor(t)
	c := call("order", `{"item":"pen","count":"2"}`)
	g.run(c)
	g.run(c)
	all := g.judged(c.ID)
	if last := all[len(all)-1]; last.Kind != host.RecordDuplicate || len(last.Repairs) != 1 || !slices.Contains(last.Verdicts.Allowed, "repetition") {
		t.Errorf("the duplicate has %+v", last)
	}
	c = call("order", `{"item":"poison","count":"2"}`)
	g.run(c)
	if last := g.judged(c.ID)[0]; last.Kind != host.RecordRefusal || len(last.Repairs) != 1 {
		t.Errorf("the refusal has %+v", last)
	}
}

func TestWhatTheSkillsCheckCostsIsOnRecordAndCounted(t *testing.T) {
	g := newGate(t)
	c := call("order", `{"item":"pen","count":2}`)
	o := g.run(c)
	var check Verdict
	for _, v := range g.judged(c.ID)[0].Verdicts.Others {
		if v.By == "check" {
			check = v
		}
	}
	outcome := g.judged(c.ID)[1]
	if check.Fuel <= 0 || check.Memory <= 0 || outcome.Run == nil || o.Usage.Fuel != check.Fuel+outcome.Run.Fuel || outcome.Usage.Fuel != o.Usage.Fuel {
		t.Errorf("the check used %d and %d bytes, the run %+v, the call %+v", check.Fuel, check.Memory, outcome.Run, o.Usage)
	}
	g.wantReplayed(c.ID, ReplaySame, "")
	c = call("order", `{"item":"tiger","count":2}`)
	g.run(c)
	if refused := g.judged(c.ID)[0]; refused.Usage.Fuel <= 0 {
		t.Errorf("a refused call used %+v", refused.Usage)
	}
}
