package main

import "github.com/extism/go-pdk"

//go:wasmimport extism:host/user sluice_http
func httpSend(request, body uint64) int64

// send takes the request's JSON as the first argument and the body as the
// second. Size is the length of an argument of spaces in the first one's place.
func (c Call) send() int64 {
	request := pdk.AllocateString(c.Args[0])
	if c.Size > 0 {
		request = pdk.AllocateBytes(make([]byte, c.Size))
	}
	defer request.Free()
	body := pdk.AllocateString(c.Args[1])
	defer body.Free()
	return httpSend(request.Offset(), body.Offset())
}
