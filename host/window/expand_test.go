package window

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

func TestExpand(t *testing.T) {
	tree := files("notes.md", "a note\n", "dir/prices.csv", "1001,89", "价格表.txt", "1002,35", "pic.png", "\x89PNG", "raw.bin", "a\x00b", "report-final.md", "r")
	for _, tt := range []struct {
		name, text string
		has        []string
		problem    abi.Code
		near       string
	}{
		{"a file", "read @notes.md please", []string{"read @notes.md please", "[file notes.md]\na note\n[end of notes.md]"}, 0, ""},
		{"at the end of a sentence", "Look at @dir/prices.csv.", []string{"[file dir/prices.csv]\n1001,89"}, 0, ""},
		{"Chinese without blanks", "请看@价格表.txt，然后改价", []string{"[file 价格表.txt]\n1002,35"}, 0, ""},
		{"with ./ before it", "@./notes.md", []string{"[file notes.md]"}, 0, ""},
		{"a picture", "what is on @pic.png?", []string{"[image pic.png: image/png, 4 bytes]"}, 0, ""},
		{"no text", "@raw.bin", []string{"[file raw.bin is not text]"}, 0, ""},
		{"twice", "@notes.md and @notes.md", []string{"[end of notes.md]"}, 0, ""},
		{"an address of mail", "write to ann@notes.md", nil, 0, ""},
		{"somebody's name", "tell @somebody", nil, 0, ""},
		{"missing", "@dir/price.csv", nil, abi.NotFound, "dir/prices.csv"},
		{"missing with a near name only", "@reportfinal.md", nil, abi.NotFound, "report-final.md"},
		{"missing like nothing", "@no/such.thing", nil, abi.NotFound, ""},
		{"a way out", "@../secret.txt", nil, abi.NotAllowed, ""},
		{"a way out inside", "@dir/../../secret.txt", nil, abi.NotAllowed, ""},
		{"an absolute path", "@/etc/passwd", nil, abi.NotAllowed, ""},
		{"a backslash", `@dir\prices.csv`, nil, abi.NotAllowed, ""},
		{"a folder", "@dir/", nil, abi.NotAllowed, ""},
		{"a folder by its name", "@dir", nil, abi.BadValue, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Expand(tree, tt.text)
			if !strings.HasPrefix(got.Text, tt.text) || len(tt.has) == 0 && got.Text != tt.text {
				t.Errorf("it is %q", got.Text)
			}
			for _, part := range tt.has {
				if strings.Count(got.Text, part) != 1 {
					t.Errorf("%q is not once in %q", part, got.Text)
				}
			}
			checkExpandProblem(t, got.Problems, tt.problem, tt.near)
		})
	}
}

func checkExpandProblem(t *testing.T, problems []*abi.Problem, code abi.Code, near string) {
	t.Helper()
	switch {
	case code == 0 && len(problems) == 0:
	case code == 0 || len(problems) != 1 || problems[0].Code != code:
		t.Errorf("the problems are %v, want %d", problems, code)
	case near != "" && (len(problems[0].Candidates) == 0 || problems[0].Candidates[0] != near):
		t.Errorf("the candidates are %v, want %s", problems[0].Candidates, near)
	}
}

func TestExpandGivesPicturesByReference(t *testing.T) {
	got := Expand(files("a.JPG", "12345", "b.webp", "1"), "compare @a.JPG with @b.webp")
	if len(got.Images) != 2 || got.Images[0] != (Image{"a.JPG", "image/jpeg", 5}) || got.Images[1].Type != "image/webp" || strings.Contains(got.Text, "12345") {
		t.Errorf("it is %+v", got)
	}
}

func TestExpandFollowsNoLink(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("the secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"secret.txt": filepath.Join(outside, "secret.txt"), "folder": outside, "pic.png": filepath.Join(outside, "secret.txt")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	got := Expand(os.DirFS(dir), "@secret.txt @folder/secret.txt @pic.png")
	if strings.Contains(got.Text, "the secret") || len(got.Images) != 0 || len(got.Problems) != 3 {
		t.Errorf("it is %+v", got)
	}
	for _, p := range got.Problems {
		if p.Code != abi.NotAllowed || strings.Contains(p.Message, outside) {
			t.Errorf("the problem is %v", p)
		}
	}
}

func TestExpandIsBounded(t *testing.T) {
	tree := files()
	text := ""
	for i := range 30 {
		name := fmt.Sprintf("f%02d.txt", i)
		tree[name] = files("x", strings.Repeat("青", 10_000))["x"]
		text += " @" + name
	}
	got := Expand(tree, text)
	if len(got.Text) > mentionBytes+5000 || strings.Contains(got.Text, "\uFFFD") {
		t.Errorf("it has %d bytes", len(got.Text))
	}
	cutOff, many := 0, 0
	for _, p := range got.Problems {
		if strings.Contains(p.Message, "goes on after") {
			cutOff++
		} else if strings.Contains(p.Message, "more than 10 files") {
			many++
		}
	}
	if cutOff != mentionsMost-2 || many != 1 {
		t.Errorf("the problems are %v", got.Problems)
	}
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"@notes.md", "@../notes.md", "看@notes.md。", "a@b.c @@x @", "@./././notes.md", "@pic.png,@pic.png"} {
		f.Add(seed)
	}
	tree := files("notes.md", "a note", "pic.png", "png")
	f.Fuzz(func(t *testing.T, text string) {
		got := Expand(tree, text)
		if !strings.HasPrefix(got.Text, text) || len(got.Text) > len(text)+mentionBytes || len(got.Problems) > 2*mentionsMost {
			t.Errorf("%q gives %+v", text, got)
		}
	})
}
