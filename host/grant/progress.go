package grant

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
)

// progress serves sluice_progress. What becomes of a report does not show in
// the call: it gets nothing back, always.
func progress(report func(abi.ProgressReport)) sandbox.Function {
	return sandbox.Function{Name: abi.FuncProgress, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
		p, problem := decode[abi.ProgressReport](abi.FuncProgress, args[0])
		if problem == nil {
			problem = p.Check()
		}
		if problem != nil || report == nil {
			return nil, problem
		}
		p.Say = oneLine(p.Say)
		report(p)
		return nil, nil
	}}
}

// oneLine makes text that a guest wrote fit one line of a terminal and of a
// page, with nothing in it that either would obey.
func oneLine(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�")))
	if utf8.RuneCountInString(text) <= abi.ProgressRunes {
		return text
	}
	return string([]rune(text)[:abi.ProgressRunes-1]) + "…"
}
