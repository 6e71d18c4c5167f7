package text

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// sorted gives what sort makes of lines.
func sorted(lines []string, args ...string) []string {
	b := &Budget{Steps: 1, Moved: 1 << 30, Held: 1 << 30}
	var out strings.Builder
	e := Env{Name: "sort", In: SourceOf(b, strings.Join(lines, "\n")+"\n"), Out: NewSink(b, func(p []byte) bool { out.Write(p); return true }), Err: Discard(b), Budget: b}
	sortLines(&e, args)
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// Lines that begin alike for long, end soon, or have NULs in them come in the
// order of their bytes, whatever is compared first.
func TestLinesComeInTheOrderOfTheirBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var lines []string
	for range 3000 {
		line := strings.Repeat("same", random.IntN(4))
		for range random.IntN(20) {
			line += string("ab\x00\x01z\xff"[random.IntN(6)])
		}
		lines = append(lines, line)
	}
	for i := range 200 { // each goes on where the one before it ends
		lines = append(lines, strings.Repeat("longer and ", i))
	}
	want := slices.Sorted(slices.Values(lines))
	if got := sorted(lines); !slices.Equal(got, want) {
		t.Error("they are not sorted")
	}
	if got := sorted(lines, "-u"); !slices.Equal(got, slices.Compact(slices.Clone(want))) {
		t.Error("with -u they are not sorted, or not all once")
	}
	if got := sorted(lines, "-t\x02", "-k1,1"); !slices.Equal(got, want) {
		t.Error("by the key they are not sorted")
	}
	slices.Reverse(want)
	if got := sorted(lines, "-r"); !slices.Equal(got, want) {
		t.Error("with -r they are not sorted the other way")
	}
}

// With -s, lines with the same key keep their order, also where the key is
// sorted the other way.
func TestEqualKeysKeepTheirOrder(t *testing.T) {
	lines := []string{"b 1", "a 2", "b 3", "a 4", "b 0"}
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"-s", "-k1,1"}, []string{"a 2", "a 4", "b 1", "b 3", "b 0"}}, {[]string{"-s", "-k1,1r"}, []string{"b 1", "b 3", "b 0", "a 2", "a 4"}},
		{[]string{"-k1,1"}, []string{"a 2", "a 4", "b 0", "b 1", "b 3"}}, {[]string{"-u", "-k1,1"}, []string{"a 2", "b 1"}}, {[]string{"-r", "-k1,1"}, []string{"b 3", "b 1", "b 0", "a 4", "a 2"}},
	} {
		if got := sorted(lines, tt.args...); !slices.Equal(got, tt.want) {
			t.Errorf("%q gives %q, want %q", tt.args, got, tt.want)
		}
	}
}
