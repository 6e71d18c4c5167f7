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

// smallBytes is what the module of a small skill must be smaller than, in bytes,
// whatever is added to the sdk.
const smallBytes = 2_700_000

// The most that modules may have, in bytes: what they have, and a little, so
// that a change that makes every skill larger is made on purpose.
//
// None of these uses fmt, encoding/json or time. Such a one should have
// 2,000,000 and has 0.44 MB more. Of plain's 2,440,000 a program that does
// nothing has 1,585,000; the types of handlers, in package reflect, with strconv
// and what both link, are some 350,000, the JSON of the sdk 250,000, its
// messages 80,000, envelopes, problems and exports the rest.
const (
	plainBytes   = 2_460_000
	pricingBytes = 2_545_000
	couponsBytes = 2_565_000 // has instants among its types, and a hash
	stageBytes   = 2_600_000 // has a reducer

	polyglotBytes = 2_600_000 // reserves, and reads pages and state
)

func TestModulesDoNotGrow(t *testing.T) {
	for source, most := range map[string]int{
		"sdk/testdata/plain": plainBytes, "skills/shop/pricing": pricingBytes, "skills/shop/catalog": couponsBytes,
		"skills/shop/coupons": couponsBytes, "skills/shop/stage": stageBytes,
		"skills/polyglot/go": polyglotBytes,
	} {
		size := len(sandboxtest.Build(t, source))
		if size > most {
			t.Errorf("%s has %d bytes, want at most %d", source, size, most)
		}
		if size >= smallBytes {
			t.Errorf("%s has %d bytes; a small skill has fewer than %d", source, size, smallBytes)
		}
		t.Logf("%s has %d bytes", source, size)
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
	for _, heavy := range []string{"fmt", "encoding/json", "time", "os", "runtime/debug", "regexp", "text/template", "bytes", "embed", "io/fs"} {
		if slices.Contains(linked, heavy) {
			t.Errorf("package %s is in every skill", heavy)
		}
	}
}
