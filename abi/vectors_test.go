package abi_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// vectors reads one file of testdata.
func vectors[T any](tb testing.TB, name string) T {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var v T
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return v
}

// sameValue reports whether two JSON texts have the same value.
func sameValue(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	for _, p := range []struct {
		raw []byte
		to  *any
	}{{a, &x}, {b, &y}} {
		d := json.NewDecoder(bytes.NewReader(p.raw))
		d.UseNumber()
		if err := d.Decode(p.to); err != nil {
			t.Fatalf("%s: %v", p.raw, err)
		}
	}
	return reflect.DeepEqual(x, y)
}

// readAndWrite reads raw as a T, refusing unknown fields, and writes it again.
func readAndWrite[T any](t *testing.T, raw []byte) (T, []byte) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var v T
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	again, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return v, again
}

type envelope struct {
	Name string          `json:"name"`
	JSON json.RawMessage `json:"json"`
	Text string          `json:"text"`
}

func TestInvocationsReadAndWrittenAreTheSame(t *testing.T) {
	for _, v := range vectors[[]envelope](t, "invocations.json") {
		in, again := readAndWrite[abi.Invocation](t, v.JSON)
		if !sameValue(t, v.JSON, again) {
			t.Errorf("%s: became %s", v.Name, again)
		}
		if in.ABI != abi.Version || in.Tool == "" || in.Call.ID == "" || in.Call.Attempt < 1 || in.Call.Now.Location() != time.UTC {
			t.Errorf("%s: read as %+v", v.Name, in)
		}
	}
}

func TestOccasionsReadAndWrittenAreTheSame(t *testing.T) {
	for _, v := range vectors[[]envelope](t, "occasions.json") {
		o, again := readAndWrite[abi.Occasion](t, v.JSON)
		if !sameValue(t, v.JSON, again) {
			t.Errorf("%s: became %s", v.Name, again)
		}
		if o.ABI != abi.Version || o.Session.Tenant == "" || o.Now.Location() != time.UTC || (o.Call == nil) == (o.Answer == nil) {
			t.Errorf("%s: read as %+v", v.Name, o)
		}
	}
}

func TestProblemsReadAndWrittenAreTheSame(t *testing.T) {
	for _, v := range vectors[[]envelope](t, "problems.json") {
		p, again := readAndWrite[abi.Problem](t, v.JSON)
		if !sameValue(t, v.JSON, again) {
			t.Errorf("%s: became %s", v.Name, again)
		}
		if got := p.Error(); got != v.Text {
			t.Errorf("%s: reads %q, want %q", v.Name, got, v.Text)
		}
	}
}

func TestProblemsAreBuiltStepByStep(t *testing.T) {
	p := abi.NewProblem(abi.OutOfBounds, "price must be at least %g", 0.01).WithField("price").WithHint("choose %d", 1).WithCandidates("1", "2")
	want := &abi.Problem{Code: abi.OutOfBounds, Message: "price must be at least 0.01", Field: "price", Hint: "choose 1", Candidates: []string{"1", "2"}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got %+v", p)
	}
}

func TestRepliesMeanDataOrAProblemOrAreBroken(t *testing.T) {
	for _, v := range vectors[[]struct{ Name, Raw, Means string }](t, "replies.json") {
		if got := meaning([]byte(v.Raw)); got != v.Means {
			t.Errorf("%s: means %s, want %s", v.Name, got, v.Means)
		}
	}
}

// meaning reads an envelope as the contract says.
func meaning(raw []byte) string {
	var r abi.Reply
	switch err := json.Unmarshal(raw, &r); {
	case err != nil:
		return "broken"
	case r.OK && r.Problem == nil: // without data they are null
		return "data"
	case !r.OK && r.Problem != nil:
		return "problem"
	}
	return "broken"
}

type pageVector struct {
	Name    string `json:"name"`
	Hex     string `json:"hex"`
	Entries []struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"entries"`
	After string `json:"after"`
	Error bool   `json:"error"`
}

func (v pageVector) page(t *testing.T) abi.Page {
	t.Helper()
	p := abi.Page{Entries: []abi.Entry{}, After: string(unhex(t, v.After))}
	for _, e := range v.Entries {
		p.Entries = append(p.Entries, abi.Entry{Key: string(unhex(t, e.Key)), Value: unhex(t, e.Value)})
	}
	return p
}

func unhex(tb testing.TB, text string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestPagesDecodeAndEncodeToTheSameBytes(t *testing.T) {
	for _, v := range vectors[[]pageVector](t, "pages.json") {
		raw := unhex(t, v.Hex)
		got, err := abi.DecodePage(raw)
		if v.Error {
			if err == nil {
				t.Errorf("%s: decoded to %+v", v.Name, got)
			}
			continue
		}
		want := v.page(t)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", v.Name, got, err, want)
		}
		if again := want.Encode(); !bytes.Equal(again, raw) {
			t.Errorf("%s: encodes to %x, want %x", v.Name, again, raw)
		}
	}
}

func TestPagesWithKeysOnlyHaveEmptyValues(t *testing.T) {
	p := abi.Page{Entries: []abi.Entry{{Key: "a"}, {Key: "b"}}, After: "b"}
	got, err := abi.DecodePage(p.Encode())
	if err != nil || len(got.Entries) != 2 || got.Entries[0].Key != "a" || len(got.Entries[0].Value) != 0 || got.After != "b" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestValuesOfAPageCannotGrowIntoEachOther(t *testing.T) {
	raw := abi.Page{Entries: []abi.Entry{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("2")}}}.Encode()
	p, err := abi.DecodePage(raw)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(p.Entries[0].Value, "xxxxxxxx"...)
	if again, err := abi.DecodePage(raw); err != nil || string(again.Entries[1].Value) != "2" {
		t.Errorf("got %+v, %v", again, err)
	}
}

// FuzzDecodePage feeds arbitrary bytes: what decodes encodes to the same bytes.
func FuzzDecodePage(f *testing.F) {
	for _, v := range vectors[[]pageVector](f, "pages.json") {
		f.Add(unhex(f, v.Hex))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := abi.DecodePage(raw)
		if err != nil {
			return
		}
		if again := p.Encode(); !bytes.Equal(again, raw) {
			t.Fatalf("%x encodes to %x", raw, again)
		}
	})
}

func TestManifestsAsJSONReadAndWrittenAreTheSame(t *testing.T) {
	files, err := filepath.Glob("testdata/manifests/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := file[:len(file)-len(".yaml")] + ".json"
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, again := readAndWrite[abi.Manifest](t, raw); !sameValue(t, raw, again) {
			t.Errorf("%s became %s", name, again)
		}
	}
}
