package embed

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// patternBytes bounds what a step looks for, and what it puts in place.
const patternBytes = 256

// changes adds what a step of normalising does, and those inside of it.
func changes(all []func(string) string, s *step, depth int) ([]func(string) string, error) {
	if s == nil {
		return all, nil
	}
	if depth > depthMax || len(all) >= stepsMax {
		return nil, errors.New("too many steps of normalising")
	}
	if s.Type == "Sequence" {
		var err error
		for i := range s.Normalizers {
			if all, err = changes(all, &s.Normalizers[i], depth+1); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	change, err := s.change()
	return append(all, change), err
}

// change makes what one step does.
func (s *step) change() (func(string) string, error) {
	switch s.Type {
	case "BertNormalizer":
		return s.bert(), nil
	case "Lowercase":
		return strings.ToLower, nil
	case "NFC":
		return norm.NFC.String, nil
	case "NFD":
		return norm.NFD.String, nil
	case "NFKC":
		return norm.NFKC.String, nil
	case "NFKD":
		return norm.NFKD.String, nil
	case "StripAccents":
		return withoutMarks, nil
	case "Strip":
		return s.strip, nil
	case "Prepend":
		return s.prepend, s.bound(s.Prepend)
	case "Replace":
		return s.replace()
	case "Precompiled":
		return precompiled(s.Charsmap)
	}
	return nil, fmt.Errorf("the normalizer %q is not supported", short(s.Type))
}

func (s *step) bound(text string) error {
	if len(text) > patternBytes {
		return fmt.Errorf("%s with %d bytes", s.Type, len(text))
	}
	return nil
}

func (s *step) strip(text string) string {
	if s.StripLeft {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	if s.StripRight {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
	}
	return text
}

func (s *step) prepend(text string) string {
	if text == "" {
		return ""
	}
	return s.Prepend + text
}

// replace makes a step that puts a text in place of another, or of what matches.
func (s *step) replace() (func(string) string, error) {
	from, to := s.Pattern, s.Content
	if err := errors.Join(s.bound(from.String), s.bound(from.Regex), s.bound(to)); err != nil {
		return nil, err
	}
	switch {
	case from.Regex != "":
		// \s means all spaces there, and those of ASCII in Go.
		wide := from.Regex
		if !strings.Contains(wide, "[") {
			wide = strings.ReplaceAll(wide, `\s`, `[\s\x{85}\p{Z}]`)
		}
		r, err := regexp.Compile(wide)
		if err != nil {
			return nil, fmt.Errorf("the pattern %q: %w", short(from.Regex), err)
		}
		return func(text string) string { return r.ReplaceAllLiteralString(text, to) }, nil
	case from.String != "":
		return func(text string) string { return strings.ReplaceAll(text, from.String, to) }, nil
	}
	return nil, errors.New("Replace without a pattern")
}

// bert makes the steps that BERT takes, in its order.
func (s *step) bert() func(string) string {
	accents := s.Lowercase // as the file has it where it says nothing
	if s.StripAccents != nil {
		accents = *s.StripAccents
	}
	return func(text string) string {
		if s.CleanText {
			text = strings.Map(clean, text)
		}
		if s.ChineseChars {
			text = spaceOut(text)
		}
		if accents {
			text = withoutMarks(norm.NFD.String(text))
		}
		if s.Lowercase {
			text = strings.ToLower(text)
		}
		return text
	}
}

// clean drops what nobody sees, and makes one space of all kinds.
func clean(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case r == 0, r == unicode.ReplacementChar, unicode.Is(unicode.C, r):
		return -1
	}
	return r
}

// spaceOut puts spaces around each Chinese character, so that each is a word.
func spaceOut(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		if isChinese(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isChinese goes by the blocks that BERT names.
func isChinese(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4dbf, r >= 0x4e00 && r <= 0x9fff, r >= 0xf900 && r <= 0xfaff:
		return true
	}
	return r >= 0x20000 && r <= 0x2a6df || r >= 0x2a700 && r <= 0x2b81f || r >= 0x2b920 && r <= 0x2ceaf || r >= 0x2f800 && r <= 0x2fa1f
}

// withoutMarks drops marks that take no room of their own.
func withoutMarks(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, text)
}
