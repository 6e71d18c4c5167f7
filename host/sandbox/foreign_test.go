package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	extism "github.com/extism/go-sdk"
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// Guests in AssemblyScript by Extism's library, and in C without one.
func TestForeignGuestsBehaveAsUnderTheReferenceHost(t *testing.T) {
	extism.SetLogLevel(extism.LogLevelTrace)
	server := httptest.NewServer(http.HandlerFunc(mirror))
	defer server.Close()
	config := map[string]string{"shop": "货架 7", "empty": ""}
	request := func(path string) []byte {
		return fmt.Appendf(nil, `{"url":"%s%s","method":"post","headers":{"X-Sku":"1001"}}`, server.URL, path)
	}
	large := bytes.Repeat([]byte("0123456789abcde"), 100<<10/15)
	texts := [][]byte{nil, []byte("x"), []byte("1234567"), []byte("12345678"), []byte("123456789"), []byte("价格 8.5")}
	for language, wasm := range map[string][]byte{
		"AssemblyScript": sandboxtest.BuildAssemblyScript(t, "host/sandbox/testdata/pdk_as"),
		"C":              sandboxtest.BuildC(t, "host/sandbox/testdata/pdk_c"),
	} {
		t.Run(language, func(t *testing.T) {
			ours := sandboxtest.Load(t, wasm, patient(abi.Limits{}))
			theirs := newPeerAs(t, wasm, extism.Manifest{Config: config, AllowedHosts: []string{"127.0.0.1"}, Timeout: 60_000})
			for export, inputs := range map[string][][]byte{
				"echo": append(texts, large, []byte{0, 0xff, 0xfe}), "text": texts, "fail": {nil}, "logs": texts, "config": {nil}, "vars": texts,
				"fetch": {request("/"), request("/empty"), request("/missing"), request("/large")},
			} {
				for i, input := range inputs {
					t.Run(fmt.Sprint(export, i), func(t *testing.T) {
						got := ours.Call(context.Background(), sandbox.Request{Export: export, Input: input, Config: config, HTTP: send})
						compare(t, got, theirs.call(t, export, input))
						if export == "echo" && !bytes.Equal(got.Output, input) || export == "fetch" && i == 0 && !strings.Contains(string(got.Output), "the body 正文") {
							t.Errorf("it gives %.200q %v", got.Output, got.Problem)
						}
					})
				}
			}
		})
	}
}
