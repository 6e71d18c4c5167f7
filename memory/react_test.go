package memory

import (
	"strings"
	"testing"
)

// outputs gives the outputs that users react to, by their names.
func outputs(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, o := range readLines[struct{ Name, Text string }](t, "outputs.jsonl") {
		all[o.Name] = o.Text
	}
	return all
}

func TestOnlyAClearReactionIsReadAsOne(t *testing.T) {
	shown := outputs(t)
	for _, s := range readLines[struct {
		Words, To, Instead string
		Want               Decision // "" for none
		Missed             bool     // where the rules are known to read nothing
	}](t, "reactions.jsonl") {
		if shown[s.To] == "" {
			t.Fatalf("there is no output %q", s.To)
		}
		action, instead, ok := ReadReaction(s.Words, shown[s.To])
		if s.Missed {
			s.Want = ""
		}
		if ok != (s.Want != "") || ok && (action != s.Want || instead != s.Instead) {
			t.Errorf("%q to %s is read as %s %q, %v; want %s %q", s.Words, s.To, action, instead, ok, s.Want, s.Instead)
		}
	}
}

// What is too long, or comes where nothing is known of what was shown, is not read.
func TestAReactionIsShortAndToSomething(t *testing.T) {
	for words, to := range map[string]string{
		"采纳": "", "采纳 ": " \n", strings.Repeat("好，", maxReactionBytes) + "采纳": "建议定价89元。", "采纳。好。行。可以。": "建议定价89元。", "": "建议定价89元。",
	} {
		if action, _, ok := ReadReaction(words, to); ok {
			t.Errorf("%.20q to %q is read as %s", words, to, action)
		}
	}
}

// FuzzReadReaction: whatever is said, an alternative is in it word for word and comes with
// a modification alone, and a question is nothing.
func FuzzReadReaction(f *testing.F) {
	for _, words := range []string{"好，就这么办", "不，95元", "把价格改成95", "Make it 95, please.", "No, I’d rather 99", "改成改成改成", "89\xff,", "不要89，要95元", "优惠券换成买一送一吧"} {
		f.Add(words, "建议1001定价89元，优惠券发20元。")
		f.Add(words, "You could consider 89. What do you think?")
	}
	f.Fuzz(func(t *testing.T, words, output string) {
		action, instead, ok := ReadReaction(words, output)
		if !ok && (action != "" || instead != "") || ok && (action == Modify) != (instead != "") || !strings.Contains(strings.ReplaceAll(words, "’", "'"), instead) {
			t.Errorf("%q is read as %q %q, %v", words, action, instead, ok)
		}
		if again, _, ok := ReadReaction(words+"?", output); ok {
			t.Errorf("the question %q is read as %q", words+"?", again)
		}
	})
}
