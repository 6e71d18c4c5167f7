package main

import (
	"errors"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"mvdan.cc/sh/v3/syntax"
)

// maxScript bounds a script, in bytes; the schema counts characters.
const maxScript = 16 << 10

// maxOpenings bounds what may open a construct, in a text or not: a script of 8
// KiB that needs more is one that nobody reads before it runs.
const maxOpenings = 400

func parse(script string) (*syntax.File, error) {
	if len(script) > maxScript {
		return nil, sdk.BadArgument("script", "the script has %d bytes; the most is %d", len(script), maxScript)
	}
	if opened := openings(script); opened > maxOpenings {
		return nil, sdk.BadArgument("script", "the script opens %d constructs; the most is %d", opened, maxOpenings).
			WithHint("Do it in several smaller scripts.")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	var bad syntax.ParseError
	var other syntax.LangError
	switch {
	case errors.As(err, &bad):
		return nil, syntaxProblem(bad.Pos, bad.Text)
	case errors.As(err, &other):
		return nil, syntaxProblem(other.Pos, "this is known to other shells only")
	case err != nil:
		return nil, sdk.BadArgument("script", "the script cannot be parsed: %v", err)
	}
	return file, nil
}

// openings counts what may open a construct, also where it stands in a text: it
// bounds how deep the parser can come, and how deep the tree can be. The stack of
// a guest is not large.
func openings(script string) int {
	n := operators(script)
	for _, mark := range []string{"(", "{", "`", "[", "|", "&&"} {
		n += strings.Count(script, mark)
	}
	for _, word := range strings.FieldsFunc(script, func(r rune) bool { return strings.ContainsRune(" \t\n;&|(){}`\"'", r) }) {
		switch word {
		case "if", "elif", "while", "until", "for", "case", "!", "time", "coproc", "function", "select":
			n++
		}
	}
	return n
}

// operators counts those of arithmetic, which stand in $((...)), $[...],
// ${x:...} and the like.
func operators(script string) (n int) {
	for i := range len(script) - 1 {
		end := ""
		switch script[i : i+2] {
		case "((":
			end = "))"
		case "$[", "[[":
			end = "]"
		case "${":
			end = "}"
		default:
			continue
		}
		inside, _, _ := strings.Cut(script[i:], end)
		for _, c := range []byte("+-*/%<>=!^?~,") {
			n += strings.Count(inside, string(rune(c)))
		}
	}
	return n
}

func syntaxProblem(at syntax.Pos, text string) error {
	return sdk.BadArgument("script", "%s: %s", place(at), text).
		WithHint("Quote texts with '...' and write a script of simple commands, pipes, &&, ||, ;, if, for and while.")
}

func place(at syntax.Pos) string {
	return sdk.Textf("line %d, column %d", int(at.Line()), int(at.Col()))
}

// literalOf gives the text of a word that stands in the script as it is,
// quoted or not.
func literalOf(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", false
	}
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unquoted(p.Value))
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(doubleQuoted(lit.Value))
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unquoted takes away the backslashes of a text outside of quotes.
func unquoted(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// doubleQuoted takes away the backslashes that mean something between double
// quotes.
func doubleQuoted(text string) string { return escapesOf(text, "$`\"\\\n") }

func escapesOf(text, marks string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte(marks, text[i+1]) >= 0 {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// refused makes the problem of what is not done here.
func refused(at syntax.Pos, hint, format string, args ...any) *abi.Problem {
	return sdk.Refuse(abi.NotAllowed, "%s: "+format, append([]any{place(at)}, args...)...).WithField("script").WithHint("%s", hint)
}
