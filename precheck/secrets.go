package precheck

import (
	"context"
	"regexp"
)

// secretForms are the shapes of keys that their issuers document. They are
// narrow: a finding fails a release, and a module is full of text.
var secretForms = []struct {
	name string
	form *regexp.Regexp
}{
	{"a private key", regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40}`)},
	{"an AWS access key id", regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)},
	{"an Alibaba Cloud access key id", regexp.MustCompile(`\bLTAI[0-9A-Za-z]{16,26}\b`)},
	{"a Tencent Cloud secret id", regexp.MustCompile(`\bAKID[0-9A-Za-z]{32}\b`)},
	{"a GitHub token", regexp.MustCompile(`\b(?:gh[pousr]_[0-9A-Za-z]{36}|github_pat_[0-9A-Za-z_]{82})\b`)},
	{"a GitLab token", regexp.MustCompile(`\bgl(?:pat|dt|rt|ptt|cbt)-[0-9A-Za-z_-]{20,}`)},
	{"a Slack token", regexp.MustCompile(`\bxox[abposr]-[0-9]{10,}-[0-9A-Za-z-]{10,}`)},
	{"a Google API key", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}\b`)},
	{"a Stripe key", regexp.MustCompile(`\b[rs]k_live_[0-9A-Za-z]{20,}`)},
	{"an OpenAI or Anthropic key", regexp.MustCompile(`\bsk-(?:proj-|ant-(?:api\d\d-)?|svcacct-)?[0-9A-Za-z_-]{32,}`)},
	{"an npm token", regexp.MustCompile(`\bnpm_[0-9A-Za-z]{36}\b`)},
	{"a PyPI token", regexp.MustCompile(`\bpypi-AgEIcHlwaS5vcmc[0-9A-Za-z_-]{50,}`)},
	{"a JSON Web Token", regexp.MustCompile(`\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{20,}`)},
	{"a password in an address", regexp.MustCompile(`\b(?:https?|mysql|postgres(?:ql)?|redis|amqp|mongodb(?:\+srv)?)://[0-9A-Za-z._~-]+:[^\s:@/{}%$<>"'\x00]{6,}@[0-9A-Za-z.-]+`)},
}

// hasNoSecrets looks through all of the bytes: names and custom sections are
// published as data is. What it found is not told, only where.
func (x *examination) hasNoSecrets(context.Context) {
	for _, s := range secretForms {
		if at := s.form.FindIndex(x.Module); at != nil {
			x.findf("what looks like %s stands at byte %d, %d bytes long", s.name, at[0], at[1]-at[0])
		}
	}
}
