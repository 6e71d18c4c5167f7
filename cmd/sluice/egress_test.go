package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// A password in a URL of the environment is used, and told nobody.
func TestPasswordsOfTheEnvironmentAreNotShown(t *testing.T) {
	env := func(name string) string {
		return map[string]string{"SLUICE_HOME": t.TempDir(), "SLUICE_PROXY": "http://mia:swordfish@127.0.0.1:1",
			"SLUICE_REGISTRY": "https://mia:swordfish@127.0.0.1/r.git", "SLUICE_MODEL_URL": "http://mia:swordfish@127.0.0.1/v1"}[name]
	}
	var out bytes.Buffer
	p := &program{env: env, stdin: strings.NewReader(""), stdout: &out, stderr: &out}
	if code := p.run(context.Background(), []string{"serve", "--help"}); code != 0 || strings.Contains(out.String(), "swordfish") {
		t.Errorf("exit code %d, %s", code, out.String())
	}
	if _, err := p.egress.open(nil); err != nil {
		t.Error(err)
	}
	if p.registry == "" || p.model.url == "" {
		t.Error("what the environment says is not used")
	}
	p.egress.proxy = "http://mia:swordfish@[::1"
	if _, err := p.egress.open(nil); err == nil || strings.Contains(err.Error(), "swordfish") {
		t.Errorf("a proxy that is no URL: %v", err)
	}
}
