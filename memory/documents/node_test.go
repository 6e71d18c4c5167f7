package documents

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

func TestAChunkBecomesAFactWithItsPlaceAndItsContext(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	s, err := NewSplitter(strings.NewReader("\n\n# Refunds\n\nWithin 7 days.\n\n# Coupons\n\nOne a day.\n"), Document{
		ID: "guide.md", Title: "Shop guide", Form: Markdown, At: at, Scene: "live", Domain: "pricing",
	})
	if err != nil {
		t.Fatal(err)
	}
	pieces := collect(t, s.Pieces())
	if len(pieces) != 2 {
		t.Fatalf("got %d memories, want one for each section and none for the blank lines", len(pieces))
	}
	if p := pieces[0]; p.Start != 2 || p.Blank != 2 || p.Overlap != 0 || p.Parent != 1 || p.End() != pieces[1].Start {
		t.Errorf("the first has the place %+v", p)
	}
	n := pieces[1].Node
	if n.Text != "# Coupons\n\nOne a day.\n" || n.IndexText != "Shop guide > Coupons\n# Coupons\n\nOne a day." {
		t.Errorf("the text is %q, the index text %q", n.Text, n.IndexText)
	}
	if n.Layer != memory.Fact || n.Kind != memory.FactOf || n.Status != memory.Active || n.Trust != 1 || n.Freshness != memory.Slow {
		t.Errorf("it is %+v", n)
	}
	if n.Source.Document != "guide.md" || !n.At.Equal(at) || n.Scene != "live" || n.Domain != "pricing" {
		t.Errorf("it is from %+v", n)
	}
	if n.ID != "" || n.User != "" || !n.Known.From.IsZero() {
		t.Errorf("it has what its keeper gives: %+v", n)
	}
}

func TestAMemoryOfADocumentFitsItsBounds(t *testing.T) {
	text := ""
	for level := 1; level <= headingLevels; level++ {
		text += strings.Repeat("#", level) + " " + strings.Repeat("𠀀", 200) + "\n"
	}
	s, err := NewSplitter(strings.NewReader(text+strings.Repeat("𠀀", 2000)), Document{
		ID: strings.Repeat("i", MaxIDBytes), Title: strings.Repeat("t", MaxTitleBytes), Form: Markdown,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range collect(t, s.Pieces()) {
		if n := p.Node; len(n.Text) > memory.MaxTextBytes || len(n.IndexText) > memory.MaxTextBytes {
			t.Errorf("a memory has %d bytes and %d to be searched", len(n.Text), len(n.IndexText))
		}
	}
}

func TestNothingIsGivenForAnErrorButTheError(t *testing.T) {
	s := splitter(t, strings.NewReader("Hello.\xff"), Plain)
	n := 0
	for piece, err := range s.Pieces() {
		if n++; err == nil || piece.Node.Text != "" {
			t.Errorf("got %q, %v", piece.Node.Text, err)
		}
	}
	if n != 1 {
		t.Errorf("the loop ran %d times", n)
	}
}

func TestADescriptionThatCannotBeUsedIsRefusedWithAHint(t *testing.T) {
	good := Document{ID: "a", Form: Plain}
	for name, change := range map[string]func(*Document){
		"no id":             func(d *Document) { d.ID = "" },
		"an id of lines":    func(d *Document) { d.ID = "a\nb" },
		"a long id":         func(d *Document) { d.ID = strings.Repeat("a", MaxIDBytes+1) },
		"a long title":      func(d *Document) { d.Title = strings.Repeat("a", MaxTitleBytes+1) },
		"another form":      func(d *Document) { d.Form = "pdf" },
		"no form":           func(d *Document) { d.Form = "" },
		"more than trusted": func(d *Document) { d.Trust = 1.5 },
	} {
		t.Run(name, func(t *testing.T) {
			d := good
			change(&d)
			_, err := NewSplitter(strings.NewReader(""), d)
			var failed *host.Error
			if !errors.As(err, &failed) || failed.Problem.Hint == "" || failed.Problem.Code.Class() != abi.ClassArguments {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestALargeDocumentHasParentsOfAMegabyte(t *testing.T) {
	var text strings.Builder
	for i := 0; text.Len() < 5<<19; i++ {
		fmt.Fprintf(&text, "Product %d costs %d yuan. %s\n\n", i, i*7%100, words(200))
	}
	s := splitter(t, strings.NewReader(text.String()), Plain)
	parents := map[int]int{}
	for _, p := range collect(t, s.Pieces()) {
		parents[p.Parent]++
		if !strings.Contains(p.Node.Text, "Product") {
			t.Errorf("a memory says %q", p.Node.Text)
		}
	}
	all := s.Parents()
	if len(all) != 3 || len(parents) != 3 {
		t.Fatalf("got %d parents, of which memories have %d", len(all), len(parents))
	}
	for i, p := range all {
		if size := p.End - p.Start; size > ParentBytes || i < 2 && size < ParentBytes-4096 {
			t.Errorf("parent %d has %d bytes", i, size)
		}
		around, err := p.Read(strings.NewReader(text.String()))
		if err != nil || around != text.String()[p.Start:p.End] || parents[i+1] == 0 {
			t.Errorf("%s is not what its memories come from: %v", p.ID, err)
		}
	}
}

func TestAParentIsNotReadFromAnotherText(t *testing.T) {
	s := splitter(t, strings.NewReader("The price is 100 yuan."), Plain)
	collect(t, s.Chunks())
	parent := s.Parents()[0]
	for name, tt := range map[string]struct {
		source string
		change func(*Parent)
		code   abi.Code
	}{
		"changed":          {"The price is 200 yuan.", func(*Parent) {}, abi.Contradicted},
		"cut off":          {"The price", func(*Parent) {}, abi.Contradicted},
		"another range":    {"The price is 100 yuan.", func(p *Parent) { p.Start++ }, abi.Contradicted},
		"a range too long": {"The price is 100 yuan.", func(p *Parent) { p.End = 1 << 40 }, abi.BadValue},
		"backwards":        {"The price is 100 yuan.", func(p *Parent) { p.End = -1 }, abi.BadValue},
	} {
		t.Run(name, func(t *testing.T) {
			p := parent
			tt.change(&p)
			text, err := p.Read(strings.NewReader(tt.source))
			if err == nil || text != "" || host.ProblemOf(err).Code != tt.code || host.ProblemOf(err).Hint == "" {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
}

func TestAParentKeepsItsTextBehindAByteOrderMark(t *testing.T) {
	const text = "\ufeffHello."
	s := splitter(t, strings.NewReader(text), Plain)
	collect(t, s.Chunks())
	if got, err := s.Parents()[0].Read(strings.NewReader(text)); err != nil || got != "Hello." {
		t.Errorf("got %q, %v", got, err)
	}
}
