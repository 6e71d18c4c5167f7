package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// People see which ends the hooks have not taken, and have those told again that were
// given up.
func TestJobsListsEndsThatAreOwed(t *testing.T) {
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"SLUICE_HOME": home}[name] }
	if said := run(t, env, "jobs"); strings.Contains(said, "hooks") {
		t.Errorf("nothing is owed, and it says\n%s", said)
	}
	store, err := state.Open(t.Context(), storeIn(home), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	owed, err := store.SaveEnd(t.Context(), state.Ending{Session: host.SessionRef{Tenant: "acme", User: "mia", Session: "s7"}, Grace: time.Hour})
	if err == nil {
		_, err = store.StartLive(t.Context(), "acme", "night", []byte("{}"))
	}
	if err == nil {
		_, _, err = store.EndLive(t.Context(), "acme", "night", time.Hour)
	}
	if err == nil {
		_, _, err = store.TakeOwed(t.Context(), owed, 0)
	}
	if err == nil {
		err = store.SettleOwed(t.Context(), owed, "the index\nis away")
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	said := run(t, env, "jobs")
	for _, want := range []string{"session s7", "given up", "the index is away", "live night"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	if said := run(t, env, "jobs", "--json"); !strings.Contains(said, `"session":"s7"`) || !strings.Contains(said, `"tries":1`) {
		t.Errorf("as JSON it says\n%s", said)
	}
	if said := run(t, env, "jobs", "--again"); !strings.Contains(said, "1 end") {
		t.Errorf("it says\n%s", said)
	}
	if said := run(t, env, "jobs"); strings.Contains(said, "given up") || !strings.Contains(said, "session s7") {
		t.Errorf("afterwards it says\n%s", said)
	}
}
