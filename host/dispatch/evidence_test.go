package dispatch

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
)

func TestProblemIsBoundedWhateverItQuotes(t *testing.T) {
	g := newGate(t)
	long := strings.Repeat("长", 10_000)
	for _, tt := range []struct{ name, tool, args string }{
		{"a member of 30 KB", "order", `{"` + long + `":1}`},
		{"a value of 30 KB", "order", `{"item":"` + long + `","count":1}`},
		{"a tool of 30 KB", long, `{}`},
		{"a thousand members", "order", `{` + strings.Repeat(`"a":1,`, 1000) + `"b":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := g.do(tt.tool, tt.args)
			text, err := json.Marshal(o.Problem)
			if err != nil || o.OK() || len(text) > 3*problemText {
				t.Errorf("the problem has %d bytes: %.200s", len(text), text)
			}
			for _, r := range g.records(o.Call) {
				if len(r.Detail) > 20_000 {
					t.Errorf("a record has %d bytes", len(r.Detail))
				}
			}
		})
	}
}

func TestBoundedLeavesTheOriginalAlone(t *testing.T) {
	p := abi.NewProblem(abi.NotFound, "%s", strings.Repeat("x", 5000)).WithCandidates(strings.Repeat("y", 500))
	p.RetryAfterMS = 3_600_000
	b := bounded(p)
	if len(p.Message) != 5000 || len(p.Candidates[0]) != 500 || p.RetryAfterMS != 3_600_000 {
		t.Error("the original was changed")
	}
	if len(b.Message) > problemText+4 || len(b.Candidates[0]) > candidateText+4 || b.RetryAfterMS != maxRetryAfter.Milliseconds() {
		t.Errorf("bounded is %+v", b)
	}
}

// TestRecordOfACrashHasTheGuestsLastWords: the model is told none of them.
func TestRecordOfACrashHasTheGuestsLastWords(t *testing.T) {
	g := newGate(t)
	o := g.do("misbehave", `{"how":"panic"}`)
	wantProblem(t, o, host.Failed, abi.Trap)
	if detail := string(g.records(o.Call, host.RecordOutcome)[0].Detail); !strings.Contains(detail, "panic: told to") {
		t.Errorf("the record is %s", detail)
	}
	if strings.Contains(o.Problem.Error(), "told to") {
		t.Errorf("the model is told %v", o.Problem)
	}
}

func TestLastWordsAreTheLastOnes(t *testing.T) {
	f := &flight{}
	for range 1000 {
		f.logs = append(f.logs, sandbox.Log{Level: "info", Text: strings.Repeat("noise ", 20)})
	}
	f.logs = append(f.logs, sandbox.Log{Level: "error", Text: "the reason"})
	words := f.lastWords()
	if n := len(strings.Join(words, "")); words[len(words)-1] != "error: the reason" || n > 2*logText || n < logText {
		t.Errorf("%d bytes end with %q", n, words[len(words)-1])
	}
}

// TestReplayUnderAnotherReleaseKeepsTheFirstOnes: a session may be moved to a
// newer release; what was done, was done under the old one.
func TestReplayUnderAnotherReleaseKeepsTheFirstOnes(t *testing.T) {
	g := newGate(t)
	c := call("order", `{"item":"pen","count":2}`)
	first := g.d.Do(context.Background(), g.catalog, c)
	g.load(version("1.1.0"))
	newer, _ := g.set.Catalog(context.Background(), nil)
	again := g.d.Do(context.Background(), newer, c)
	if !first.OK() || !again.Replayed || again.Release != "test.guest@1.0.0" || g.stored("total/pen") != "2" {
		t.Fatalf("first %+v, again %+v, stored %s", first, again, g.stored("total/pen"))
	}
	if r := g.records(c.ID, host.RecordDuplicate); len(r) != 1 || r[0].Release != "test.guest@1.1.0" {
		t.Errorf("the record of the duplicate is %+v", r)
	}
}

// TestMeaningIsThatOfTheAcceptedArguments: models write the same call in many
// ways.
func TestMeaningIsThatOfTheAcceptedArguments(t *testing.T) {
	g := newGate(t)
	want := g.d.Meaning(g.catalog, "order", `{"item":"pen","count":2}`)
	if want == "" {
		t.Fatal("a good call means nothing")
	}
	for _, args := range []string{`{"count":2.0,"item":"pen"}`, `{"count":"2","item":"pen"}`, "```json\n{\"item\":\"pen\",\"count\":2}\n```", `{"arguments":{"item":["pen"],"Count":2}}`} {
		if got := g.d.Meaning(g.catalog, "order", args); got != want {
			t.Errorf("%s means %q, want %q", args, got, want)
		}
	}
	for _, other := range []struct{ tool, args string }{
		{"order_once", `{"item":"pen","count":2}`}, {"order", `{"item":"pen","count":3}`}, {"order", `{"item":"pen"}`}, {"nothing", `{}`},
	} {
		if got := g.d.Meaning(g.catalog, other.tool, other.args); got == want {
			t.Errorf("%s %s means the same", other.tool, other.args)
		}
	}
}
