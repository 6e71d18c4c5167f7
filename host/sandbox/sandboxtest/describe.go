package sandboxtest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
)

// Describe gives the skill that a module says it is. Tests share it: do not
// change it, nor what hangs on its manifest; for that there is Manifest.
func Describe(t testing.TB, sb *sandbox.Sandbox, wasm []byte) *manifest.Skill {
	t.Helper()
	return describe(t, sb, wasm).skill
}

// Manifest gives the manifest that a skill's module tells of itself, for the
// test alone.
func Manifest(t testing.TB, sb *sandbox.Sandbox, wasm []byte) (m abi.Manifest) {
	t.Helper()
	if err := json.Unmarshal(describe(t, sb, wasm).text, &m); err != nil {
		t.Fatal(err)
	}
	m.Module = moduleFile
	return m
}

// moduleFile is the module's name in its release.
const moduleFile = "skill.wasm"

// A description is what a module says of itself, and the skill that it is:
// compiling its schemas and expressions is a large part of a small test.
type description struct {
	text  []byte
	skill *manifest.Skill
}

func describe(t testing.TB, sb *sandbox.Sandbox, wasm []byte) description {
	t.Helper()
	said := shared.described.do(host.Digest(wasm), func() (description, error) { return ask(sb, wasm) })
	if said.err != nil {
		t.Fatal(said.err)
	}
	return said.value
}

func ask(sb *sandbox.Sandbox, wasm []byte) (d description, err error) {
	ctx := context.Background()
	module, err := sb.Load(ctx, wasm, abi.CeilingLimits())
	if err != nil {
		return d, err
	}
	defer module.Close(ctx)
	result := module.Call(ctx, sandbox.Request{Export: abi.ExportDescribe})
	if result.Problem != nil {
		return d, result.Problem
	}
	var m abi.Manifest
	if err := json.Unmarshal(result.Output, &m); err != nil {
		return d, err
	}
	m.Module = moduleFile
	d.text = result.Output
	d.skill, err = manifest.Compile(m)
	return d, err
}
