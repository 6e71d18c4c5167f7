package sandbox

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// httpRequestBytes bounds the JSON of a request: its address and headers, for
// which servers take some kilobytes.
const httpRequestBytes = 256 << 10

// An httpAnswer is what the last http_request of a call left for
// http_status_code and http_headers.
type httpAnswer struct {
	status  int
	headers []byte // JSON; nil before the first answer
}

func httpFuncs() []hostFunc {
	return []hostFunc{
		{"http_request", types(i64, i64), types(i64), func(c *call, ctx context.Context, s []uint64) { s[0] = c.httpRequest(ctx, s[0], s[1]) }},
		{"http_status_code", nil, types(i32), func(c *call, _ context.Context, s []uint64) { s[0] = uint64(uint32(c.http.status)) }},
		{"http_headers", nil, types(i64), func(c *call, _ context.Context, s []uint64) {
			c.countHostBytes(len(c.http.headers))
			s[0] = c.give(c.http.headers)
		}},
	}
}

// httpRequest sends a request of the guest and gives the block of the answer's
// body, or 0 where that is empty. Both blocks of the request become the host's.
// As under the reference host a request that fails ends the call, since the ABI
// has no way to tell the guest.
func (c *call) httpRequest(ctx context.Context, requestHandle, bodyHandle handle) handle {
	if c.request.HTTP == nil {
		c.stop(abi.NewProblem(abi.NotGranted, "it asked for http_request, which is not granted; declare the http capability in skill.yaml"))
	}
	c.countHostCall()
	c.http = httpAnswer{}
	request := c.httpRequestOf(c.take("http_request", requestHandle))
	c.kernel.free(requestHandle)
	var body []byte
	if bodyHandle != 0 {
		body = c.take("http_request", bodyHandle)
		c.kernel.free(bodyHandle)
		c.countHostBytes(len(body))
	}
	var response abi.HTTPResponse
	var problem *abi.Problem
	c.offCore(func() {
		c.guardHost("http_request", func() { response, problem = c.request.HTTP(ctx, request, body) })
	})
	c.stopIfDone()
	if problem != nil {
		c.stop(problem)
	}
	c.countHostBytes(len(response.Body))
	c.http = httpAnswer{response.Status, headersOf(response)}
	return c.give(response.Body)
}

// httpRequestOf reads the JSON of a request, or ends the call.
func (c *call) httpRequestOf(text []byte) (request abi.HTTPRequest) {
	c.countHostBytes(len(text))
	if len(text) > httpRequestBytes {
		c.stop(abi.NewProblem(abi.BadHostCall, "it called http_request with %d bytes of JSON; it may have %d; send what is long as the body", len(text), httpRequestBytes))
	}
	if err := json.Unmarshal(text, &request); err != nil {
		c.stop(abi.NewProblem(abi.BadHostCall, "it called http_request with what is not the JSON of a request {url, method, headers}: %v", err))
	}
	request.Method = strings.ToUpper(request.Method)
	if request.Method == "" {
		request.Method = "GET"
	}
	return request
}

// headersOf gives the JSON of the headers, an object also where there are none.
func headersOf(response abi.HTTPResponse) []byte {
	headers := response.Headers
	if headers == nil {
		headers = map[string]string{}
	}
	b, err := json.Marshal(headers)
	if err != nil {
		panic("BUG: a map of strings does not encode: " + err.Error())
	}
	return b
}
