package manifest

import (
	"fmt"
	"strings"
)

// Bounds of a say text.
const (
	maxSayParts = 16
	maxSayBytes = 2_000 // of one rendered text: people read it in a dialogue
	maxSayValue = 200   // bytes of one rendered value
)

// A template is a text with {{expression}} parts, compiled.
type template struct {
	parts []part
}

// A part is literal text, or an expression in its place.
type part struct {
	text string
	expr *expression
}

// template compiles the parts of a say text.
func (l language) template(source string) (*template, error) {
	t := &template{}
	for rest := source; rest != ""; {
		before, after, found := strings.Cut(rest, "{{")
		if before != "" {
			t.parts = append(t.parts, part{text: before})
		}
		if !found {
			break
		}
		inner, next, closed := strings.Cut(after, "}}")
		if !closed {
			return nil, fmt.Errorf("{{ without }} after %q", cut(before, 40))
		}
		if strings.TrimSpace(inner) == "" {
			return nil, fmt.Errorf("{{%s}} is empty", inner)
		}
		e, err := l.compile(strings.TrimSpace(inner), nil)
		if err != nil {
			return nil, fmt.Errorf("{{%s}}: %w", cut(inner, 60), err)
		}
		t.parts = append(t.parts, part{expr: e})
		if rest = next; len(t.parts) > maxSayParts {
			return nil, fmt.Errorf("more than %d parts", maxSayParts)
		}
	}
	return t, nil
}

// render fills the parts in. A part that fails to evaluate shows as an
// ellipsis: a text for people is no reason to fail a call.
func (t *template) render(a *activation) string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.expr == nil {
			b.WriteString(p.text)
			continue
		}
		v, err := p.expr.eval(a)
		if err != nil {
			b.WriteString("…")
			continue
		}
		b.WriteString(cut(showValue(v), maxSayValue))
	}
	return cut(b.String(), maxSayBytes)
}

// expressions gives those in the template.
func (t *template) expressions() []*expression {
	var found []*expression
	for _, p := range t.parts {
		if p.expr != nil {
			found = append(found, p.expr)
		}
	}
	return found
}
