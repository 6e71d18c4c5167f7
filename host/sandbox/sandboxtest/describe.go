package sandboxtest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host/sandbox"
)

// Describe gives the manifest that a skill's module tells of itself.
func Describe(t testing.TB, sb *sandbox.Sandbox, wasm []byte) *manifest.Skill {
	t.Helper()
	ctx := context.Background()
	module, err := sb.Load(ctx, wasm, abi.CeilingLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer module.Close(ctx)
	result := module.Call(ctx, sandbox.Request{Export: abi.ExportDescribe})
	if result.Problem != nil {
		t.Fatal(result.Problem)
	}
	var m abi.Manifest
	if err := json.Unmarshal(result.Output, &m); err != nil {
		t.Fatal(err)
	}
	m.Module = "skill.wasm"
	skill, err := manifest.Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	return skill
}
