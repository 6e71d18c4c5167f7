package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk/skilltest"
)

func TestExamples(t *testing.T) { skilltest.New(t).Examples() }

// inline is what a model sees whole of a result, in characters.
const inline = 4000

// call gives a call's data or its problem. Whatever it gives is short enough to
// be read whole.
func call[T any](t *testing.T, h *skilltest.Host, tool string, args any) (data T, p *abi.Problem) {
	t.Helper()
	reply := h.Call(tool, args)
	if reply.Problem != nil {
		return data, reply.Problem
	}
	if n := utf8.RuneCount(reply.Data); n > inline {
		t.Errorf("%s %+v gives %d characters", tool, args, n)
	}
	if err := json.Unmarshal(reply.Data, &data); err != nil {
		t.Fatal(err)
	}
	return data, nil
}

func codeOf(p *abi.Problem) abi.Code {
	if p == nil {
		return 0
	}
	return p.Code
}

// Read on from where each part ends, a text comes back to the byte, whatever
// the length of the parts and wherever characters lie.
func TestPartsMakeTheWhole(t *testing.T) {
	h := skilltest.New(t)
	for name, text := range map[string]string{
		"empty": "", "ASCII": strings.Repeat("plain text, ", 3000), "Chinese": strings.Repeat("青柠十元三斤，", 2000), "wide": strings.Repeat("😀a", 5000),
		"JSON": strings.Repeat(`{"sku":"1001","title":"\u9752"},`+"\n", 800), "control": strings.Repeat("\x01\x1f\u2028", 2000), "quotes": strings.Repeat(`"`, 9000),
	} {
		for _, length := range []int64{0, 1, 2, 3, 5, 1000, 16384} {
			if length > 0 && length < 1000 && len(text) > 0 {
				text = text[:len(text)/100] // short parts of a long text take long
				text = strings.ToValidUTF8(text, "")
			}
			id := h.PutBlob(abi.BlobInfo{}, []byte(text))
			var got strings.Builder
			for offset, n := int64(0), 0; ; n++ {
				part, p := call[Part](t, h, "read_blob", Range{ID: id, Offset: offset, Length: length})
				if p != nil || part.Offset != offset || n > len(text) {
					t.Fatalf("%s by %d: from %d there is %+v, %v", name, length, offset, part, p)
				}
				got.WriteString(part.Text)
				if offset = part.Next; offset == 0 {
					break
				}
			}
			if got.String() != text {
				t.Errorf("%s by %d: %d bytes came back of %d", name, length, got.Len(), len(text))
			}
		}
	}
}

func TestAPartBeginsAndEndsAtACharacter(t *testing.T) {
	h := skilltest.New(t)
	id := h.PutBlob(abi.BlobInfo{}, []byte("a青b😀c"))
	for _, tt := range []struct{ offset, length, from, next int64 }{
		{0, 1, 0, 1}, {0, 2, 0, 1}, {0, 4, 0, 4}, {1, 1, 1, 4}, {2, 1, 4, 5}, {3, 2, 4, 5}, {5, 4, 5, 9}, {6, 9, 9, 0}, {10, 9, 10, 0},
	} {
		part, p := call[Part](t, h, "read_blob", Range{ID: id, Offset: tt.offset, Length: tt.length})
		if p != nil || part.Offset != tt.from || part.Next != tt.next || !utf8.ValidString(part.Text) {
			t.Errorf("%+v gives %+v, %v", tt, part, p)
		}
	}
}

func TestWhatCannotBeReadSaysWhatToDo(t *testing.T) {
	h := skilltest.New(t)
	text := h.PutBlob(abi.BlobInfo{}, []byte("ten bytes!"))
	binary := h.PutBlob(abi.BlobInfo{Type: "image/png"}, []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"))
	nul := h.PutBlob(abi.BlobInfo{}, []byte("a\x00b"))
	for _, tt := range []struct {
		name, tool string
		args       any
		code       abi.Code
		says       string
	}{
		{"no such blob", "read_blob", Range{ID: exampleID}, abi.NotFound, "to the letter"},
		{"behind the end", "read_blob", Range{ID: text, Offset: 11}, abi.OutOfBounds, "has 10 bytes"},
		{"searched behind the end", "search_blob", Search{ID: text, Text: "x", From: 11}, abi.OutOfBounds, "has 10 bytes"},
		{"binary", "read_blob", Range{ID: binary}, abi.NotAllowed, "binary"},
		{"a NUL in it", "read_blob", Range{ID: nul}, abi.NotAllowed, "binary"},
		{"no JSON", "read_blob_value", At{ID: text, Path: "a"}, abi.NotFound, "End the path there"},
		{"binary as JSON", "read_blob_value", At{ID: binary}, abi.NotAllowed, "read_blob"},
		{"empty as JSON", "read_blob_value", At{ID: h.PutBlob(abi.BlobInfo{}, nil)}, abi.NotAllowed, "no JSON"},
		{"a value of no such blob", "read_blob_value", At{ID: exampleID}, abi.NotFound, "to the letter"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reply := h.Call(tt.tool, tt.args)
			if codeOf(reply.Problem) != tt.code || !strings.Contains(reply.Problem.Message+" "+reply.Problem.Hint, tt.says) {
				t.Errorf("it gives %v, want code %d and %q", reply.Problem, tt.code, tt.says)
			}
		})
	}
}

// Every place is found, also across the edge of two pieces, and searching on
// from where a search ends finds the rest.
func TestEveryPlaceIsFound(t *testing.T) {
	h := skilltest.New(t)
	var b strings.Builder
	var want []int64
	for i := range 60 {
		b.WriteString(strings.Repeat("filler 青柠 \n", 1000+i*7))
		want = append(want, int64(b.Len()))
		b.WriteString("Needle")
	}
	text := b.String()[:pieceBytes-3]
	text = strings.ReplaceAll(strings.ToValidUTF8(text, ""), "Needle", "......") + "Needle" + b.String()
	want = slices.Clone(want)
	first := int64(strings.Index(text, "Needle"))
	for i := range want {
		want[i] += first + 6
	}
	want = append([]int64{first}, want...)
	id := h.PutBlob(abi.BlobInfo{}, []byte(text))
	for _, s := range []Search{{Text: "Needle"}, {Text: "NEEDLE", IgnoreCase: true}, {Text: "Needle", Max: 1}, {Text: "Needle", Max: 20}} {
		var got []int64
		s.ID = id
		for searches := 0; searches < 100; searches++ {
			m, p := call[Matches](t, h, "search_blob", s)
			if p != nil {
				t.Fatal(p)
			}
			for _, x := range m.Matches {
				got = append(got, x.Offset)
				if !strings.Contains(x.Text, "Needle") || !strings.Contains(x.Text, "filler") {
					t.Errorf("around %d stands %q", x.Offset, x.Text)
				}
			}
			if m.Next == 0 {
				break
			}
			s.From = m.Next
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v finds %v, want %v", s, got, want)
		}
	}
	if m, p := call[Matches](t, h, "search_blob", Search{ID: id, Text: "NEEDLE"}); p != nil || len(m.Matches) != 0 || m.Searched != int64(len(text)) || m.Next != 0 {
		t.Errorf("what is not there gives %+v, %v", m, p)
	}
}

func TestWhatStandsAroundAPlaceIsAlwaysText(t *testing.T) {
	h := skilltest.New(t)
	id := h.PutBlob(abi.BlobInfo{}, []byte(strings.Repeat("青\xff\x00\"", 200)+"here"+strings.Repeat("柠\xfe\x01", 200)))
	if m, p := call[Matches](t, h, "search_blob", Search{ID: id, Text: "here"}); p != nil || len(m.Matches) != 1 || !strings.Contains(m.Matches[0].Text, "here") {
		t.Errorf("it gives %+v, %v", m, p)
	}
	if m, p := call[Matches](t, h, "search_blob", Search{ID: id, Text: "青", Max: 20}); p != nil || len(m.Matches) == 0 || m.Next == 0 {
		t.Errorf("it gives %+v, %v", m, p)
	}
}

// shop is a document with everything in it that JSON has.
const shop = `{"total":3, "items":[{"sku":"1001","name":"青柠","price":89.90,"tags":["a","b"]},{"sku":"1002","name":null,"ok":true},
 {"a.b":{"c":[[1,2],[3]]},"quo\"te":"\u9752\ud83d\ude00","é":-1e9}], "empty":[], "none":{}}`

func TestAPathLeadsToItsValue(t *testing.T) {
	h := skilltest.New(t)
	id := h.PutBlob(abi.BlobInfo{}, []byte(shop))
	for path, want := range map[string]string{
		"total": `3`, "items[0].name": `"青柠"`, "$.items[0].price": `89.90`, "items[1].name": `null`, "items[1].ok": `true`, "items[0].tags": `["a","b"]`,
		"items[0].tags[1]": `"b"`, "items[2]['a.b'].c[0][1]": `2`, `items[2]["a.b"].c[1]`: `[3]`, `items[2]['quo"te']`: `"\u9752\ud83d\ude00"`, "items[2].é": `-1e9`,
		"empty": `[]`, "none": `{}`, "items[0].tags[0:1]": `["a"]`, "items[0].tags[1:]": `["b"]`, "items[0].tags[:1]": `["a"]`, "items[0].tags[:]": `["a","b"]`,
		"items[2]['a.b'].c[0:9]": `[[1,2],[3]]`, "['total']": `3`, " items[1].sku ": `"1002"`,
	} {
		v, p := call[Value](t, h, "read_blob_value", At{ID: id, Path: path})
		if p != nil || string(v.Value) != want || v.Cut {
			t.Errorf("%s gives %s, %v, want %s", path, v.Value, p, want)
		}
		if p == nil && !strings.Contains(path, ":") {
			if raw := shop[v.Offset : v.Offset+v.Length]; raw != want {
				t.Errorf("%s lies at %d: %s", path, v.Offset, raw)
			}
		}
	}
	var all, got any
	v, p := call[Value](t, h, "read_blob_value", At{ID: id})
	if p != nil || json.Unmarshal([]byte(shop), &all) != nil || json.Unmarshal(v.Value, &got) != nil || fmt.Sprint(all) != fmt.Sprint(got) || v.Count != 4 {
		t.Errorf("all of it is %s, %v", v.Value, p)
	}
}

func TestAPathThatLeadsNowhereSaysWhatIsThere(t *testing.T) {
	h := skilltest.New(t)
	id := h.PutBlob(abi.BlobInfo{}, []byte(shop))
	for _, tt := range []struct {
		path string
		code abi.Code
		says string
	}{
		{"item", abi.NotFound, "items"}, {"items[0].nmae", abi.NotFound, "name"}, {"zzzzzzzz", abi.NotFound, "total"}, {"items[2].quote", abi.NotFound, `quo"te`},
		{"items[3]", abi.OutOfBounds, "from 0 to 2"}, {"items[3:5]", abi.OutOfBounds, "items has 3 items"}, {"empty[0]", abi.OutOfBounds, "empty"},
		{"items.name", abi.NotFound, "[0]"}, {"total.x", abi.NotFound, "End the path"}, {"items[0][1]", abi.NotFound, "name of a member"}, {"items[0].sku[0:2]", abi.NotFound, "a text"},
		{"items[", abi.BadValue, "items[3].name"}, {"items[-1]", abi.BadValue, "from 0"}, {"items[x]", abi.BadValue, "from 0"}, {"items[2:1]", abi.BadValue, "range"},
		{"items[1:2].name", abi.BadValue, "last step"}, {"a..b", abi.BadValue, "dots"}, {"items[99999999999999999999]", abi.BadValue, "from 0"}, {"a]b", abi.BadValue, "from ']b' on"},
		{strings.Repeat("a.", 100) + "a", abi.BadValue, "too long"}, {"['x", abi.BadValue, "['a.b']"}, {"[]", abi.BadValue, "from 0"},
	} {
		reply := h.Call("read_blob_value", At{ID: id, Path: tt.path})
		p := reply.Problem
		if p == nil {
			t.Errorf("%s gives %s", tt.path, reply.Data)
			continue
		}
		if said := strings.ReplaceAll(p.Message, `"`, `'`) + " " + p.Hint + " " + strings.Join(p.Candidates, " "); p.Code != tt.code || !strings.Contains(said, tt.says) {
			t.Errorf("%s gives %d %q, want %d and %q", tt.path, p.Code, said, tt.code, tt.says)
		}
	}
}

// A value that is too long is shown as far as it fits, and says how to go on.
func TestALongValueIsShownInPart(t *testing.T) {
	h := skilltest.New(t)
	item := `{"sku":"1001","name":"青柠 \"十元\" 三斤","price":89.90}`
	list := `{"items":[` + strings.TrimSuffix(strings.Repeat(item+",", 10_000), ",") + `],"note":"` + strings.Repeat(`青\n\u9752\"😀`, 2000) + `"}`
	id := h.PutBlob(abi.BlobInfo{}, []byte(list))
	v, p := call[Value](t, h, "read_blob_value", At{ID: id, Path: "items"})
	var items []any
	if p != nil || json.Unmarshal(v.Value, &items) != nil || len(items) < 20 || v.Count != 10_000 || !v.Cut || !strings.Contains(v.Hint, "items[0:5]") {
		t.Errorf("a list: %d items, %+v, %v", len(items), v, p)
	}
	v, p = call[Value](t, h, "read_blob_value", At{ID: id, Path: "items[5000:5010]"})
	if p != nil || json.Unmarshal(v.Value, &items) != nil || len(items) != 10 || v.Cut {
		t.Errorf("a range: %d items, %+v, %v", len(items), v, p)
	}
	v, p = call[Value](t, h, "read_blob_value", At{ID: id, Path: "note"})
	var note string
	if p != nil || json.Unmarshal(v.Value, &note) != nil || !strings.HasPrefix(note, "青\n青\"😀青") || !v.Cut || !strings.Contains(v.Hint, "read_blob") {
		t.Errorf("a text: %q, %+v, %v", note, v, p)
	}
	v, p = call[Value](t, h, "read_blob_value", At{ID: id})
	if p != nil || string(v.Value) != "{}" || !slices.Equal(v.Names, []string{"items", "note"}) || v.Count != 2 || v.Length != int64(len(list)) {
		t.Errorf("the whole: %+v, %v", v, p)
	}
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, `,"member %d":%d`, i, i)
	}
	id = h.PutBlob(abi.BlobInfo{}, []byte("{"+b.String()[1:]+"}"))
	v, p = call[Value](t, h, "read_blob_value", At{ID: id})
	if p != nil || v.Count != 2000 || len(v.Names) < 20 || !v.Cut || !json.Valid(v.Value) {
		t.Errorf("many members: %+v, %v", v, p)
	}
	id = h.PutBlob(abi.BlobInfo{}, []byte(strings.Repeat("1", 5000)))
	if v, p = call[Value](t, h, "read_blob_value", At{ID: id}); p != nil || string(v.Value) != "null" || !v.Cut || v.Length != 5000 {
		t.Errorf("a long number: %+v, %v", v, p)
	}
}

// FuzzValue holds what a path leads to against encoding/json: where a document
// is JSON, all of it is given; where it is none, nothing breaks.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{shop, `[]`, `"a\"b"`, `{"a":{"a":[1,{"a":"\ud800"}]}}`, `{"a":`, `[1,]`, `{a:1}`, "\xff", `[[[[[[`, `1 2`, `{"a" 1}`, `nul`, " \n"} {
		f.Add(seed, "a")
		f.Add(seed, "items[0].name")
		f.Add(seed, "[0:2]")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		h := skilltest.New(t)
		id := h.PutBlob(abi.BlobInfo{}, []byte(text))
		for _, p := range []string{"", path} {
			if len(p) > 512 || !utf8.ValidString(p) {
				continue
			}
			reply := h.Call("read_blob_value", At{ID: id, Path: p})
			if reply.Problem == nil {
				if n := utf8.RuneCount(reply.Data); n > inline {
					t.Errorf("%q of %q gives %d characters", p, text, n)
				}
				continue
			}
			if class := reply.Problem.Code.Class(); class != abi.ClassBusiness && class != abi.ClassArguments {
				t.Errorf("%q of %q gives %v", p, text, reply.Problem)
			}
			if p == "" && json.Valid([]byte(text)) {
				t.Errorf("%q is JSON, and it gives %v", text, reply.Problem)
			}
		}
	})
}
