package sdk

import (
	"strconv"

	"github.com/sluicehq/sluice/abi"
)

// Refuse says no for a business reason, with a 3xxx code such as
// abi.OutOfBounds or one of the skill's own from abi.SkillRefused on. The
// model reads the message: say what is wrong and, by WithHint and
// WithCandidates, what would do. It is never retried.
func Refuse(code abi.Code, format string, args ...any) *abi.Problem {
	return abi.NewProblem(code, format, args...)
}

// BadArgument says that one argument cannot be used; field is its path, such
// as "price" or "flights[1].date".
func BadArgument(field, format string, args ...any) *abi.Problem {
	return abi.NewProblem(abi.BadValue, format, args...).WithField(field)
}

// Unavailable says that something that the skill needs does not answer now.
// The host tries again with the same key, after RetryAfterMS if that is set.
func Unavailable(format string, args ...any) *abi.Problem {
	return abi.NewProblem(abi.Unavailable, format, args...)
}

// problemOf gives what the host is told about a handler's error. A problem
// with a code that a skill may not give counts as a passing failure of the
// system, in its own words. So does any other error, but its words, which
// nobody wrote for a model, go to the log only.
func problemOf(c Call, err error) *abi.Problem {
	p, ok := asProblem(err)
	switch {
	case !ok:
		log(c, "error: "+err.Error())
	case p == nil:
		log(c, "error: the handler returned a nil *abi.Problem as its error")
	case p.Code.OfSkill():
		return p
	default:
		log(c, "error: "+p.Error())
		return &abi.Problem{Code: abi.SystemFailure, Message: p.Message, Hint: p.Hint, RetryAfterMS: p.RetryAfterMS}
	}
	return abi.NewProblem(abi.SystemFailure, "%s could not do this now", c.invocation.Tool)
}

// asProblem gives the problem that err is or wraps, as errors.As does, of
// which a module would get a good deal more.
func asProblem(err error) (*abi.Problem, bool) {
	for ; err != nil; err = unwrap(err) {
		if p, ok := err.(*abi.Problem); ok {
			return p, true
		}
		if as, ok := err.(interface{ As(any) bool }); ok {
			var p *abi.Problem
			if as.As(&p) {
				return p, true
			}
		}
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			for _, one := range several.Unwrap() {
				if p, ok := asProblem(one); ok {
					return p, true
				}
			}
			return nil, false
		}
	}
	return nil, false
}

func unwrap(err error) error {
	if w, ok := err.(interface{ Unwrap() error }); ok {
		return w.Unwrap()
	}
	return nil
}

func quote(text string) string { return strconv.Quote(text) }
