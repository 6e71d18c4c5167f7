package sandbox

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// moduleDir gives the folder of a required module in the module cache.
func moduleDir(t testing.TB, path string) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(dir))
}

// The engine's copy of the specification's suite holds every valid form of
// every section, and many invalid ones.
func TestTheOutlineRefusesNothingThatTheEngineTakes(t *testing.T) {
	suite := filepath.Join(moduleDir(t, "github.com/tetratelabs/wazero"), "internal", "integration_test", "spectest")
	engine := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigInterpreter())
	defer engine.Close(context.Background())
	read, refused := 0, 0
	for _, version := range []string{"v1", "v2"} {
		err := filepath.WalkDir(filepath.Join(suite, version), func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".wasm" {
				return err
			}
			wasm, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			read++
			_, outlineErr := readOutline(wasm)
			if outlineErr == nil {
				return nil
			}
			refused++
			if m, err := engine.CompileModule(context.Background(), wasm); err == nil {
				t.Errorf("%s: the outline refuses it (%v) and the engine does not", path, outlineErr)
				return m.Close(context.Background())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 4000 {
		t.Errorf("only %d modules were read", read)
	}
	t.Logf("%d modules read, %d refused", read, refused)
}

func FuzzOutline(f *testing.F) {
	f.Add(tinyModule(0))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x09\x06\x01\x00\x41\x00\x0b\x00"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x00\x0d\x04name\x01\x06\x01\x00\x03run\x02\x00"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		o, err := readOutline(wasm)
		if err == nil && len(o.imports) > len(wasm) {
			t.Errorf("%d imports in %d bytes", len(o.imports), len(wasm))
		}
	})
}
