//go:build !wasip1

package abi

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// A guest writes limits and never reads them; these methods would be in every
// module.

// UnmarshalJSON reads text or a number of bytes.
func (s *Size) UnmarshalJSON(b []byte) error {
	text, err := textOrNumber(b)
	if err != nil {
		return err
	}
	*s, err = ParseSize(text)
	return err
}

// UnmarshalJSON reads text such as "2s".
func (d *Duration) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return errors.New(string(b) + " is not a duration; write one such as 2s or 250ms")
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return errors.New(strconv.Quote(text) + " is not a duration; write one such as 2s or 250ms")
	}
	*d = Duration(v)
	return nil
}

func textOrNumber(b []byte) (string, error) {
	if len(b) == 0 || b[0] != '"' {
		return string(b), nil
	}
	var text string
	err := json.Unmarshal(b, &text)
	return text, err
}
