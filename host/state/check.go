package state

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// maxLease bounds how long a write may keep its key without an end.
const maxLease = 24 * time.Hour

// afterKeys is greater than every valid key: no UTF-8 has this byte.
const afterKeys = "\xff"

// badValue is a mistake of the host's own code or of an id that came from
// outside; repeating does not help.
func badValue(format string, args ...any) error {
	return abi.NewProblem(abi.BadValue, format, args...)
}

// checkID checks an id that must be there.
func checkID(name, id string) error {
	if id == "" {
		return badValue("the %s is empty", name)
	}
	return checkText(name, id, host.MaxIDBytes)
}

func checkText(name, text string, most int) error {
	if len(text) > most {
		return badValue("the %s has %d bytes; at most %d are stored", name, len(text), most)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, isControl) {
		return badValue("the %s is not plain UTF-8 text", name)
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

func checkRef(ref host.SessionRef) error {
	if err := ref.Valid(); err != nil {
		return badValue("%s", err)
	}
	return nil
}

// checkKey says what is wrong with a key of kv or of a session's state.
func checkKey(key string) *abi.Problem {
	if key == "" || len(key) > abi.KeyBytes {
		return abi.NewProblem(abi.BadHostCall, "a key has %d bytes; give 1 to %d", len(key), abi.KeyBytes)
	}
	return checkKeyText(key)
}

func checkKeyText(key string) *abi.Problem {
	if !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		return abi.NewProblem(abi.BadHostCall, "key %q is not UTF-8 text without NUL", key)
	}
	return nil
}

func checkStateKey(key string) error {
	if problem := checkKey(key); problem != nil {
		return badValue("state: %s", problem.Message)
	}
	return nil
}

func checkSize(name string, document json.RawMessage) error {
	if len(document) > MaxDocumentBytes {
		return badValue("the %s has %d bytes; at most %d are stored", name, len(document), MaxDocumentBytes)
	}
	return nil
}

func checkDocument(name string, document json.RawMessage) error {
	if err := checkSize(name, document); err != nil {
		return err
	}
	if !json.Valid(document) {
		return badValue("the %s is not JSON", name)
	}
	return nil
}

// checkSpan checks a time that something lasts.
func checkSpan(name string, span, most time.Duration) error {
	if span <= 0 || span > most {
		return badValue("a %s of %s; give more than 0 and at most %s", name, span, most)
	}
	return nil
}

// pageLimit gives a list's bound: all that a page may have unless less is
// asked for.
func pageLimit(limit int) int {
	if limit <= 0 || limit > MaxPage {
		return MaxPage
	}
	return limit
}

// endOf gives the first text after every key with the prefix. A valid key's
// last byte is never the greatest one.
func endOf(prefix string) string {
	if prefix == "" {
		return afterKeys
	}
	last := len(prefix) - 1
	return prefix[:last] + string([]byte{prefix[last] + 1})
}

// bytesOf gives a value that is written as bytes and not as NULL.
func bytesOf(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
