package text

import (
	"fmt"

	"github.com/sluicehq/sluice/abi"
)

// An Env is what one command runs in: its streams, and how it comes to others.
type Env struct {
	Name     string // of the command, for what it says
	In       *Source
	Out, Err *Sink
	Open     func(name string) (*Source, error) // of a blob; the error is for the command to say
	Budget   *Budget
}

// A Budget bounds what the commands of one script do together. It is for one
// goroutine at a time.
type Budget struct {
	Steps int   // commands and rounds of loops that may still run
	Moved int64 // bytes that may still be written
	Held  int64 // bytes that may still be kept in memory
	fatal error // why the script ends here
}

// Stop ends the script with a problem: every command finds its input at the
// end and its output closed. The first problem stays.
func (b *Budget) Stop(err error) {
	if b.fatal == nil {
		b.fatal = err
	}
}

// Stopped gives why the script ends, or nil.
func (b *Budget) Stopped() error { return b.fatal }

// Step takes a step, and reports whether there was one left.
func (b *Budget) Step() bool {
	if b.Steps--; b.Steps < 0 {
		b.Stop(abi.NewProblem(abi.QuotaReached, "the script ran more commands and rounds of loops than one call may").
			WithHint("Filter with grep, cut, sort and uniq, which take all lines at once, in place of a loop over lines."))
	}
	return b.fatal == nil
}

// Hold takes memory for as long as a command needs it, and reports whether
// there was as much left.
func (b *Budget) Hold(bytes int) bool {
	if b.Held -= int64(bytes); b.Held < 0 {
		b.Stop(abi.NewProblem(abi.OutOfMemory, "the script keeps more in memory than one call may: sort, tac, tail, $(...) and very long lines keep all that they are given").
			WithHint("Make it less first, with grep, cut or head. JSON in one long line is for query_json of sandbox.jq."))
	}
	return b.fatal == nil
}

// fail says something on standard error and gives the status.
func (e *Env) fail(status int, format string, args ...any) int {
	e.Err.Text(e.Name + ": " + fmt.Sprintf(format, args...) + "\n")
	return status
}

// hold takes memory until the command ends.
func (e *Env) hold(bytes int) bool { return e.Budget.Hold(bytes) }

// inputs runs do over the operands, or over standard input where there is
// none, "-" being that. It gives 1 where one could not be opened.
func (e *Env) inputs(names []string, do func(name string, in *Source) bool) (status int) {
	if len(names) == 0 {
		do("-", e.In)
		return 0
	}
	for _, name := range names {
		in, err := e.open(name)
		if err != nil {
			status = e.fail(1, "%s: %v", name, err)
			continue
		}
		if !do(name, in) || e.Budget.Stopped() != nil {
			break
		}
	}
	return status
}

func (e *Env) open(name string) (*Source, error) {
	if name == "-" || name == "/dev/stdin" {
		return e.In, nil
	}
	return e.Open(name)
}
