package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"

	"golang.org/x/text/width"
)

func TestColumnsStandBelowEachOtherInChinese(t *testing.T) {
	for name, flags := range map[string]uint{"left": 0, "right": tabwriter.AlignRight} {
		var out bytes.Buffer
		w := newTable(&out, flags)
		for _, row := range [][3]string{{"编号", "内容", "END"}, {"1", "每次开场讲10分钟", "END"}, {"1001-ＭＡＸ", "ok", "END"}, {"ü 🙂", "", "END"}} {
			fmt.Fprintf(w, "%s\t%s\t%s\t\n", row[0], row[1], row[2])
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		var at []int
		for line := range strings.Lines(out.String()) {
			at = append(at, cells(line[:strings.Index(line, "END")]))
		}
		for _, column := range at {
			if column != at[0] {
				t.Errorf("%s: the last column begins at %v:\n%s", name, at, out.String())
				break
			}
		}
		if strings.Contains(out.String(), filler) || !strings.Contains(out.String(), "每次开场讲10分钟") {
			t.Errorf("%s: %q", name, out.String())
		}
	}
}

func cells(text string) (n int) {
	for _, r := range text {
		n++
		if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
			n++
		}
	}
	return n
}
