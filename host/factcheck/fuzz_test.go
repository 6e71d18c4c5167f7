package factcheck_test

import (
	"testing"
	"unicode/utf8"

	"github.com/sluicehq/sluice/host/factcheck"
)

// FuzzCheck: no answer and nothing that is known makes the check panic, what it
// finds lies inside the answer at characters, and it finds the same again.
func FuzzCheck(f *testing.F) {
	for _, p := range plantedCases(f) {
		result := ""
		if len(p.Calls) > 0 {
			result = p.Calls[0].Result
		}
		f.Add(p.Say, p.User, result)
	}
	for _, odd := range []string{"", "１２３４５", "百万千十点五元", "\xff\xfe元", "$1,2,3,4", "999999999999999999元", "已把改", "I've", "Done", "「」已", "\u200b1\u200b001元", "е́𝟭%", "1.", "九九九九九九九九九九九九九九"} {
		f.Add(odd, odd, odd)
	}
	f.Fuzz(func(t *testing.T, answer, user, result string) {
		known := factcheck.Known{User: user, Said: []string{user}, Tools: shopTools(), Calls: []factcheck.Call{{Tool: "set_price", Args: user, Result: result, OK: true, Now: true}, {Tool: "x", Result: result}}}
		found := factcheck.Check(answer, known)
		if len(found) > factcheck.MaxFindings {
			t.Fatalf("%d findings", len(found))
		}
		for _, one := range found {
			if one.Start < 0 || one.Start > one.End || one.End > len(answer) {
				t.Fatalf("%+v lies outside of %q", one, answer)
			}
			if utf8.ValidString(answer) && !utf8.ValidString(answer[one.Start:one.End]) {
				t.Fatalf("%+v cuts a character of %q", one, answer)
			}
		}
		again := factcheck.Check(answer, known)
		if len(again) != len(found) {
			t.Fatalf("%+v and then %+v", found, again)
		}
		for i := range found {
			if found[i] != again[i] {
				t.Fatalf("%+v and then %+v", found[i], again[i])
			}
		}
	})
}
