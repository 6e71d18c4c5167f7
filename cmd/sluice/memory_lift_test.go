package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// decided keeps a decision of mia's that she followed, in a home's store, and gives its id.
func decided(t *testing.T, home, domain string) string {
	t.Helper()
	store, err := state.Open(t.Context(), storeIn(home), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	k, err := keeper.Open(t.Context(), keeper.Config{DB: store.Database()})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	shown, err := k.Show(t.Context(), memory.Trace{Tenant: "local", User: "mia", Domain: domain, Point: "p", Question: "q", Output: "o"})
	if err == nil {
		_, err = k.Act(t.Context(), keeper.Owner{Tenant: "local", User: "mia"}, shown.ID, memory.Accept, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	return shown.ID
}

// try gives how a command ends, and what it says.
func try(env func(string) string, args ...string) (code int, out, told string) {
	var stdout, stderr bytes.Buffer
	p := &program{env: env, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr}
	code = p.run(context.Background(), args)
	return code, stdout.String(), stderr.String()
}

// The lift of a decision follows from business figures by the measure that the policy
// names for its domain.
func TestBusinessFiguresMakeTheLiftByThePolicy(t *testing.T) {
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"SLUICE_HOME": home}[name] }
	policy := filepath.Join(home, "policy.yaml")
	err := os.WriteFile(policy, []byte(`policy: 1
memory:
  - lift: [{domain: pricing, measure: gmv, per: minutes}]
  - tenants: [other]
    lift: [{measure: clicks}]
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ domain, before, after, lift, refused string }{
		{"pricing", "gmv=600,minutes=60", "gmv=1200,minutes=60", `"lift":1,`, ""},
		{"pricing", "gmv=600,minutes=60", "gmv=900,minutes=100", `"lift":-0.1`, ""}, // more in all, and less for each minute
		{"pricing", "gmv=600", "gmv=900", "", "no gmv before and after"},
		{"pricing", "gmv=600,minutes=0", "gmv=900,minutes=60", "", "no gmv before and after"},
		{"pricing", "gmv=NaN,minutes=60", "gmv=900,minutes=60", "", "no number"},
		{"pricing", "gmv=600,minutes=60", "gmv=900,minutes=Inf", "", "no number"},
		{"pacing", "clicks=1", "clicks=2", "", "no policy says"},
	} {
		id := decided(t, home, tt.domain)
		code, out, told := try(env, "memory", "attribute", id, "--before", tt.before, "--after", tt.after, "--policy", policy, "--user", "mia", "--json")
		if (code == 0) != (tt.refused == "") || !strings.Contains(out, tt.lift) || !strings.Contains(out+told, tt.refused) {
			t.Errorf("%s to %s in %s: exit %d, %s%s", tt.before, tt.after, tt.domain, code, out, told)
		}
		if kept := run(t, env, "memory", "trust", "--traces", "--json", "--user", "mia"); tt.refused != "" && strings.Contains(kept[strings.Index(kept, id):], `"attributed"`) {
			t.Errorf("what was refused is on record: %s", kept)
		}
		if tt.refused != "" {
			continue
		}
		if again := run(t, env, "memory", "attribute", id, "--before", tt.before, "--after", tt.after, "--user", "mia", "--json"); !strings.Contains(again, tt.lift) {
			t.Errorf("given again without the policy: %s", again)
		}
	}
	if code, _, told := try(env, "memory", "attribute", "x", "--lift", "1", "--before", "a=1"); code != exitUsage || !strings.Contains(told, "give --lift, or --right, or figures") {
		t.Errorf("a lift beside figures: exit %d, %s", code, told)
	}
}
