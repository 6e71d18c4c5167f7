package window

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func done(data string) host.Outcome {
	return host.Outcome{Status: host.Done, Data: json.RawMessage(data)}
}

func items(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

func TestResultThatFitsIsShownAsItIs(t *testing.T) {
	for _, data := range []string{`{"price": 89.90,  "sku":"1001"}`, `null`, `"<b>"`, "[\n1,\n2\n]", `"` + strings.Repeat("青", ResultChars-2) + `"`} {
		if got := Result(done(data)); got != data {
			t.Errorf("%.60s is shown as %.60s", data, got)
		}
	}
	o := done(`{"sku":"1001"}`)
	o.Preview = "1001 costs 89"
	if got, want := Result(o), "1001 costs 89\n{\"sku\":\"1001\"}"; got != want {
		t.Errorf("with a preview it is %q, want %q", got, want)
	}
}

// TestProblemHasAHintForTheModelBesideIt: the words of a code's row are for a
// model; a problem's own hint may be shown to a user, too.
func TestWhatWasFoundInFilesStandsBehindTheResult(t *testing.T) {
	o := host.Outcome{Data: json.RawMessage(`{"a":1}`), Preview: "written", Findings: []string{`"a.json", line 1: not JSON`, `"b.py" was not checked`}}
	want := "written\n{\"a\":1}\n[the files were written, and a check of them found:]\n- \"a.json\", line 1: not JSON\n- \"b.py\" was not checked"
	if got := Result(o); got != want {
		t.Errorf("the model reads %q", got)
	}
}

func TestProblemHasAHintForTheModelBesideIt(t *testing.T) {
	for _, tt := range []struct {
		name    string
		problem *abi.Problem
		want    string
	}{
		{"the skill's own hint", abi.NewProblem(abi.OutOfBounds, "too < cheap").WithHint("ask for 80 or more"),
			`{"problem":{"code":3001,"message":"too < cheap","hint":"ask for 80 or more"}}`},
		{"none of its own", abi.NewProblem(abi.PendingApproval, "it waits"),
			`{"problem":{"code":1001,"message":"it waits"},"hint":"` + abi.RowOf(abi.PendingApproval).Model + `"}`},
		{"unknown", abi.NewProblem(abi.OutcomeUnknown, "it began"),
			`{"problem":{"code":1007,"message":"it began"},"hint":"` + abi.RowOf(abi.OutcomeUnknown).Model + `"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Result(host.Outcome{Status: host.Failed, Problem: tt.problem}); got != tt.want {
				t.Errorf("it is %s, want %s", got, tt.want)
			}
		})
	}
}

func TestLongJSONKeepsItsShapeAndSaysWhatIsLeftOut(t *testing.T) {
	flight := `{"flight":"HAT001","from":"JFK","to":"SFO","prices":{"economy":199,"business":599},"seats":[1,2,3]}`
	for _, tt := range []struct{ name, data, has string }{
		{"a list", items(1000, flight), `,"… 9`},
		{"a list in an object", `{"total":1000,"flights":` + items(1000, flight) + `}`, `{"total":1000,"flights":[{"flight":"HAT001","from":"JFK"`},
		{"more values than are kept", items(100_000, `1`), ` more items left out; ask for a smaller part"]`},
		{"a text in it", `{"sku":"1001","log":"` + strings.Repeat("青柠", 5000) + `"}`, `{"sku":"1001","log":"青柠`},
		{"a text alone", `"` + strings.Repeat("a line\\n", 2000) + `"`, `characters left out; ask for a smaller part …]\na line`},
		{"a text of escapes", `"` + strings.Repeat(`\u0001`, 5000) + `"`, `characters left out`},
		{"white space only", strings.Replace(items(100, `1`), ",", ","+strings.Repeat(" ", 5000), 1), `[1,1,1`},
		{"too many lines", "[" + strings.Repeat("1,\n", 500) + "1]", `[1,1,1`},
		{"many members", members(1000, 10), `"…":"`},
		{"long names", members(100, 500), `more characters)":1`},
		{"deep", strings.Repeat(`{"a":[`, 60) + items(500, `"some text"`) + strings.Repeat(`]}`, 60), `{"a":[{"a":[`},
		{"wide and deep", wide(4), `left out`},
		{"money", `{"a":` + items(2000, `0.10`) + `,"b":89.90}`, `{"a":[0.10,0.10`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Result(done(tt.data))
			if !json.Valid([]byte(got)) {
				t.Fatalf("it is no JSON: %.300s", got)
			}
			if n := utf8.RuneCountInString(got); n > ResultChars || n < min(200, len(tt.data)/2) {
				t.Errorf("it has %d characters", n)
			}
			if !strings.Contains(got, tt.has) {
				t.Errorf("it lacks %s: %s", tt.has, got)
			}
		})
	}
}

// What is stored in place of data is JSON whatever the data are, and reads as
// the data do.
func TestShortIsAlwaysJSON(t *testing.T) {
	for _, data := range []string{`{"a":1}`, items(5000, `{"sku":"1001"}`), `"` + strings.Repeat("青", 5000) + `"`, strings.Repeat("1", 5000), "[" + strings.Repeat("1,\n", 500) + "1]"} {
		short := Short(json.RawMessage(data))
		if !json.Valid(short) || Shortens(done(string(short))) {
			t.Errorf("%.60s gives %.200s", data, short)
		}
		if got, want := Result(done(string(short))), Result(done(data)); json.Valid([]byte(want)) && len(data) != 5000 && got != want {
			t.Errorf("%.60s reads as %.100s and in short as %.100s", data, want, got)
		}
		streamed, ok := ShortJSON(strings.NewReader(data))
		if ok && !json.Valid(streamed) || ok == (len(data) == 5000) {
			t.Errorf("%.60s streamed gives %v %.200s", data, ok, streamed)
		}
	}
	for _, text := range []string{"", "plain", `{"a":`, `{} {}`, strings.Repeat("x", 10_000)} {
		if _, ok := ShortJSON(strings.NewReader(text)); ok {
			t.Errorf("%.20q is taken for JSON", text)
		}
	}
}

// What is shown of a text whose middle is not at hand, and what is left out,
// are all of it.
func TestTheEndsOfATextAreShown(t *testing.T) {
	long := strings.Repeat("青柠 ", 10_000)
	for _, tt := range []struct {
		name, head, tail string
		size             int
		want             string
	}{
		{"short", "price\n89", "", 8, "price\n89"},
		{"empty", "", "", 0, ""},
		{"all at hand", long[:30_000], "", 30_000, "left out"},
		{"the middle not at hand", long[:20_000], long[len(long)-20_000:], len(long), "bytes left out"},
		{"cut in a character", long[:16_001], long[len(long)-16_001:], len(long), "bytes left out"},
		{"a head and a tail that are all", "a\n", "b", 3, "a\nb"},
	} {
		got := ShortEnds(tt.head, tt.tail, int64(tt.size))
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > ResultChars+markerRunes || !strings.Contains(got, tt.want) {
			t.Errorf("%s: it gives %.80q with %d characters", tt.name, got, utf8.RuneCountInString(got))
		}
		head, rest, cut := strings.Cut(got, "\n[… ")
		var left int
		if cut && tt.tail != "" {
			if _, err := fmt.Sscanf(rest, "%d bytes", &left); err != nil {
				t.Fatal(err)
			}
			_, tail, _ := strings.Cut(rest, "…]\n")
			if len(head)+left+len(tail) != tt.size || !strings.HasPrefix(tt.head, head) || !strings.HasSuffix(tt.tail, tail) {
				t.Errorf("%s: %d and %d bytes are shown, and %d left out of %d", tt.name, len(head), len(tail), left, tt.size)
			}
		}
	}
}

// TestLeftOutIsCounted: shown and left out together are what there was.
func TestLeftOutIsCounted(t *testing.T) {
	var got []any
	if err := json.Unmarshal([]byte(Result(done(items(5000, `{"sku":"1001"}`)))), &got); err != nil {
		t.Fatal(err)
	}
	left := 0
	if _, err := fmt.Sscanf(got[len(got)-1].(string), "… %d more items", &left); err != nil {
		t.Fatal(err)
	}
	if shown := len(got) - 1; shown+left != 5000 || shown < 50 {
		t.Errorf("%d are shown and %d left out of 5000", shown, left)
	}
}

func members(n, nameLength int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%s%d":1`, strings.Repeat("n", nameLength), i)
	}
	return "{" + b.String()[1:] + "}"
}

func wide(depth int) string {
	if depth == 0 {
		return `"` + strings.Repeat("x", 100) + `"`
	}
	return items(8, `{"a":`+wide(depth-1)+`,"b":12345}`)
}

func TestWhatIsNotJSONShowsItsEnds(t *testing.T) {
	for _, tt := range []struct {
		name, text  string
		lines, left int
	}{
		{"long", strings.Repeat("青", 10_000), 3, 6000},
		{"many short lines", strings.Repeat("a\n", 10_000), 2 * ResultLines, 20_000 - 2*ResultLines + 2},
		{"a short head and a long tail", strings.Repeat("\n", 300) + strings.Repeat("x", 8000), 2 * ResultLines, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ends(tt.text, ResultChars)
			if n := utf8.RuneCountInString(got); n > ResultChars+markerRunes {
				t.Errorf("it has %d characters", n)
			}
			if lines := strings.Count(got, "\n"); lines > tt.lines {
				t.Errorf("it has %d lines, want at most %d", lines, tt.lines)
			}
			if tt.left > 0 && !strings.Contains(got, fmt.Sprintf("[… %d characters left out", tt.left)) {
				t.Errorf("it does not say that %d are left out: %.100q", tt.left, got[len(got)/2-50:])
			}
		})
	}
}

func FuzzResult(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2,{"b":"c"}]}`, `"` + strings.Repeat("<", 50) + `"`, `[[[[[]]]]]`, "not JSON", ``, `1e999`, "\xff"} {
		f.Add(seed, 200)
	}
	f.Fuzz(func(t *testing.T, piece string, times int) {
		// What is repeated into a list is long enough to be shortened.
		data := items(min(max(times, 1), 2000), piece)
		got := Result(done(data))
		if json.Valid([]byte(data)) != json.Valid([]byte(got)) {
			t.Errorf("valid is not kept: %.200q gives %.200q", data, got)
		}
		if n := utf8.RuneCountInString(got); n > ResultChars+markerRunes {
			t.Errorf("%d characters of %.100q", n, piece)
		}
	})
}
