package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/host"
)

func TestTheLintersOfAPolicyLookAtWhatCallsWrite(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("policy: 1\nlinters: [{ext: [py], run: [no-such-linter-anywhere]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	p := &program{env: func(string) string { return "" }, stderr: &errs, home: t.TempDir(), policy: policy}
	h, err := p.openHome(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer h.close(t.Context())
	if _, err := h.dispatch.Linter.Lint(t.Context(), "acme", "py", []byte("x")); host.ProblemOf(err) == nil || !bytes.Contains(errs.Bytes(), []byte("no-such-linter-anywhere")) {
		t.Errorf("%v; operators read %q", err, errs.String())
	}
}
