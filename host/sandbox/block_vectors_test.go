package sandbox_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
)

// blockVectors are abi/testdata/blocks.json: see the README there.
type blockVectors struct {
	Functions map[string][]string
	Cases     []blockVector
}

type blockVector struct {
	Name, Input, Output string
	Problem             abi.Code
	Calls               []blockCall
}

type blockCall struct {
	function, block string
	offset          int64
	address, bytes  int32
}

// UnmarshalJSON reads [function, block, offset, address, bytes].
func (c *blockCall) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&c.function, &c.block, &c.offset, &c.address, &c.bytes})
}

func TestBlockFunctionsDoAsTheContractSays(t *testing.T) {
	b, err := os.ReadFile("../../abi/testdata/blocks.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors blockVectors
	if err := json.Unmarshal(b, &vectors); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(slices.Sorted(maps.Keys(vectors.Functions)), abi.BlockFuncs()) {
		t.Errorf("the contract has %v", abi.BlockFuncs())
	}
	for _, v := range vectors.Cases {
		t.Run(v.Name, func(t *testing.T) {
			res := load(t, v.guest(), abi.Limits{}).Call(context.Background(), sandbox.Request{Export: "run", Input: []byte(v.Input)})
			if v.Problem != 0 {
				wantProblem(t, res, v.Problem)
			} else if res.Problem != nil || string(res.Output) != v.Output {
				t.Errorf("it gives %q, %v; want %q", res.Output, res.Problem, v.Output)
			}
		})
	}
}

// guest makes the calls of a case. The handle of its output lies at the
// beginning of its memory.
func (v blockVector) guest() *module {
	i64load, i64store, i64add := []byte{0x29, 3, 0}, []byte{0x37, 3, 0}, []byte{0x7c}
	size := int64(len(v.Output))
	if v.Problem != 0 {
		size = 16
	}
	m := newModule()
	functions := map[string]uint32{}
	for _, name := range abi.BlockFuncs() {
		functions[name] = m.imported(abi.NamespaceHost, name, []byte{i64t, i32t, i32t}, nil)
	}
	alloc := m.imported(abi.NamespaceExtism, "alloc", []byte{i64t}, []byte{i64t})
	input := m.imported(abi.NamespaceExtism, "input_offset", nil, []byte{i64t})
	set := m.imported(abi.NamespaceExtism, "output_set", []byte{i64t, i64t}, nil)
	blocks := map[string][]byte{"input": callf(input), "output": slices.Concat(i32c(0), i64load)}
	body := slices.Concat(i32c(0), i64c(size), callf(alloc), i64store)
	for _, c := range v.Calls {
		body = slices.Concat(body, blocks[c.block], i64c(c.offset), i64add, i32c(c.address), i32c(c.bytes), callf(functions[c.function]))
	}
	return m.export("run", body, blocks["output"], i64c(size), callf(set), i32c(0))
}
