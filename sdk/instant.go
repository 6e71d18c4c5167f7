package sdk

import (
	"time"

	"github.com/sluicehq/sluice/abi/wire"
)

// An instant is a time.Time. The zero value is none.
type instant struct {
	seconds int64 // since 1970
	nanos   int
	set     bool
}

func (i instant) time() time.Time {
	if !i.set {
		return time.Time{}
	}
	return time.Unix(i.seconds, int64(i.nanos)).UTC()
}

// readTime reads a time of RFC 3339 as time.Time does, and gives it in UTC.
func readTime(to *instant, b []byte) bool {
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

// parseTime reads such as 2026-01-15T12:00:00.5+08:00. Like package time it
// also takes an hour of one digit, a comma for the point, and offsets of 24
// hours and 60 minutes.
func parseTime(text string) (instant, bool) {
	c := cursor{rest: text}
	year, month, day := c.digits(4), c.after('-', 2), c.after('-', 2)
	hour, minute, second := c.hour(), c.after(':', 2), c.after(':', 2)
	nanos := c.fraction()
	offset := c.zone()
	if c.bad || c.rest != "" || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return instant{}, false
	}
	seconds := ((daysSince1970(year, month, day)*24+int64(hour))*60+int64(minute))*60 + int64(second)
	return instant{seconds - offset, nanos, true}, true
}

// daysSince1970 counts the days of the proleptic Gregorian calendar, in years
// that begin in March, so that a leap day is the last. Package time would do,
// with all that it knows of time zones.
func daysSince1970(year, month, day int) int64 {
	const before = 719468 // days from March 1 of the year 0
	if month < 3 {
		year, month = year-1, month+12
	}
	era := year / 400 // the year is at least -1
	if year < 0 {
		era = -1
	}
	inEra := year - era*400
	inYear := (153*(month-3)+2)/5 + day - 1
	return int64(era*146097 + inEra*365 + inEra/4 - inEra/100 + inYear - before)
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

func (c *cursor) hour() int {
	if len(c.rest) > 2 && c.rest[2] == ':' {
		return c.after('T', 1)
	}
	return c.after('T', 2)
}

// fraction reads a second's fraction, if there is one; of the digits after the
// ninth it takes no notice.
func (c *cursor) fraction() int {
	if c.rest == "" || c.rest[0] != '.' && c.rest[0] != ',' {
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
// It gives the offset in seconds.
func (c *cursor) zone() int64 {
	sign := int64(1)
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
	c.bad = c.bad || hours > 24 || minutes > 60
	return sign * int64(hours*60+minutes) * 60
}
