package skilltest

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

// A vector is a case of abi/testdata/hostcalls.json: see the README there.
type vector struct {
	Name         string
	Capabilities abi.Capabilities
	Effect       abi.Effect
	Calls        []vectorCall
}

type vectorCall struct {
	Func         string
	Args, Hex    []string
	Block        *string
	Nothing, Any bool
	Problem      abi.Code
	Save         string
}

// The host's own grants are held to the same vectors by the tests of
// host/grant.
func TestHostFunctionsAnswerAsTheContractSays(t *testing.T) {
	b, err := os.ReadFile("../../abi/testdata/hostcalls.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(b, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			g := &grants{t: t, manifest: abi.Manifest{Capabilities: v.Capabilities}, write: v.Effect == abi.Write, kv: map[string][]byte{}, room: newRoom()}
			saved := map[string]string{}
			for i, c := range v.Calls {
				block, found, err := c.run(t, g, saved)
				if !c.fits(block, found, err) {
					t.Errorf("call %d, %s %.80q, gives %.80q %v %v", i, c.Func, c.Args, block, found, err)
				}
				if c.Save != "" {
					saved[c.Save] = string(block)
				}
			}
		})
	}
}

func (c vectorCall) run(t *testing.T, g *grants, saved map[string]string) (block []byte, found bool, err error) {
	var args [][]byte
	for _, a := range c.Args {
		args = append(args, []byte(os.Expand(a, func(name string) string { return saved[name] })))
	}
	for _, a := range c.Hex {
		raw, err := hex.DecodeString(a)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, raw)
	}
	switch c.Func {
	case "kv_get":
		return g.KVGet(string(args[0]))
	case "kv_put":
		return nil, false, g.KVPut(string(args[0]), args[1])
	case "kv_delete":
		return nil, false, g.KVDelete(string(args[0]))
	}
	return g.HostCall("sluice_"+c.Func, args...)
}

func (c vectorCall) fits(block []byte, found bool, err error) bool {
	var p *abi.Problem
	errors.As(err, &p)
	switch {
	case c.Problem != 0:
		return p != nil && p.Code == c.Problem
	case err != nil:
		return false
	case c.Block != nil:
		return found && string(block) == *c.Block
	case c.Nothing:
		return !found
	}
	return c.Any || c.Save != "" && found
}
