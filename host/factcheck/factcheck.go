package factcheck

import (
	"cmp"
	"slices"

	"github.com/sluicehq/sluice/abi"
)

// Bounds of one check. What is beyond them is not looked at, and so not stopped.
const (
	MaxAnswerBytes = 32 << 10 // an answer for a person is far shorter
	MaxKnownBytes  = 4 << 20  // some tens of model windows
	MaxFindings    = 20       // more words than anybody reads
	maxSpanBytes   = 200      // of the words that a finding quotes
)

// A Kind says what an answer claims without ground.
type Kind string

// Kinds.
const (
	Action   Kind = "action"   // that something was done
	Amount   Kind = "amount"   // a price, another sum of money, a percentage
	Quantity Kind = "quantity" // a stock, a count, a number beside a price
	ID       Kind = "id"       // of an order, a reservation, a product
	Name     Kind = "name"     // of a person or a thing
)

// A Finding is one claim that nothing on record bears out.
type Finding struct {
	Kind       Kind   `json:"kind"`
	Start, End int    `json:"-"`               // of the words, in bytes of the answer
	Words      string `json:"words"`           // answer[Start:End], shorter if they are many
	Why        string `json:"why"`             // for the model and the record
	Known      string `json:"known,omitempty"` // the nearest of what is known, where there is any
}

// Known is what an answer may rest on. The answer's own words in earlier turns
// belong into Said alone: they prove numbers that were worked out, and nothing else.
type Known struct {
	User  string   // the words that are answered
	Heard []string // the user's earlier words
	Texts []string // what else the model was told: facts, memories, guides
	Said  []string // earlier answers that were checked
	Calls []Call   // that are in view, oldest first
	Tools []Tool   // that the model sees, and those that it called
}

// A Call is one call with what became of it.
type Call struct {
	Tool   string
	Args   string // JSON
	Result string // what the tool gave, or the problem
	OK     bool   // it ran and its result is kept: a call that waits for a person is not
	Now    bool   // it serves the input that is answered

	// Refused says that the arguments were not even looked up, as those that do not
	// fit the tool are: they prove nothing.
	Refused bool
}

// A Tool is what a tool does.
type Tool struct {
	Name, Summary string
	Effect        abi.Effect
}

// Claims reports whether an answer claims anything that Check would look up. It
// costs a small part of that.
func Claims(answer string) bool { return !readAnswer(answer).claimsNothing() }

// Check gives the claims of an answer that known does not bear out, in the order
// in which they stand, each piece of the answer at most once. It reads
// MaxAnswerBytes of the answer and MaxKnownBytes of what is known, and gives
// MaxFindings at most. The same values give the same findings.
func Check(answer string, known Known) []Finding {
	said := readAnswer(answer)
	if said.claimsNothing() {
		return nil
	}
	k := newIndex(known, len(said.numbers) > 0)
	found := slices.Concat(k.unbackedActions(said), k.unbackedNumbers(said), k.unbackedIDs(said), k.unbackedNames(said))
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Start, b.Start) })
	found = found[:min(len(found), MaxFindings)]
	for i := range found {
		f := &found[i]
		f.Start, f.End = said.place(f.Start, f.End)
		f.Words = shorten(answer[f.Start:f.End], maxSpanBytes)
	}
	return found
}
