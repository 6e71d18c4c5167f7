package sdk

// The proleptic Gregorian calendar, in years that begin in March, so that a
// leap day is the last.
const (
	daysOf400Years = 146097
	firstMarch     = 306 // days from March 1 of the year 0 to the zero Instant
)

// daysBefore counts the days from the zero Instant to a date. The year is at
// least 0.
func daysBefore(year, month, day int) int64 {
	if month < 3 {
		year, month = year-1, month+12
	}
	era := year / 400
	if year < 0 {
		era = -1
	}
	inEra := year - era*400
	inYear := (153*(month-3)+2)/5 + day - 1
	return int64(era*daysOf400Years + inEra*365 + inEra/4 - inEra/100 + inYear - firstMarch)
}

// dateOf gives the date so many days after the zero Instant.
func dateOf(days int64) (year, month, day int64) {
	days += firstMarch
	era := days / daysOf400Years
	if days < 0 {
		era = (days - daysOf400Years + 1) / daysOf400Years
	}
	inEra := days - era*daysOf400Years
	year = (inEra - inEra/1460 + inEra/36524 - inEra/146096) / 365
	inYear := inEra - (365*year + year/4 - year/100)
	month = (5*inYear + 2) / 153
	day = inYear - (153*month+2)/5 + 1
	year += era * 400
	if month += 3; month > 12 {
		year, month = year+1, month-12
	}
	return year, month, day
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

// fraction reads a second's fraction, if there is one, in nanoseconds; of the
// digits after the ninth it takes no notice.
func (c *cursor) fraction() int {
	if c.rest == "" || c.rest[0] != '.' && c.rest[0] != ',' {
		return 0
	}
	c.take()
	nanos, unit := 0, 1_000_000_000
	for ok := false; ; ok = true {
		if c.rest == "" || c.rest[0]-'0' > 9 {
			c.bad = c.bad || !ok
			return nanos
		}
		unit /= 10
		nanos += c.digits(1) * unit
	}
}

// zone reads Z or an offset from UTC, and gives it in seconds.
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
