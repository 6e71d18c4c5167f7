package pattern

import (
	"regexp"
	"strings"
	"testing"
)

func TestPatternsAreWrittenAsGoWritesThem(t *testing.T) {
	for _, tt := range []struct {
		d          Dialect
		text, want string
	}{
		{Basic, `a*b`, `a*b`}, {Basic, `*a`, `\*a`}, {Basic, `^*a`, `^\*a`}, {Basic, `a+?|(){}`, `a\+\?\|\(\)\{\}`}, {Basic, `\(a\|b\)\{2,\}`, `(a|b){2,}`},
		{Basic, `a\+\?`, `(?:a+)?`}, {Basic, `a^b$c`, `a\^b\$c`}, {Basic, `\(^a$\)`, `(^a$)`}, {Basic, `[a\]`, `[a\\]`}, {Basic, `[]a]`, `[\]a]`}, {Basic, `[^]-]`, `[^\]\-]`},
		{Basic, `[[:digit:]x-z]`, `[0-9x-z]`}, {Basic, `青*`, `青*`}, {Basic, `\.\*`, `\.\*`},
		{Extended, `a+?`, `(?:a+)?`}, {Extended, `(ab)**`, `(?:(ab)*)*`}, {Extended, `a{,3}`, `a{0,3}`}, {Extended, `a{x`, `a\{x`}, {Extended, `a)`, `a\)`}, {Extended, `\(a\)`, `\(a\)`},
		{Extended, `+a`, `\+a`}, {Extended, `\<a\>`, `\ba\b`}, {Fixed, `a.*`, `a\.\*`}, {Perl, `\d+?`, `\d+?`}, {Fixed, "a\nb", `(?:a)|(?:b)`},
	} {
		got, err := Source(tt.text, tt.d)
		if err != nil || got != tt.want {
			t.Errorf("%s is %s, %v, want %s", tt.text, got, err, tt.want)
		}
	}
}

func TestWhatAPatternCannotSayIsRefusedWithWhatToWrite(t *testing.T) {
	for text, says := range map[string]string{
		`\(a\)\1`: "back-references", `\(a`: "does not end", `a\)`: "did not begin", `[a`: `\[`, `[[:frob:]]`: "[:alpha:]", `\d`: "[0-9]", `a\`: "backslash", `[[.a.]]`: "collating",
		`a\{2`: "repetition", strings.Repeat("a", maxBytes+1): "the most is",
	} {
		if _, err := Compile(text, Basic, false); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40s gives %v, want %q", text, err, says)
		}
	}
}

func TestGlobsMatchAsAShellMatches(t *testing.T) {
	for _, tt := range []struct {
		glob, text string
		want       bool
	}{
		{"a*", "abc", true}, {"a*", "ba", false}, {"?", "青", true}, {"[!a]", "b", true}, {"[!a]", "a", false}, {"[a-c]x", "bx", true}, {`\*`, "*", true}, {`\*`, "a", false}, {"[", "[", true},
		{"a.c", "abc", false}, {"*", "a\nb", true}, {"[[:digit:]]", "7", true}, {"a]", "a]", true},
	} {
		source, err := Glob(tt.glob, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := regexp.MustCompile(`\A(?:` + source + `)\z`).MatchString(tt.text); got != tt.want {
			t.Errorf("%s matches %q: %v", tt.glob, tt.text, got)
		}
	}
}

// FuzzCompile holds that what is read is always a regular expression of Go's,
// or is refused with words.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{`a*\(b\|c\)\{2\}`, `(a|b)+?{1,2}*`, `[]^-]`, `[^[:alpha:]_-]`, `\<x\>`, `**`, `a{`, `(`, `[`, `青+?`, "\xff", `\`, `^*$`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []Dialect{Basic, Extended, Perl, Fixed} {
			if re, err := Compile(text, d, true); err == nil {
				re.MatchString(text)
			} else if err.Error() == "" {
				t.Errorf("%q is refused without words", text)
			}
		}
		for _, shortest := range []bool{false, true} {
			source, err := Glob(text, shortest)
			if err != nil {
				continue
			}
			if _, err := regexp.Compile(source); err != nil && strings.ToValidUTF8(text, "") == text && !strings.Contains(text, "[") {
				t.Errorf("the glob %q is %q: %v", text, source, err)
			}
		}
	})
}
