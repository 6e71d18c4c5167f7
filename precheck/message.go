package precheck

// A Kind says what a message tells.
type Kind string

// Kinds of messages.
const (
	Begin   Kind = "begin"   // a subject's check begins
	Found   Kind = "finding" // a rule is not kept
	Skipped Kind = "skipped" // a rule could not be looked at, and why
	Figure  Kind = "figure"  // something was measured
	End     Kind = "end"     // a subject's check ended
)

// A Message is one step of a run. A run's messages come from one goroutine, in
// the order of the rules.
type Message struct {
	Kind    Kind     `json:"kind"`
	Subject string   `json:"subject"`           // as it was asked for
	Release string   `json:"release,omitempty"` // name@version, once it is known
	Rule    string   `json:"rule,omitempty"`
	Finding *Finding `json:"finding,omitempty"`
	Text    string   `json:"text,omitempty"`    // why a rule was skipped; what a figure is of
	Value   string   `json:"value,omitempty"`   // of a figure, with its unit
	Verdict *Verdict `json:"verdict,omitempty"` // at the end
}

// A Finding is one place where a rule is not kept.
type Finding struct {
	Severity Severity `json:"severity"`
	File     string   `json:"file,omitempty"` // as it was given; empty for the module alone
	Line     int      `json:"line,omitempty"` // from 1; 0 where unknown
	Field    string   `json:"field,omitempty"`
	Tool     string   `json:"tool,omitempty"`
	Message  string   `json:"message"`
	Mend     string   `json:"mend"`
	Waived   string   `json:"waived,omitempty"` // the reason; the finding fails nothing
}

// Fails reports whether a release with that finding must not land.
func (f *Finding) Fails() bool { return f.Severity == Failure && f.Waived == "" }

// A Verdict is how the check of a subject ended.
type Verdict struct {
	Failures int `json:"failures"`
	Warnings int `json:"warnings"`
	Waived   int `json:"waived"`
	Skipped  int `json:"skipped"` // rules
}

// Passes reports whether the release may land. What could not be looked at
// passes nothing: there is a failure that says why it could not.
func (v Verdict) Passes() bool { return v.Failures == 0 }

func (v *Verdict) count(m Message) {
	switch {
	case m.Kind == Skipped:
		v.Skipped++
	case m.Kind != Found:
	case m.Finding.Waived != "":
		v.Waived++
	case m.Finding.Severity == Failure:
		v.Failures++
	default:
		v.Warnings++
	}
}
