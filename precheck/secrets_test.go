package precheck

import (
	"bytes"
	"strings"
	"testing"
)

// keys are one of each form, in pieces: they are no keys to anything.
func keys() map[string]string {
	return map[string]string{
		"a private key":                  "-----BEGIN OPENSSH PRIVATE KEY-----\n" + strings.Repeat("b3Bl", 12),
		"an AWS access key id":           "ASIA" + "IOSFODNN7EXAMPLE",
		"an Alibaba Cloud access key id": "LTAI" + strings.Repeat("5t", 10),
		"a Tencent Cloud secret id":      "AKID" + strings.Repeat("z8", 16),
		"a GitHub token":                 "github_pat_" + strings.Repeat("A", 82),
		"a GitLab token":                 "glrt-" + strings.Repeat("x", 20),
		"a Slack token":                  "xoxp-" + "1234567890123-abcdefghijkl",
		"a Google API key":               "AIza" + strings.Repeat("S", 35),
		"a Stripe key":                   "rk_live_" + strings.Repeat("a1", 12),
		"an OpenAI or Anthropic key":     "sk-ant-api03-" + strings.Repeat("Ab3", 16),
		"an npm token":                   "npm_" + strings.Repeat("a", 36),
		"a PyPI token":                   "pypi-" + "AgEIcHlwaS5vcmc" + strings.Repeat("C", 60),
		"a JSON Web Token":               "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx" + strings.Repeat("MjM0", 200) + "." + strings.Repeat("dozjgNryP4J3jVmNHl0w", 2),
		"a password in an address":       "mongodb+srv://root:hunter22@db.example.com/shop",
	}
}

func TestAKeyIsFoundWhereverItStands(t *testing.T) {
	for _, form := range secretForms() {
		key, ok := keys()[form.name]
		if !ok {
			t.Errorf("there is no example of %s", form.name)
			continue
		}
		marks := strings.Join(form.marks, " ") + " "
		for name, before := range map[string]string{
			"alone": "", "far inside": strings.Repeat("\x00", 3*markAfter) + " ", "behind its marks": strings.Repeat(marks, 50),
			"behind its marks, further apart": strings.Repeat(marks+strings.Repeat(".", markAfter-3), 3) + " ",
		} {
			for _, after := range []string{"", " " + strings.Repeat("x", 2*markAfter)} {
				begin, end, found := form.find([]byte(before + key + after))
				if !found || begin != len(before) || end > len(before)+len(key) || end < len(before)+30 && end != len(before)+len(key) {
					t.Errorf("%s %s: found is %v, from %d to %d; it stands from %d to %d", form.name, name, found, begin, end, len(before), len(before)+len(key))
				}
			}
		}
		if _, _, found := form.find([]byte("x" + key)); found && form.name != "a private key" {
			t.Errorf("%s is found in the middle of a word", form.name)
		}
		if _, _, found := form.find(bytes.Repeat([]byte(form.marks[0]+"."), 1<<16)); found {
			t.Errorf("%s is found where there are marks only", form.name)
		}
	}
}
