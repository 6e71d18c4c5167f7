package dispatch

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// undoing lets order_once undo order.
func undoing(m *abi.Manifest) {
	for i := range m.Tools {
		if m.Tools[i].Name == "order" {
			m.Tools[i].Undo = "order_once"
		}
	}
}

// steps gives the records of a kind, with what they are about.
func (g *gate) steps(id host.CallID, kind host.RecordKind) (list []Intervention) {
	g.t.Helper()
	for _, r := range g.records(id, kind) {
		var in Intervention
		must(g.t, json.Unmarshal(r.Detail, &in))
		list = append(list, in)
	}
	return list
}

// on does a call that serves an input of the user.
func (g *gate) on(input int, tool, args string) host.CallID {
	g.t.Helper()
	c := call(tool, args)
	c.Input = input
	if o := g.d.Do(context.Background(), g.catalog, c); !o.OK() {
		g.t.Fatalf("%s: %v", tool, o.Problem)
	}
	return c.ID
}

// TestWhatUsersTakeBackIsOnRecord: with the call that took it back, and only
// where it did.
func TestWhatUsersTakeBackIsOnRecord(t *testing.T) {
	g := newGate(t, undoing)
	one := g.on(1, "order", `{"item":"pen","count":2}`)
	other := g.on(1, "order", `{"item":"cup","count":2}`)
	again := g.on(1, "order", `{"item":"cup","count":3}`) // for the same words
	undo := g.on(2, "order_once", `{"item":"pen","count":1}`)
	twice := g.on(3, "order_once", `{"item":"pen","count":1}`)   // which there is nothing left to undo for
	fresh := g.on(4, "order", `{"item":"pen","count":9}`)        // after an undo
	same := g.on(5, "order", `{"count":3,"item":"cup"}`)         // not otherwise
	corrected := g.on(6, "order", `{"item":"cup","count":5}`)    // otherwise than same
	untouched := g.on(7, "order", `{"item":"glass","count":5}`)  // another target
	late := g.on(8, "order_once", `{"item":"pen","count":4}`)    // undoes fresh
	mended := g.on(9, "order_once", `{"item":"cup","count":40}`) // undoes corrected
	for _, tt := range []struct {
		name             string
		call             host.CallID
		undo, correction host.CallID
	}{
		{"the first", one, "", ""}, {"another target", other, "", ""}, {"the same words", again, "", ""},
		{"an undo", undo, one, ""}, {"what is undone", twice, "", ""}, {"after an undo", fresh, "", ""},
		{"the same arguments", same, "", ""}, {"a correction", corrected, "", same}, {"a new target", untouched, "", ""},
		{"a later undo", late, fresh, ""}, {"an undo of a correction", mended, corrected, ""},
	} {
		for kind, want := range map[host.RecordKind]host.CallID{host.RecordUndo: tt.undo, host.RecordCorrection: tt.correction} {
			got := g.steps(tt.call, kind)
			if len(got) > 1 || (len(got) == 1) != (want != "") || want != "" && (got[0].Of != want || got[0].Tool != "order") {
				t.Errorf("%s: the %s is %+v, want %q", tt.name, kind, got, want)
			}
		}
	}
}

// TestAnAnswerToAQuestionIsNoNewWord: a call that goes on after a person's yes
// serves what the user said before.
func TestAnAnswerToAQuestionIsNoNewWord(t *testing.T) {
	g := newGate(t)
	g.on(2, "order", `{"item":"pen","count":2}`)
	c := call("order", `{"item":"pen","count":3}`)
	c.Input, c.Serves = 3, 2
	g.d.Do(context.Background(), g.catalog, c)
	if got := g.steps(c.ID, host.RecordCorrection); len(got) != 0 {
		t.Errorf("it is said to correct %+v", got)
	}
	c = call("order", `{"item":"pen","count":4}`)
	c.Input, c.Serves = 5, 4
	g.d.Do(context.Background(), g.catalog, c)
	if got := g.steps(c.ID, host.RecordCorrection); len(got) != 1 {
		t.Errorf("after new words there are %d corrections", len(got))
	}
}

// TestACorrectionOfLongArgumentsIsSeen: the store's short memory has left them
// out.
func TestACorrectionOfLongArgumentsIsSeen(t *testing.T) {
	g, _ := newRoomGate(t)
	long := strings.Repeat("x", 5000)
	g.on(1, "set_goal", `{"text":"`+long+`"}`)
	same := g.on(2, "set_goal", `{"text":"`+long+`"}`)
	other := g.on(3, "set_goal", `{"text":"`+long+`y"}`)
	if got := g.steps(same, host.RecordCorrection); len(got) != 0 {
		t.Errorf("the same is said to correct %+v", got)
	}
	if got := g.steps(other, host.RecordCorrection); len(got) != 1 || got[0].Of != same {
		t.Errorf("it corrects %+v", got)
	}
}

// TestWhatDidNotSettleTookNothingBack: the records are the call's own.
func TestWhatDidNotSettleTookNothingBack(t *testing.T) {
	g := newGate(t, undoing)
	g.on(1, "order", `{"item":"pen","count":2}`)
	g.failRecords(host.RecordUndo)
	c := call("order_once", `{"item":"pen","count":2}`)
	wantProblem(t, g.d.Do(context.Background(), g.catalog, c), host.Failed, abi.StoreFailure)
	g.mend()
	if got := g.stored("total/pen"); got != "2" {
		t.Errorf("without its record there are %s pens", got)
	}
}

// TestAnUndoIsOfTheNewestWrite: two tools wrote to the target, and the one that
// stands first in the manifest is not always the later one.
func TestAnUndoIsOfTheNewestWrite(t *testing.T) {
	g := newGate(t, func(m *abi.Manifest) {
		for i := range m.Tools {
			if name := m.Tools[i].Name; name == "order" || name == "reorder" {
				m.Tools[i].Undo = "order_once"
			}
		}
	})
	for i, item := range []string{"pen", "cup"} {
		g.on(10*i+1, "order", `{"item":"`+item+`","count":1}`)
		newest := g.on(10*i+2, "reorder", `{"item":"`+item+`","count":2}`)
		if item == "cup" {
			newest = g.on(10*i+3, "order", `{"item":"`+item+`","count":3}`)
		}
		undo := g.on(10*i+4, "order_once", `{"item":"`+item+`","count":1}`)
		if got := g.steps(undo, host.RecordUndo); len(got) != 1 || got[0].Of != newest {
			t.Errorf("%s: the undo is of %+v, want %s", item, got, newest)
		}
	}
}

// TestAWriteIsKeptWhateverItTakesBack: that is counted, and its effect has
// happened.
func TestAWriteIsKeptWhateverItTakesBack(t *testing.T) {
	g := newGate(t, undoing)
	g.on(1, "order", `{"item":"pen","count":2}`)
	g.damage("UPDATE agent_done SET done_at = 'nonsense'")
	undo := g.on(2, "order_once", `{"item":"pen","count":1}`)
	if got := g.stored("total/pen"); got != "3" {
		t.Errorf("there are %s pens, want 3", got)
	}
	if got := string(g.records(undo, host.RecordOutcome)[0].Detail); !strings.Contains(got, "is not known") {
		t.Errorf("on record is %s", got)
	}
}

func (g *gate) object(id host.CallID, words string) (bool, error) {
	return Object(context.Background(), g.store, session, id, words)
}

func TestAnObjectionIsKeptOnce(t *testing.T) {
	g := newGate(t)
	id := g.on(1, "order", `{"item":"pen","count":2}`)
	for i, want := range []bool{true, false} {
		if first, err := g.object(id, "not that many"); err != nil || first != want {
			t.Errorf("objection %d: %v, %v", i, first, err)
		}
	}
	want := Intervention{Of: id, Tool: "order", By: session.User, Words: "not that many"}
	if got := g.steps(id, host.RecordObjection); len(got) != 1 || got[0] != want {
		t.Errorf("on record is %+v", got)
	}
}

// TestObjectionsAtTheSameTimeCountOnce: both may be on record.
func TestObjectionsAtTheSameTimeCountOnce(t *testing.T) {
	g := newGate(t)
	id := g.on(1, "order", `{"item":"pen","count":2}`)
	for range 2 {
		must(t, g.store.Record(context.Background(), host.Record{
			Session: session, Call: id, Kind: host.RecordObjection, Tool: "order", Detail: detail(Intervention{Of: id, Tool: "order"}),
		}))
	}
	rates, err := InterventionRates(context.Background(), g.store, session, time.Time{})
	if err != nil || len(rates) != 1 || rates[0].Objections != 1 || rates[0].Intervened != 1 {
		t.Errorf("the rates are %+v, %v", rates, err)
	}
}

func TestOnlyWhatWasDoneAndToldCanBeObjectedTo(t *testing.T) {
	g := newGate(t)
	done := g.on(1, "order", `{"item":"pen","count":2}`)
	read := g.on(1, "total", `{"item":"pen"}`)
	refused := g.do("order", `{"item":"sold out","count":1}`)
	for _, tt := range []struct {
		name  string
		call  host.CallID
		words string
		code  abi.Code
	}{
		{"none", "", "", abi.Missing}, {"unknown", "call_1", "", abi.NotFound}, {"a read", read, "", abi.Conflict},
		{"one that failed", refused.Call, "", abi.Conflict}, {"long words", done, strings.Repeat("x", MaxObjectionWords+1), abi.BadValue},
	} {
		if first, err := g.object(tt.call, tt.words); first || host.ProblemOf(err).Code != tt.code {
			t.Errorf("%s: %v, %v", tt.name, first, err)
		}
	}
	other := session
	other.User = "eve"
	if _, err := Object(context.Background(), g.store, other, done, ""); host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("another user's: %v", err)
	}
}

// TestRatesCountEachCallOnce: whoever objects and then has it undone stepped in
// once.
func TestRatesCountEachCallOnce(t *testing.T) {
	g := newGate(t, undoing)
	first := g.on(1, "order", `{"item":"pen","count":2}`)
	g.on(1, "order", `{"item":"cup","count":2}`)
	g.on(1, "order", `{"item":"glass","count":2}`)
	g.on(1, "total", `{"item":"pen"}`)
	if _, err := g.object(first, "no"); err != nil {
		t.Fatal(err)
	}
	g.on(2, "order_once", `{"item":"pen","count":2}`)
	g.on(2, "order", `{"item":"cup","count":1}`)
	rates, err := InterventionRates(context.Background(), g.store, session, time.Time{})
	must(t, err)
	want := []InterventionRate{
		{Tool: "order", Calls: 4, Intervened: 2, Objections: 1, Undos: 1, Corrections: 1, Rate: 0.5},
		{Tool: "order_once", Calls: 1},
	}
	if len(rates) != 2 || rates[0] != want[0] || rates[1] != want[1] {
		t.Errorf("the rates are %+v", rates)
	}
	if rates, err = InterventionRates(context.Background(), g.store, host.SessionRef{Tenant: session.Tenant}, time.Now().Add(time.Hour)); err != nil || len(rates) != 0 {
		t.Errorf("of what is to come they are %+v, %v", rates, err)
	}
}

// BenchmarkSteppedIn is what it costs a write to be held against what was done
// before: the first write to its target, and one that corrects another.
func BenchmarkSteppedIn(b *testing.B) {
	for _, tt := range []struct {
		name    string
		earlier bool
	}{{"first", false}, {"correction", true}} {
		b.Run(tt.name, func(b *testing.B) {
			g := newGate(b, undoing)
			if tt.earlier {
				g.on(1, "order", `{"item":"pen","count":2}`)
			}
			c := call("order", `{"item":"pen","count":3}`)
			c.Input = 2
			f := g.until(c, "gate")
			for b.Loop() {
				if records, err := f.steppedIn(context.Background()); err != nil || (len(records) == 1) != tt.earlier {
					b.Fatal(records, err)
				}
			}
		})
	}
}
