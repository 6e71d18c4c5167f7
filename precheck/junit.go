package precheck

import (
	"encoding/xml"
	"io"
	"strings"
)

// A junitReport is JUnit's XML: a suite for each subject, a case for each rule.
type junitReport struct {
	w      io.Writer
	suites []junitSuite
	found  map[string][]*Finding
	missed map[string]string
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (r *junitReport) Tell(m Message) error {
	switch m.Kind {
	case Begin:
		r.found, r.missed = map[string][]*Finding{}, map[string]string{}
	case Found:
		r.found[m.Rule] = append(r.found[m.Rule], m.Finding)
	case Skipped:
		r.missed[m.Rule] = m.Text
	case End:
		r.suites = append(r.suites, r.suite(m))
	}
	return nil
}

func (r *junitReport) suite(m Message) junitSuite {
	s := junitSuite{Name: m.Subject}
	if m.Release != "" {
		s.Name = m.Release
	}
	for _, rule := range append(Rules(), ofWaivers()) {
		c := junitCase{Name: rule.ID, Class: "precheck." + s.Name}
		var failed, told []string
		for _, f := range r.found[rule.ID] {
			line := strings.TrimSpace(placeOf(f) + ": " + sentence(f))
			if f.Fails() {
				failed = append(failed, line)
			} else {
				told = append(told, line)
			}
		}
		if len(failed) > 0 {
			c.Failure = &junitMessage{rule.Title, strings.Join(failed, "\n")}
			s.Failures++
		}
		if why := r.missed[rule.ID]; why != "" {
			c.Skipped = &junitMessage{Message: why}
			s.Skipped++
		}
		c.Out = strings.Join(told, "\n")
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
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
