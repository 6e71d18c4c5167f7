package precheck

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Report writes a run's messages in one form. Its methods are called from one
// goroutine; Close writes what the form has at its end, and does not close the
// writer.
type Report interface {
	Tell(Message) error
	Close() error
}

// Formats are the names of all reports.
func Formats() []string { return []string{"text", "json", "sarif", "junit", "gitlab"} }

// NewReport makes the report of a format for a writer.
func NewReport(format string, w io.Writer) (Report, error) {
	switch format {
	case "text":
		return &textReport{w: w}, nil
	case "json":
		return jsonReport{json.NewEncoder(w)}, nil
	case "sarif":
		return &sarifReport{w: w}, nil
	case "junit":
		return &junitReport{w: w, now: time.Now}, nil
	case "gitlab":
		return &gitlabReport{w: w, issues: []gitlabIssue{}}, nil
	}
	return nil, fmt.Errorf("there is no format %q; there are %s", format, strings.Join(Formats(), ", "))
}

// A textReport is for people.
type textReport struct {
	w       io.Writer
	figures []Message
	err     error
}

func (r *textReport) printf(format string, args ...any) {
	if r.err == nil {
		_, r.err = fmt.Fprintf(r.w, format, args...)
	}
}

func (r *textReport) Tell(m Message) error {
	switch m.Kind {
	case Begin:
		r.printf("%s\n", m.Subject)
		r.figures = nil
	case Found:
		r.finding(m)
	case Skipped:
		r.printf("  skipped  %s: %s\n", m.Rule, m.Text)
	case Figure:
		r.figures = append(r.figures, m)
	case End:
		r.end(m)
	}
	return r.err
}

func (r *textReport) finding(m Message) {
	f := m.Finding
	r.printf("  %-8s %s: %s\n", wordOf(f), m.Rule, f.Message)
	if where := placeOf(f); where != "" {
		r.printf("           at %s\n", where)
	}
	if f.Waived != "" {
		r.printf("           waived: %s\n", f.Waived)
	} else if f.Mend != "" {
		r.printf("           mend: %s\n", f.Mend)
	}
}

// wordOf says what a finding means for the run.
func wordOf(f *Finding) string {
	if f.Waived != "" {
		return "waived"
	}
	return string(f.Severity)
}

func placeOf(f *Finding) string {
	where := f.File
	if where != "" && f.Line > 0 {
		where += fmt.Sprintf(":%d", f.Line)
	}
	return strings.Trim(where+" "+f.Field, " ")
}

func (r *textReport) end(m Message) {
	for _, f := range r.figures {
		r.printf("  %-8s %s\n", f.Text, f.Value)
	}
	name := m.Release
	if name == "" {
		name = m.Subject
	}
	word := "passes"
	if !m.Verdict.Passes() {
		word = "FAILS"
	}
	r.printf("%s %s: %d failures, %d warnings", name, word, m.Verdict.Failures, m.Verdict.Warnings)
	for _, part := range []struct {
		n    int
		what string
	}{{m.Verdict.Waived, "waived"}, {m.Verdict.Skipped, "rules skipped"}} {
		if part.n > 0 {
			r.printf(", %d %s", part.n, part.what)
		}
	}
	r.printf("\n")
}

func (r *textReport) Close() error { return r.err }

// A jsonReport is one message a line.
type jsonReport struct{ *json.Encoder }

func (r jsonReport) Tell(m Message) error { return r.Encode(m) }
func (r jsonReport) Close() error         { return nil }

// A gitlabReport is GitLab's code quality report.
type gitlabReport struct {
	w      io.Writer
	issues []gitlabIssue
}

type gitlabIssue struct {
	Description string         `json:"description"`
	CheckName   string         `json:"check_name"`
	Fingerprint string         `json:"fingerprint"`
	Severity    string         `json:"severity"`
	Location    gitlabLocation `json:"location"`
}

type gitlabLocation struct {
	Path  string `json:"path"`
	Lines struct {
		Begin int `json:"begin"`
	} `json:"lines"`
}

func (r *gitlabReport) Tell(m Message) error {
	if m.Kind != Found || m.Finding.Waived != "" {
		return nil
	}
	f := m.Finding
	issue := gitlabIssue{Description: sentence(f), CheckName: m.Rule, Severity: "minor", Fingerprint: fingerprint(m), Location: gitlabLocation{Path: fileOf(m)}}
	issue.Location.Lines.Begin = max(f.Line, 1)
	if f.Severity == Failure {
		issue.Severity = "critical"
	}
	r.issues = append(r.issues, issue)
	return nil
}

func (r *gitlabReport) Close() error { return json.NewEncoder(r.w).Encode(r.issues) }

// sentence is a finding where a report has one text for it.
func sentence(f *Finding) string {
	if f.Mend == "" {
		return f.Message
	}
	return f.Message + ". To mend: " + f.Mend
}

// fileOf gives the file of a finding, or what was judged, by its path from here, with
// slashes: what shows findings beside the source knows no other. One that is not below is
// left as it was given.
func fileOf(m Message) string {
	file := m.Finding.File
	if file == "" {
		file = m.Subject
	}
	if here, err := os.Getwd(); err == nil && filepath.IsAbs(file) {
		if below, err := filepath.Rel(here, file); err == nil && filepath.IsLocal(below) {
			file = below
		}
	}
	return filepath.ToSlash(filepath.Clean(file))
}

// rulesInUse lists the rules by id, for reports that explain them.
func rulesInUse() []Rule {
	all := append(Rules(), ofWaivers())
	slices.SortFunc(all, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return all
}
