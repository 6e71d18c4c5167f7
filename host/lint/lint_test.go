package lint

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestAFindingNamesItsLine(t *testing.T) {
	for _, tt := range []struct {
		name, content string
		line, column  int
		reason        string
	}{
		{"a.json", "{\n  \"a\": 1,\n  \"b\" 2\n}\n", 3, 7, "invalid character '2' after object key"},
		{"a.json", "{\n  \"a\": [1, 2\n", 3, 1, "unexpected end of JSON input"},
		{"a.json", "", 1, 1, "unexpected end of JSON input"},
		{"a.json", "{}\n{}\n", 2, 1, "invalid character '{' after top-level value"},
		{"a.json", "{\"名\": 'x'}", 1, 7, "invalid character '\\''"},
		{"a.json", "{\n\"a\": \"\xff\"}", 2, 7, "not UTF-8"},
		{"a.yaml", "a: 1\nb:\n  - x\n  y: 2\n", 4, 0, "did not find expected"},
		{"a.yml", "a: 1\n\tb: 2\n", 2, 1, "begins with a tab"},
		{"a.yaml", "a: 1\nb: 2\na: 3\n", 3, 1, `the key "a" stands on line 1, too`},
		{"a.yaml", "a: 1\nb: 2\n c: 3\n", 3, 0, "mapping values are not allowed"},
		{"a.yaml", "a:\n  b: 1\n c: 3\nd: 4\n", 3, 0, "did not find expected key"},
		{"a.yaml", "a: 1\nb: \"x\nc: 2\n", 2, 0, "found unexpected end of stream"},
		{"a.yaml", strings.Repeat("a:\n", 1) + strings.Repeat("- x\n", maxYAMLSearch/2) + "b\n", maxYAMLSearch/2 + 2, 0, "could not find expected ':'"},
		{"a.yaml", "b: 1\na: *nowhere\n", 2, 0, "unknown anchor 'nowhere'"},
		{"a.yaml", "a: &a\n  - *a\n", 2, 5, `the anchor "a" contains itself`},
		{"a.yaml", "a: 1\n---\nb: [1\n\n", 3, 0, "did not find expected"},
		{"a.toml", "a = 1\nb = \n", 2, 0, "expected value"},
		{"a.toml", "a = 1\n[t]\nx = 1\nx = 2\n", 4, 0, "'t.x' has already been defined"},
		{"a.csv", "a,b\n1,2\n1,2,3\n4\n", 3, 0, "the row has 3 fields, and the first has 2"},
		{"a.csv", "a,b\n1,\"2\n3,4\n", 2, 0, "closes late or never"},
		{"a.csv", "a,b\n1,x\"y\n", 2, 4, `bare " in non-quoted`},
		{"a.tsv", "a\tb\n1\n", 2, 0, "the row has 1 fields"},
		{"a.go", "package x\n\nfunc f() {\n\treturn 1 +\n}\n", 5, 1, "expected operand"},
		{"a.go", "package x\n//line other.go:900\nvar = 1\n", 3, 5, "expected 'IDENT'"},
		{"a.go", "", 1, 1, "not Go"},
	} {
		found := Lint(tt.name, []byte(tt.content))
		if len(found) == 0 {
			t.Errorf("%s %q: nothing was found, want line %d", tt.name, tt.content, tt.line)
			continue
		}
		f := found[0]
		if f.Line != tt.line || tt.column != 0 && f.Column != tt.column || !strings.Contains(f.Reason, tt.reason) {
			t.Errorf("%s %q: %+v, want %d:%d %q", tt.name, tt.content, f, tt.line, tt.column, tt.reason)
		}
	}
}

func TestWhatIsRightHasNoFindings(t *testing.T) {
	for name, content := range map[string]string{
		"a.json": " {\"a\": [1, 2.5e3, null, \"\\u00e9\"]}\n", "A.JSON": "1",
		"a.yaml": "base: &b {x: 1}\nlist:\n  - <<: *b\n    y: 2\n---\nsecond: true\n", "b.yml": "", "c.yaml": "# nothing\n",
		"a.toml": "# [[[\na = '[[['\nb = \"\"\"\n[[[ \\\" \"\"\"\nd = [[1.5, 2.5], [1.0]]\n[t.u]\nc = {x = 1}\n", "b.toml": "",
		"bom.csv": "\ufeff\"a\",b\n1,2\n", "a.csv": "a,b\r\n1,\"x, \"\"y\"\"\nz\"\r\n", "b.csv": "", "a.tsv": "a\tb,c\n1\t2\n",
		"a.go": "package x\n\nfunc f() int { return undefined }\n",
		"a.py": "def f(:\n", "noext": "{", ".json": "1", "a.tar.gz": "x", "a.J SON": "{",
	} {
		if found := Lint(name, []byte(content)); found != nil {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// What a file can do to whoever parses it.
func TestAHostileFileIsRefusedInAMoment(t *testing.T) {
	laughs := "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
	for c := 'b'; c < 'j'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	deepKey := "[" + strings.Repeat("a.", 50_000) + "a]\n" + strings.Repeat("b=1\n", 30_000)
	worst := ""
	for i := range 1_500 {
		worst += fmt.Sprintf("x%d = %s1%s\n", i, strings.Repeat("{a=", maxTOMLNest), strings.Repeat("}", maxTOMLNest))
	}
	for _, tt := range []struct{ name, content, reason string }{
		{"a.json", strings.Repeat("[", maxStreamed), "exceeded max depth"},
		{"a.json", strings.Repeat(`{"a":`, 1_000_000), "exceeded max depth"},
		{"a.json", strings.Repeat(" ", 64<<20), "at most 16777216 are looked at"},
		{"a.yaml", laughs, "more than 1000000 values, with its aliases"},
		{"a.yaml", strings.Repeat("[", maxYAML), "exceeded max depth"},
		{"a.yaml", strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000), "nested deeper than 256"},
		{"a.yaml", strings.Repeat("- ", maxYAML/2), ""},
		{"a.yaml", strings.Repeat("? ", maxYAML/2), ""},
		{"a.yaml", strings.Repeat("x\n", 64<<20), "at most 262144 are looked at"},
		{"a.yaml", strings.Repeat("---\n", 2_000), "more than 1000 documents"},
		{"a.toml", strings.Repeat("x", 64<<20), "at most 262144 are looked at"},
		{"a.toml", worst + "end", "not TOML"},
		{"a.toml", "a = " + strings.Repeat("[", 1<<17), "nested deeper than 32"},
		{"a.toml", "a = " + strings.Repeat("{a=", 1<<16), "nested deeper than 32"},
		{"a.toml", "a = " + strings.Repeat(`["]", `, 1<<15), "nested deeper than 32"},
		{"a.toml", "a = " + strings.Repeat("['''\n]''', ", 1<<14), "nested deeper than 32"},
		{"a.toml", "a = " + strings.Repeat("[ # ]\n", 1<<14), "nested deeper than 32"},
		{"a.toml", deepKey, "a key with more than 16 dots"},
		{"a.toml", strings.Repeat("a.", 100_000) + "a = 1", "a key with more than 16 dots"},
		{"a.csv", "a,b\n" + strings.Repeat("1\n", 4<<20), "the row has 1 fields"},
		{"a.csv", "\"" + strings.Repeat("x\n", 4<<20), "extraneous or missing"},
		{"a.go", "package x\nvar x = " + strings.Repeat("(", maxParsed-100), "exceeded max nesting depth"},
		{"a.go", "package x\nvar x = " + strings.Repeat("-", maxParsed-100), ""},
		{"a.go", "package x\nvar x " + strings.Repeat("[]", maxParsed/2-100), ""},
	} {
		start := time.Now()
		found := Lint(tt.name, []byte(tt.content))
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s %.20q took %v", tt.name, tt.content, took)
		}
		if len(found) == 0 || len(found) > MaxFindings || !strings.Contains(found[0].Reason, tt.reason) {
			t.Errorf("%s %.20q: %d findings, %.200v, want %q", tt.name, tt.content, len(found), found, tt.reason)
		}
	}
}

func TestAReasonIsOneLine(t *testing.T) {
	long := "a: \"" + strings.Repeat("\x01é\n\u2028", 1000)
	for _, f := range append(Lint("a.yaml", []byte(long)), finding(1, 1, "%s", long), finding(0, 0, "a\x1b[31m\r\nb")) {
		if len(f.Reason) > MaxReasonBytes || strings.ContainsAny(f.Reason, "\n\r\x01\x1b\u2028") || !utf8.ValidString(f.Reason) {
			t.Errorf("%q", f.Reason)
		}
	}
}

func TestAFormatIsAnExtension(t *testing.T) {
	for name, want := range map[string]string{
		"a.JSON": "json", "a/b.yml": "yaml", "a.py": "py", "a": "", "a.": "", "a.b/c": "", "a.p-y": "", "a.\x00": "", "a." + strings.Repeat("x", 17): "", "a.ＪＳＯＮ": "",
	} {
		if got := FormatOf(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// FuzzLint: whatever the bytes are, the answer comes, is bounded, and its lines
// are lines of the file.
func FuzzLint(f *testing.F) {
	for _, seed := range []struct{ format, content string }{
		{"json", `{"a": [1, }`}, {"yaml", "a: &a [*a]\n? x\n: - y\n"}, {"yaml", "a: |\n  x\n b: 1"}, {"toml", "a.b = [{c = '''x'''}]\n[[t]]\n"},
		{"csv", "a,\"b\n1"}, {"tsv", "a\tb\n"}, {"go", "package x; func (f"},
	} {
		f.Add(seed.format, []byte(seed.content))
	}
	f.Fuzz(func(t *testing.T, format string, content []byte) {
		found := Parse(format, content)
		if len(found) > MaxFindings {
			t.Fatalf("%d findings", len(found))
		}
		for _, f := range found {
			if f.Reason == "" || len(f.Reason) > MaxReasonBytes || f.Line < 0 || f.Column < 0 || f.Line > 2+strings.Count(string(content), "\n") {
				t.Fatalf("%s %q: %+v", format, content, f)
			}
		}
	})
}
