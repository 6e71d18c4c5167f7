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

//go:wasmimport extism:host/user sluice_memory_recall
func memoryRecall(query uint64) int64

//go:wasmimport extism:host/user sluice_memory_remember
func memoryRemember(memory uint64) int64

//go:wasmimport extism:host/user sluice_blob_read
func blobRead(part uint64) int64

//go:wasmimport extism:host/user sluice_blob_write
func blobWrite(data, info uint64) int64

//go:wasmimport extism:host/user sluice_files_read
func filesRead(path uint64) int64

//go:wasmimport extism:host/user sluice_files_write
func filesWrite(path, data, condition uint64) int64

//go:wasmimport extism:host/user sluice_files_list
func filesList(path uint64) int64

//go:wasmimport extism:host/user sluice_files_remove
func filesRemove(path uint64) int64

//go:wasmimport extism:host/user sluice_http
func http(request, body uint64) int64

//go:wasmimport extism:host/user sluice_progress
func progress(report uint64) int64

// call calls a host function, without its prefix, with handles.
func call(name string, h []uint64) int64 {
	one := map[string]func(uint64) int64{
		"kv_get": kvGet, "kv_delete": kvDelete, "kv_scan": kvScan, "state_get": stateGet, "memory_recall": memoryRecall, "memory_remember": memoryRemember,
		"blob_read": blobRead, "files_read": filesRead, "files_list": filesList, "files_remove": filesRemove, "progress": progress,
	}
	two := map[string]func(uint64, uint64) int64{"kv_put": kvPut, "blob_write": blobWrite, "http": http}
	switch {
	case one[name] != nil:
		return one[name](h[0])
	case two[name] != nil:
		return two[name](h[0], h[1])
	}
	return filesWrite(h[0], h[1], h[2])
}

// A Call is one call of a host function, or several with a number appended to
// the first argument.
type Call struct {
	Func  string   `json:"func"`
	Args  [][]byte `json:"args"`
	Size  int      `json:"size"`  // of an argument of zeros in the place of the one at At
	At    int      `json:"at"`    // also of the handle that Bad spoils
	Bad   string   `json:"bad"`   // which wrong handle is given
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
	first := string(c.Args[0])
	for i := range max(c.Times, 1) {
		if c.Times > 0 {
			c.Args[0] = fmt.Appendf(nil, "%s%05d", first, i)
		}
		r.Block = nil
		switch got := c.once(); {
		case got < 0:
			r.Problem = string(take(uint64(-got)))
			return r
		case got > 0:
			text := base64.StdEncoding.EncodeToString(take(uint64(got)))
			r.Block = &text
		}
		r.Done++
	}
	return r
}

func (c Call) once() int64 {
	handles := make([]uint64, len(c.Args))
	for i, arg := range c.Args {
		if c.Size > 0 && c.At == i {
			arg = make([]byte, c.Size)
		}
		m := pdk.AllocateBytes(arg)
		if c.Bad != "freed" || c.At != i {
			defer m.Free()
		}
		handles[i] = m.Offset()
	}
	if c.Bad != "" {
		handles[c.At] = spoil(handles[c.At], c.Bad)
	}
	return call(c.Func, handles)
}

// spoil makes a wrong handle out of a right one.
func spoil(handle uint64, how string) uint64 {
	switch how {
	case "freed":
		m := pdk.FindMemory(handle)
		m.Free()
		return handle
	case "overlapping":
		return handle + 1
	case "before":
		return handle - 1
	case "far":
		return handle + 1<<30
	case "4 GiB":
		return 1 << 32
	case "behind 4 GiB":
		return 1<<32 + handle
	case "negative":
		return -handle
	}
	return 1<<64 - 1
}

func take(handle uint64) []byte {
	m := pdk.FindMemory(handle)
	defer m.Free()
	return m.ReadBytes()
}
