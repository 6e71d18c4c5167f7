package window

import (
	"github.com/sluicehq/sluice/abi"
)

// Reserves and shares of a model's window. What is kept free holds the summary
// of a compaction, and after it the answer and the turn that goes on.
const (
	reserveSummary  = 20_000 // tokens, or a quarter of a small window
	reserveDialogue = 13_000 // tokens, or an eighth of a small window
	verbatimPercent = 45     // of the window: older messages than these are compacted
	summaryMost     = 4_000  // tokens of a summary: more would be read by nobody
	summaryShare    = 16     // a summary has at most this part of the window
)

// Bounds of Budget.Window, in tokens.
const (
	DefaultWindow = 128_000    // of the models that are common now
	MinWindow     = 4_000      // less holds no tools and no talk
	MaxWindow     = 10_000_000 // no model has more
)

// A Budget is how much a model takes. All counts are tokens.
type Budget struct {
	Window     int   // question and answer together; 0 means DefaultWindow
	Fixed      int   // of the request without its conversation: RequestTokens of it with no messages
	Summariser int   // window of the model that makes summaries; 0 means Window
	Meter      Meter // how the model's own count differs from the estimate
}

func (b Budget) withDefaults() Budget {
	if b.Window == 0 {
		b.Window = DefaultWindow
	}
	if b.Summariser == 0 {
		b.Summariser = b.Window
	}
	return b
}

func (b Budget) problem() *abi.Problem {
	for _, w := range []int{b.Window, b.Summariser} {
		if w < MinWindow || w > MaxWindow {
			return abi.NewProblem(abi.BadValue, "a window of %d tokens cannot be used; give %d to %d", w, MinWindow, MaxWindow)
		}
	}
	return nil
}

// Threshold gives how many tokens a request may have before its conversation
// is compacted: the window without the reserves. Of 200,000 it is 167,000.
func (b Budget) Threshold() int { return threshold(b.withDefaults().Window) }

func threshold(window int) int {
	return window - min(reserveSummary, window/4) - min(reserveDialogue, window/8)
}

// Verbatim gives how many tokens the conversation itself may have, the summary
// not counted, as long as there are messages that may be compacted.
func (b Budget) Verbatim() int { return b.withDefaults().Window / 100 * verbatimPercent }

// summaryRoom gives the tokens of a summary.
func (b Budget) summaryRoom() int {
	return min(summaryMost, b.Window/summaryShare, b.Summariser/summaryShare)
}
