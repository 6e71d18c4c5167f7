package main

import (
	"context"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// A change of trust that is not what its decision makes is named, for people and for
// programs.
func TestAReplayNamesTheDecisionsThatDiffer(t *testing.T) {
	home, ctx := t.TempDir(), t.Context()
	env := func(name string) string { return map[string]string{"SLUICE_HOME": home}[name] }
	store, err := state.Open(ctx, storeIn(home), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := keeper.Open(ctx, keeper.Config{DB: store.Database()})
	if err != nil {
		t.Fatal(err)
	}
	o := keeper.Owner{Tenant: "local", User: "mia"}
	shown, err := k.Show(ctx, memory.Trace{Tenant: o.Tenant, User: o.User, Domain: "pricing", Point: "price", Question: "What price?", Output: "59 sold 31."})
	if err == nil {
		_, err = k.Act(ctx, o, shown.ID, memory.Accept, "")
	}
	lift := 0.12
	if err == nil {
		_, err = k.Attribute(ctx, o, shown.ID, &lift, nil)
	}
	if err == nil {
		err = store.Database().Write(ctx, func(ctx context.Context, on host.Statements) error {
			_, err := on.ExecContext(ctx, `UPDATE memory_trace SET outcome = replace(outcome, '"trust_delta":0.05', '"trust_delta":0.4')`)
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	out := run(t, env, "memory", "trust", "--user", "mia", "--replay", "--json")
	if want := `"differ":["` + shown.ID + `"],"trust":{"pricing":0.55}`; !strings.Contains(out, want) {
		t.Errorf("%s lacks %s", out, want)
	}
}
