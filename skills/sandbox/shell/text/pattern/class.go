package pattern

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// escape writes what follows a backslash.
func (t *translator) escape() error {
	if t.at+1 == len(t.text) {
		return fmt.Errorf("%q ends with a backslash", t.text)
	}
	c := t.text[t.at+1]
	switch {
	case !t.extended && strings.IndexByte("(|)+?{", c) >= 0:
		return t.operator(c, 2)
	case '1' <= c && c <= '9':
		return errBackReference
	case strings.IndexByte("wWsSbB<>`'nt", c) >= 0:
		t.named(c)
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '0':
		return fmt.Errorf(`\%c is not known in %q; write a class such as [0-9] or [[:space:]], or use grep -P`, c, t.text)
	default:
		t.literal(2)
	}
	return nil
}

func (t *translator) named(c byte) {
	if as, is := map[byte]string{'b': `\b`, 'B': `\B`, '<': `\b`, '>': `\b`, '`': `\A`, '\'': `\z`}[c]; is {
		t.out = append(t.out, as...)
		t.at += 2
		return
	}
	t.atom(map[byte]string{'w': `[\p{L}\p{M}\p{N}_]`, 'W': `[^\p{L}\p{M}\p{N}_]`, 's': `[\s\v]`, 'S': `[^\s\v]`, 'n': `\n`, 't': `\t`}[c], 2)
}

// Classes of POSIX as Go has them, in Unicode.
func namedClass(name string) (string, bool) {
	as, ok := map[string]string{
		"alpha": `\p{L}\p{M}`, "digit": `0-9`, "alnum": `\p{L}\p{M}\p{N}`, "upper": `\p{Lu}`, "lower": `\p{Ll}`, "space": `\s\v`, "blank": ` \t`,
		"punct": `!-/:-@\[-` + "`" + `{-~\p{P}\p{S}`, "xdigit": `0-9A-Fa-f`, "cntrl": `\x00-\x1f\x7f`, "print": ` \pL\pM\pN\pP\pS\pZ`, "graph": `\pL\pM\pN\pP\pS`,
	}[name]
	return as, ok
}

// class writes a bracket expression. In it a backslash is a character.
func (t *translator) class() error {
	rest := t.text[t.at+1:]
	out := "["
	if strings.HasPrefix(rest, "^") {
		out, rest = "[^", rest[1:]
	}
	for first := true; ; first = false {
		switch {
		case rest == "":
			return fmt.Errorf("%q has a [ that does not end; write \\[ for the character", t.text)
		case rest[0] == ']' && !first:
			t.atom(out+"]", len(t.text)-t.at-len(rest)+1)
			return nil
		case strings.HasPrefix(rest, "[:"):
			name, after, ok := strings.Cut(rest[2:], ":]")
			as, known := namedClass(name)
			if !ok || !known {
				return fmt.Errorf("%q has an unknown class; known are [:alpha:], [:digit:], [:alnum:], [:upper:], [:lower:], [:space:], [:blank:], [:punct:], [:xdigit:]", t.text)
			}
			out, rest = out+as, after
		case strings.HasPrefix(rest, "[.") || strings.HasPrefix(rest, "[="):
			return fmt.Errorf("%q has a collating element, which is not known here", t.text)
		default:
			member, after := classMember(rest)
			out, rest = out+member, after
		}
	}
}

// classMember writes a character or a range.
func classMember(rest string) (as, after string) {
	_, n := utf8.DecodeRuneInString(rest)
	as, after = quoteMember(rest[:n]), rest[n:]
	if len(after) > 1 && after[0] == '-' && after[1] != ']' {
		_, n = utf8.DecodeRuneInString(after[1:])
		as, after = as+"-"+quoteMember(after[1:1+n]), after[1+n:]
	}
	return as, after
}

func quoteMember(c string) string {
	if strings.Contains(`\]^-[`, c) {
		return `\` + c
	}
	return c
}

// Glob gives the regular expression of a pattern of the shell, anchored at
// neither end: * is any text, ? a character, [...] one of a class, and a
// backslash takes the meaning from what follows. Shortest gives * the least.
func Glob(text string, shortest bool) (string, error) {
	if len(text) > maxBytes {
		return "", fmt.Errorf("the pattern has %d bytes; the most is %d", len(text), maxBytes)
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		_, n := utf8.DecodeRuneInString(text[i:])
		switch c := text[i]; {
		case c == '*' && shortest:
			out.WriteString("(?s:.*?)")
		case c == '*':
			out.WriteString("(?s:.*)")
		case c == '?':
			out.WriteString("(?s:.)")
		case c == '\\' && i+1 < len(text):
			i++
			_, n = utf8.DecodeRuneInString(text[i:])
			out.WriteString(regexp.QuoteMeta(text[i : i+n]))
		case c == '[':
			t := translator{text: text, at: i, extended: true}
			if strings.HasPrefix(text[i:], "[!") {
				t.text = text[:i] + "[^" + text[i+2:]
			}
			if t.class() != nil {
				out.WriteString(`\[`)
				break
			}
			out.Write(t.out)
			n = t.at - i
		default:
			out.WriteString(regexp.QuoteMeta(text[i : i+n]))
		}
		i += n
	}
	return out.String(), nil
}
