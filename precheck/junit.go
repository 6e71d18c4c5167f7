package precheck

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// A junitReport is JUnit's XML in the form that the strictest of its readers take (that of
// Ant): a suite for each subject, a case for each rule.
type junitReport struct {
	w      io.Writer
	now    func() time.Time
	began  time.Time
	suites []junitSuite
	found  map[string][]*Finding
	missed map[string]string
}

// A junitSuite has all that is demanded, also where there is nothing to say.
type junitSuite struct {
	XMLName    xml.Name    `xml:"testsuite"`
	Name       string      `xml:"name,attr"`
	Package    string      `xml:"package,attr"`
	ID         int         `xml:"id,attr"`
	Timestamp  string      `xml:"timestamp,attr"` // UTC, without a zone
	Host       string      `xml:"hostname,attr"`
	Tests      int         `xml:"tests,attr"`
	Failures   int         `xml:"failures,attr"`
	Errors     int         `xml:"errors,attr"`
	Skipped    int         `xml:"skipped,attr"`
	Time       string      `xml:"time,attr"` // seconds
	Properties struct{}    `xml:"properties"`
	Cases      []junitCase `xml:"testcase"`
	Out        string      `xml:"system-out"`
	Err        string      `xml:"system-err"`
}

// A junitCase has a failure, or was skipped, or neither.
type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"` // always 0: rules are not timed one by one
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Failure *junitMessage `xml:"failure,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

func (r *junitReport) Tell(m Message) error {
	switch m.Kind {
	case Begin:
		r.found, r.missed, r.began = map[string][]*Finding{}, map[string]string{}, r.now()
	case Found:
		r.found[m.Rule] = append(r.found[m.Rule], m.Finding)
	case Skipped:
		r.missed[m.Rule] = m.Text
	case End:
		r.suites = append(r.suites, r.suite(m))
	}
	return nil
}

// suite makes one of a subject. What fails nothing stands in its output.
func (r *junitReport) suite(m Message) junitSuite {
	s := junitSuite{Name: m.Subject, Package: "precheck", ID: len(r.suites), Host: "localhost",
		Timestamp: r.began.UTC().Format("2006-01-02T15:04:05"), Time: fmt.Sprintf("%.3f", r.now().Sub(r.began).Seconds())}
	if m.Release != "" {
		s.Name = m.Release
	}
	var told []string
	for _, rule := range append(Rules(), ofWaivers()) {
		c := junitCase{Name: rule.ID, Class: "precheck." + s.Name, Time: "0"}
		var failed []string
		for _, f := range r.found[rule.ID] {
			line := strings.TrimLeft(placeOf(f)+": "+sentence(f), ": ")
			if f.Fails() {
				failed = append(failed, line)
			} else {
				told = append(told, fmt.Sprintf("%s (%s): %s", rule.ID, wordOf(f), line))
			}
		}
		if len(failed) > 0 {
			c.Failure = &junitMessage{rule.Title, rule.ID, strings.Join(failed, "\n")}
			s.Failures++
		} else if why := r.missed[rule.ID]; why != "" {
			c.Skipped = &junitMessage{Message: why}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	s.Tests, s.Out = len(s.Cases), strings.Join(told, "\n")
	return s
}

func (r *junitReport) Close() error {
	all := struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []junitSuite
	}{Suites: r.suites}
	if _, err := io.WriteString(r.w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(r.w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(r.w, "\n")
	return err
}
