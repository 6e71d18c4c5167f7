package sandboxtest_test

import (
	"reflect"
	"testing"

	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

func TestAManifestIsTheTestsOwn(t *testing.T) {
	wasm := sandboxtest.Build(t, "host/dispatch/testdata/guest")
	skill := sandboxtest.Describe(t, sandboxtest.Shared(t), wasm)
	m := sandboxtest.Manifest(t, sandboxtest.Shared(t), wasm)
	if !reflect.DeepEqual(m, skill.Manifest) || len(m.Tools) == 0 {
		t.Fatalf("the manifest is %+v, the skill's %+v", m, skill.Manifest)
	}
	name := m.Tools[0].Name
	m.Tools[0].Name = "another"
	if skill.Manifest.Tools[0].Name != name {
		t.Error("a change is seen by other tests")
	}
}
