package documents

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func splitter(t testing.TB, r io.Reader, form Form) *Splitter {
	t.Helper()
	s, err := NewSplitter(r, Document{ID: "guide.md", Form: form})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func chunks(t testing.TB, text string, form Form) []Chunk {
	t.Helper()
	return collect(t, splitter(t, strings.NewReader(text), form).Chunks())
}

func collect[T any](t testing.TB, from iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for item, err := range from {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, item)
	}
	return all
}

func own(all []Chunk) (texts []string) {
	for _, c := range all {
		texts = append(texts, c.Own)
	}
	return texts
}

// words makes a text of n runes, of words that differ, with no end of a sentence.
func words(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "w%d ", i)
	}
	return b.String()[:n-1] + "x"
}

func TestADocumentIsCutAtBlankLinesThenAtSentences(t *testing.T) {
	long := words(150)
	zh := strings.Repeat("直播间的价格由系统核对", 20) // 220 runes
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                     {"", nil},
		"one line":                    {"Hello.", []string{"Hello."}},
		"two paragraphs":              {long + "\n\n" + long, []string{long + "\n\n", long}},
		"a blank line of spaces":      {long + "\n \t\r\n" + long, []string{long + "\n \t\r\n", long}},
		"a line end is no blank line": {long + "\n" + long, []string{long + "\n" + long}},
		"Chinese sentences":           {zh + "。" + zh + "！" + zh + "？", []string{zh + "。" + zh + "！", zh + "？"}},
		"a quote ends with its mark":  {"“" + zh + "。”" + zh + "。" + zh, []string{"“" + zh + "。”" + zh + "。", zh}},
		"marks in a row":              {zh + "！？！" + zh + "……？！" + zh, []string{zh + "！？！" + zh + "……？！", zh}},
		"English sentences":           {words(250) + ". " + words(250) + "! " + words(250) + "?", []string{words(250) + ". " + words(250) + "! ", words(250) + "?"}},
		"a point inside a number":     {words(250) + " 3.14 " + words(250) + ". " + words(250), []string{words(250) + " 3.14 " + words(250) + ". ", words(250)}},
		"a short one goes back":       {long + "\n\nIn short: no.\n\n" + long, []string{long + "\n\nIn short: no.\n\n", long}},
		"a short first one goes on":   {"Terms\n\n" + long + "\n\n" + long, []string{"Terms\n\n" + long + "\n\n", long}},
		"a short one without room":    {words(400) + "\n\n" + words(300) + ". " + words(105) + "\n\nIn short: no.", []string{words(400) + "\n\n", words(300) + ". " + words(105) + "\n\n", "In short: no."}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := own(chunks(t, tt.text, Plain)); !slices.Equal(got, tt.want) {
				t.Errorf("got %d pieces %q\nwant %d %q", len(got), got, len(tt.want), tt.want)
			}
		})
	}
}

func TestAChunkBeginsWithTheEndOfThePieceBefore(t *testing.T) {
	all := chunks(t, words(300)+"\n\n"+words(300), Plain)
	if len(all) != 2 || all[0].Overlap != "" {
		t.Fatalf("got %d chunks, the first overlaps %q", len(all), all[0].Overlap)
	}
	overlap := all[1].Overlap
	if !strings.HasSuffix(all[0].Own, overlap) || len(overlap) < OverlapRunes-10 || len(overlap) > OverlapRunes {
		t.Errorf("the overlap is %q", overlap)
	}
	if strings.HasPrefix(overlap, "w") != strings.HasSuffix(strings.TrimSuffix(all[0].Own, overlap), " ") {
		t.Errorf("the overlap begins inside of a word: %q", overlap)
	}
}

func TestAnOverlapBeginsWithAWord(t *testing.T) {
	for name, tt := range map[string]struct{ before, want string }{
		"in a word":      {"one twothree " + words(94), words(94)},
		"at a space":     {"one" + " " + words(99), words(99)},
		"at a comma":     {"one" + ", " + words(98), words(98)},
		"at a character": {"价格" + strings.Repeat("底", 99), "格" + strings.Repeat("底", 99)},
		"at a mark":      {"e\u0301" + strings.Repeat("底", 99), strings.Repeat("底", 99)},
		"at a bracket":   {"one" + "(" + words(99), "(" + words(99)},
		"no word at all": {strings.Repeat(".", 200), ""},
		"a short piece":  {", one", ", one"},
	} {
		if got := string(tail([]rune(tt.before))); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestASentenceThatIsTooLongIsCutWhereItHurtsLeast(t *testing.T) {
	e := "e\u0301"              // e and an accent
	family := "👩\u200d👩\u200d👧" // three people, one character
	for name, tt := range map[string]struct{ text, end, begin string }{
		"at a line end":             {words(300) + "\n" + words(300), "\n", "w0"},
		"at a space":                {words(900), " ", "w"},
		"at a comma":                {strings.Repeat("价", 380) + "，" + strings.Repeat("格", 300), "，", "格"},
		"not before an accent":      {"x" + strings.Repeat(e, 400), e, e},
		"not inside of a family":    {"xx" + strings.Repeat(family, 200), family, family},
		"not inside of a line end":  {strings.Repeat("x", 411) + "\r\n" + words(200), strings.Repeat("x", 100), "\r\n"},
		"inside of a word, at last": {strings.Repeat("x", 900), "x", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			got := own(chunks(t, tt.text, Plain))
			if len(got) < 2 || !strings.HasSuffix(got[0], tt.end) || !strings.HasPrefix(got[1], tt.begin) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestMarkdownKeepsTheHeadingsAsContext(t *testing.T) {
	const text = "Before.\n# Shop #\nHello.\n## Prices\nNever below cost.\n```sh\n# no heading\n```\n### Floors\n10 %.\n## Coupons\nOne a day.\n#hash is none\n    # nor is code\n# Other\nEnd."
	var got []string
	for _, c := range chunks(t, text, Markdown) {
		if c.Overlap != "" {
			t.Errorf("a section begins with the end of the one before: %q", c.Overlap)
		}
		got = append(got, strings.Join(c.Headings, ">")+"|"+c.Own)
	}
	want := []string{
		"|Before.\n", "Shop|# Shop #\nHello.\n", "Shop>Prices|## Prices\nNever below cost.\n```sh\n# no heading\n```\n",
		"Shop>Prices>Floors|### Floors\n10 %.\n", "Shop>Coupons|## Coupons\nOne a day.\n#hash is none\n    # nor is code\n", "Other|# Other\nEnd.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if plain := chunks(t, text, Plain); len(plain) != 1 || plain[0].Headings != nil {
		t.Errorf("as plain text it is %+v", plain)
	}
}

func TestWhatIsNoTextIsRefusedWithItsPlace(t *testing.T) {
	for name, tt := range map[string]struct{ text, says, hint string }{
		"UTF-16, little end": {"\xff\xfeh\x00", "UTF-16", "iconv"},
		"UTF-16, big end":    {"\xfe\xff\x00h", "UTF-16", "iconv"},
		"UTF-16 without BOM": {"h\x00i\x00", "byte 2 of the document is NUL", "UTF-16"},
		"GBK":                {"hi \xc4\xe3\xba\xc3", "byte 4 of the document is not UTF-8", "GB18030"},
		"cut in a rune":      {"\xef\xbb\xbfhi \xe4\xbd", "byte 7 of the document is not UTF-8", "UTF-8"},
		"a surrogate":        {"\xed\xa0\x80", "byte 1 of the document is not UTF-8", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			s := splitter(t, strings.NewReader(tt.text), Plain)
			var failed error
			for _, err := range s.Chunks() {
				failed = err
			}
			problem := host.ProblemOf(failed)
			if failed == nil || problem.Code != abi.BadValue || !strings.Contains(problem.Message, tt.says) || !strings.Contains(problem.Hint, tt.hint) {
				t.Errorf("got %v", failed)
			}
		})
	}
}

func TestAByteOrderMarkIsNoPartOfTheText(t *testing.T) {
	all := chunks(t, "\ufeffHello.", Plain)
	if len(all) != 1 || all[0].Own != "Hello." || all[0].Start != 3 {
		t.Errorf("got %+v", all)
	}
}

func TestAReaderThatFailsEndsTheDocumentWithItsError(t *testing.T) {
	broken := errors.New("disk")
	s := splitter(t, io.MultiReader(strings.NewReader(words(2000)), iotest.ErrReader(broken)), Markdown)
	var failed error
	for _, err := range s.Chunks() {
		failed = err
	}
	if !errors.Is(failed, broken) {
		t.Errorf("got %v", failed)
	}
	if again := collectErr(s.Chunks()); !errors.Is(again, broken) {
		t.Errorf("the second time it says %v", again)
	}
}

func TestADocumentIsReadOnce(t *testing.T) {
	s := splitter(t, strings.NewReader("Hello."), Plain)
	collect(t, s.Chunks())
	if err := collectErr(s.Chunks()); host.ProblemOf(err).Code != abi.HostBug {
		t.Errorf("the second reading says %v", err)
	}
}

func collectErr(from iter.Seq2[Chunk, error]) (failed error) {
	for _, err := range from {
		failed = err
	}
	return failed
}

// TestMemoryDoesNotGrowWithTheDocument reads 2 MB, also as one sentence, one
// paragraph, and nothing but blank lines.
func TestMemoryDoesNotGrowWithTheDocument(t *testing.T) {
	for name, unit := range map[string]string{"paragraphs": words(300) + ".\n\n", "a sentence": "价", "sentences": "One two three. ", "blank lines": "\n"} {
		t.Run(name, func(t *testing.T) {
			s := splitter(t, io.LimitReader(&repeated{unit: []byte(unit)}, 2_100_000), Markdown)
			var before, now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			n, most := 0, uint64(0)
			for _, err := range s.Chunks() {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n%500 == 0 {
					runtime.GC()
					runtime.ReadMemStats(&now)
					most = max(most, now.HeapAlloc)
				}
			}
			if most > before.HeapAlloc+256<<10 {
				t.Errorf("after %d chunks %d bytes more are held", n, most-before.HeapAlloc)
			}
		})
	}
}

// repeated gives a text again and again, in whole units at any size of a read.
type repeated struct {
	unit []byte
	at   int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(p[n:], r.unit[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.unit)
	}
	return n, nil
}

func FuzzChunks(f *testing.F) {
	for _, seed := range []string{
		"", "Hello. World!", "# A\n\nb\n## C\nd", "你好。再见！\r\n\r\n“好。”他说", strings.Repeat("e\u0301", 700), strings.Repeat("\u0301", 900),
		"```\n# no\n```\n", strings.Repeat("\n", 1500), strings.Repeat("🇨🇳", 400), "\ufeff# x\n", "a\x00", "\xff\xfe", strings.Repeat("word ", 400),
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, marked bool) {
		form := Plain
		if marked {
			form = Markdown
		}
		s := splitter(t, strings.NewReader(text), form)
		var all []Chunk
		for c, err := range s.Chunks() {
			if err != nil {
				if utf8.ValidString(text) && !strings.Contains(text, "\x00") {
					t.Fatalf("a text is refused: %v", err)
				}
				return
			}
			all = append(all, c)
		}
		checkCover(t, strings.TrimPrefix(text, "\ufeff"), all)
		checkParents(t, text, s, all)
	})
}

// checkCover holds chunks against the text: every rune once, in order, none too long,
// and no character cut apart where there was another way.
func checkCover(t *testing.T, text string, all []Chunk) {
	t.Helper()
	var whole strings.Builder
	for i, c := range all {
		if n := utf8.RuneCountInString(c.Text()); n > ChunkRunes || c.Own == "" {
			t.Fatalf("chunk %d has %d runes, %d bytes of its own", i, n, len(c.Own))
		}
		if !utf8.ValidString(c.Own) || !utf8.ValidString(c.Overlap) || !strings.HasSuffix(whole.String(), c.Overlap) {
			t.Fatalf("chunk %d begins with %q, which does not stand before it", i, c.Overlap)
		}
		if utf8.RuneCountInString(c.Overlap) > OverlapRunes {
			t.Fatalf("chunk %d overlaps by %q", i, c.Overlap)
		}
		whole.WriteString(c.Own)
		if i+1 < len(all) && cutsApart(c.Own, all[i+1].Own) {
			t.Fatalf("a character is cut apart between %q and %q", c.Own, all[i+1].Own)
		}
	}
	if whole.String() != text {
		t.Fatalf("the chunks are %q\nand the text is %q", whole.String(), text)
	}
}

// cutsApart reports a cut inside of a character that is short enough not to be cut.
func cutsApart(before, after string) bool {
	a, b := []rune(before), []rune(after)
	if !joins(a[len(a)-1], b[0]) {
		return false
	}
	n := 1
	for i := len(a) - 1; i > 0 && joins(a[i-1], a[i]); i-- {
		n++
	}
	return n < segmentRunes/2
}

func checkParents(t *testing.T, text string, s *Splitter, all []Chunk) {
	t.Helper()
	source := bytes.NewReader([]byte(text))
	read := ""
	for _, p := range s.Parents() {
		part, err := p.Read(source)
		if err != nil {
			t.Fatal(err)
		}
		read += part
	}
	if read != strings.TrimPrefix(text, "\ufeff") {
		t.Fatalf("the parents are %q", read)
	}
	for _, c := range all {
		if p := s.Parents()[c.Parent-1]; c.Start < p.Start || c.Start+int64(len(c.Own)) > p.End {
			t.Fatalf("the chunk at %d is not inside of its parent, %d to %d", c.Start, p.Start, p.End)
		}
	}
}

// BenchmarkChunks tells the MB/s of cutting.
func BenchmarkChunks(b *testing.B) {
	for name, unit := range map[string]string{
		"English": "The price of a product never falls below its cost. Ask before you go under 70 %.\n\n# Terms\nSee the rules, please.\n",
		"Chinese": "直播间的价格由系统核对，主播不能自己改。低于七折的价格要有人批准！\n\n优惠券每人一张；过期作废。\n",
	} {
		text := strings.Repeat(unit, 8<<20/len(unit))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range splitter(b, strings.NewReader(text), Markdown).Chunks() {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
