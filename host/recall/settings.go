package recall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of the settings of one tenant.
const (
	maxPoints       = 32
	maxObservations = 64
	maxFactTools    = 64
	maxPointWords   = 32
	maxLifts        = 32
)

// Settings are what an operator's policy says of memory.
type Settings struct {
	// Points are where decisions are made. The first one that fits the user's words counts.
	Points []Point `json:"points,omitempty"`
	// Facts are the tools whose results are kept as facts, as skill.tool.
	Facts []string `json:"facts,omitempty"`
	// Seen are the calls that make habits.
	Seen []Observation `json:"seen,omitempty"`
	// Conflicts says what happens where a preference contradicts an earlier one: ConflictsLast,
	// which is the default, or ConflictsAsk. Constraints are always asked about.
	Conflicts string `json:"conflicts,omitempty"`
	// Lifts are how business figures tell what came of a decision; the first one of its
	// domain counts.
	Lifts []Lift `json:"lift,omitempty"`
	// Forget is how memories lose worth; nil as the host has it.
	Forget *Forgetting `json:"forget,omitempty"`
}

// What Settings.Conflicts may say.
const (
	ConflictsLast = "last" // the later one takes the place of the earlier one
	ConflictsAsk  = "ask"  // both stand until the user has said which counts
)

// A Point is a kind of decision, known by words of the user's.
type Point struct {
	Name   string   `json:"name"`
	Domain string   `json:"domain"` // of trust
	Topic  string   `json:"topic,omitempty"`
	Scene  string   `json:"scene,omitempty"`
	Words  []string `json:"words"` // any of them, in the user's words; letters of either case
}

// An Observation says what a call of a tool that was done tells of its user.
type Observation struct {
	Tool   string `json:"tool"`             // skill.tool
	Topic  string `json:"topic"`            // of the claim
	Number string `json:"number,omitempty"` // the argument that has the number, or
	Word   string `json:"word,omitempty"`   // the word
	Entity string `json:"entity,omitempty"` // the argument that names what it is about
	Unit   string `json:"unit,omitempty"`
	Domain string `json:"domain,omitempty"`
	Scene  string `json:"scene,omitempty"`
}

// A Lift is the measure by which decisions of a domain are judged, compared with what it
// was before: memory.RelativeLift.
type Lift struct {
	Domain  string `json:"domain,omitempty"` // of trust; "" for all
	Measure string `json:"measure"`          // such as gmv
	Per     string `json:"per,omitempty"`    // another measure, for each unit of which it counts, such as minutes
}

// LiftOf gives the formula for decisions of a domain, and false where the policy has none.
func (s Settings) LiftOf(domain string) (memory.LiftFormula, bool) {
	for _, l := range s.Lifts {
		if l.Domain == "" || l.Domain == domain {
			return memory.RelativeLift(l.Measure, l.Per), true
		}
	}
	return nil, false
}

// Check gives what is wrong with settings, and what to do, or nil.
func (s Settings) Check() *abi.Problem {
	if len(s.Points) > maxPoints || len(s.Seen) > maxObservations || len(s.Facts) > maxFactTools {
		return abi.NewProblem(abi.BadValue, "memory has %d points, %d facts and %d observations; at most %d, %d and %d are read", len(s.Points), len(s.Facts), len(s.Seen), maxPoints, maxFactTools, maxObservations).WithField("memory")
	}
	for i, p := range s.Points {
		if p.Name == "" || p.Domain == "" || len(p.Words) == 0 || len(p.Words) > maxPointWords || containsEmpty(p.Words) {
			return abi.NewProblem(abi.BadValue, "the decision point %d (%q) needs a name, a domain and 1 to %d words", i+1, p.Name, maxPointWords).WithField(fmt.Sprintf("memory.points[%d]", i))
		}
	}
	for i, tool := range s.Facts {
		if !strings.Contains(tool, ".") {
			return abi.NewProblem(abi.BadValue, "%q is no tool; write skill.tool", tool).WithField(fmt.Sprintf("memory.facts[%d]", i))
		}
	}
	for i, o := range s.Seen {
		if !strings.Contains(o.Tool, ".") || o.Topic == "" || len(o.Topic) > memory.MaxTopicBytes || (o.Number == "") == (o.Word == "") {
			return abi.NewProblem(abi.BadValue, "the observation %d needs a tool as skill.tool, a topic, and either the argument with a number or the one with a word", i+1).WithField(fmt.Sprintf("memory.seen[%d]", i))
		}
	}
	if len(s.Lifts) > maxLifts {
		return abi.NewProblem(abi.BadValue, "memory has %d measures of lift; at most %d are read", len(s.Lifts), maxLifts).WithField("memory.lift")
	}
	for i, l := range s.Lifts {
		if l.Measure == "" || l.Measure == l.Per {
			return abi.NewProblem(abi.BadValue, "the lift %d needs a measure, and not one for each unit of itself", i+1).WithField(fmt.Sprintf("memory.lift[%d]", i))
		}
	}
	if s.Conflicts != "" && s.Conflicts != ConflictsLast && s.Conflicts != ConflictsAsk {
		return abi.NewProblem(abi.BadValue, "memory.conflicts takes %s or %s, and not %q", ConflictsLast, ConflictsAsk, s.Conflicts).WithField("memory.conflicts")
	}
	return s.Forget.check()
}

// And gives what two entries of a policy say of one tenant: points, facts,
// observations and measures of lift add up, and of the rest the later one counts. The
// first lift of a domain counts, so that the later entry's stand first.
func (s Settings) And(more Settings) Settings {
	s.Points = slices.Concat(s.Points, more.Points)
	s.Facts = slices.Concat(s.Facts, more.Facts)
	s.Seen = slices.Concat(s.Seen, more.Seen)
	s.Lifts = slices.Concat(more.Lifts, s.Lifts)
	s.Conflicts = cmp.Or(more.Conflicts, s.Conflicts)
	s.Forget = s.Forget.and(more.Forget)
	return s
}

// ConflictPolicy gives how two declarations of one user are settled.
func (s Settings) ConflictPolicy() memory.ConflictPolicy {
	if s.Conflicts == ConflictsAsk {
		return memory.AskUser
	}
	return memory.LastWins
}

func containsEmpty(words []string) bool {
	for _, w := range words {
		if strings.TrimSpace(w) == "" {
			return true
		}
	}
	return false
}

// point gives the decision point that a user's words are at.
func (s Settings) point(words string) (Point, bool) {
	low := strings.ToLower(words)
	for _, p := range s.Points {
		for _, w := range p.Words {
			if strings.Contains(low, strings.ToLower(w)) {
				return p, true
			}
		}
	}
	return Point{}, false
}
