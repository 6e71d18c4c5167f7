package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/sdk/skilltest"
)

func TestExamples(t *testing.T) { skilltest.New(t).Examples() }

func TestAFileIsReadByItsLines(t *testing.T) {
	h := skilltest.New(t)
	h.PutFile("a/long.txt", []byte(strings.Repeat("line\n", 1000)+"end"))
	for _, tt := range []struct {
		in                 Part
		from, lines, total int
		code               abi.Code
	}{
		{Part{Path: "a/long.txt"}, 1, 400, 1001, 0},
		{Part{Path: "a/long.txt", From: 1001}, 1001, 1, 1001, 0},
		{Part{Path: "a/long.txt", From: 999, Lines: 2}, 999, 2, 1001, 0},
		{Part{Path: "a/long.txt", From: 1002}, 0, 0, 0, abi.OutOfBounds},
		{Part{Path: "a/lon.txt"}, 0, 0, 0, abi.NotFound},
	} {
		var out Text
		code := call(t, h, "read_file", tt.in, &out)
		if code != tt.code || out.From != tt.from || out.Lines != tt.lines || out.Total != tt.total {
			t.Errorf("%+v gives %d and %d lines from %d of %d", tt.in, code, out.Lines, out.From, out.Total)
		}
	}
}

func TestWhatIsNoTextIsSaid(t *testing.T) {
	h := skilltest.New(t)
	h.PutFile("x.png", []byte{0xff, 0xd8})
	h.PutFile("wide.txt", []byte(strings.Repeat("x", maxTextBytes+1)))
	h.PutFile("empty.txt", nil)
	for path, want := range map[string]abi.Code{"x.png": abi.NotAllowed, "wide.txt": abi.OutputLimit, "empty.txt": 0} {
		if code := call(t, h, "read_file", Part{Path: path}, nil); code != want {
			t.Errorf("%s gives %d, want %d", path, code, want)
		}
	}
}

// F62: the same write again is no other one, and nobody's version is lost.
func TestAWriteReplacesOnlyWhatWasSeen(t *testing.T) {
	h := skilltest.New(t)
	for i, tt := range []struct {
		in      Whole
		code    abi.Code
		changed bool
		after   string
	}{
		{Whole{Path: "n.md", Text: "1"}, 0, true, "1"},
		{Whole{Path: "n.md", Text: "1"}, 0, false, "1"},
		{Whole{Path: "n.md", Text: "2"}, abi.Conflict, false, "1"},
		{Whole{Path: "n.md", Text: "2", IfHash: hashOf("0")}, abi.Conflict, false, "1"},
		{Whole{Path: "n.md", Text: "2", IfHash: hashOf("1")}, 0, true, "2"},
		{Whole{Path: "n.md", Text: "2", IfHash: hashOf("1")}, 0, false, "2"},
	} {
		var out Written
		code := call(t, h, "write_file_with_hash", tt.in, &out)
		if got, _ := h.File("n.md"); code != tt.code || out.Changed != tt.changed || string(got) != tt.after {
			t.Errorf("write %d gives %d %+v, and the file is %q", i, code, out, got)
		}
	}
}

func TestABlockIsReplacedOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		before string
		in     Block
		code   abi.Code
		after  string
	}{
		"once":                {"a\nb\nc\n", Block{Old: "b\n", New: "x\n"}, 0, "a\nx\nc\n"},
		"done before":         {"a\nx\nc\n", Block{Old: "b\n", New: "x\n"}, 0, "a\nx\nc\n"},
		"done before, hashed": {"a\nx\nc\n", Block{Old: "b\n", New: "x\n", IfHash: hashOf("a\nb\nc\n")}, 0, "a\nx\nc\n"},
		"twice":               {"b b", Block{Old: "b", New: "x"}, abi.Conflict, "b b"},
		"not there":           {"a", Block{Old: "b", New: "x"}, abi.NotFound, "a"},
		"by other spaces":     {"a  B\n", Block{Old: "a b\n", New: "x"}, abi.NotFound, "a  B\n"},
		"of another version":  {"b", Block{Old: "b", New: "x", IfHash: hashOf("c")}, abi.Conflict, "b"},
		"taken out":           {"a\nb\n", Block{Old: "b\n"}, 0, "a\n"},
		"by itself":           {"b", Block{Old: "b", New: "b"}, 0, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			h := skilltest.New(t)
			h.PutFile("f", []byte(tt.before))
			tt.in.Path = "f"
			code := call(t, h, "replace_block", tt.in, nil)
			if got, _ := h.File("f"); code != tt.code || string(got) != tt.after {
				t.Errorf("it gives %d, and the file is %q, want %d and %q", code, got, tt.code, tt.after)
			}
		})
	}
}

func TestAWriteDeclaresTheFileThatItLeaves(t *testing.T) {
	skill, err := manifest.Compile(skilltest.New(t).Manifest())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"write_file_with_hash", "replace_block"} {
		env := manifest.Env{Args: json.RawMessage(`{"path":"notes/a.md"}`), Data: json.RawMessage(`{"path":"notes/a.md"}`)}
		named, problem := skill.Tool(name).ArtifactsOf(env)
		if problem != nil || len(named) != 1 || named[0].Names[0] != "notes/a.md" || skill.Tool(name).CheckResult(env) != nil {
			t.Errorf("%s leaves %+v, %v", name, named, problem)
		}
		env.Data = json.RawMessage(`{"path":"notes/b.md"}`)
		if skill.Tool(name).CheckResult(env) == nil {
			t.Errorf("%s may say that it wrote another file", name)
		}
	}
}

// F71: an error about a path says what is there.
func TestAPathThatLeadsNowhereNamesTheNearest(t *testing.T) {
	h := skilltest.New(t)
	h.PutFile("notes/todo.md", []byte("x"))
	reply := h.Call("read_file", Part{Path: "notes/tood.md"})
	if reply.Problem == nil || len(reply.Problem.Candidates) == 0 || !strings.Contains(strings.Join(reply.Problem.Candidates, " "), "todo.md") {
		t.Errorf("it gives %+v", reply.Problem)
	}
	for _, path := range []string{"../x", "/etc/passwd", "a//b", "a\x00"} {
		if code := call(t, h, "read_file", Part{Path: path}, nil); code == 0 {
			t.Errorf("%q was read", path)
		}
	}
}

// call gives the code of a call's problem, or 0 and its data.
func call(t *testing.T, h *skilltest.Host, tool string, args, data any) abi.Code {
	t.Helper()
	reply := h.Call(tool, args)
	if reply.Problem != nil {
		return reply.Problem.Code
	}
	if data != nil {
		if err := json.Unmarshal(reply.Data, data); err != nil {
			t.Fatal(err)
		}
	}
	return 0
}
