package memory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Place says what a memory is to others of the same user: the user's own words
// come first, and what tools and habits say adds to them.
type Place string

// The places.
const (
	OwnWords Place = "declared" // the user said so
	Supports Place = "supports" // it agrees with the user's words, or adds to them
	Differs  Place = "differs"  // it contradicts the user's words, which count
	FillIn   Place = "fill-in"  // the user said nothing about this
)

// A Placed memory.
type Placed struct {
	Node
	Place Place
}

// Layered puts the user's words (L1) first, then facts (L2), then habits (L3), each
// in the order given, and says what each is to the user's words. A user without words of
// their own gets the others as fill-in, marked as such.
func Layered(set ReconcileConfig, nodes []Node) []Placed {
	var declared []Node
	for _, n := range nodes {
		if n.Layer == Declared {
			declared = append(declared, n)
		}
	}
	placed := make([]Placed, len(nodes))
	for i, n := range nodes {
		placed[i] = Placed{n, set.place(n, declared)}
	}
	slices.SortStableFunc(placed, func(a, b Placed) int { return cmp.Compare(a.Layer, b.Layer) })
	return placed
}

func (set ReconcileConfig) place(n Node, declared []Node) Place {
	if n.Layer == Declared {
		return OwnWords
	}
	place := FillIn
	for _, said := range declared {
		if !sameMatter(said, n) || said.Claim == nil || n.Claim == nil || !sameTopic(said.Claim.Topic, n.Claim.Topic) {
			continue
		}
		place = Supports
		if Compare(*said.Claim, *n.Claim, set.Tolerance, said.Kind == Constraint) == Contradicts {
			return Differs
		}
	}
	return place
}

// MaxQuotedBytes bounds one memory's text before the model: a paragraph; who needs
// more reads the document.
const MaxQuotedBytes = 1000

// A quoted is one memory as the model sees it.
type quoted struct {
	ID      ID      `json:"id"`
	Layer   string  `json:"layer"`
	Kind    Kind    `json:"kind"`
	Place   Place   `json:"place"`
	Age     string  `json:"age"`
	Trust   float64 `json:"trust"`
	Status  Status  `json:"status,omitempty"` // where it is not active
	About   string  `json:"about,omitempty"`
	Speaker string  `json:"speaker,omitempty"`
	Text    string  `json:"text"`
}

// QuoteLine words a memory for the model as untrusted data: one line of JSON that no
// text can leave, since brackets, line breaks and marks of markup in it are escaped and
// characters that nobody sees are left out. MaxQuotedBytes of the text are quoted. The gate never
// reads it, so that no memory can widen a permission.
func QuoteLine(m Placed, now time.Time) string {
	q := quoted{ID: ID(plainWord(string(m.ID))), Layer: layerName(m.Layer), Kind: Kind(plainWord(string(m.Kind))), Place: m.Place,
		Age: ageText(seenAt(m.Node), now), Trust: exact(unit01(m.Trust)), About: plainWord(m.Entity), Speaker: plainWord(m.Source.Speaker),
		Text: cutText(oneLine(m.Text), MaxQuotedBytes)}
	if m.Status != Active {
		q.Status = Status(plainWord(string(m.Status)))
	}
	line, err := json.Marshal(q) // escapes quotes, and <, > and &
	if err != nil {
		panic("BUG: a quoted memory does not marshal: " + err.Error())
	}
	// Brackets stand in strings alone: the object has no list.
	return strings.NewReplacer("[", `\u005b`, "]", `\u005d`, "`", `\u0060`).Replace(string(line))
}

// plainWord bounds a field that is not the text.
func plainWord(s string) string { return cutText(oneLine(s), MaxEntityBytes) }

func layerName(l Layer) string {
	switch l {
	case Declared:
		return "L1 declared"
	case Fact:
		return "L2 fact"
	case Behaviour:
		return "L3 behaviour"
	}
	return "unknown"
}

func ageText(at, now time.Time) string {
	age := since(at, now)
	switch {
	case at.IsZero():
		return "unknown"
	case age < time.Hour:
		return fmt.Sprintf("%d minutes", int(age.Minutes()))
	case age < 2*day:
		return fmt.Sprintf("%d hours", int(age.Hours()))
	}
	return fmt.Sprintf("%d days", int(age/day))
}
