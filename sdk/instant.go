package sdk

import (
	"time"

	"github.com/sluicehq/sluice/abi/wire"
)

// readTime reads a time of RFC 3339 as time.Time does, and gives it in UTC.
func readTime(to *time.Time, b []byte) bool {
	switch wire.KindOf(b) {
	case wire.Null:
		return true
	case wire.Text:
		t, ok := parseTime(string(b[1 : len(b)-1]))
		*to = t
		return ok
	}
	return false
}

// parseTime reads such as 2026-01-15T12:00:00.5+08:00.
func parseTime(text string) (time.Time, bool) {
	c := cursor{rest: text}
	year, month, day := c.digits(4), c.after('-', 2), c.after('-', 2)
	hour, minute, second := c.after('T', 2), c.after(':', 2), c.after(':', 2)
	nanos := c.fraction()
	offset := c.zone()
	if c.bad || c.rest != "" || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC)
	return t.Add(-offset), true
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// A cursor reads a text from its start. After something unexpected it is bad.
type cursor struct {
	rest string
	bad  bool
}

func (c *cursor) take() byte {
	if c.rest == "" {
		c.bad = true
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

func (c *cursor) digits(count int) int {
	n := 0
	for range count {
		b := c.take() - '0'
		c.bad = c.bad || b > 9
		n = n*10 + int(b)
	}
	return n
}

// after reads a separator and so many digits.
func (c *cursor) after(separator byte, count int) int {
	c.bad = c.take() != separator || c.bad
	return c.digits(count)
}

// fraction reads a second's fraction, if there is one; of the digits after the
// ninth it takes no notice.
func (c *cursor) fraction() int {
	if c.rest == "" || c.rest[0] != '.' {
		return 0
	}
	c.take()
	nanos, unit := 0, int(time.Second)
	for ok := false; ; ok = true {
		if c.rest == "" || c.rest[0]-'0' > 9 {
			c.bad = c.bad || !ok
			return nanos
		}
		unit /= 10
		nanos += c.digits(1) * unit
	}
}

// zone reads Z or an offset from UTC.
func (c *cursor) zone() time.Duration {
	sign := time.Duration(1)
	switch c.take() {
	case 'Z':
		return 0
	case '-':
		sign = -1
	case '+':
	default:
		c.bad = true
	}
	hours, minutes := c.digits(2), c.after(':', 2)
	c.bad = c.bad || hours > 23 || minutes > 59
	return sign * (time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute)
}
