package precheck

import (
	"bytes"
	"context"
	"regexp"
)

// A secretForm is the shape of a key. Every one holds one of its marks, at most
// markBefore bytes behind its beginning.
type secretForm struct {
	name  string
	marks []string
	form  *regexp.Regexp
}

// Where a form is looked for around its marks, in bytes: a module is megabytes, and
// the marks are rare. Only the payload of a web token may be longer than markAfter,
// and such a one is no key to anything.
const (
	markBefore = 32
	markAfter  = 4 << 10
)

// secretForms are the shapes of keys that their issuers document. They are
// narrow: a finding fails a release, and a module is full of text.
func secretForms() []secretForm {
	return []secretForm{
		{"a private key", []string{"-----BEGIN "}, regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40}`)},
		{"an AWS access key id", []string{"AKIA", "ASIA"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)},
		{"an Alibaba Cloud access key id", []string{"LTAI"}, regexp.MustCompile(`\bLTAI[0-9A-Za-z]{16,26}\b`)},
		{"a Tencent Cloud secret id", []string{"AKID"}, regexp.MustCompile(`\bAKID[0-9A-Za-z]{32}\b`)},
		{"a GitHub token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, regexp.MustCompile(`\b(?:gh[pousr]_[0-9A-Za-z]{36}|github_pat_[0-9A-Za-z_]{82})\b`)},
		{"a GitLab token", []string{"glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"}, regexp.MustCompile(`\bgl(?:pat|dt|rt|ptt|cbt)-[0-9A-Za-z_-]{20,}`)},
		{"a Slack token", []string{"xox"}, regexp.MustCompile(`\bxox[abposr]-[0-9]{10,}-[0-9A-Za-z-]{10,}`)},
		{"a Google API key", []string{"AIza"}, regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}\b`)},
		{"a Stripe key", []string{"k_live_"}, regexp.MustCompile(`\b[rs]k_live_[0-9A-Za-z]{20,}`)},
		{"an OpenAI or Anthropic key", []string{"sk-"}, regexp.MustCompile(`\bsk-(?:proj-|ant-(?:api\d\d-)?|svcacct-)?[0-9A-Za-z_-]{32,}`)},
		{"an npm token", []string{"npm_"}, regexp.MustCompile(`\bnpm_[0-9A-Za-z]{36}\b`)},
		{"a PyPI token", []string{"pypi-AgEIcHlwaS5vcmc"}, regexp.MustCompile(`\bpypi-AgEIcHlwaS5vcmc[0-9A-Za-z_-]{50,}`)},
		{"a JSON Web Token", []string{"eyJ"}, regexp.MustCompile(`\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{20,}`)},
		{"a password in an address", []string{"://"}, regexp.MustCompile(`\b(?:https?|mysql|postgres(?:ql)?|redis|amqp|mongodb(?:\+srv)?)://[0-9A-Za-z._~-]+:[^\s:@/{}%$<>"'\x00]{6,}@[0-9A-Za-z.-]+`)},
	}
}

// hasNoSecrets looks through all of the bytes: names and custom sections are
// published as data is. What it found is not told, only where.
func (x *examination) hasNoSecrets(context.Context) {
	for _, s := range secretForms() {
		if begin, end, ok := s.find(x.Module); ok {
			x.findf("what looks like %s stands at byte %d, %d bytes long", s.name, begin, end-begin)
		}
	}
}

// find gives the place of a key of that form.
func (s secretForm) find(b []byte) (begin, end int, ok bool) {
	for _, mark := range s.marks {
		for first, last := around(b, 0, mark); first >= 0; first, last = around(b, last+len(mark), mark) {
			from, to := max(first-markBefore, 0), min(last+markAfter, len(b))
			if found := s.form.FindIndex(b[from:to]); found != nil {
				return from + found[0], from + found[1], true
			}
		}
	}
	return 0, 0, false
}

// around gives the first and the last of the next marks that stand so close together
// that what is around them is one piece: no byte is matched again and again. It is -1
// where there are no more.
func around(b []byte, at int, mark string) (first, last int) {
	next := bytes.Index(b[at:], []byte(mark))
	if next < 0 {
		return -1, -1
	}
	first = at + next
	for last = first; ; last += len(mark) + next {
		rest := b[last+len(mark):]
		if next = bytes.Index(rest[:min(markAfter, len(rest))], []byte(mark)); next < 0 {
			return first, last
		}
	}
}
