package sdk

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

type question struct {
	N int `json:"n"`
}

func answer(_ Call, q question) (int, error) { return q.N, nil }

func TestDescribeListsEveryMistakeOfTheDeclarations(t *testing.T) {
	good := func(s *skill) { s.declare("a.b", "1.0.0", "A skill.", nil) }
	for _, tt := range []struct {
		name    string
		declare func(s *skill)
		want    []string
	}{
		{"no skill", func(s *skill) {}, []string{"this skill: ", "sdk.Skill is called 0 times", "there is no tool"}},
		{"two skills", func(s *skill) { good(s); good(s) }, []string{"a.b 1.0.0: ", "sdk.Skill is called 2 times"}},
		{"a bad name", func(s *skill) { s.declare("Shop", "1.0.0", "A skill.", nil) }, []string{`the name "Shop" is not lower-case words`}},
		{"a name that ends in a dot", func(s *skill) { s.declare("shop.", "1.0.0", "A skill.", nil) }, []string{`the name "shop."`}},
		{"a name that begins with a digit", func(s *skill) { s.declare("1shop", "1.0.0", "A skill.", nil) }, []string{`the name "1shop"`}},
		{"no version and no summary", func(s *skill) { s.declare("a", "", "", nil) }, []string{"the version", "the summary is empty"}},
		{"limits above the ceilings", func(s *skill) {
			s.declare("a", "1.0.0", "A skill.", []SkillOption{Limit(abi.Limits{Memory: abi.GiB})})
		}, []string{"limit of memory: 1GiB is more than 512MiB"}},
		{"a tool twice", func(s *skill) {
			good(s)
			for range 3 {
				s.add(newTool("ask", answer, []ToolOption{Summary("Ask.")}))
			}
		}, []string{"tool ask is declared twice"}},
		{"a bad tool name and no summary", func(s *skill) { good(s); s.add(newTool("Ask-It", answer, nil)) },
			[]string{`tool "Ask-It": the name is not`, `tool "Ask-It": the summary is empty`}},
		{"no handler", func(s *skill) { good(s); s.add(newTool[question, int]("ask", nil, nil)) }, []string{"the handler is nil"}},
		{"options of a write on a read", func(s *skill) {
			good(s)
			s.add(newTool("ask", answer, []ToolOption{Summary("Ask."), Idempotent}))
		}, []string{"are for a tool with sdk.Write"}},
		{"an artifact of a read", func(s *skill) {
			good(s)
			s.add(newTool("ask", answer, []ToolOption{Summary("Ask."), Artifact(abi.Artifact{Path: "'a'"})}))
		}, []string{"an Artifact is of a tool with sdk.Write"}},
		{"an undo that is no tool", func(s *skill) {
			good(s)
			s.add(newTool("ask", answer, []ToolOption{Summary("Ask."), Write, Undo("unask")}))
		}, []string{`Undo names "unask"`}},
		{"a fact twice", func(s *skill) {
			good(s)
			s.add(newTool("ask", answer, []ToolOption{Summary("Ask."), Fact("f", abi.FactSpec{}), Fact("f", abi.FactSpec{})}))
		}, []string{"fact f is declared twice"}},
		{"an example that is not JSON", func(s *skill) {
			good(s)
			s.add(newTool("ask", answer, []ToolOption{Summary("Ask."), Example("hi", math.NaN(), Seed("k", math.Inf(1)), Returns(func() {}))}))
		}, []string{`example "hi": the arguments cannot`, `example "hi": the seed "k" cannot`, `example "hi": what it returns cannot`}},
		{"arguments inside themselves", func(s *skill) {
			good(s)
			s.add(newTool("ask", func(Call, list) (int, error) { return 0, nil }, []ToolOption{Summary("Ask.")}))
		}, []string{"its arguments: field Next: BUG: type sdk.list contains itself"}},
		{"a result inside itself", func(s *skill) {
			good(s)
			s.add(newTool("ask", func(Call, question) (Result[tree], error) { return Result[tree]{}, nil }, []ToolOption{Summary("Ask.")}))
		}, []string{"its result: field Children: BUG: type sdk.tree contains itself"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s skill
			tt.declare(&s)
			manifest, err := s.describe()
			var p *abi.Problem
			if !errors.As(err, &p) || p.Code != abi.InvalidManifest || p.Hint == "" {
				t.Fatalf("error %v, manifest %s; want an invalid manifest", err, manifest)
			}
			for _, part := range tt.want {
				if strings.Count(p.Message, part) != 1 {
					t.Errorf("the message %q does not have %q once", p.Message, part)
				}
			}
		})
	}
}

func TestDescribeGivesAllThatIsDeclared(t *testing.T) {
	got, err := Describe() // of the probe skill, which uses every option
	if err != nil {
		t.Fatal(err)
	}
	file := "testdata/probe/manifest.json"
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var gotManifest, wantManifest any
	if json.Unmarshal(got, &gotManifest) != nil || json.Unmarshal(want, &wantManifest) != nil || !reflect.DeepEqual(gotManifest, wantManifest) {
		t.Errorf("the manifest is\n%s\nwant that of %s", got, file)
	}
	var m abi.Manifest
	if err := json.Unmarshal(got, &m); err != nil || m.ABI != abi.Version || m.Module != "" || m.SHA256 != "" || m.Size != 0 {
		t.Errorf("error %v, abi %d, module %q %q %d", err, m.ABI, m.Module, m.SHA256, m.Size)
	}
}

func TestWhatAResultMustBeIsDescribed(t *testing.T) {
	var s skill
	s.declare("a.b", "1.0.0", "A skill.", []SkillOption{Files(abi.AccessWrite)})
	wrote := abi.Artifact{Path: "'a.json'", Format: "json", MinBytes: 2, Existing: true}
	s.add(newTool("ask", answer, []ToolOption{Summary("Ask."), Write, Verify("data == args.n", "{{data}}"), Verify("data > 0", ""), Artifact(wrote)}))
	text, err := s.describe()
	var m abi.Manifest
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := []abi.Check{{That: "data == args.n", Say: "{{data}}"}, {That: "data > 0"}}; !reflect.DeepEqual(m.Tools[0].Checks, want) {
		t.Errorf("checks are %+v", m.Tools[0].Checks)
	}
	if !reflect.DeepEqual(m.Tools[0].Artifacts, []abi.Artifact{wrote}) {
		t.Errorf("artifacts are %+v", m.Tools[0].Artifacts)
	}
}

func TestDescribeTwiceGivesTheSame(t *testing.T) {
	first, _ := Describe()
	if again, err := Describe(); err != nil || string(first) != string(again) {
		t.Errorf("error %v, first\n%s\nagain\n%s", err, first, again)
	}
}

type withDefaults struct {
	embeddedDefault
	Text  string   `json:"text,omitempty" default:"it says \"so\""`
	N     int8     `json:"n,omitempty" default:"-8"`
	Ratio float64  `json:"ratio,omitempty" default:"0.5"`
	On    bool     `json:"on,omitempty" default:"true"`
	Inner question `json:"inner,omitzero"`
}

type embeddedDefault struct {
	Mode string `json:"mode,omitempty" default:"soft"`
}

func TestDefaultsAreThereForEveryCallAnew(t *testing.T) {
	var seen []withDefaults
	tool := newTool("ask", func(_ Call, in withDefaults) (int, error) { seen = append(seen, in); return 0, nil }, nil)
	for _, args := range []string{`{"mode":"hard","text":"","n":1,"ratio":0,"on":false}`, `{}`} {
		if _, err := tool.serve(Call{}, []byte(args)); err != nil {
			t.Fatal(err)
		}
	}
	given := withDefaults{embeddedDefault: embeddedDefault{"hard"}, N: 1}
	none := withDefaults{embeddedDefault: embeddedDefault{"soft"}, Text: `it says "so"`, N: -8, Ratio: 0.5, On: true}
	if seen[0] != given || seen[1] != none {
		t.Errorf("the handler saw %+v and %+v", seen[0], seen[1])
	}
}

func TestADefaultThatDoesNotFitIsAMistake(t *testing.T) {
	tool := newTool("ask", func(Call, struct {
		N int8 `json:"n,omitempty" default:"300"`
	}) (int, error) {
		return 0, nil
	}, nil)
	if len(tool.faults) != 1 || !strings.Contains(tool.faults[0], "field N: default \"300\"") {
		t.Errorf("mistakes %q", tool.faults)
	}
}

type touchy struct{}

func (touchy) MarshalJSON() ([]byte, error) { panic("not made") }

func TestATypeThatPanicsWhenItIsEmptyDoesNotStopTheProgram(t *testing.T) {
	newTool("ask", func(Call, question) (touchy, error) { return touchy{}, nil }, nil)
}
