package server

import (
	"net/http"
	"testing"

	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/registry"
)

const skillYAML = `
sluice: 1
name: shop.pricing
version: 1.4.0
summary: Quotes prices.
module: skill.wasm
abi: 1
tools:
  - name: quote
    summary: Tell the price of one product.
    effect: read
    input: {type: object, properties: {sku: {type: string}}, required: [sku], additionalProperties: false}
    examples:
      - {say: "what does 1001 cost?", args: {sku: "1001"}}
`

// smallest is a module with the three exports of the contract, each of which
// gives 1.
func smallest() []byte {
	wasm := []byte("\x00asm\x01\x00\x00\x00" +
		"\x01\x05\x01\x60\x00\x01\x7f" + // type: () -> i32
		"\x03\x02\x01\x00") // one function of it
	var exports []byte
	for _, name := range []string{"sluice_abi", "sluice_describe", "sluice_invoke"} {
		exports = append(exports, byte(len(name)))
		exports = append(exports, name...)
		exports = append(exports, 0, 0) // function 0
	}
	wasm = append(wasm, 7, byte(len(exports)+1), 3)
	wasm = append(wasm, exports...)
	return append(wasm, "\x0a\x06\x01\x04\x00\x41\x01\x0b"...) // code: i32.const 1
}

func TestToolsListsWhatANewSessionSees(t *testing.T) {
	skill, err := manifest.Parse("skill.yaml", []byte(skillYAML), nil)
	if err != nil {
		t.Fatal(err)
	}
	sb, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, says("x"), Config{})
	s.Agent.Releases = release.NewSet(sb, nil)
	t.Cleanup(func() { s.Agent.Releases.Close(t.Context()) })
	c := serve(t, s)

	if status, text := c.call("GET", "/v1/tools", ""); status != http.StatusOK || text != `{"tools":[]}`+"\n" {
		t.Errorf("without skills: %d %s", status, text)
	}
	if _, err := s.Agent.Releases.Load(t.Context(), &registry.Release{Skill: skill, Module: smallest(), SHA256: host.Digest(smallest())}); err != nil {
		t.Fatal(err)
	}
	want := `{"tools":[{"name":"quote","release":"shop.pricing@1.4.0","summary":"Tell the price of one product.","effect":"read",` +
		`"input":{"type":"object","properties":{"sku":{"type":"string"}},"required":["sku"],"additionalProperties":false}}]}` + "\n"
	if status, text := c.call("GET", "/v1/tools", ""); status != http.StatusOK || text != want {
		t.Errorf("with a skill: %d %s, want %s", status, text, want)
	}
}
