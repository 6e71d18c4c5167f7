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
	Place  Place
	Around string // of a document's piece: the text that it stands in, which has its own; "" for its own alone
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
		placed[i] = Placed{Node: n, Place: set.place(n, declared)}
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

// Bounds of one memory's text before the model.
const (
	MaxQuotedBytes  = 1000 // a paragraph
	MaxPassageBytes = 4000 // of a document: the piece that was found and those on both sides of it in Chinese, a page in English
)

// A quoted is one memory as the model sees it.
type quoted struct {
	ID       ID      `json:"id"`
	Layer    string  `json:"layer"`
	Kind     Kind    `json:"kind"`
	Place    Place   `json:"place"`
	Age      string  `json:"age"`
	Trust    float64 `json:"trust"`
	Status   Status  `json:"status,omitempty"` // where it is not active
	About    string  `json:"about,omitempty"`
	Speaker  string  `json:"speaker,omitempty"`
	Document string  `json:"document,omitempty"`
	Text     string  `json:"text"`
}

// QuoteLine words a memory for the model as untrusted data: one line of JSON that no
// text can leave, since brackets, line breaks and marks of markup in it are escaped and
// characters that nobody sees are left out. MaxQuotedBytes of the text are quoted; of
// the text around a document's piece as much as MaxPassageBytes hold when they are escaped. The
// gate never reads it, so that no memory can widen a permission.
func QuoteLine(m Placed, now time.Time) string {
	q := quoted{ID: ID(plainWord(string(m.ID))), Layer: layerName(m.Layer), Kind: Kind(plainWord(string(m.Kind))), Place: m.Place,
		Age: ageText(seenAt(m.Node), now), Trust: exact(unit01(m.Trust)), About: plainWord(m.Entity), Speaker: plainWord(m.Source.Speaker),
		Document: plainWord(m.Source.Document), Text: cutText(oneLine(m.Text), MaxQuotedBytes)}
	if m.Around != "" {
		q.Text = cutQuoted(oneLine(m.Around), MaxPassageBytes)
	}
	if m.Status != Active {
		q.Status = Status(plainWord(string(m.Status)))
	}
	return quoteJSON(q)
}

// QuoteText gives a text as a JSON string that it cannot leave, as QuoteLine does:
// what stands before the model as data. As much of it is quoted as MaxQuotedBytes hold when it
// is escaped: whoever bounds the line cuts no end off.
func QuoteText(text string) string { return quoteJSON(cutQuoted(oneLine(text), MaxQuotedBytes)) }

// cutQuoted cuts a text so that it has at most so many bytes when it is quoted.
func cutQuoted(text string, most int) string {
	for n := len(quoteJSON(text)); n > most; n = len(quoteJSON(text)) {
		text = cutText(text, min(len(text)*most/n, len(text)-len("…")-1))
	}
	return text
}

// quoteJSON marshals what has no list, so that brackets stand in strings alone.
func quoteJSON(value any) string {
	line, err := json.Marshal(value) // escapes quotes, and <, > and &
	if err != nil {
		panic("BUG: what is quoted does not marshal: " + err.Error())
	}
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
