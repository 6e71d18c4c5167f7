package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/lint"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
	"github.com/sluicehq/sluice/registry"
)

// A study is a gate over the scribe, with files and blobs on the disk.
type study struct {
	*gate
	files  *files.Store
	folder string
	log    bytes.Buffer
}

// newStudy makes one whose tool write declares what edit says.
func newStudy(t *testing.T, edit func(*abi.Tool), linters ...manifest.Linter) *study {
	t.Helper()
	ctx := context.Background()
	s := &study{folder: t.TempDir()}
	s.gate = &gate{t: t, path: filepath.Join(t.TempDir(), "store.db")}
	s.store = openStore(t, s.path, state.Options{})
	var err error
	if s.files, err = files.Open(s.folder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.files.Close() })
	blobs, err := blob.Open(ctx, t.TempDir(), blob.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() })
	s.set = release.NewSet(sandboxtest.Shared(t), nil)
	t.Cleanup(func() { s.set.Close(ctx) })
	s.loadScribe(edit)
	s.catalog, _ = s.set.Catalog(ctx, nil)
	s.d = New(Config{
		Config: grant.Config{Store: s.store, Files: s.files, Blobs: blobs},
		Linter: lint.New(linters, slog.New(slog.NewTextHandler(&s.log, nil)), t.TempDir()),
	})
	return s
}

func (s *study) loadScribe(edit func(*abi.Tool)) {
	s.t.Helper()
	wasm := sandboxtest.Build(s.t, "host/dispatch/testdata/scribe")
	sandboxtest.Load(s.t, wasm, abi.Limits{})
	m := sandboxtest.Manifest(s.t, sandboxtest.Shared(s.t), wasm)
	for i := range m.Tools {
		if m.Tools[i].Name == "write" {
			edit(&m.Tools[i])
		}
	}
	skill, err := manifest.Compile(m)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.set.Load(context.Background(), &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		s.t.Fatal(err)
	}
}

// artifacts declares what write leaves.
func artifacts(all ...abi.Artifact) func(*abi.Tool) {
	return func(t *abi.Tool) { t.Artifacts = all }
}

// read gives a file of the session as another call sees it; false where there
// is none.
func (s *study) read(name string) (string, bool) {
	s.t.Helper()
	data, err := s.files.View(session).Read(context.Background(), name)
	if p := host.ProblemOf(err); p != nil && p.Code != abi.NotFound {
		s.t.Fatal(err)
	}
	return string(data), err == nil
}

// put writes a file of the session, as a call before would.
func (s *study) put(name, text string) {
	s.t.Helper()
	v := s.files.View(session)
	if _, err := v.Write(context.Background(), name, []byte(text), abi.FileCondition{}); err != nil {
		s.t.Fatal(err)
	}
	change, err := v.Apply(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	change.Keep()
}

// kept reports whether anything of a call was kept.
func (s *study) kept() bool {
	s.t.Helper()
	value, _, err := s.store.View(session.Tenant, "scribe").Get(context.Background(), "kept")
	if err != nil {
		s.t.Fatal(err)
	}
	return value != nil
}

func TestAnArtifactMustBeAsItIsDeclared(t *testing.T) {
	one := func(a abi.Artifact) func(*abi.Tool) { return artifacts(a) }
	file := func(path, text string) string { return fmt.Sprintf(`{"path":%q,"text":%q}`, path, text) }
	for _, tt := range []struct {
		name     string
		declared func(*abi.Tool)
		before   string // a file a.json that is there already
		args     string
		want     string // in the problem; empty for success
	}{
		{"there", one(abi.Artifact{Path: "'a.json'", Format: "json"}), "", `{"files":[` + file("a.json", `{"a":1}`) + `]}`, ""},
		{"nothing was written", one(abi.Artifact{Path: "'a.json'"}), "", `{}`, `was to write the file "a.json", and did not`},
		{"another was written", one(abi.Artifact{Path: "'report.csv'"}), "", `{"files":[` + file("reports.csv", "x") + `]}`, `did you mean "reports.csv"`},
		{"it is from before", one(abi.Artifact{Path: "'a.json'"}), "{}", `{}`, "the one that is there is from before"},
		{"from before, as may be", one(abi.Artifact{Path: "'a.json'", Existing: true, Format: "json"}), "{}", `{}`, ""},
		{"from before, and broken", one(abi.Artifact{Path: "'a.json'", Existing: true, Format: "json"}), "{", `{}`, "line 1, column 2: not JSON"},
		{"written and removed again", one(abi.Artifact{Path: "'a.json'", Existing: true}), "", `{"files":[` + file("a.json", "{}") + `],"remove":["a.json"]}`, "and did not"},
		{"empty", one(abi.Artifact{Path: "'a.txt'"}), "", `{"files":[` + file("a.txt", "") + `]}`, `"a.txt" is empty`},
		{"empty, as may be", one(abi.Artifact{Path: "'a.txt'", Empty: true}), "", `{"files":[` + file("a.txt", "") + `]}`, ""},
		{"too short", one(abi.Artifact{Path: "'a.txt'", MinBytes: 3}), "", `{"files":[` + file("a.txt", "ab") + `]}`, "has 2 bytes; it must have at least 3"},
		{"JSON", one(abi.Artifact{Path: "'a.json'", Format: "json"}), "", `{"files":[` + file("a.json", "{\n\"a\" 1}") + `]}`, "line 2, column 5: not JSON"},
		{"yml", one(abi.Artifact{Path: "'a.yml'", Format: "yml"}), "", `{"files":[` + file("a.yml", "a: 1\n") + `]}`, ""},
		{"YAML", one(abi.Artifact{Path: "'a.conf'", Format: "yaml"}), "", `{"files":[` + file("a.conf", "a: 1\na: 2\n") + `]}`, "line 2, column 1: the key"},
		{"TOML", one(abi.Artifact{Path: "'a.toml'", Format: "toml"}), "", `{"files":[` + file("a.toml", "a = 1\nb\n") + `]}`, "line 2"},
		{"CSV", one(abi.Artifact{Path: "'a.csv'", Format: "csv"}), "", `{"files":[` + file("a.csv", "a,b\n1,2\n3\n") + `]}`, "line 3"},
		{"Go", one(abi.Artifact{Path: "'a.go'", Format: "go"}), "", `{"files":[` + file("a.go", "package a\nfunc (\n") + `]}`, "not Go"},
		{"in a format that nobody knows", one(abi.Artifact{Path: "'a.rs'", Format: "rs"}), "", `{"files":[` + file("a.rs", "x") + `]}`, "could not be checked, so nothing was kept"},
		{"as the answer names it", one(abi.Artifact{Path: "data.path"}), "", `{"files":[` + file("a.txt", "x") + `],"answer":{"path":"a.txt"}}`, ""},
		{"the answer names none", one(abi.Artifact{Path: "data.path"}), "", `{"files":[` + file("a.txt", "x") + `],"answer":{}}`, "cannot be told by data.path"},
		{"the answer names an empty list", one(abi.Artifact{Path: "data.paths"}), "", `{"answer":{"paths":[]}}`, "gave no name"},
		{"the answer names a number", one(abi.Artifact{Path: "data.path"}), "", `{"answer":{"path":1}}`, "gave int"},
		{"one of several is missing", one(abi.Artifact{Path: "data.paths"}), "", `{"files":[` + file("a.txt", "x") + `],"answer":{"paths":["a.txt","b.txt"]}}`, `the file "b.txt"`},
		{"above the folder", one(abi.Artifact{Path: "data.path", Existing: true}), "", `{"answer":{"path":"../../../etc/passwd"}}`, "paths begin at the session's folder"},
		{"at the root", one(abi.Artifact{Path: "data.path", Existing: true}), "", `{"answer":{"path":"/etc/passwd"}}`, "empty part"},
		{"with a NUL", one(abi.Artifact{Path: "data.path", Existing: true}), "", `{"answer":{"path":"a.json\u0000.txt"}}`, "control character"},
		{"a device", one(abi.Artifact{Path: "data.path", Existing: true}), "", `{"answer":{"path":"COM1"}}`, "device"},
		{"a pattern", one(abi.Artifact{Path: "'out/*.json'", Format: "json"}), "", `{"files":[` + file("out/a.json", "{}") + `,` + file("b.json", "{") + `]}`, ""},
		{"a pattern, one broken", one(abi.Artifact{Path: "'out/*.json'", Format: "json"}), "", `{"files":[` + file("out/a.json", "{}") + `,` + file("out/b.json", "{") + `]}`, `"out/b.json" is not as it is to be`},
		{"a pattern that nothing matches", one(abi.Artifact{Path: "'out/*.json'"}), "{}", `{"files":[` + file("a.json", "{}") + `]}`, "wrote none"},
		{"a blob", one(abi.Artifact{Blob: "data.blob", Format: "json"}), "", `{"blob":"[1]"}`, ""},
		{"a blob that is broken", one(abi.Artifact{Blob: "data.blob", Format: "json"}), "", `{"blob":"[1"}`, "not JSON"},
		{"a blob that was not written", one(abi.Artifact{Blob: "data.blob"}), "", `{"answer":{"blob":"blob_x"}}`, `was to write the blob "blob_x", and did not`},
		{"a YAML bomb", one(abi.Artifact{Path: "'a.yaml'", Format: "yaml"}), "", `{"files":[` + file("a.yaml", bomb()) + `]}`, "more than 1000000 values"},
		{"too large to look at", one(abi.Artifact{Path: "'a.yaml'", Format: "yaml"}), "", `{"files":[{"path":"a.yaml","text":"- x\n","times":300000}]}`, "at most 262144 are looked at"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStudy(t, tt.declared)
			if tt.before != "" {
				s.put("a.json", tt.before)
			}
			o := s.do("write", tt.args)
			if tt.want == "" {
				if !o.OK() || !s.kept() {
					t.Fatalf("%+v with %v", o, o.Problem)
				}
				return
			}
			wantProblem(t, o, host.Failed, abi.BadArtifact)
			if told := o.Problem.Message + o.Problem.Hint; !strings.Contains(told, tt.want) {
				t.Errorf("the model reads %q, want %q", told, tt.want)
			}
			s.wantNothing(tt.before)
		})
	}
}

func bomb() string {
	text := "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
	for c := 'b'; c < 'j'; c++ {
		text += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	return text
}

// wantNothing wants the store, the files and the claim as before the call.
func (s *study) wantNothing(before string) {
	s.t.Helper()
	if s.kept() {
		s.t.Error("what the call wrote to the store was kept")
	}
	entries, err := s.files.View(session).List(context.Background(), "")
	if err != nil || len(entries) > 1 || len(entries) == 1 && before == "" {
		s.t.Errorf("there are the files %v, %v", entries, err)
	}
	if text, _ := s.read("a.json"); text != before {
		s.t.Errorf("a.json is %q, want %q", text, before)
	}
}

// An artifact that nobody had the time to look at is no bad one: the call is tried
// again, and keeps nothing until then.
func TestAnArtifactWaitsForALinterThatIsFree(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "open")
	s := newStudy(t, artifacts(abi.Artifact{Path: "'a.py'", Format: "py"}), manifest.Linter{Ext: []string{"py"}, Run: []string{"sh", "-c", "echo >>" + gate + ".begun; while ! [ -e " + gate + " ]; do sleep 0.05; done", "sh"}})
	var others sync.WaitGroup
	for _, tenant := range []host.TenantID{"globex", "globex", "initech", "initech"} { // as many as run at once
		others.Go(func() { _, _ = s.d.Linter.Lint(context.Background(), tenant, "py", []byte("x")) })
	}
	s.d.Sleep = func(ctx context.Context, _ time.Duration) error {
		must(t, os.WriteFile(gate, nil, 0o600))
		others.Wait()
		return ctx.Err()
	}
	for begun := 0; begun < 4; time.Sleep(10 * time.Millisecond) {
		said, _ := os.ReadFile(gate + ".begun")
		begun = len(said)
	}
	if o := s.do("write", `{"files":[{"path":"a.py","text":"x"}]}`); !o.OK() || o.Attempts != 2 {
		t.Errorf("it ended after %d attempts with %v", o.Attempts, o.Problem)
	}
}

// A call that failed because of its artifact has not used its key: the model
// corrects it, and the same words of the user are served.
func TestAFailedArtifactIsCorrectedByTheNextCall(t *testing.T) {
	s := newStudy(t, artifacts(abi.Artifact{Path: "'a.json'", Format: "json"}))
	args := `{"files":[{"path":"a.json","text":"{}"}]}`
	c := call("write", `{"files":[{"path":"a.json","text":"{"}]}`)
	wantProblem(t, s.d.Do(context.Background(), s.catalog, c), host.Failed, abi.BadArtifact)
	again := call("write", args)
	again.Input, again.Ordinal = c.Input, c.Ordinal
	if o := s.d.Do(context.Background(), s.catalog, again); !o.OK() || o.Replayed {
		t.Fatalf("%+v with %v", o, o.Problem)
	}
	if text, _ := s.read("a.json"); text != "{}" {
		t.Errorf("it is %q", text)
	}
}

// What was looked at is what is kept, whatever others do in between.
func TestAFileThatIsSwappedAfterTheCheckIsNotKept(t *testing.T) {
	s := newStudy(t, artifacts(abi.Artifact{Path: "'a.json'", Format: "json"}))
	f := s.until(call("write", `{"files":[{"path":"a.json","text":"{\"mine\":1}"}]}`), "verify")
	s.put("a.json", "{ broken by somebody else")
	if problem := f.spill(context.Background()); problem != nil {
		t.Fatal(problem)
	}
	if problem := f.settle(context.Background()); problem != nil {
		t.Fatal(problem)
	}
	f.conclude(context.Background(), nil)
	if text, _ := s.read("a.json"); text != `{"mine":1}` {
		t.Errorf("kept is %q", text)
	}
}

// A link on the disk is no file of the session, wherever it leads.
func TestALinkIsNoArtifact(t *testing.T) {
	s := newStudy(t, artifacts(abi.Artifact{Path: "'a.json'", Existing: true}))
	s.put("b.json", "{}")
	outside := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(outside, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join(s.folder, "*", "*", "files"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	if err := os.Symlink(outside, filepath.Join(folders[0], "a.json")); err != nil {
		t.Fatal(err)
	}
	o := s.do("write", `{}`)
	wantProblem(t, o, host.Failed, abi.BadArtifact)
	if !strings.Contains(o.Problem.Message, "and did not") || len(o.Problem.Candidates) != 1 || o.Problem.Candidates[0] != "b.json" {
		t.Errorf("%+v", o.Problem)
	}
}

// Somebody has put 64 MiB there. They are not read to see that they are there,
// and are not taken for JSON because they are too many to look at.
func TestALargeFileFromBeforeIsNotTakenOnTrust(t *testing.T) {
	for format, code := range map[string]abi.Code{"": 0, "json": abi.QuotaReached} {
		s := newStudy(t, artifacts(abi.Artifact{Path: "'a.json'", Existing: true, Format: format}))
		s.put("b.json", "{}")
		folders, err := filepath.Glob(filepath.Join(s.folder, "*", "*", "files"))
		if err != nil || len(folders) != 1 {
			t.Fatal(folders, err)
		}
		large := filepath.Join(folders[0], "a.json")
		if err := os.WriteFile(large, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(large, 64<<20); err != nil {
			t.Fatal(err)
		}
		o := s.do("write", `{}`)
		if code == 0 && !o.OK() || code != 0 && (o.Problem == nil || o.Problem.Code != code) || s.kept() != o.OK() {
			t.Errorf("as %q: %+v with %v", format, o, o.Problem)
		}
	}
}

func TestFindingsInOtherFilesAreToldAndTheCallStands(t *testing.T) {
	s := newStudy(t, artifacts(abi.Artifact{Path: "'a.json'", Format: "json"}))
	c := call("write", `{"files":[{"path":"a.json","text":"{}"},{"path":"b.yaml","text":"a: 1\na: 2\n"},{"path":"c.json","text":"{"},{"path":"d.txt","text":"{"},{"path":"e.json","text":""}],"answer":7}`)
	o := s.d.Do(context.Background(), s.catalog, c)
	want := []string{`"b.yaml", line 2, column 1: the key "a" stands on line 1, too`, `"c.json", line 1, column 2: not JSON: unexpected end of JSON input`}
	if !o.OK() || strings.Join(o.Findings, "\n") != strings.Join(want, "\n") {
		t.Fatalf("%+v with %v, want findings %q", o, o.Problem, want)
	}
	if text, there := s.read("c.json"); !there || text != "{" {
		t.Errorf("c.json is %q", text)
	}
	if told := window.Result(o); !strings.HasPrefix(told, "7\n[") || !strings.Contains(told, "\n- "+want[1]) {
		t.Errorf("the model reads %q", told)
	}
	again := s.d.Do(context.Background(), s.catalog, c)
	if !again.Replayed || len(again.Findings) != 2 {
		t.Errorf("the same again gives %+v", again)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	s := newStudy(t, func(*abi.Tool) {})
	var all []string
	for i := range lintFiles + 10 {
		all = append(all, fmt.Sprintf(`{"path":"%d.json","text":"{"}`, i))
	}
	o := s.do("write", `{"files":[`+strings.Join(all, ",")+`]}`)
	if !o.OK() || len(o.Findings) != lintFindings {
		t.Errorf("%d findings, %v", len(o.Findings), o.Problem)
	}
	clean := s.do("write", strings.ReplaceAll(`{"files":[`+strings.Join(all, ",")+`]}`, `"{"`, `"{}"`))
	if !clean.OK() || len(clean.Findings) != 1 || !strings.Contains(clean.Findings[0], "other files were not checked") {
		t.Errorf("%q, %v", clean.Findings, clean.Problem)
	}
}

func TestAnOperatorsLinterLooksAtWhatTheHostDoesNotParse(t *testing.T) {
	python := manifest.Linter{Ext: []string{"py"}, Run: []string{"sh", "-c", `grep -n bad "$1" | sed "s/^\([0-9]*\):.*/$1:\1:1: E1 bad/"`, "sh"}}
	missing := manifest.Linter{Ext: []string{"py"}, Run: []string{"no-such-linter-anywhere"}}
	good, bad := `{"files":[{"path":"a.py","text":"x\n"}]}`, `{"files":[{"path":"a.py","text":"x\nbad\n"}]}`
	declared := artifacts(abi.Artifact{Path: "'a.py'", Format: "py"})
	for _, tt := range []struct {
		name    string
		edit    func(*abi.Tool)
		linter  manifest.Linter
		args    string
		problem string
		finding string
	}{
		{"declared and clean", declared, python, good, "", ""},
		{"declared and not", declared, python, bad, "line 2, column 1: E1 bad", ""},
		{"declared, and the linter is missing", declared, missing, good, "could not be checked, so nothing was kept", ""},
		{"linted and clean", artifacts(), python, good, "", ""},
		{"linted and not", artifacts(), python, bad, "", `"a.py", line 2, column 1: E1 bad`},
		{"linted, and the linter is missing", artifacts(), missing, good, "", `"a.py" was not checked: the linter for files of the format py could not do its work`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStudy(t, tt.edit, tt.linter)
			o := s.do("write", tt.args)
			if tt.problem != "" {
				wantProblem(t, o, host.Failed, abi.BadArtifact)
				if !strings.Contains(o.Problem.Message, tt.problem) {
					t.Errorf("the model reads %q", o.Problem.Message)
				}
			} else if !o.OK() || strings.Join(o.Findings, "\n") != tt.finding {
				t.Errorf("%+v with %v", o, o.Problem)
			}
			if said := strings.Contains(s.log.String(), "no-such-linter-anywhere"); said != (tt.linter.Run[0] == "no-such-linter-anywhere") {
				t.Errorf("operators read %q", s.log.String())
			}
		})
	}
}

func TestAResultMustAgreeWithWhatWasAskedAndWhatIsKnown(t *testing.T) {
	checks := func(all ...abi.Check) func(*abi.Tool) { return func(t *abi.Tool) { t.Checks = all } }
	asked := abi.Check{That: "data.price == args.price", Say: "it was to be {{args.price}}, and it is {{data.price}}"}
	currency := abi.Check{That: "data.currency == facts.currency"}
	for _, tt := range []struct {
		name   string
		checks func(*abi.Tool)
		args   string
		want   string // in the problem; empty for success
	}{
		{"as asked", checks(asked), `{"price":98,"answer":{"price":98}}`, ""},
		{"as asked, in another form", checks(asked), `{"price":98,"answer":{"price":98.0}}`, ""},
		{"another price", checks(asked), `{"price":98,"answer":{"price":89}}`, "it was to be 98, and it is 89"},
		{"a price as text", checks(asked), `{"price":98,"answer":{"price":"98"}}`, "it was to be 98, and it is 98"},
		{"no price", checks(asked), `{"price":98,"answer":{}}`, "could not be decided"},
		{"no answer", checks(asked), `{"price":98}`, "could not be decided"},
		{"as is known", checks(currency), `{"answer":{"currency":"CNY"}}`, ""},
		{"not as is known", checks(currency), `{"answer":{"currency":"USD"}}`, "it does not hold that data.currency == facts.currency"},
		{"the second of two", checks(asked, currency), `{"price":98,"answer":{"price":98,"currency":"USD"}}`, "data.currency == facts.currency"},
		{"too dear to decide", checks(abi.Check{That: "data.l.all(a, data.l.all(b, a == b))"}), `{"answer":{"l":[` + strings.Repeat("1,", 2000) + `1]}}`, "could not be decided"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStudy(t, tt.checks)
			o := s.do("write", tt.args)
			if tt.want == "" {
				if !o.OK() || !s.kept() {
					t.Fatalf("%+v with %v", o, o.Problem)
				}
				return
			}
			wantProblem(t, o, host.Failed, abi.Contradicted)
			if !strings.Contains(o.Problem.Message, tt.want) || o.Data != nil || o.Attempts != 1 {
				t.Errorf("%+v with %v, want %q", o, o.Problem, tt.want)
			}
			s.wantNothing("")
		})
	}
}

// That a guest ended well is no success.
func TestAnAnswerWithoutItsDataIsNoSuccess(t *testing.T) {
	s := newStudy(t, func(t *abi.Tool) {
		t.Output = json.RawMessage(`{"type":"object","required":["price"],"properties":{"price":{"type":"number"}}}`)
	})
	for _, args := range []string{`{}`, `{"answer":null}`, `{"answer":{}}`, `{"answer":{"price":"1"}}`} {
		wantProblem(t, s.do("write", args), host.Failed, abi.BrokenOutput)
		s.wantNothing("")
	}
	if o := s.do("write", `{"answer":{"price":1}}`); !o.OK() || !s.kept() {
		t.Errorf("%+v with %v", o, o.Problem)
	}
}

func TestAnEmptyOutputIsNoEnvelope(t *testing.T) {
	f := &flight{}
	for _, output := range []string{"", " ", "null", "{}", `{"ok":false}`, `{"ok":true}{"ok":true}`, "0", "done"} {
		if problem := f.readReply([]byte(output)); problem == nil || problem.Code != abi.BrokenContract {
			t.Errorf("%q gives %v", output, problem)
		}
	}
}
