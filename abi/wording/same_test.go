package wording

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

type point struct {
	X, Y int
	Name string
	any  any
}

type label string

func (l label) String() string { return "<" + string(l) + ">" }

type failing struct{}

func (failing) Error() string { panic("at last") }

type byPointer struct{ n int }

func (b *byPointer) String() string { return fmt.Sprint("n=", b.n) }

// arguments are of every kind that messages are about.
func arguments() []any {
	return []any{
		nil, true, false, 0, 1, -1, 42, int8(-128), uint8(200), int64(math.MinInt64), uint64(math.MaxUint64), rune('杯'), 0x10ffff, 0x110000,
		0.0, 1.0, -1.5, 89.9, 1e6, 1e21, 1e-7, float32(0.1), math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1),
		"", "abc", "保温杯", "a\"b`\n", "\xff", []byte("bytes"), []byte(nil), [2]byte{1, 2}, errors.New("failed"), label("l"), 90 * time.Second, time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC),
		[]string{"a", "b"}, []int{1, 2}, []int(nil), []any{1, "a", nil}, map[string]int{"b": 2, "a": 1}, map[int]string{10: "x", 9: "y"}, map[bool]int{true: 1, false: 0}, map[label]float64{"z": 1.5},
		point{1, 2, "p", 3}, &point{1, 2, "p", nil}, []point{{Name: "q"}}, struct{}{}, struct{ L label }{"in"}, []label{"x"}, (*point)(nil), (*byPointer)(nil), &byPointer{3}, failing{}, []error{errors.New("e"), nil}, (error)(nil), struct{ E error }{}, &[]int{1}, &map[string]int{"a": 1},
	}
}

func TestItFillsInAsFmtDoes(t *testing.T) {
	for _, flags := range []string{"", "+", "-", " ", "0", "#", "+0", "-0", "# "} {
		for _, size := range []string{"", "8", "3", ".2", "8.3", ".0", "08", "."} {
			for _, letter := range "vdsqxXtcTbeEfFgGoOUz!" {
				if letter == 'v' && strings.Contains(flags, "#") {
					continue // Go syntax
				}
				format := "a %" + flags + size + string(letter) + " b"
				for _, arg := range arguments() {
					if strings.Contains(flags, "#") && isFloat(arg) {
						continue
					}
					same(t, format, arg)
				}
			}
		}
	}
}

func isFloat(arg any) bool {
	switch arg.(type) {
	case float64, float32, map[label]float64:
		return true
	}
	return false
}

func TestItFillsInFormatsThatAreWrongAsFmtDoes(t *testing.T) {
	for _, tt := range []struct {
		format string
		args   []any
	}{
		{"", nil}, {"plain", nil}, {"%", nil}, {"%%", nil}, {"100%", []any{1}}, {"%d", nil}, {"%d %d", []any{1}}, {"%d", []any{1, 2, "x", nil}}, {"%!", []any{1}}, {"%5", []any{1}}, {"%.", []any{1}},
		{"%*d|", []any{5, 42}}, {"%-*d|", []any{5, 42}}, {"%*d|", []any{-5, 42}}, {"%*d|", []any{-1, 42}}, {"%0*d|", []any{-5, 42}}, {"%*d", []any{"x", 42}}, {"%*d", nil}, {"%.*q", []any{2, "保温杯"}}, {"%.*s", []any{80, "short"}}, {"%.*s", []any{-1, "short"}}, {"%.*s", []any{uint8(2), "short"}}, {"%.*d", []any{"x", 4}}, {"%*.*f|", []any{8, 2, 1.005}},
		{"%[2]s %[1]s", []any{"a", "b"}}, {"%[2]d", []any{1}}, {"%[x]d", []any{1}}, {"%[1]*d|", []any{4}}, {"%[1]d %d", []any{1, 2}}, {"%[", []any{1}}, {"%[1", []any{1}}, {"%[0]d", []any{1}}, {"%[2]*[1]d|", []any{1, 4}}, {"%.[2]*[1]f|", []any{1.5, 3}},
		{"%9999999d", []any{1}}, {"%.9999999d", []any{1}}, {"%z", []any{1}}, {"%é", []any{1}}, {"\xff%d", []any{1}}, {"%s", []any{nil}}, {"%d%%", []any{30}}, {"价格 %.2f 元", []any{89.0}}, {"%-5d|%5s|%-5s|", []any{1, "a", "b"}}, {"%v", []any{[]any{point{}, &point{}}[:1]}},
	} {
		same(t, tt.format, tt.args...)
	}
}

func same(t *testing.T, format string, args ...any) {
	t.Helper()
	if got, want := formatted(format, args), fmt.Sprintf(format, args...); got != want {
		t.Errorf("%q of %T %+v: %q, want %q", format, args, args, got, want)
	}
}

func TestAHostFillsInByFmt(t *testing.T) {
	if got := Sprintf("%#v", point{}); got != fmt.Sprintf("%#v", point{}) {
		t.Errorf("%s", got)
	}
}

func FuzzItFillsInAsFmtDoes(f *testing.F) {
	f.Add("%d %s", 3)
	f.Add("%-08.3q|%[1]v", 20)
	f.Add("%+v %*d", 50)
	f.Fuzz(func(t *testing.T, format string, which int) {
		if strings.ContainsAny(format, "#pw") || strings.Contains(format, "*[") || strings.Contains(format, "]") {
			return // what the package says it leaves out
		}
		args := arguments()
		same(t, format, args[uint(which)%uint(len(args))], 2)
	})
}
