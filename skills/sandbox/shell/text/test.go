package text

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// test is test and [, whose last operand is ].
func test(e *Env, args []string) int {
	if e.Name == "[" {
		if len(args) == 0 || args[len(args)-1] != "]" {
			return e.fail(2, "there is no ] at the end")
		}
		args = args[:len(args)-1]
	}
	t := tester{args: args}
	if len(args) == 0 {
		return 1
	}
	is, err := t.or(0)
	switch {
	case err == nil && t.at < len(args):
		err = fmt.Errorf("%q is not expected", args[t.at])
		fallthrough
	case err != nil:
		return e.fail(2, "%v", err)
	case is:
		return 0
	}
	return 1
}

// A tester reads an expression of test.
type tester struct {
	args []string
	at   int
}

// maxNesting bounds the parentheses and negations of an expression.
const maxNesting = 50

func (t *tester) next(text string) bool {
	if t.at < len(t.args) && t.args[t.at] == text {
		t.at++
		return true
	}
	return false
}

func (t *tester) or(depth int) (bool, error) {
	is, err := t.and(depth)
	for err == nil && t.next("-o") {
		var also bool
		also, err = t.and(depth)
		is = is || also
	}
	return is, err
}

func (t *tester) and(depth int) (bool, error) {
	is, err := t.one(depth)
	for err == nil && t.next("-a") {
		var also bool
		also, err = t.one(depth)
		is = is && also
	}
	return is, err
}

func (t *tester) one(depth int) (bool, error) {
	left := len(t.args) - t.at
	switch {
	case left == 0 || depth > maxNesting:
		return false, errors.New("something is missing, or it is too deep")
	case left >= 3 && isTest(t.args[t.at+1]):
		t.at += 3
		return Compare(t.args[t.at-2], t.args[t.at-3], t.args[t.at-1])
	case left > 1 && t.next("!"):
		is, err := t.one(depth + 1)
		return !is, err
	case left > 2 && t.next("("):
		is, err := t.or(depth + 1)
		if err == nil && !t.next(")") {
			err = errors.New("there is no )")
		}
		return is, err
	case left > 1 && len(t.args[t.at]) == 2 && t.args[t.at][0] == '-' && t.args[t.at+1] != "-a" && t.args[t.at+1] != "-o":
		t.at += 2
		return Is(t.args[t.at-2], t.args[t.at-1])
	}
	t.at++
	return t.args[t.at-1] != "", nil
}

func isTest(op string) bool {
	return strings.Contains(" = == != < > -eq -ne -lt -le -gt -ge ", " "+op+" ") && op != ""
}

// Is gives what a test of one text says: -n and -z. There are no files to test.
func Is(op, text string) (bool, error) {
	switch op {
	case "-n":
		return text != "", nil
	case "-z":
		return text == "", nil
	}
	return false, fmt.Errorf("%s is not known here: there are no files; known are -n -z = != < > -eq -ne -lt -le -gt -ge ! -a -o", op)
}

// Compare gives what a test of two texts says.
func Compare(op, a, b string) (bool, error) {
	switch op {
	case "=", "==":
		return a == b, nil
	case "!=":
		return a != b, nil
	case "<":
		return a < b, nil
	case ">":
		return a > b, nil
	}
	x, err1 := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
	y, err2 := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	switch {
	case err1 != nil:
		return false, fmt.Errorf("%q is no integer", a)
	case err2 != nil:
		return false, fmt.Errorf("%q is no integer", b)
	}
	switch op {
	case "-eq":
		return x == y, nil
	case "-ne":
		return x != y, nil
	case "-lt":
		return x < y, nil
	case "-le":
		return x <= y, nil
	case "-gt":
		return x > y, nil
	}
	return x >= y, nil // -ge
}
