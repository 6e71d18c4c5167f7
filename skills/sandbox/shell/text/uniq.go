package text

import (
	"bytes"
	"errors"
	"fmt"
)

// Runs of equal lines: one call of uniq.
type runs struct {
	*Env
	flags
	fields, skip, width int
	last                []byte
	count               int // of the last line; 0 before the first
}

func uniq(e *Env, args []string) int {
	u := runs{Env: e}
	if err := u.begin(args); err != nil {
		return e.fail(1, "%v", err)
	}
	return e.inputs(u.args, func(_ string, in *Source) bool {
		for {
			line, _, ok := in.Line()
			if !ok {
				return u.end()
			}
			if u.count > 0 && u.same(line) {
				u.count++
				continue
			}
			if !u.end() {
				return false
			}
			u.last, u.count = append(u.last[:0], line...), 1
		}
	})
}

func (u *runs) begin(args []string) (err error) {
	u.flags, err = parseFlags("c,count d,repeated u,unique i,ignore-case f:,skip-fields s:,skip-chars w:,check-chars", args)
	if err != nil {
		return err
	}
	var errs [3]error
	u.fields, errs[0] = u.flags.count('f', 0)
	u.skip, errs[1] = u.flags.count('s', 0)
	u.width, errs[2] = u.flags.count('w', maxCount)
	if len(u.args) > 1 {
		errs[0] = errors.New("there is no output file here; what uniq gives goes to the next command")
	}
	return errors.Join(errs[:]...)
}

func (u *runs) same(line []byte) bool {
	a, b := u.compared(u.last), u.compared(line)
	if u.has('i') {
		return compareFolded(a, b) == 0
	}
	return bytes.Equal(a, b)
}

func (u *runs) compared(line []byte) []byte {
	at := 0
	for range u.fields {
		at = skipBlanks(line, at)
		for at < len(line) && !isBlank(line[at]) {
			at++
		}
		if at == len(line) {
			break
		}
	}
	line = line[min(at+u.skip, len(line)):]
	return line[:min(u.width, len(line))]
}

// end writes the run of equal lines that ends here.
func (u *runs) end() bool {
	switch {
	case u.count == 0 || u.has('d') && u.count == 1 || u.has('u') && u.count > 1:
		return true
	case u.has('c'):
		u.Out.Text(fmt.Sprintf("%7d ", u.count))
	}
	return u.Out.line(u.last)
}
