package host

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/abi"
)

// An Error is a failure inside the host: what was being done, the problem that
// the model and the user may see, and the cause, which only operators see.
type Error struct {
	Op      string // package and operation, such as "registry.Fetch"
	Problem *abi.Problem
	Cause   error // may be nil
}

// Fail makes an Error. The cause may be nil. A nil problem is that of the
// cause: every Error has one.
func Fail(op string, problem *abi.Problem, cause error) *Error {
	if problem == nil {
		problem = ProblemOf(cause)
	}
	if problem == nil {
		problem = abi.NewProblem(abi.SystemFailure, "the host could not do this")
	}
	return &Error{Op: op, Problem: problem, Cause: cause}
}

// Error is for operators: it tells the cause.
func (e *Error) Error() string {
	text := e.Op + ": " + e.Problem.Error()
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap gives the cause, for errors.Is.
func (e *Error) Unwrap() error { return e.Cause }

// ProblemOf gives what the model and the user may know of an error: its
// problem if it carries one, a deadline or a cancellation by its context
// error, and else a system failure that says nothing of the cause.
func ProblemOf(err error) *abi.Problem {
	var failed *Error
	var problem *abi.Problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return failed.Problem
	case errors.As(err, &problem):
		return problem
	case errors.Is(err, context.DeadlineExceeded):
		return abi.NewProblem(abi.Deadline, "it took too long")
	case errors.Is(err, context.Canceled):
		return abi.NewProblem(abi.Cancelled, "it was stopped")
	}
	return abi.NewProblem(abi.SystemFailure, "the host could not do this")
}
