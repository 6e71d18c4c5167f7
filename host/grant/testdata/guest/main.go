// Command guest calls host functions as it is told, without the care that the
// sdk takes, for the tests of the grants.
package main

import (
	"encoding/base64"
	"fmt"

	"github.com/extism/go-pdk"
)

func main() {}

//go:wasmimport extism:host/user sluice_kv_get
func kvGet(key uint64) int64

//go:wasmimport extism:host/user sluice_kv_put
func kvPut(key, value uint64) int64

//go:wasmimport extism:host/user sluice_kv_delete
func kvDelete(key uint64) int64

//go:wasmimport extism:host/user sluice_kv_scan
func kvScan(query uint64) int64

//go:wasmimport extism:host/user sluice_state_get
func stateGet(key uint64) int64

// A Call is one call of a host function, or several with a number appended to
// the first argument.
type Call struct {
	Func  string   `json:"func"`
	Args  []string `json:"args"`
	Size  int      `json:"size"`  // of the second argument, in its place
	Times int      `json:"times"` // 0 is once
}

// A Result is what the last of a call's repetitions gave, or the first problem.
type Result struct {
	Block   *string `json:"block"` // as base64; null is nothing
	Problem string  `json:"problem"`
	Done    int     `json:"done"` // repetitions without a problem
}

//go:wasmexport run
func run() int32 {
	var calls []Call
	if err := pdk.InputJSON(&calls); err != nil {
		pdk.SetError(err)
		return 1
	}
	results := make([]Result, len(calls))
	for i, c := range calls {
		results[i] = c.run()
	}
	if err := pdk.OutputJSON(results); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

func (c Call) run() (r Result) {
	first := c.Args[0]
	for i := range max(c.Times, 1) {
		if c.Times > 0 {
			c.Args[0] = fmt.Sprintf("%s%05d", first, i)
		}
		var text string
		r.Block = nil
		switch got := c.once(); {
		case got < 0:
			r.Problem = string(take(uint64(-got)))
			return r
		case got > 0:
			text = base64.StdEncoding.EncodeToString(take(uint64(got)))
			r.Block = &text
		}
		r.Done++
	}
	return r
}

func (c Call) once() int64 {
	if c.Func == "http" {
		return c.send()
	}
	key := pdk.AllocateString(c.Args[0])
	defer key.Free()
	switch c.Func {
	case "kv_get":
		return kvGet(key.Offset())
	case "kv_delete":
		return kvDelete(key.Offset())
	case "kv_scan":
		return kvScan(key.Offset())
	case "state_get":
		return stateGet(key.Offset())
	}
	value := pdk.AllocateBytes(make([]byte, c.Size))
	if c.Size == 0 {
		value = pdk.AllocateString(c.Args[1])
	}
	defer value.Free()
	return kvPut(key.Offset(), value.Offset())
}

func take(handle uint64) []byte {
	m := pdk.FindMemory(handle)
	defer m.Free()
	return m.ReadBytes()
}
