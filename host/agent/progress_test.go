package agent

import (
	"context"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/registry"
)

func TestProgressReachesTheUserWhileTheCallRuns(t *testing.T) {
	h := newHouse(t, &script{answers: []func() (model.Reply, error){
		calls(`read {"steps":[{"do":"progress","from":1,"size":2,"data":"half"}]}`), says("Done."),
	}})
	wasm := sandboxtest.Build(t, "sdk/testdata/room/module")
	sandboxtest.Load(t, wasm, abi.Limits{})
	skill := sandboxtest.Describe(t, sandboxtest.Shared(t), wasm)
	if _, err := h.agent.Releases.Load(context.Background(), &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		t.Fatal(err)
	}
	h.mustTurn("1", "how far?")
	if got, want := h.kinds(), "turn.start call progress outcome text turn.end"; got != want {
		t.Fatalf("events are %q, want %q", got, want)
	}
	call, told := h.events[1], h.events[2]
	if told.Progress == nil || *told.Progress != (abi.ProgressReport{Done: 1, Total: 2, Say: "half"}) || told.Call != call.Call || told.Tool != "read" || told.Time.IsZero() {
		t.Errorf("the user is told %+v", told)
	}
}
