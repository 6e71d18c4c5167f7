//go:build !race

package sdk_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// The host's side runs the cases of the same vectors.
func TestASkillImportsTheBlockFunctionsOfTheContract(t *testing.T) {
	raw, err := os.ReadFile("../abi/testdata/blocks.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct{ Functions map[string][]string }
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer r.Close(t.Context())
	m, err := r.CompileModule(t.Context(), sandboxtest.Build(t, "sdk/testdata/plain"))
	if err != nil {
		t.Fatal(err)
	}
	imported := 0
	for _, f := range m.ImportedFunctions() {
		namespace, name, _ := f.Import()
		if namespace != abi.NamespaceHost {
			continue
		}
		imported++
		var params []string
		for _, p := range f.ParamTypes() {
			params = append(params, api.ValueTypeName(p))
		}
		if !slices.Equal(params, vectors.Functions[name]) || len(f.ResultTypes()) > 0 {
			t.Errorf("%s is %v -> %v, want %v", name, params, f.ResultTypes(), vectors.Functions[name])
		}
	}
	if imported != len(vectors.Functions) {
		t.Errorf("it imports %d functions of the host, want %d", imported, len(vectors.Functions))
	}
}
