package abi_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

type amount struct {
	Text      string `json:"text"`
	Bytes     int64  `json:"bytes"`
	NS        int64  `json:"ns"`
	Canonical string `json:"canonical"`
	Error     bool   `json:"error"`
}

func TestSizesAreReadAndWritten(t *testing.T) {
	for _, v := range vectors[[]amount](t, "sizes.json") {
		got, err := abi.ParseSize(v.Text)
		if v.Error {
			if err == nil {
				t.Errorf("%q is %d bytes", v.Text, got)
			}
			continue
		}
		if err != nil || int64(got) != v.Bytes || got.String() != v.Canonical {
			t.Errorf("%q is %d (%s), %v, want %d (%s)", v.Text, got, got, err, v.Bytes, v.Canonical)
		}
		raw, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var again abi.Size
		if err := json.Unmarshal(raw, &again); err != nil || again != got {
			t.Errorf("%q as JSON is %s and back %d, %v", v.Text, raw, again, err)
		}
	}
	var s abi.Size
	if err := json.Unmarshal([]byte(`1048576`), &s); err != nil || s != abi.MiB {
		t.Errorf("a number is %d, %v", s, err)
	}
	for _, bad := range []string{`1.5`, `-1`, `true`, `"x"`, `{}`, `1e3`} {
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("%s is %d bytes", bad, s)
		}
	}
}

func TestDurationsAreReadAndWritten(t *testing.T) {
	for _, v := range vectors[[]amount](t, "durations.json") {
		raw, err := json.Marshal(v.Text)
		if err != nil {
			t.Fatal(err)
		}
		var got abi.Duration
		err = json.Unmarshal(raw, &got)
		if v.Error {
			if err == nil {
				t.Errorf("%q is %s", v.Text, got)
			}
			continue
		}
		if err != nil || int64(got) != v.NS || got.String() != v.Canonical {
			t.Errorf("%q is %d (%s), %v, want %d (%s)", v.Text, got, got, err, v.NS, v.Canonical)
		}
		if again, err := json.Marshal(got); err != nil || string(again) != `"`+v.Canonical+`"` {
			t.Errorf("%q is written %s, %v", v.Text, again, err)
		}
	}
	var d abi.Duration
	for _, bad := range []string{`2`, `null`, `true`, `{}`} {
		if err := json.Unmarshal([]byte(bad), &d); err == nil && bad != "null" {
			t.Errorf("%s is %s", bad, d)
		}
	}
}

// FuzzParseSize: what is read is written in one form that reads the same.
func FuzzParseSize(f *testing.F) {
	for _, v := range vectors[[]amount](f, "sizes.json") {
		f.Add(v.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := abi.ParseSize(text)
		if err != nil {
			return
		}
		if s < 0 {
			t.Fatalf("%q is %d bytes", text, s)
		}
		if again, err := abi.ParseSize(s.String()); err != nil || again != s {
			t.Fatalf("%q is %s, which is %d, %v", text, s, again, err)
		}
	})
}

func TestLimitsAreTheOnesInTheVectors(t *testing.T) {
	want := vectors[struct{ Default, Ceiling abi.Limits }](t, "limits.json")
	if abi.DefaultLimits() != want.Default {
		t.Errorf("the defaults are %+v, the vectors say %+v", abi.DefaultLimits(), want.Default)
	}
	if abi.CeilingLimits() != want.Ceiling {
		t.Errorf("the ceilings are %+v, the vectors say %+v", abi.CeilingLimits(), want.Ceiling)
	}
	if over := want.Default.Exceeds(want.Ceiling); over != nil {
		t.Errorf("the defaults exceed the ceilings: %v", over)
	}
}

func TestZeroLimitsAreTheDefaults(t *testing.T) {
	d := abi.DefaultLimits()
	if got := (abi.Limits{}).WithDefaults(d); got != d {
		t.Errorf("got %+v", got)
	}
	own := abi.Limits{Fuel: 1, Memory: 2, Deadline: 3, Input: 4, Output: 5, Logs: 6}
	if got := own.WithDefaults(d); got != own {
		t.Errorf("got %+v", got)
	}
	if got := (abi.Limits{Memory: abi.GiB}).WithDefaults(d); got.Memory != abi.GiB || got.Fuel != d.Fuel || got.Logs != d.Logs {
		t.Errorf("got %+v", got)
	}
}

func TestEveryLimitAboveItsCeilingIsNamed(t *testing.T) {
	c := abi.CeilingLimits()
	if over := c.Exceeds(c); over != nil {
		t.Errorf("the ceilings exceed themselves: %v", over)
	}
	above := abi.Limits{Fuel: c.Fuel + 1, Memory: abi.GiB, Deadline: c.Deadline + abi.Duration(time.Second), Input: c.Input + 1, Output: c.Output + 1, Logs: c.Logs + 1}
	want := []string{
		"fuel: 5000000001 is more than 5000000000", "memory: 1GiB is more than 512MiB", "deadline: 1m1s is more than 1m0s",
		"input: 16777217 is more than 16MiB", "output: 67108865 is more than 64MiB", "logs: 1048577 is more than 1MiB",
	}
	if over := above.Exceeds(c); !slices.Equal(over, want) {
		t.Errorf("got %q, want %q", over, want)
	}
	below := abi.Limits{Fuel: -1, Memory: -2, Deadline: -3, Input: -4, Output: -5, Logs: -6}
	if over := below.Exceeds(c); len(over) != 6 || over[0] != "fuel: -1 is negative" {
		t.Errorf("got %q", over)
	}
}

func TestADurationIsWrittenAsPackageTimeWritesIt(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 999, 1000, 1001, 1500, 999_999, 1_000_000, 1_000_001, 250_000_000, 999_999_999, 1_000_000_000, 1_500_000_000, 59_999_999_999, 60_000_000_000, 61_000_000_001, 3_600_000_000_000, 3_661_500_000_000, 360_000_000_000_000, 1<<63 - 1, -1 << 63} {
		for _, n := range []int64{n, -n, n + 7, n * 3} {
			if got, want := abi.Duration(n).String(), time.Duration(n).String(); got != want {
				t.Errorf("%d: %s, want %s", n, got, want)
			}
		}
	}
}
