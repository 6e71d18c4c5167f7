package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

func TestOperatorsReadTheCauseAndOthersDoNot(t *testing.T) {
	cause := errors.New("dial tcp 10.0.0.7:3306: connection refused (password=hunter2)")
	err := Fail("state.Load", abi.NewProblem(abi.StoreFailure, "the session cannot be read").WithHint("try again"), cause)
	if got, want := err.Error(), "state.Load: 5004: the session cannot be read (try again): "+cause.Error(); got != want {
		t.Errorf("got %s", got)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	p := ProblemOf(fmt.Errorf("turn 3: %w", err))
	if p.Code != abi.StoreFailure || strings.Contains(p.Error(), "hunter2") {
		t.Errorf("got %v", p)
	}
	if got := Fail("x.Y", abi.NewProblem(abi.Busy, "busy"), nil).Error(); got != "x.Y: 5005: busy" {
		t.Errorf("got %s", got)
	}
}

func TestEveryErrorHasAProblem(t *testing.T) {
	own := abi.NewProblem(abi.Conflict, "taken")
	for _, tt := range []struct {
		name string
		err  error
		want abi.Code
	}{
		{"one that carries it", Fail("a.B", own, io.EOF), abi.Conflict},
		{"one far inside", fmt.Errorf("x: %w", errors.Join(io.EOF, Fail("a.B", own, nil))), abi.Conflict},
		{"one in another: the outer speaks", Fail("a.B", abi.NewProblem(abi.Busy, "busy"), Fail("c.D", own, nil)), abi.Busy},
		{"a problem itself", fmt.Errorf("x: %w", own), abi.Conflict},
		{"a deadline", fmt.Errorf("x: %w", context.DeadlineExceeded), abi.Deadline},
		{"a deadline that carries a problem", Fail("a.B", own, context.DeadlineExceeded), abi.Conflict},
		{"a cancellation", context.Canceled, abi.Cancelled},
		{"anything else", io.ErrUnexpectedEOF, abi.SystemFailure},
		{"one without a problem", Fail("a.B", nil, io.EOF), abi.SystemFailure},
		{"one without a problem around one with", Fail("a.B", nil, own), abi.Conflict},
		{"one without anything", Fail("a.B", nil, nil), abi.SystemFailure},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := ProblemOf(tt.err)
			if p == nil || p.Code != tt.want || p.Message == "" {
				t.Errorf("got %v, want %d", p, tt.want)
			}
			if tt.err.Error() == "" {
				t.Error("the error says nothing")
			}
		})
	}
	if p := ProblemOf(nil); p != nil {
		t.Errorf("no error has the problem %v", p)
	}
}

func TestAnUnknownErrorTellsNothingOfItsCause(t *testing.T) {
	p := ProblemOf(errors.New("open /var/lib/sluice/secret.db: permission denied"))
	if strings.Contains(p.Error(), "secret") {
		t.Errorf("got %v", p)
	}
}
