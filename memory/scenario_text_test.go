package memory

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A wanted memory. Members that are not set are not looked at, but for the claim of
// what has a text.
type wanted struct {
	Text      string
	Kind      Kind
	Topic     string
	Low, High *float64
	Unit      string
	Words     []string
	Not       bool
	Entity    string
	Scene     string
	Freshness Freshness
}

// differs tells what of a node is not as wanted.
func (w wanted) differs(n Node) string {
	c := Claim{}
	if n.Claim != nil {
		c = *n.Claim
	}
	same := func(want, got *float64) bool { return want == nil || got != nil && *want == *got }
	switch {
	case w.Text != "" && (n.Text != w.Text || n.Kind != w.Kind || n.Scene != w.Scene || n.Layer != Declared):
		return fmt.Sprintf("%q, a %s of the scene %q", n.Text, n.Kind, n.Scene)
	case n.Entity != w.Entity:
		return fmt.Sprintf("about %q", n.Entity)
	case c.Topic != w.Topic || !same(w.Low, c.Low) || !same(w.High, c.High) || w.Low == nil && w.High == nil && c.Low != nil || c.Not != w.Not || !slices.Equal(c.Words, w.Words) || w.Unit != "" && c.Unit != w.Unit:
		return fmt.Sprintf("with the claim %s %s (%s)", c.Topic, c.Text("en"), c.Unit)
	case w.Freshness != "" && n.Freshness != w.Freshness:
		return "of the class " + string(n.Freshness)
	}
	return ""
}

func (s *scene) compare(what string, got []Node, want []wanted) {
	s.Helper()
	for i, n := range got {
		if i < len(want) {
			if d := want[i].differs(n); d != "" {
				s.errorf("%q gives %s, want %+v", what, d, want[i])
			}
		}
	}
	if len(got) != len(want) {
		s.errorf("%q gives %d memories, want %d: %+v", what, len(got), len(want), got)
	}
}

func (s *scene) hear(raw json.RawMessage) {
	var step struct {
		Do, Text string
		Want     []wanted
	}
	s.read(raw, &step)
	heard := Listen(Message{Tenant: "acme", User: "mia", Text: step.Text, At: noon})
	s.compare(step.Text, heard, step.Want)
	for _, n := range heard {
		if !strings.Contains(step.Text, n.Text) {
			s.errorf("%q is not in the message", n.Text)
		}
	}
}

func (s *scene) model(raw json.RawMessage) {
	var step struct {
		Do, Text, Reply string
		Want            struct {
			Keep  []wanted
			Drop  int
			Error bool
		}
	}
	s.read(raw, &step)
	kept, dropped, err := ReadDeclarations(step.Reply, Message{Tenant: "acme", User: "mia", Text: step.Text, At: noon})
	if (err != nil) != step.Want.Error || len(dropped) != step.Want.Drop {
		s.errorf("dropped %+v, error %v", dropped, err)
	}
	s.compare(step.Text, kept, step.Want.Keep)
}

func (s *scene) facts(raw json.RawMessage) {
	var step struct {
		Do, Data string
		Want     []wanted
		Error    bool
	}
	s.read(raw, &step)
	nodes, err := Facts(ShopFacts(), Result{Tenant: "acme", User: "mia", Tool: "product", Data: json.RawMessage(step.Data), At: noon})
	if (err != nil) != step.Error {
		s.errorf("error %v", err)
	}
	s.compare(step.Data, nodes, step.Want)
	for _, n := range nodes {
		if n.Layer != Fact || n.Kind != FactOf || strings.ContainsAny(n.Text, "\n\r") {
			s.errorf("the fact %+v", n)
		}
	}
}

// quote looks that nothing in a memory leaves its line.
func (s *scene) quote(raw json.RawMessage) {
	var step struct {
		Do, Speaker, Entity string
		ID                  ID
		Texts               []string
	}
	s.read(raw, &step)
	var placed []Placed
	for i, text := range step.Texts {
		n := Node{ID: ID(fmt.Sprintf("m%d%s", i, step.ID)), Text: text, Layer: Declared, Kind: Preference, Status: Active, Trust: 0.5, At: noon.Add(-3 * day),
			Entity: step.Entity, Source: Source{Speaker: step.Speaker}}
		placed = append(placed, Placed{Node: n, Place: OwnWords})
	}
	for _, p := range placed {
		if err := checkQuotation(QuoteLine(p, noon), p); err != nil {
			s.errorf("%v:\n%s", err, QuoteLine(p, noon))
		}
	}
}

// checkQuotation shares no code with QuoteLine.
func checkQuotation(line string, p Placed) error {
	if strings.ContainsAny(line, "\n\r\v\f\u0085\u2028\u2029[]<>`\u200b\u202e\u2066\ufeff") {
		return fmt.Errorf("the quotation can be left")
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		return err
	}
	text, _ := got["text"].(string)
	if len(text) > MaxQuotedBytes+len("…") || got["place"] != string(p.Place) || got["layer"] != "L1 declared" || got["trust"] != p.Trust {
		return fmt.Errorf("it is %s", line)
	}
	return nil
}
