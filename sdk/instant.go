package sdk

import (
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/abi/wire"
)

// An Instant is a moment in UTC, to the nanosecond, without what package time
// knows of calendars and zones, which is 0.2 MB of a module. Instants may be
// compared by ==. The zero value is the one of time.Time, 0001-01-01 00:00. As
// JSON it is what a time.Time in UTC is. See package sdk/clock for time.Time.
type Instant struct {
	seconds int64 // since the zero value
	nanos   int32
}

// unixEpoch is 1970-01-01 in seconds since the zero value.
const unixEpoch = 719162 * secondsOfDay

const secondsOfDay = 24 * 60 * 60

// Unix gives the instant so long after 1970-01-01 00:00. Nanoseconds are 0 to
// 999,999,999.
func Unix(seconds int64, nanoseconds int) Instant {
	return Instant{seconds + unixEpoch, int32(nanoseconds)}
}

// ParseInstant reads a text of RFC 3339, such as 2026-01-15T12:00:00+08:00. The
// error is an *InstantError.
func ParseInstant(text string) (Instant, error) {
	i, ok := parseInstant(text)
	if !ok {
		return Instant{}, &InstantError{text}
	}
	return i, nil
}

// Unix gives the seconds since 1970-01-01 00:00.
func (i Instant) Unix() int64 { return i.seconds - unixEpoch }

// Nanosecond gives the nanoseconds of the second.
func (i Instant) Nanosecond() int { return int(i.nanos) }

// IsZero reports whether it is the zero value.
func (i Instant) IsZero() bool { return i == Instant{} }

// Add gives the instant so many seconds later.
func (i Instant) Add(seconds int64) Instant { return Instant{i.seconds + seconds, i.nanos} }

// Before reports whether it is earlier than another.
func (i Instant) Before(other Instant) bool {
	return i.seconds < other.seconds || i.seconds == other.seconds && i.nanos < other.nanos
}

// String gives the text of RFC 3339, such as 2026-01-15T12:00:00.25Z.
func (i Instant) String() string {
	days, second := i.seconds/secondsOfDay, i.seconds%secondsOfDay
	if second < 0 {
		days, second = days-1, second+secondsOfDay
	}
	year, month, day := dateOf(days)
	text := padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2) +
		"T" + padded(second/3600, 2) + ":" + padded(second/60%60, 2) + ":" + padded(second%60, 2)
	if i.nanos != 0 {
		text += "." + strings.TrimRight(padded(int64(i.nanos), 9), "0")
	}
	return text + "Z"
}

func padded(n int64, digits int) string {
	text := strconv.FormatInt(n, 10)
	for len(text) < digits {
		text = "0" + text
	}
	return text
}

// What a text of RFC 3339 can say, in seconds since the zero value: from the
// year 0 to the end of the year 9999.
const firstSecond, lastSecond = -366 * secondsOfDay, 3652059*secondsOfDay - 1

// MarshalJSON writes the text of RFC 3339. A year that has not four digits is
// an error.
func (i Instant) MarshalJSON() ([]byte, error) {
	if i.seconds < firstSecond || i.seconds > lastSecond {
		return nil, &InstantError{i.String()}
	}
	return []byte(`"` + i.String() + `"`), nil
}

// UnmarshalJSON reads what a time.Time reads, and gives it in UTC. The error is
// an *InstantError.
func (i *Instant) UnmarshalJSON(b []byte) error {
	if wire.Valid(b) && readInstant(i, b) {
		return nil
	}
	return &InstantError{strings.Trim(string(b), `"`)}
}

// An InstantError is a text that is no instant.
type InstantError struct{ Value string }

// Error says what would be one.
func (e *InstantError) Error() string {
	return quote(clip(e.Value)) + " is not a time; write one such as 2026-01-15T12:00:00Z"
}

// readInstant reads a JSON value that is Valid.
func readInstant(to *Instant, b []byte) bool {
	switch wire.KindOf(b) {
	case wire.Null:
		return true
	case wire.Text:
		t, ok := parseInstant(string(b[1 : len(b)-1]))
		*to = t
		return ok
	}
	return false
}

// parseInstant reads such as 2026-01-15T12:00:00.5+08:00. Like package time it
// also takes an hour of one digit, a comma for the point, and offsets of 24
// hours and 60 minutes.
func parseInstant(text string) (Instant, bool) {
	c := cursor{rest: text}
	year, month, day := c.digits(4), c.after('-', 2), c.after('-', 2)
	hour, minute, second := c.hour(), c.after(':', 2), c.after(':', 2)
	nanos := c.fraction()
	offset := c.zone()
	if c.bad || c.rest != "" || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return Instant{}, false
	}
	seconds := ((daysBefore(year, month, day)*24+int64(hour))*60+int64(minute))*60 + int64(second)
	return Instant{seconds - offset, int32(nanos)}, true
}
