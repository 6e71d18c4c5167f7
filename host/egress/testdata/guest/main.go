// Command guest sends one request by Extism's http_request, for the comparison
// with the reference host.
package main

import (
	"encoding/json"

	"github.com/extism/go-pdk"
)

func main() {}

// A Request is what the guest is told to send. Get is the only method of the
// table.
type Request struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// The output is the answer's body.
//
//go:wasmexport fetch
func fetch() int32 {
	var r Request
	if err := json.Unmarshal(pdk.Input(), &r); err != nil {
		pdk.SetError(err)
		return 1
	}
	request := pdk.NewHTTPRequest(pdk.MethodGet, r.URL)
	for name, value := range r.Headers {
		request.SetHeader(name, value)
	}
	response := request.Send()
	pdk.Output(response.Body())
	return 0
}
