package text

import (
	"fmt"
	"strconv"
	"strings"
)

// A flag is one that was given.
type flag struct {
	letter byte
	value  string
}

// Flags are what a command was called with.
type flags struct {
	given []flag
	args  []string // the operands
}

// parseFlags reads the flags of a command as GNU's tools do: in any order with
// the operands, letters together, values joined or apart, up to "--". Known
// lists them by words such as "i,ignore-case" and, with a value, "m:,max-count".
func parseFlags(known string, args []string) (f flags, err error) {
	words := strings.Fields(known)
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			f.args = append(f.args, args...)
			return f, nil
		case strings.HasPrefix(arg, "--"):
			args, err = f.long(words, arg[2:], args)
		case len(arg) > 1 && arg[0] == '-':
			args, err = f.letters(words, arg[1:], args)
		default:
			f.args = append(f.args, arg)
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f *flags) letters(words []string, letters string, args []string) ([]string, error) {
	for letters != "" {
		c := letters[0]
		letters = letters[1:]
		word := wordOf(words, func(letter byte, _ string) bool { return letter == c })
		switch {
		case word == "":
			return nil, unknownFlag("-"+string(rune(c)), words)
		case !takesValue(word):
			f.given = append(f.given, flag{letter: c})
		case letters != "":
			f.given = append(f.given, flag{c, letters})
			return args, nil
		case len(args) == 0:
			return nil, fmt.Errorf("-%c needs a value", c)
		default:
			f.given = append(f.given, flag{c, args[0]})
			return args[1:], nil
		}
	}
	return args, nil
}

func (f *flags) long(words []string, text string, args []string) ([]string, error) {
	name, value, joined := strings.Cut(text, "=")
	word := wordOf(words, func(_ byte, long string) bool { return long == name })
	switch {
	case word == "":
		return nil, unknownFlag("--"+name, words)
	case !takesValue(word) && joined:
		return nil, fmt.Errorf("--%s takes no value", name)
	case takesValue(word) && !joined && len(args) == 0:
		return nil, fmt.Errorf("--%s needs a value", name)
	case takesValue(word) && !joined:
		value, args = args[0], args[1:]
	}
	f.given = append(f.given, flag{word[0], value})
	return args, nil
}

func wordOf(words []string, is func(letter byte, long string) bool) string {
	for _, w := range words {
		_, long, _ := strings.Cut(w, ",")
		if is(w[0], long) {
			return w
		}
	}
	return ""
}

func takesValue(word string) bool { return len(word) > 1 && word[1] == ':' }

func unknownFlag(flag string, words []string) error {
	var all []string
	for _, w := range words {
		if 'a' <= w[0] && w[0] <= 'z' || 'A' <= w[0] && w[0] <= 'Z' {
			all = append(all, "-"+w[:1])
			continue
		}
		_, long, _ := strings.Cut(w, ",") // it has no letter
		all = append(all, "--"+long)
	}
	if len(all) == 0 {
		return fmt.Errorf("%s is not known here; it takes no flags", flag)
	}
	return fmt.Errorf("%s is not known here; known are %s", flag, strings.Join(all, " "))
}

func (f *flags) has(letter byte) bool {
	_, ok := f.last(letter)
	return ok
}

// last gives the value of the last such flag, which is the one that counts.
func (f *flags) last(letter byte) (value string, ok bool) {
	for _, g := range f.given {
		if g.letter == letter {
			value, ok = g.value, true
		}
	}
	return value, ok
}

func (f *flags) all(letter byte) (values []string) {
	for _, g := range f.given {
		if g.letter == letter {
			values = append(values, g.value)
		}
	}
	return values
}

// maxCount bounds the numbers that flags have: more lines than fit any blob.
const maxCount = 1 << 40

// count gives the number that a flag has, or another where it is not given.
func (f *flags) count(letter byte, otherwise int) (int, error) {
	text, ok := f.last(letter)
	if !ok {
		return otherwise, nil
	}
	return parseCount(text)
}

func parseCount(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n > maxCount {
		return 0, fmt.Errorf("invalid number %q", text)
	}
	return int(n), nil
}
