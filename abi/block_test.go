package abi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

func TestBlockFunctionsAreNoGrants(t *testing.T) {
	granted := abi.HostFuncs()
	for _, name := range abi.BlockFuncs() {
		if _, ok := granted[name]; ok || !strings.HasPrefix(name, "sluice_block_") {
			t.Errorf("%s is not a block function only", name)
		}
	}
	if !slices.IsSorted(abi.BlockFuncs()) {
		t.Error("the names are not sorted")
	}
}
