package toolchain

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestFilesAreReadUpToTheirBound(t *testing.T) {
	name := filepath.Join(t.TempDir(), "module")
	if err := os.WriteFile(name, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadBounded(name, 100); err != nil || len(b) != 100 {
		t.Errorf("a file at the bound gives %d bytes, %v", len(b), err)
	}
	if b, err := ReadBounded(name, 99); err == nil || b != nil || host.ProblemOf(err).Code != abi.InputLimit {
		t.Errorf("a file above the bound gives %d bytes, %v", len(b), err)
	}
	// What tells no size, such as a device, is bounded as well.
	if _, err := ReadBounded("/dev/zero", 1<<20); err == nil || host.ProblemOf(err).Code != abi.InputLimit {
		t.Errorf("an endless file gives %v", err)
	}
}
