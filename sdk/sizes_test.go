//go:build !race

package sdk_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// The most that modules may have, in bytes: what they have, and a little, so
// that a change that makes every skill larger is made on purpose. A module that
// does nothing has 1.8 MB, and 2.4 MB with package time, in which the sdk tells
// the clock, package reflect, in which it looks at the types of handlers, and
// package strconv.
const (
	plainBytes   = 3_040_000
	pricingBytes = 3_150_000
	couponsBytes = 3_330_000 // has times among its types
	stageBytes   = 3_345_000 // has a reducer, too
)

func TestModulesDoNotGrow(t *testing.T) {
	for source, most := range map[string]int{
		"sdk/testdata/plain": plainBytes, "skills/shop/pricing": pricingBytes, "skills/shop/catalog": pricingBytes,
		"skills/shop/coupons": couponsBytes, "skills/shop/stage": stageBytes,
	} {
		if size := len(sandboxtest.Build(t, source)); size > most {
			t.Errorf("%s has %d bytes, want at most %d", source, size, most)
		}
	}
}

// TestAGuestLinksNoPackageThatTheSDKDoesNotNeed: what a package sets up when it
// is imported is in the module, whether or not anything of it is used.
func TestAGuestLinksNoPackageThatTheSDKDoesNotNeed(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", ".")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	for _, heavy := range []string{"fmt", "encoding/json", "os", "runtime/debug", "regexp", "text/template", "bytes"} {
		if slices.Contains(linked, heavy) {
			t.Errorf("package %s is in every skill", heavy)
		}
	}
}
