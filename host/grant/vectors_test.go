package grant_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
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

// The same vectors hold what sdk/skilltest plays.
func TestHostFunctionsAnswerAsTheContractSays(t *testing.T) {
	b, err := os.ReadFile("../../abi/testdata/hostcalls.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(b, &vectors); err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			r.t = t
			r.memory()
			r.config.Recall = func(context.Context, host.SessionRef, abi.RecallQuery) ([]abi.Memory, error) { return nil, nil }
			g := r.grant(v.Capabilities, v.Effect)
			saved := map[string]string{}
			for i, c := range v.Calls {
				got := r.run(g, c.hostCall(t, saved))[0]
				if !c.fits(got) {
					t.Errorf("call %d, %s %.80q, gives %.200s", i, c.Func, c.Args, got)
				}
				if c.Save != "" {
					saved[c.Save] = got.String()
				}
			}
		})
	}
}

func (c vectorCall) hostCall(t *testing.T, saved map[string]string) hostCall {
	made := call(c.Func)
	for _, a := range c.Args {
		made.Args = append(made.Args, []byte(os.Expand(a, func(name string) string { return saved[name] })))
	}
	for _, a := range c.Hex {
		raw, err := hex.DecodeString(a)
		if err != nil {
			t.Fatal(err)
		}
		made.Args = append(made.Args, raw)
	}
	return made
}

func (c vectorCall) fits(got answer) bool {
	switch {
	case c.Problem != 0:
		return got.Problem != "" && got.problem().Code == c.Problem
	case got.Problem != "":
		return false
	case c.Block != nil:
		return got.Block != nil && got.String() == *c.Block
	case c.Nothing:
		return got.Block == nil
	}
	return c.Any || c.Save != "" && strings.HasPrefix(got.String(), "blob_")
}
