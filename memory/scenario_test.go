package memory

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A suite is a file of testdata/scenarios. The suites "asof" and "deletion" are
// run by the keeper, which has the truth.
type suite struct {
	Suite     string `json:"suite"`
	Scenarios []struct {
		Name  string            `json:"name"`
		Steps []json.RawMessage `json:"steps"`
	} `json:"scenarios"`
}

func TestScenarios(t *testing.T) {
	for name, want := range scenarioMinima() {
		s := readSuite(t, name)
		if len(s.Scenarios) < want {
			t.Errorf("%s has %d scenarios, want %d at least", name, len(s.Scenarios), want)
		}
		for _, sc := range s.Scenarios {
			t.Run(name+"/"+sc.Name, func(t *testing.T) {
				run := &scene{T: t, initial: InitialTrust, scores: map[TrustKey]float64{}}
				for i, step := range sc.Steps {
					run.step = i + 1
					run.do(step)
				}
			})
		}
	}
}

// scenarioMinima is how many scenarios each suite must have.
func scenarioMinima() map[string]int {
	return map[string]int{"reconcile": 70, "trust": 20, "forget": 25, "inject": 15, "distill": 20}
}

func readSuite(t *testing.T, name string) suite {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "scenarios", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var s suite
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// A scene is one scenario while it runs.
type scene struct {
	*testing.T
	step int

	declared, seen []Node
	gaps           []Gap
	questions      []Question

	initial float64
	scores  map[TrustKey]float64
	traces  []Trace
}

func (s *scene) do(raw json.RawMessage) {
	var step struct {
		Do string `json:"do"`
	}
	if err := json.Unmarshal(raw, &step); err != nil {
		s.Fatal(err)
	}
	steps := map[string]func(json.RawMessage){
		"say": s.say, "see": s.see, "lives": s.lives, "reconcile": s.reconcile, "decide": s.decide, "settle": s.settle, "answer": s.answer, "oppose": s.oppose, "choose": s.choose,
		"trace": s.trace, "again": s.again, "forge": s.forge, "replay": s.replay, "initial": s.begin, "form": s.form, "parts": s.parts, "instruct": s.instruct,
		"judge": s.judge, "weigh": s.judge, "quote": s.quote, "hear": s.hear, "model": s.model, "facts": s.facts,
	}
	act := steps[step.Do]
	if act == nil {
		s.Fatalf("step %d: there is no step %q", s.step, step.Do)
	}
	act(raw)
}

// read decodes a step strictly: a member that is misspelt would test nothing.
func (s *scene) read(raw json.RawMessage, into any) {
	s.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		s.Fatalf("step %d: %v", s.step, err)
	}
}

func (s *scene) errorf(format string, args ...any) {
	s.Helper()
	s.Errorf("step %d: "+format, append([]any{s.step}, args...)...)
}

// onDay gives a day of the scenario's year.
func onDay(n int) time.Time {
	return time.Date(2026, time.January, 1, 20, 0, 0, 0, time.UTC).AddDate(0, 0, n)
}
